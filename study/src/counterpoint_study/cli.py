"""The command `counterpoint study tables|images|series`, which the entry point of this package adds."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterpoint_study.plan import Plan

# Named here, so that help imports nothing of the study.
SETS = {
    "tables": "adult compas fico german",
    "images": "mnist fashion",
    "series": "gunpoint power ecg200",
}


def add_study(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command, with one for each topic."""
    study = commands.add_parser("study", help="rerun the paper's study")
    kinds = study.add_subparsers(required=True, metavar="kind")
    for topic, sets in SETS.items():
        _add_topic(kinds, common, topic, sets)


def _add_topic(kinds: Any, common: argparse.ArgumentParser, topic: str, sets: str) -> None:
    """Add the command for a topic; all have the same options."""
    parser = kinds.add_parser(
        topic,
        help=f"on {topic}: {sets}",
        parents=[common],
        description=f"Run every method on {topic}, and write results, figures and a page. A study that was "
        "stopped continues where it was.",
    )
    parser.add_argument("--full", action="store_true", help="the paper's size: every k, 100 instances")
    parser.add_argument("--sets", nargs="+", metavar="SET", help=f"some of {sets}")
    parser.add_argument("--black-boxes", nargs="+", metavar="KIND", help="such as network")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="such as Counterpoint CEM")
    parser.add_argument("-k", dest="ks", nargs="+", type=int, metavar="K")
    parser.add_argument("--instances", type=int, help="test instances per data set (20; full: 100)")
    parser.add_argument(
        "--limit", type=float, help="seconds that a peer has per instance (tables 30, others 60)"
    )
    parser.add_argument(
        "--cell-limit",
        type=float,
        help="seconds after which a peer starts no further instance of a cell (tables 45, others 120; "
        "full: none)",
    )
    parser.add_argument("--seed", type=int)
    parser.add_argument("--cores", type=int, help="how many cells run at the same time (all cores)")
    folder = Path("study-results", topic)
    parser.add_argument("--out", type=Path, default=folder, help=f"folder ({folder})")
    parser.set_defaults(do=_study, topic=topic)


def _study(options: argparse.Namespace) -> None:
    from counterpoint_study import runner
    from counterpoint_study.models.training import accuracies
    from counterpoint_study.page import page
    from counterpoint_study.page.gallery import galleries

    plan = plan_of(options)
    results = runner.run(plan, options.out, options.cores)
    command = "counterpoint " + " ".join(sys.argv[1:])
    pictures = galleries(plan, options.out)
    print(page.write(plan.about, results, accuracies(plan.sets), options.out, command, pictures))


def plan_of(options: argparse.Namespace) -> Plan:
    """Make the plan that the options ask for; what they leave open is as in the small or the full one."""
    from counterpoint_study.plan import Plan

    plan = Plan.full(options.topic) if options.full else Plan.small(options.topic)
    limits = {"instance": options.limit, "cell": options.cell_limit}
    plan = replace(plan, limits=replace(plan.limits, **_given(limits)))
    given = _given({name: getattr(options, name) for name in ("instances", "seed")})
    for name in ("sets", "black_boxes", "methods", "ks"):
        if (values := getattr(options, name)) is not None:
            given[name] = tuple(values)
    return replace(plan, **given)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
