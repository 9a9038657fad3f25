"""`counterpoint open`: a page in the browser to think with, served on this machine only."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from collections.abc import Mapping
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint.cli.constraints import Limits
from counterpoint.cli.demo import LABEL, make_files
from counterpoint.cli.errors import Exit, InputError, need
from counterpoint.cli.explain import Session
from counterpoint.cli.fitted import fitted_session
from counterpoint.cli.options import add_constraints, add_model
from counterpoint.cli.signals import are_signals, signal_calls
from counterpoint.cli.tables import read_parts
from counterpoint.cli.terminal import tell
from counterpoint.data.links import Implies

ABOUT = (
    "Open a page in the browser: pick a case, say what may change, and see what would change the decision."
)

MORE = """\
images     --data and --rows may be files of numpy, .npy or .npz: images are (n, h, w) or (n, h, w, channels),
           series (n, length) or (n, channels, length). The model takes such arrays: .onnx, TorchScript's .pt
           and .ts, or module:function. What may not change is drawn on the page.
safety     the page is served to this machine only, at an address with a random token. Nothing is loaded from
           elsewhere, and nothing leaves this machine.
stop       control-c.
"""

# At most so many cases can be picked from.
MOST = 50_000


def add_open(commands: Any, common: argparse.ArgumentParser) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "open",
        description=ABOUT,
        epilog=MORE,
        parents=[common],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    group = add_model(parser, required=False)
    group.add_argument("--demo", action="store_true", help="credit applicants and a forest, to try it")
    group.add_argument("--rows", metavar="TABLE", help="the cases to pick from (the known instances)")
    group.add_argument("-k", type=int, default=5, help="answers per case (5)")
    add_constraints(parser)
    group = parser.add_argument_group("the page")
    group.add_argument("--title", default="", help="what it is about, in a few words")
    group.add_argument("--port", type=int, default=0, help="of this machine (any that is free)")
    group.add_argument("--no-browser", action="store_true", help="only print the address")
    parser.add_argument("--quiet", action="store_true", help="say nothing but the address and errors")
    parser.set_defaults(do=_open)


def _open(options: argparse.Namespace) -> int:
    need("uvicorn", "The page", "'counterpoint[serve]'")
    need("fastapi", "The page", "'counterpoint[serve]'")
    from counterpoint.web.page.opening import open_page

    if not options.demo:
        return _serve(calls_of(options), options, open_page)
    if options.model or options.data:
        raise InputError("--demo brings a model and a table of its own; leave out --model and --data.")
    with tempfile.TemporaryDirectory(prefix="counterpoint-demo-") as folder:
        return _serve(calls_of(with_demo(options, Path(folder))), options, open_page)


def _serve(calls: Any, options: argparse.Namespace, open_page: Any) -> int:
    page = open_page(calls, options.port, browser=not options.no_browser)
    print(page.address, flush=True)
    if not options.quiet:
        tell("the page is open for this machine only; stop by control-c.")
    page.wait()
    return int(Exit.DONE)


def with_demo(options: argparse.Namespace, folder: Path) -> argparse.Namespace:
    """Train the demo's model, and fill in the options that name its files."""
    files = make_files(folder)
    options.model, options.data, options.target = str(files.model), files.data, LABEL
    options.rows = options.rows or str(files.applicants)
    options.constraints = options.constraints or files.constraints
    options.title = options.title or "German credit"
    return options


def calls_of(options: argparse.Namespace) -> Any:
    """Open the model, fit, read the cases, and make what the page asks."""
    from counterpoint.web.page.calls import Calls
    from counterpoint.web.page.session import Opened
    from counterpoint.web.page.session import Session as PageSession

    missing = [name for name in ("model", "data") if getattr(options, name) is None]
    if missing:
        raise InputError(f"--{missing[0]} is missing. Give --model and --data, or --demo to try the page.")
    if are_signals(options.data):
        return signal_calls(options)
    cases = None if options.rows is None else Path(options.rows)
    session = fitted_session(options, cases or options.data, options.k)
    rows = None if cases is None else _cases(session, cases)
    return Calls(
        PageSession.of(
            session.explainer,
            rows,
            target=session.target,
            k=options.k,
            title=options.title or Path(options.model).stem,
            max_changes=session.job.question.max_changes,
            opened=Opened(_command(options), *_learned(session.job.question.limits), options.setting),
        )
    )


def _cases(session: Session, path: Path) -> pd.DataFrame:
    """Read the cases to pick from; the label may be among their columns."""
    parts = islice(read_parts(path, MOST, session.known), 1)
    return session.columns.take(pd.concat(list(parts), ignore_index=True))


def _command(options: argparse.Namespace) -> str:
    """Write the command that asks the same model, up to what the page adds."""
    parts = ["counterpoint", "explain", "--model", options.model, "--data", str(options.data)]
    parts += ["--target", options.target] if options.target else []
    for flag in ("drop", "trust"):
        parts += [each for value in getattr(options, flag) for each in (f"--{flag}", value)]
    parts += ["--classes", options.classes] if options.classes else []
    parts += ["--allow-pickle"] if options.allow_pickle else []
    for flag in ("seed", "model_batch", "model_timeout"):
        value = getattr(options, flag)
        parts += [f"--{flag.replace('_', '-')}", str(value)] if value else []
    return shlex.join(parts)


def _learned(limits: Limits) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """List what a question cannot say, by column and in general, with the keys of a file of constraints."""
    groups = limits.onehot if isinstance(limits.onehot, Mapping) else {}
    steps = {
        name: f"{step.days} days" if isinstance(step, timedelta) else step
        for name, step in limits.steps.items()
    }
    columns: dict[str, dict[str, Any]] = {}
    kinds = dict.fromkeys(limits.categorical, "category")
    for key, given in (("kind", kinds), ("order", limits.order), ("step", steps), ("onehot", groups)):
        for name, value in given.items():
            columns.setdefault(name, {})[key] = value
    links = [_written(link) for link in limits.links]
    general: dict[str, Any] = {"onehot": False} if limits.onehot is False else {}
    general |= {"links": links} if links else {}
    return columns, general | ({"missing": limits.missing} if limits.missing else {})


def _written(link: str | Implies) -> Any:
    """Write a link as a file of constraints has it."""
    if isinstance(link, str):
        return link
    return {"when": dict(link.when), "then": dict(link.then)}
