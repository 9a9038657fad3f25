"""The values in a table that cannot be explained, and the error that lists them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# An error lists this many problems in full.
SAID = 3


@dataclass(frozen=True)
class Problem:
    """One value that keeps its row from being explained.

    Parameters
    ----------
    row
        The index of the row in X, counted from 0.
    column
        The name of the column.
    value
        The value in that cell.
    reason
        Why it cannot be explained, and what to do about it.

    Examples
    --------
    >>> print(Problem(3, "job", "king", "No known instance has this category."))
    X[3] has 'job' = 'king'. No known instance has this category.
    """

    row: int
    column: Any
    value: Any
    reason: str

    def __str__(self) -> str:
        return self.said(f"X[{self.row}]")

    def said(self, where: str) -> str:
        """Describe the problem, with the given name for the row."""
        return f"{where} has {said(self.column)} = {said(self.value)}. {self.reason}"


@dataclass(frozen=True, eq=False)
class Unreadable:
    """Stands for a value that could not be read from several columns, with the reason."""

    value: Any
    reason: str


class InvalidError(ValueError):
    """Some rows cannot be explained; `problems` lists them, with the reasons.

    Examples
    --------
    >>> print(InvalidError([Problem(3, "job", "king", "No known instance has this category.")]))
    X[3] has 'job' = 'king'. No known instance has this category.
    """

    def __init__(self, problems: Iterable[Problem], what: str = "X") -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems, what)

    def __str__(self) -> str:
        what = self.args[1]
        lines = [problem.said(what) if what == "x" else str(problem) for problem in self.problems[:SAID]]
        if len(self.problems) == 1:
            return lines[0]
        rows = len({problem.row for problem in self.problems})
        where = "" if what == "x" else f", in {rows:,} row{'s' * (rows != 1)}"
        some = "" if len(lines) == len(self.problems) else f" The first {SAID}:"
        return "\n- ".join(
            [f"{what} contains {len(self.problems):,} values that cannot be explained{where}.{some}", *lines]
        )


def said(value: Any) -> str:
    """Write a value as its Python equivalent."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def listed(values: Sequence[Any], most: int = 20) -> str:
    """List values, at most `most` of them."""
    listed = ", ".join(said(value) for value in values[:most])
    return f"[{listed}{f', … ({len(values)} in all)' if len(values) > most else ''}]"
