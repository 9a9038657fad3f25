"""The command line: ``counterpoint explain|open|serve|schema|demo|datasets``, and what others add to it.

A package adds a command with an entry point in the group ``counterpoint.commands``: a function that takes the
subparsers and the parser of the common options. ``counterpoint study`` comes from counterpoint-study. Only
the module of the command that is run is imported, so that ``counterpoint --help`` answers at once.
"""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import entry_points, version
from typing import Any, NoReturn

__all__ = ["main", "parser"]

# What each command does, and the module and function that add its options.
_COMMANDS = {
    "explain": ("explain decisions", "options", "add_explain"),
    "open": ("a page in the browser to think with", "open", "add_open"),
    "serve": ("answer over HTTP, for web teams", "serve", "add_serve"),
    "schema": ("draft a file of constraints", "schema", "add_schema"),
    "demo": ("see it work on refused credit applicants", "demo", "add_demo"),
    "datasets": ("list the data sets", "datasets", "add_datasets"),
}

STUDY = "rerun the paper's study"

Add = Callable[[Any, argparse.ArgumentParser], None]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code.

    Examples
    --------
    >>> main(["schema", "nowhere.csv"])  # its message goes to stderr
    2
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    command = next((each for each in arguments if not each.startswith("-")), None)
    options = parser(command).parse_args(arguments)
    from counterpoint.cli.errors import Exit, exit_of, sentence
    from counterpoint.cli.terminal import close_stdout, flush, open_standard_streams, tell

    open_standard_streams()
    try:
        with warnings.catch_warnings():
            if not options.debug:
                warnings.simplefilter("ignore")
            code = int(options.do(options) or Exit.DONE)
            flush()
            return code
    except BrokenPipeError:
        close_stdout()
        return int(Exit.CLOSED)
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if options.debug:
            traceback.print_exception(error)
        tell(sentence(error))
        return int(exit_of(error))


def parser(command: str | None) -> argparse.ArgumentParser:
    """Make the parser of all commands, with the options of the one that is run."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", help="show where an error comes from, and warnings")
    top = argparse.ArgumentParser(prog="counterpoint", description="Counterfactual explanations.")
    top.add_argument("--version", action="version", version=f"counterpoint {version('counterpoint')}")
    commands = top.add_subparsers(required=True, metavar="command")
    others = {each.name: each for each in entry_points(group="counterpoint.commands")}
    for name in (*_COMMANDS, *others):
        if name != command:
            commands.add_parser(name, help=_help(name))
        else:
            (_own(name) if name in _COMMANDS else others[name].load())(commands, common)
    if "study" not in others:
        _add_missing_study(commands)
    return top


def _help(name: str) -> str:
    return _COMMANDS[name][0] if name in _COMMANDS else {"study": STUDY}.get(name, "added by another package")


def _own(name: str) -> Add:
    """Import the module of a command."""
    _, module, function = _COMMANDS[name]
    add: Add = getattr(import_module(f"counterpoint.cli.{module}"), function)
    return add


def _add_missing_study(commands: Any) -> None:
    """Add a command that says how to get the study, whatever its arguments are."""
    study = commands.add_parser(
        "study", add_help=False, prefix_chars="\0", help=f"{STUDY} (needs counterpoint-study)"
    )
    study.add_argument("arguments", nargs="*")
    study.set_defaults(do=_say_how_to_get_the_study, debug=False)


def _say_how_to_get_the_study(_: argparse.Namespace) -> NoReturn:
    from counterpoint.cli.errors import InputError

    raise InputError("The study is a package of its own: pip install counterpoint-study")
