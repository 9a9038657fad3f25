"""What can go wrong, said in one sentence, and what the exit codes mean."""

from __future__ import annotations

import importlib
from enum import IntEnum
from pathlib import Path
from typing import Any

from counterpoint._util.short_text import cut, one_line, short
from counterpoint.datasets import DatasetError
from counterpoint.explainers.run import IncompleteError
from counterpoint.model.blackbox import ModelError


class Exit(IntEnum):
    """What a command's exit code means."""

    DONE = 0
    SHORT = 1
    INPUT = 2
    MODEL = 3
    SKIPPED = 4
    FAULT = 70
    BUSY = 75
    STOPPED = 130
    CLOSED = 141


class InputError(Exception):
    """Something in what the user gave; the message says what it is, and the cure."""


class ListError(InputError):
    """Several things in what the user gave, one per line after the first."""


class BusyError(Exception):
    """Another run writes to the same output; the message says which."""


# What the library raises about what it is given: its messages name the thing, the rule and the cure.
_INPUT = (InputError, ValueError, TypeError, ImportError, OSError, DatasetError)


def exit_of(error: BaseException) -> Exit:
    """Tell the exit code for an error.

    Examples
    --------
    >>> exit_of(ValueError("k must be at least 1, got 0.")).name
    'INPUT'
    """
    if isinstance(error, KeyboardInterrupt):
        return Exit.STOPPED
    if isinstance(error, BrokenPipeError):
        return Exit.CLOSED
    if isinstance(error, BusyError):
        return Exit.BUSY
    if isinstance(error, ModelError | IncompleteError | SystemExit):
        return Exit.MODEL
    return Exit.INPUT if isinstance(error, _INPUT) else Exit.FAULT


def sentence(error: BaseException) -> str:
    r"""Say an error in one line.

    Examples
    --------
    >>> sentence(InputError("rows.csv is empty.\n  Give rows."))
    'rows.csv is empty. Give rows.'
    >>> sentence(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero. This is a bug in Counterpoint; --debug shows where.'
    """
    code = exit_of(error)
    if code is Exit.STOPPED:
        return "stopped. Finished parts are kept; the same command goes on where it was."
    if isinstance(error, SystemExit):
        called = f"sys.exit({short(error.code)})"
        return f"The model called {called}, which ends the run; it must return labels instead."
    if isinstance(error, ListError):
        return "\n".join(cut(line) for line in str(error).split("\n"))
    if isinstance(error, OSError) and error.strerror:
        return one_line(f"{error.filename or 'a file'}: {error.strerror}.")
    text = one_line(str(error))
    if code is not Exit.FAULT:
        return text or type(error).__name__
    return f"{type(error).__name__}: {text}. This is a bug in Counterpoint; --debug shows where."


def check_is_file(path: Path) -> None:
    """Refuse what is no file on disk, such as a pipe: inputs are read more than once."""
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a pipe or device"
        raise InputError(f"{path} is {what}, and must be a file: it is read more than once. Give a file.")


def need(module: str, what: str, install: str = "'counterpoint[cli]'") -> Any:
    """Import a module that not everyone has, or say how to get it.

    Examples
    --------
    >>> need("no_such_module", "Reading runes")
    Traceback (most recent call last):
        ...
    ImportError: Reading runes needs no_such_module: pip install 'counterpoint[cli]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{what} needs {package}: pip install {install}") from error
