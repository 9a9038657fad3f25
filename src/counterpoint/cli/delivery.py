"""Handing parts to outputs, and counting what rows got. An output is put in its place when it is whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from counterpoint.cli.outputs import Output, opened
from counterpoint.cli.parts import Part


class Tally(Output):
    """How many rows got what they asked for."""

    def __init__(self) -> None:
        self.rows = self.fewer = self.none = self.already = 0
        self._first = ""

    def add(self, part: Part) -> None:
        """Count a part."""
        self.rows += len(part.explanations)
        for number, item in enumerate(part.explanations, start=part.start + 1):
            if item.shortfall is None:
                continue
            if item.shortfall.already:
                self.already += 1
                continue
            self.none += not len(item)
            self.fewer += bool(len(item))
            self._first = self._first or f"The first is row {number}: {item.shortfall.reason}."

    def __str__(self) -> str:
        text = f"{self.rows:,} row{'s' * (self.rows != 1)} explained"
        text += f", {self.already:,} of which already had the decision" if self.already else ""
        if self.none or self.fewer:
            text += f"; {self.fewer:,} got fewer counterfactuals than asked for and {self.none:,} none"
        return f"{text}. {self._first}".rstrip()


def deliver(parts: Iterable[Part], files: Sequence[Path], groups: tuple[str, ...], *others: Output) -> None:
    """Hand parts to outputs; files are put in their places when all of them are whole."""
    # Always of the same name, so that what a killed run leaves is overwritten by the next.
    drafts = {path: path.with_name(f".{path.stem}.draft{path.suffix}") for path in files}
    try:
        with ExitStack() as stack:
            outputs = [stack.enter_context(opened(draft, groups)) for draft in drafts.values()]
            for part in parts:
                for output in (*outputs, *others):
                    output.add(part)
            for output in (*outputs, *others):
                output.finish()
        for path, draft in drafts.items():
            draft.replace(path)
    finally:
        for draft in drafts.values():
            draft.unlink(missing_ok=True)
