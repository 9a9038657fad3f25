"""Rows of a request: JSON objects by the names of columns, checked value by value.

All rows are checked before any is refused: the row, the column, the value and the rule of each problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf
from typing import Any

import numpy as np
import pandas as pd

from counterpoint._util.short_text import one_line, short
from counterpoint.data.dummies import Group
from counterpoint.data.feature import Feature
from counterpoint.data.grouped import GroupedFormat
from counterpoint.data.problems import Problem, listed
from counterpoint.data.schema import Schema
from counterpoint.web.wire import EXACT, MOST, MOST_SMALL, TAKEN, plain

# So many problems are listed in an answer; of a thousand wrong rows, the first tell what is wrong.
LISTED = 20

_UNKNOWN = "No column has this name. Known: {}."
_LACKING = "The row lacks this column. Give a value, or null if it is missing."
_TWICE = "Its columns are given too. Give one category by this name, or the columns, and not both."
_NO_NUMBER = "It is not a number. Give a number."
_BEYOND = "It is a whole number beyond 2**53, which not every client and float can hold exactly."
_TOO_LARGE = "It is too large to be computed with. Give a number well below {:g}."
_UNSEEN = "No known instance has this category. Known: {}."
_NO_VALUE = "It must be a single value: a number, a text, true, false or null."
_NO_TEXT = "It holds characters that are no text: halves of a pair (surrogates). Send valid Unicode."


class RefusedError(ValueError):
    """What a request says cannot be done; `problems` names the rows and columns at fault."""

    def __init__(self, message: str, problems: Iterable[Problem] = ()) -> None:
        super().__init__(one_line(message))
        self.problems = tuple(problems)


@dataclass(frozen=True)
class Table:
    """The rows of a request as columns of the caller's table.

    `joins` tells whether they can share a table with the rows of others: a value that the columns of the
    known instances cannot hold would change the type of a column for all.
    """

    names: tuple[Any, ...]
    cells: tuple[list[Any], ...]
    joins: bool = True

    def __len__(self) -> int:
        return len(self.cells[0])

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a frame, as the explainer takes it."""
        return joined([self])


def joined(tables: Sequence[Table]) -> pd.DataFrame:
    """Put the rows of several requests into one frame.

    Examples
    --------
    >>> joined([Table(("age",), ([31],)), Table(("age",), ([45],))])["age"].tolist()
    [31, 45]
    """
    every = [list(chain(*parts)) for parts in zip(*(table.cells for table in tables), strict=True)]
    arrays = (np.fromiter(column, dtype=object, count=len(column)) for column in every)
    frame = pd.DataFrame(dict(enumerate(arrays)), dtype=object)
    frame.columns = pd.Index(tables[0].names, tupleize_cols=False)
    return frame


