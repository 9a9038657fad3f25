"""Answers as text, with the changed cells in bold where a terminal can show it."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import suppress
from typing import Any

from counterpoint._util.short_text import visible
from counterpoint.cli.outputs import Output
from counterpoint.cli.parts import Part
from counterpoint.show.cards import UNCHANGED

BOLD, PLAIN = "\033[1m", "\033[0m"


class Cards(Output):
    """One table per answer, on the standard output stream."""

    def __init__(self, numbered: bool) -> None:
        self._numbered = numbered

    def add(self, part: Part) -> None:
        """Print the answers of a part."""
        for index, item in part.numbered():
            text = visible(str(item))
            text = marked(text) if sys.stdout.isatty() else text
            head = f"Row {index + 1}\n" if self._numbered else ""
            print(f"{head}{text}\n")


class Printer(Output):
    """What is printed; if whoever reads it closes it, as `head` does, files are still written."""

    def __init__(self, inner: Output) -> None:
        self._inner = inner
        self.is_closed = False

    def add(self, part: Part) -> None:
        """Print a part."""
        self._do(self._inner.add, part)

    def finish(self) -> None:
        """Print what comes after the last part."""
        self._do(self._inner.finish)
        self._do(flush)

    def _do(self, what: Any, *arguments: Any) -> None:
        if self.is_closed:
            return
        try:
            what(*arguments)
        except BrokenPipeError:
            self.is_closed = True
            close_stdout()


class NoReader(io.TextIOBase):
    """The standard output stream where there is none: as if whoever reads it had closed it at once."""

    def write(self, _: str) -> int:
        """Say that nobody reads."""
        raise BrokenPipeError


def open_standard_streams() -> None:
    """Make up for standard streams that were closed before the program began.

    Their numbers would be given to the next files that are opened. What the program, or a library in C, then
    prints would end up in one of these files.
    """
    while (taken := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(taken)
    if sys.stdout is None:
        sys.stdout = NoReader()


def flush() -> None:
    """Print what Python still holds back."""
    sys.stdout.flush()


def close_stdout() -> None:
    """Let nothing more be printed: what Python still holds back would make it complain at its end."""
    if not isinstance(sys.stdout, NoReader):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Messages:
    """The standard error stream, for progress and messages: the work goes on if nobody reads them."""

    def write(self, text: str) -> None:
        """Write a text."""
        if sys.stderr is not None:
            with suppress(BrokenPipeError):
                sys.stderr.write(text)

    def flush(self) -> None:
        """Show what was written."""
        if sys.stderr is not None:
            with suppress(BrokenPipeError):
                sys.stderr.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def tell(text: str) -> None:
    """Tell the user something that is no result."""
    print(f"counterpoint: {visible(text)}", file=Messages(), flush=True)


def marked(text: str) -> str:
    r"""Make the changed cells of an answer's table bold.

    Examples
    --------
    >>> table = "feature   x    1    2\n─────\nage       31   ·    45\n─────\ndecision  bad"
    >>> print(marked(table).replace(BOLD, "<").replace(PLAIN, ">"))
    feature   x    1    2
    ─────
    age       31   ·    <45>
    ─────
    decision  bad
    """
    lines = text.split("\n")
    start, inside = 0, False
    for index, line in enumerate(lines):
        if line.startswith("─"):
            inside = not inside
        elif line.startswith("feature "):
            # The head tells where the columns begin: the first counterfactual's comes after x.
            heads = [match.start() for match in re.finditer(r"\S+", line)]
            start = heads[2] if len(heads) > 2 else len(line)
        elif inside and len(line) > start:
            lines[index] = line[:start] + re.sub(r"\S+(?: \S+)*", _bold, line[start:])
    return "\n".join(lines)


def _bold(match: re.Match[str]) -> str:
    return match[0] if match[0] == UNCHANGED else f"{BOLD}{match[0]}{PLAIN}"
