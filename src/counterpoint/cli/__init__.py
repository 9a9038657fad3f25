"""The command line: ``counterpoint explain|schema|demo|datasets|study``. Thin shells only."""

from __future__ import annotations

import argparse
import traceback
import warnings
from collections.abc import Sequence
from importlib.metadata import version

from counterpoint.cli.demo import add_demo
from counterpoint.cli.draft import add_schema
from counterpoint.cli.listing import add_datasets
from counterpoint.cli.options import add_explain
from counterpoint.cli.problems import Exit, exit_of, sentence
from counterpoint.cli.study import add_study
from counterpoint.cli.terminal import close_stdout, flush, tell

__all__ = ["main", "parser"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line says; return the exit code.

    Examples
    --------
    >>> main(["study", "tables", "--methods", "nobody"])  # its message goes to stderr
    2
    """
    options = parser().parse_args(arguments)
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


def parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--debug", action="store_true", help="show where an error comes from, and warnings")
    top = argparse.ArgumentParser(prog="counterpoint", description="Counterfactual explanations.")
    top.add_argument("--version", action="version", version=f"counterpoint {version('counterpoint')}")
    commands = top.add_subparsers(required=True, metavar="command")
    for add in (add_explain, add_schema, add_demo, add_datasets, add_study):
        add(commands, common)
    return top