@dataclass(frozen=True)
class RowReader:
    """Reads rows of JSON for the columns of a schema.

    A group of dummy columns is given as one category by the name of the group, or by its columns.

    Examples
    --------
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]}))
    >>> RowReader(schema).read([{"age": 31, "job": "smith"}]).frame
      age    job
    0  31  smith
    >>> try:
    ...     RowReader(schema).read([{"age": 31, "pay": 1}])
    ... except RefusedError as error:
    ...     [(each.row, each.column) for each in error.problems]
    [(0, 'pay'), (0, 'job')]
    """

    schema: Schema

    def read(self, rows: Any, what: str = "rows") -> Table:
        """Read rows, or refuse them with all that is wrong."""
        if not isinstance(rows, list) or not rows:
            raise RefusedError(f"{what} must be a list of at least one object, got {short(rows)}.")
        wrong = [place for place, row in enumerate(rows) if not isinstance(row, Mapping)]
        if wrong:
            raise RefusedError(
                f'{what}[{wrong[0]}] must be an object such as {{"{self._names[0]}": …}}, got '
                f"{short(rows[wrong[0]])}."
            )
        problems = [problem for place, row in enumerate(rows) for problem in self._misfits(place, row)]
        misfits = {problem.row for problem in problems}
        places = [place for place in range(len(rows)) if place not in misfits]
        table = self._table([rows[place] for place in places])
        reading = self.schema.read(table.frame)
        problems += [replace(problem, row=places[problem.row]) for problem in reading.problems]
        if problems:
            raise _refused(sorted(problems, key=lambda problem: problem.row), what)
        return replace(table, joins=reading.schema.form is self.schema.form)

    def _table(self, rows: Sequence[Mapping[str, Any]]) -> Table:
        return Table(self._columns, tuple([self._cell(name, row) for row in rows] for name in self._columns))

    def _misfits(self, place: int, row: Mapping[str, Any]) -> Iterable[Problem]:
        """List columns that do not exist or are lacking, and values that no column could hold."""
        known = self.features
        if len(row) != len(self._names) or any(name not in known for name in row):
            for name in row:
                if name not in known and name not in self._owners:
                    yield Problem(place, name, row[name], _UNKNOWN.format(listed(self._names)))
            for name in self._names:
                if name not in row and not self._has_columns(name, row):
                    yield Problem(place, name, None, _LACKING)
                elif name in row and name in self._groups and self._has_columns(name, row, any):
                    yield Problem(place, name, row[name], _TWICE)
        for name, value in row.items():
            if isinstance(value, Mapping | list):
                yield Problem(place, name, short(value), _NO_VALUE)
            elif isinstance(value, str) and not _is_text(value):
                yield Problem(place, name, short(value), _NO_TEXT)
            elif name in known and (rule := self._broken(name, value)):
                yield Problem(place, name, value, rule)

    def _broken(self, name: str, value: Any) -> str:
        """Say which rule a single value breaks, if it does, that a table would be more lenient about."""
        feature = self.features[name]
        if not feature.is_categorical:
            return self._broken_number(feature, value)
        if feature.immutable or key_of(value) in self.categories[name]:
            return ""
        return _UNSEEN.format(listed([plain(each) for each in feature.categories]))

    def _broken_number(self, feature: Feature, value: Any) -> str:
        if isinstance(value, bool):
            return _NO_NUMBER
        if not isinstance(value, int | float) or abs(value) == inf:
            return ""  # which the table says more about
        if isinstance(value, int) and abs(value) > EXACT and feature.step is not None:
            return _BEYOND
        most = self._most[str(feature.name)]
        return _TOO_LARGE.format(most) if abs(value) > TAKEN * most else ""

    @cached_property
    def _most(self) -> dict[str, float]:
        """The largest number of each column."""
        return {
            str(name): most_of(self.schema.form.number_type(index))
            for index, name in enumerate(self.schema.names)
        }

    def _has_columns(
        self, name: str, row: Mapping[str, Any], how_many: Callable[[Iterable[bool]], bool] = all
    ) -> bool:
        """Tell whether a row has all columns of a group, or any."""
        group = self._groups.get(name)
        return group is not None and how_many(str(column) in row for column in group.columns)

    def _cell(self, column: Any, row: Mapping[str, Any]) -> Any:
        """Find the value of a column of the caller's table in a row."""
        name = str(column)
        if name in row:
            value, categories = row[name], self.categories.get(name)
            return value if categories is None else categories.get(key_of(value), value)
        group = self._groups[self._owners[name]]
        category = self.categories[str(group.name)].get(key_of(row[str(group.name)]))
        if category not in group.every:  # of a group that may not change: its columns then encode nothing
            return None
        return int(category == group.categories[group.columns.index(column)])

    @cached_property
    def _columns(self) -> tuple[Any, ...]:
        return tuple(self.schema.form.caller.names)

    @cached_property
    def features(self) -> dict[str, Feature]:
        """The features, by their names as texts."""
        features = {str(feature.name): feature for feature in self.schema.features}
        if len(features) < len(self.schema.features):
            raise TypeError("Some columns have the same name as a text; JSON cannot tell them apart.")
        return features

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.features)

    @cached_property
    def _groups(self) -> dict[str, Group]:
        form = self.schema.form
        return {str(each.name): each for each in form.groups} if isinstance(form, GroupedFormat) else {}

    @cached_property
    def _owners(self) -> dict[str, str]:
        """The group that each dummy column belongs to."""
        return {str(column): name for name, group in self._groups.items() for column in group.columns}

    @cached_property
    def categories(self) -> dict[str, dict[Any, Any]]:
        """The categories of each feature that has any, by `key_of` what they are in JSON."""
        return {
            name: by_wire(feature.categories)
            for name, feature in self.features.items()
            if feature.is_categorical
        }


def most_of(dtype: np.dtype[Any] | None) -> float:
    """Tell the largest number that is described for a column."""
    return MOST_SMALL if dtype is not None and dtype.kind == "f" and dtype.itemsize < 8 else MOST


def by_wire(values: Iterable[Any]) -> dict[Any, Any]:
    """Map values as JSON has them to what they stand for: a client may send 1 for 1.0, and a date as text.

    Examples
    --------
    >>> by_wire([1.0, "1", True])[key_of(1)]
    1.0
    """
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(key_of(plain(value)), value)
    return found


def key_of(value: Any) -> Any:
    """Make a key that tells texts, numbers and truth values apart; what is no single value is its own."""
    if isinstance(value, list | dict):
        return ("other", short(value))
    kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value)
    return kind, value


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text)


def _refused(problems: Sequence[Problem], what: str) -> RefusedError:
    """Refuse rows for what is wrong with them."""
    first = problems[0].said(f"{what}[{problems[0].row}]")
    rows = len({each.row for each in problems})
    more = f"{len(problems):,} values in {rows:,} row{'s' * (rows != 1)} cannot be taken. The first: "
    return RefusedError(first if len(problems) == 1 else more + first, problems[:LISTED])
