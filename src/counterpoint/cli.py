"""The command line: ``counterpoint study tables|images|series``. A thin shell; no method lives here."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterpoint.study.plan import Plan

# Named here, so that help needs nothing of the study.
_SETS = {
    "tables": "adult compas fico german",
    "images": "mnist fashion",
    "series": "gunpoint power ecg200",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code.

    Examples
    --------
    >>> main(["study", "tables", "--methods", "nobody"])  # its message goes to stderr
    2
    """
    options = _parser().parse_args(arguments)
    try:
        options.do(options)
    except (ValueError, ImportError, OSError) as error:
        print(f"counterpoint: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("counterpoint: stopped. Finished cells are kept; the same command goes on.", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="counterpoint", description="Counterfactual explanations.")
    commands = parser.add_subparsers(required=True, metavar="command")
    study = commands.add_parser("study", help="rerun the paper's study")
    kinds = study.add_subparsers(required=True, metavar="kind")
    for topic, sets in _SETS.items():
        _add_study(kinds, topic, sets)
    return parser


def _add_study(kinds: Any, topic: str, sets: str) -> None:
    """Add the command for a topic; all have the same options."""
    parser = kinds.add_parser(
        topic,
        help=f"on {topic}: {sets}",
        description=f"Run every method on {topic}, and write results, figures and a page. A study that was "
        "stopped goes on where it was.",
    )
    parser.add_argument("--full", action="store_true", help="the paper's size: every k, 100 instances")
    parser.add_argument("--sets", nargs="+", metavar="SET", help=f"some of {sets}")
    parser.add_argument("--black-boxes", nargs="+", metavar="KIND", help="such as network")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="such as ECE CEM")
    parser.add_argument("-k", dest="ks", nargs="+", type=int, metavar="K")
    parser.add_argument("--instances", type=int, help="test instances a data set (20; full: 100)")
    parser.add_argument("--limit", type=float, help="seconds a peer has for an instance (30)")
    parser.add_argument(
        "--cell-limit",
        type=float,
        help="seconds after which a peer begins no further instance of a cell (tables 45, series 60, "
        "images 120; full: none)",
    )
    parser.add_argument("--seed", type=int)
    parser.add_argument("--cores", type=int, help="cells side by side (all cores)")
    folder = Path("study") if topic == "tables" else Path("study", topic)
    parser.add_argument("--out", type=Path, default=folder, help=f"folder ({folder})")
    parser.set_defaults(do=_study, topic=topic)


def _study(options: argparse.Namespace) -> None:
    from counterpoint.study import page, runner
    from counterpoint.study.blackboxes import accuracies
    from counterpoint.study.gallery import galleries

    plan = _plan(options)
    results = runner.run(plan, options.out, options.cores)
    command = "counterpoint " + " ".join(sys.argv[1:])
    pictures = galleries(plan, options.out)
    print(page.write(plan.about, results, accuracies(plan.sets), options.out, command, pictures))


def _plan(options: argparse.Namespace) -> Plan:
    """Make the plan that the options ask for; what they leave open is as in the small or the full one."""
    from counterpoint.study.plan import Plan

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


if __name__ == "__main__":
    sys.exit(main())
