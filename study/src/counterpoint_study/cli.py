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
    _add_size(kinds, common)
    _add_recompute(kinds, common)
    _add_publish(kinds, common)


def _add_topic(kinds: Any, common: argparse.ArgumentParser, topic: str, sets: str) -> None:
    """Add the command for a topic; all have the same options."""
    parser = kinds.add_parser(
        topic,
        help=f"on {topic}: {sets}",
        parents=[common],
        description=f"Run every method on {topic}, and write results, figures and a page. A study that was "
        "stopped continues where it was.",
    )
    _add_plan(parser, sets, Path("study-results", topic))
    if topic == "tables":
        parser.add_argument(
            "--refits",
            type=int,
            help="how often each black box is trained again, to measure survival (10; 0: not measured)",
        )
    parser.set_defaults(do=_study, topic=topic)


def _add_size(kinds: Any, common: argparse.ArgumentParser) -> None:
    parser = kinds.add_parser(
        "size",
        help="how the metrics depend on the size of X, on tables",
        parents=[common],
        description="Run methods with 20, 40, 60, 80 and 100 % of the known instances, and draw the metrics "
        "against that.",
    )
    _add_plan(parser, SETS["tables"], Path("study-results", "size"))
    parser.add_argument("--shares", nargs="+", type=float, metavar="SHARE", help="shares of X (0.2 to 1)")
    parser.set_defaults(do=_size, topic="tables")


def _add_recompute(kinds: Any, common: argparse.ArgumentParser) -> None:
    parser = kinds.add_parser(
        "recompute",
        help="every number and figure again, from results alone",
        parents=[common],
        description="Compute tables, figures and pages again from results.parquet files that studies wrote. "
        "Nothing is trained and nothing is run.",
    )
    _add_results(parser)
    parser.add_argument("--docs", type=Path, help="a checkout whose README and docs are renewed")
    parser.set_defaults(do=_recompute)


def _add_publish(kinds: Any, common: argparse.ArgumentParser) -> None:
    parser = kinds.add_parser(
        "publish",
        help="put results into a checkout, and renew its README and docs",
        parents=[common],
        description="Write results.parquet files of studies as small files into study/results of a checkout, "
        "then recompute everything from all files that are there, and renew README and docs.",
    )
    _add_results(parser)
    parser.add_argument("--docs", type=Path, default=Path(), help="the checkout (.)")
    parser.set_defaults(do=_publish)


def _add_results(parser: argparse.ArgumentParser) -> None:
    """Add the options of what is computed from results: the files, and where its pages go."""
    parser.add_argument("results", nargs="+", type=Path, help="results.parquet files")
    folder = Path("study-results", "recomputed")
    parser.add_argument("--out", type=Path, default=folder, help=f"folder of pages ({folder})")


def _add_plan(parser: argparse.ArgumentParser, sets: str, folder: Path) -> None:
    """Add the options that make a plan."""
    parser.add_argument("--full", action="store_true", help="the paper's size: every k, 100 instances")
    parser.add_argument("--sets", nargs="+", metavar="SET", help=f"some of {sets}")
    parser.add_argument("--black-boxes", nargs="+", metavar="KIND", help="such as network")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="such as Counterpoint CEM")
    parser.add_argument("-k", dest="ks", nargs="+", type=int, metavar="K")
    parser.add_argument(
        "--instances", type=int, help="test instances per data set (tables 6, others 3; full: 100)"
    )
    parser.add_argument(
        "--limit",
        type=float,
        help="seconds that a peer has per instance (tables 20, others 30; full: 30 and 60)",
    )
    parser.add_argument(
        "--cell-limit",
        type=float,
        help="seconds after which a peer starts no further instance of a cell (10; full: none)",
    )
    parser.add_argument("--seed", type=int)
    parser.add_argument("--cores", type=int, help="how many cells run at the same time (all cores)")
    parser.add_argument("--out", type=Path, default=folder, help=f"folder ({folder})")


def _study(options: argparse.Namespace) -> None:
    from counterpoint_study import runner
    from counterpoint_study.models.training import accuracies
    from counterpoint_study.page import page
    from counterpoint_study.page.gallery import galleries

    plan = plan_of(options)
    command, found = _command(), accuracies(plan.sets, plan.black_boxes, plan.seed)
    # The file says all that a page needs, so that it can be recomputed from the file alone.
    notes = {"command": command, "accuracies": found.to_dict("records")}
    results = runner.run(plan, options.out, options.cores, notes)
    pictures = galleries(plan, options.out)
    print(page.write(plan.about, results, found, options.out, command, pictures))


def _size(options: argparse.Namespace) -> None:
    import pandas as pd

    from counterpoint_study import runner
    from counterpoint_study.findings.size import KS, METHODS, SHARES
    from counterpoint_study.recompute import size_of_x

    plan = plan_of(options)
    plan = replace(
        plan,
        methods=METHODS if options.methods is None else plan.methods,
        ks=KS if options.ks is None else plan.ks,
        refits=0,
    )
    shares = options.shares or SHARES
    parts = [
        runner.run(replace(plan, share=share), options.out / f"{share:g}", options.cores) for share in shares
    ]
    results = pd.concat(parts, ignore_index=True)
    results.attrs = {**parts[0].attrs, "command": _command(), "shares": list(shares)}
    results.to_parquet(options.out / "results.parquet", index=False)
    print(size_of_x(results, options.out))


def _recompute(options: argparse.Namespace) -> None:
    from counterpoint_study.documentation import update
    from counterpoint_study.recompute import recompute

    for path in recompute(options.results, options.out):
        print(path)
    for path in update(options.docs, options.out) if options.docs else []:
        print(path)


def _publish(options: argparse.Namespace) -> None:
    from counterpoint_study import published
    from counterpoint_study.documentation import RESULTS

    folder = options.docs / RESULTS
    for given in options.results:
        results = published.read(given)
        published.write(results, folder / published.name_of(results))
        print(folder / published.name_of(results))
    options.results = sorted(folder.glob("*.parquet"))
    _recompute(options)


def _command() -> str:
    return "counterpoint " + " ".join(sys.argv[1:])


def plan_of(options: argparse.Namespace) -> Plan:
    """Make the plan that the options ask for; what they leave open is as in the small or the full one."""
    from counterpoint_study.plan import Plan

    plan = Plan.full(options.topic) if options.full else Plan.small(options.topic)
    limits = {"instance": options.limit, "cell": options.cell_limit}
    plan = replace(plan, limits=replace(plan.limits, **_given(limits)))
    given = _given({name: getattr(options, name, None) for name in ("instances", "seed", "refits")})
    for name in ("sets", "black_boxes", "methods", "ks"):
        if (values := getattr(options, name)) is not None:
            given[name] = tuple(values)
    return replace(plan, **given)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
