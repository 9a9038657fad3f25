"""Rows that cannot be explained: counted and listed, by their numbers in the file, in an error or a note."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from counterpoint._util.atomic import destination, replacing
from counterpoint.cli.errors import ListError
from counterpoint.cli.spreadsheets import quoted
from counterpoint.data.problems import Problem

# So many values are listed; a file can hold all.
LISTED = 20


class Invalid:
    """What keeps rows of a file from being explained, gathered part by part; it keeps only what it lists.

    Parameters
    ----------
    source
        The file.
    writer
        Takes every one of them, if given.

    Examples
    --------
    >>> invalid = Invalid("rows.csv")
    >>> invalid.add(1_000, 500, [Problem(39, "age", "abc", "It is not a number.")])
    >>> print(invalid.text("are skipped"))
    1 of 500 rows of rows.csv are skipped:
      row 1,040: 'age' = 'abc'. It is not a number.
    """

    def __init__(self, source: Path | str, writer: Any = None) -> None:
        self.source, self.rows, self.count = source, 0, 0
        self._writer, self._values = writer, 0
        self._first: list[Problem] = []

    def add(self, start: int, rows: int, problems: Iterable[Problem]) -> None:
        """Take what is wrong with a part, whose first row is at `start`."""
        found = sorted((replace(each, row=start + each.row) for each in problems), key=lambda each: each.row)
        self.rows += rows
        self.count += len({each.row for each in found})
        self._values += len(found)
        self._first += found[: LISTED - len(self._first)]
        if self._writer is not None:
            self._writer.writerows(
                [each.row + 1, quoted(each.column), quoted(each.value), each.reason] for each in found
            )

    def text(self, what: str) -> str:
        """List the first, row by row."""
        lines = [f"{self.count:,} of {self.rows:,} rows of {self.source} {what}:"]
        lines += [each.said(f"row {each.row + 1:,}").replace(" has ", ": ", 1) for each in self._first]
        rest = self._values - len(self._first)
        return "\n  ".join([*lines, *([f"and {rest:,} more values."] if rest else [])])

    def refuse(self) -> None:
        """Raise an error if there are any."""
        if self.count:
            cure = "Mend them, or add --skip-invalid to explain the others"
            raise ListError(self.text(f"cannot be explained. {cure}"))

    def refuse_all(self) -> None:
        """Raise an error if no row is left."""
        if self.count == self.rows:
            raise ListError(self.text("cannot be explained, and none is left. Mend them"))


@contextmanager
def gathering(source: Path, path: Path | None) -> Iterator[Invalid]:
    """Gather what is wrong with the rows of a file; all of it goes to another file, if one is given."""
    if path is None:
        yield Invalid(source)
        return
    with replacing(destination(path)) as binary:
        file = TextIOWrapper(binary, encoding="utf-8", newline="", write_through=True)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["row", "column", "value", "reason"])
        try:
            yield Invalid(source, writer)
        finally:
            file.detach()
