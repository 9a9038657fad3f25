"""Dummy columns: groups of 0/1 columns that encode one category, and how a user declares them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.problems import Unreadable, listed
from counterpoint.data.tables import Column, TableFormat
from counterpoint.data.types import Rows

# The category of a row in which no column of the group is set.
NONE_SET = "none of these"

# What stands between a prefix and a category: purpose_car, purpose=car, purpose: car, purpose[car] and so on.
SEPARATOR = re.compile(r"\[T\.|[_=.:/|\[ -]+")


@dataclass(frozen=True)
class Group:
    """Columns that encode one category.

    Parameters
    ----------
    name
        The name of the feature.
    columns
        The names of the columns.
    categories
        The category that each column stands for.
    none_set
        The category of rows in which no column is set; None if there are no such rows.

    Examples
    --------
    >>> group = Group("home", ("home_own", "home_rent"), ("own", "rent"))
    >>> group.read([np.array([1, 0]), np.array([0, 1])])
    array(['own', 'rent'], dtype=object)
    """

    name: Any
    columns: tuple[Any, ...]
    categories: tuple[Any, ...]
    none_set: Any = None

    @property
    def every(self) -> tuple[Any, ...]:
        """All categories, that of no column last."""
        return self.categories if self.none_set is None else (*self.categories, self.none_set)

    def read(self, columns: Sequence[Column]) -> Column:
        """Read the columns as one column of categories; a row that breaks the group is `Unreadable`."""
        flags = np.column_stack([as_flags(column) for column in columns])
        counts = flags.sum(axis=1)  # NaN if a value is neither 0 nor 1
        codes = np.where(counts == 1, np.nan_to_num(flags).argmax(axis=1), len(self.categories))
        broken = ~(counts <= 1) | ((counts == 0) & (self.none_set is None))
        every = (*self.categories, self.none_set)
        values = np.fromiter(every, dtype=object, count=len(every))[codes]
        for row in np.flatnonzero(broken).tolist():
            given = {name: column[row] for name, column in zip(self.columns, columns, strict=True)}
            values[row] = Unreadable(_shown(given), self._reason)
        return values

    def flags(self, categories: Sequence[Any]) -> Rows:
        """Compute the columns that encode each category: one row per category, one column per column."""
        return np.array(
            [[category == each for each in self.categories] for category in categories], dtype=np.float64
        ).reshape(len(categories), len(self.columns))

    @property
    def _reason(self) -> str:
        allowed = "exactly one" if self.none_set is None else "at most one"
        return (
            f"Its columns encode one category, so {allowed} of them is 1 and the others are 0, as in the "
            f"known instances. Correct the row, or fit with onehot=False if they are not one category."
        )


def as_flags(column: Column) -> NDArray[np.float64]:
    """Turn a column into 0.0 and 1.0; NaN for anything else, such as -0.0, which would not come back."""
    if column.dtype.kind in "biuf":
        numbers = column.astype(np.float64)
    else:
        plain = (float(v) if isinstance(v, bool | int | float | np.number) else np.nan for v in column)
        numbers = np.fromiter(plain, dtype=np.float64, count=len(column))
    return np.where(((numbers == 0) | (numbers == 1)) & ~np.signbit(numbers), numbers, np.nan)


def _shown(given: Mapping[Any, Any]) -> dict[Any, Any]:
    """Show the columns that are not 0, or all if all are."""
    plain = {name: v.item() if isinstance(v, np.generic) else v for name, v in given.items()}
    return {name: value for name, value in plain.items() if not _is_zero(value)} or plain


def _is_zero(value: Any) -> bool:
    return isinstance(value, bool | int | float) and value == 0


def declared(onehot: Any, form: TableFormat, columns: Sequence[Column]) -> tuple[Group, ...]:
    """Read the groups that the user declares: their columns, or columns by category.

    Examples
    --------
    >>> import pandas as pd
    >>> homes = pd.DataFrame({"own": [1, 0, 0], "rent": [0, 1, 0]})
    >>> form = TableFormat.of(homes)
    >>> onehot = {"home": {"own": "own", "rent": "rent", "free": None}}
    >>> declared(onehot, form, form.columns(homes))[0].none_set
    'free'
    """
    if not isinstance(onehot, Mapping):
        raise TypeError(f"onehot must map the names of groups to their columns, or be False, got {onehot!r}.")
    groups = tuple(_declared(name, given, form, columns) for name, given in onehot.items())
    every = [column for group in groups for column in group.columns]
    twice = sorted({str(column) for column in every if every.count(column) > 1})
    if twice:
        raise ValueError(f"onehot must name each column once, got {listed(twice)} more than once.")
    kept = [name for name in form.names if name not in every]
    clash = [group.name for group in groups if group.name in kept]
    if clash:
        raise ValueError(f"onehot names a group {clash[0]!r}, but a column has this name. Give another name.")
    return groups


def _declared(name: Any, given: Any, form: TableFormat, columns: Sequence[Column]) -> Group:
    """Read one group."""
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise TypeError(f"onehot[{name!r}] must list columns, or map categories to columns, got {given!r}.")
    pairs = list(given.items()) if isinstance(given, Mapping) else [(None, column) for column in given]
    named = [(category, _column(name, column, form)) for category, column in pairs if column is not None]
    baseline = [category for category, column in pairs if column is None]
    members = [column for _, column in named]
    if len(members) < 2 - len(baseline) or not members or len(baseline) > 1:
        raise ValueError(
            f"onehot[{name!r}] must name at least two columns, and at most one category without a column, "
            f"got {given!r}."
        )
    for column in members:
        if not form.may_hold_flags(form.names.index(column)):
            dtype = form.dtypes[form.names.index(column)]
            raise TypeError(f"onehot[{name!r}]: {column!r} must hold bools or numbers, got {dtype}.")
    categories = (
        [category for category, _ in named] if isinstance(given, Mapping) else _categories(members, name)
    )
    if any(category is None for category in categories) or len(set(categories)) < len(categories):
        raise ValueError(f"onehot[{name!r}] must name each category once, got {listed(categories)}.")
    flags = np.column_stack([as_flags(columns[form.names.index(column)]) for column in members])
    seen = bool((flags.sum(axis=1) == 0).any())
    none_set = baseline[0] if baseline else free_name(categories) if seen else None
    return Group(name, tuple(members), tuple(categories), none_set)


def _column(name: Any, column: Any, form: TableFormat) -> Any:
    """Find a column; those of an array may also be named by their index."""
    if form.kind == "array" and isinstance(column, int | np.integer) and 0 <= column < len(form.names):
        return form.names[int(column)]
    if column not in form.names:
        raise ValueError(
            f"onehot[{name!r}] must name columns of X, got {column!r}. Known: {listed(form.names)}."
        )
    return column


def _categories(members: Sequence[Any], name: Any) -> list[Any]:
    """Name categories by what follows the columns' common prefix."""
    texts = [str(member) for member in members]
    common = [each for each in prefixes(texts[0]) if all(each in prefixes(text) for text in texts)]
    start = len(common_prefix(texts, common[0][1])) + len(common[0][1]) if common else 0
    if not start and all(text.startswith(str(name)) and len(text) > len(str(name)) for text in texts):
        start = len(str(name))
    rests = [text[start:] for text in texts]
    return rests if len(set(rests)) == len(rests) else list(members)


def prefixes(name: str) -> list[tuple[str, str]]:
    """List what a name may start with, and the separator after it."""
    matches = SEPARATOR.finditer(name)
    found = ((name[: match.start()], match.group(), name[match.end() :]) for match in matches)
    return [(prefix, separator) for prefix, separator, rest in found if prefix and rest]


def common_prefix(names: Sequence[str], separator: str) -> str:
    """Find the longest prefix that all names have before a separator.

    Examples
    --------
    >>> common_prefix(["sex_job_male, single", "sex_job_male, married"], "_")
    'sex_job'
    """
    shared = (each for each in prefixes(names[0]) if all(each in prefixes(name) for name in names))
    return max((prefix for prefix, found in shared if found == separator), key=len)


def free_name(categories: Sequence[Any]) -> str:
    """Name the category of no column, other than all columns' categories."""
    name = NONE_SET
    while name in categories:
        name += "_"
    return name
