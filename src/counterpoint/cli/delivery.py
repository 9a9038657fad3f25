"""Handing parts to outputs, and counting what rows got. An output is put in its index when it is whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path

from counterpoint._util.atomic import destination, draft_of, put_in_place
from counterpoint.cli.errors import InputError
from counterpoint.cli.outputs import Output, opened
from counterpoint.cli.parts import Part


class Tally(Output):
    """How many rows got what they asked for."""

    def __init__(self) -> None:
        self.rows = self.skipped = self.fewer = self.none = self.already = 0
        self._asked, self._first = 0, ""

    def add(self, part: Part) -> None:
        """Count a part."""
        self.rows += len(part.explanations)
        for index, item in part.numbered():
            if item.shortfall is None:
                continue
            if item.shortfall.already:
                self.already += 1
                continue
            self.none += not len(item)
            self.fewer += bool(len(item))
            self._asked = item.shortfall.asked
            self._first = self._first or f"The first is row {index + 1:,}: {item.shortfall.reason}."

    def __str__(self) -> str:
        rows = f"{self.rows:,} row{'s' * (self.rows != 1)}"
        text = f"{rows} explained"
        text += f", {self.skipped:,} skipped" if self.skipped else ""
        text += f". {self.already:,} of {rows} already had the decision" if self.already else ""
        if fewer := self.fewer + self.none:
            text += f". {fewer:,} of {rows} got fewer than {self._asked:,} counterfactuals"
            text += f", {self.none:,} of them none" if self.none else ""
        hint = " To see which constraints stand in the way, explain one of them with --row."
        return f"{text}. {self._first}".rstrip() + hint * (self.none > 0 and self.rows > 1)


def deliver(
    parts: Iterable[Part],
    files: Sequence[Path],
    groups: tuple[str, ...],
    *others: Output,
    rows: int | None = None,
    raw: bool = False,
) -> None:
    """Hand parts to outputs; files are put in their indices when all of them are whole.

    If the parts do not hold as many rows as there must be, nothing is replaced.
    """
    drafts = {destination(path): draft_of(destination(path)) for path in files}
    endings = [path.suffix.lower() for path in files]
    delivered = 0
    try:
        with ExitStack() as stack:
            opening = map(opened, drafts.values(), endings, repeat(groups), repeat(raw))
            outputs = [*map(stack.enter_context, opening), *others]
            for part in parts:
                delivered += len(part.explanations)
                for output in outputs:
                    output.add(part)
            if rows is not None and delivered != rows:
                raise InputError(
                    f"The parts hold {delivered:,} of the {rows:,} explained rows, so nothing was replaced. "
                    f"The same command explains the others again."
                )
            for output in outputs:
                output.finish()
        put_in_place(drafts)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
