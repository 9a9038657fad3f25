"""Read a column of the caller's table into floats: numbers as they are, categories as codes.

A value that cannot be read is a fault, not an error: faults are collected, so that one bad row does not stop
the others. An immutable feature may hold anything: values it has not seen before are added to it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.dates import Calendar
from counterpoint.data.feature import Feature, category_key
from counterpoint.data.marks import MARKS, NANS, is_missing, mark_indices
from counterpoint.data.problems import Problem, Unreadable, listed
from counterpoint.data.tables import EXACT, Column
from counterpoint.data.types import Mask, Row
from counterpoint.data.written import is_exact


class Fault(NamedTuple):
    """Rows of a column that cannot be read, and why."""

    rows: NDArray[np.intp]
    reason: str


class Reading(NamedTuple):
    """A column as floats.

    Attributes
    ----------
    feature
        What the floats mean. New values of an immutable feature are added to it.
    numbers
        One float per row; meaningless where there is a fault.
    faults
        What could not be read.
    new
        The values that were added to the feature; the dtype of the column may be unable to hold them.
    """

    feature: Feature
    numbers: Row
    faults: tuple[Fault, ...] = ()
    new: tuple[Any, ...] = ()

    def problems(self, values: Column) -> list[Problem]:
        """Name each value that could not be read."""
        return [
            Problem(row, self.feature.name, _given(values[row]), fault.reason)
            for fault in self.faults
            for row in fault.rows.tolist()
        ]


def read_column(
    feature: Feature, values: Column, dtype: np.dtype[Any] | None = None, objects: bool = False
) -> Reading:
    """Read a column; `dtype` is the dtype of its numbers, if it limits them.

    In a column of `objects`, the type of a category counts too: True, 1 and 1.0 are three categories.

    Examples
    --------
    >>> read_column(Feature("job", kind="categorical", categories=("clerk", "smith")), np.array(["smith"]))
    Reading(feature=..., numbers=array([1.]), faults=(), new=())
    """
    if feature.is_categorical:
        return _read_categories(feature, values, objects)
    return _read_numbers(feature, values, dtype)


def _read_categories(feature: Feature, values: Column, objects: bool) -> Reading:
    missing = is_missing(values)
    codes, unusable = _codes(_by_type if objects else _by_value, feature, np.asarray(values, dtype=object))
    codes[missing] = _gap_codes(feature, objects)[mark_indices(values[missing])]
    unseen = codes < 0
    if not unseen.any():
        return Reading(feature, codes)
    unseen &= ~unusable
    faults = _faults((unusable, _UNHASHABLE)) + _unreadable(values, unseen)
    if feature.immutable:
        return _widened(feature, values, codes, unseen, missing)._replace(faults=faults)
    known = f" Known: {listed(feature.categories)}."
    faults += _faults((unseen & missing, _MISSING + known), (unseen & ~missing, _UNSEEN + known))
    return Reading(feature, codes, faults)


def _unreadable(values: Column, unseen: Mask) -> tuple[Fault, ...]:
    """List what was unreadable from the start, and take it from the values that are unseen."""
    reasons: dict[str, list[int]] = {}
    for row in np.flatnonzero(unseen).tolist():
        if isinstance(values[row], Unreadable):
            reasons.setdefault(values[row].reason, []).append(row)
            unseen[row] = False
    return tuple(Fault(np.array(rows), reason) for reason, rows in reasons.items())


def _codes(look_up: Callable[[Feature, Column], Row], feature: Feature, values: Column) -> tuple[Row, Mask]:
    """Look up the codes of values, -1 for unknown ones, and mark those that cannot be looked up."""
    try:
        return look_up(feature, values), np.zeros(len(values), dtype=np.bool_)
    except TypeError:
        unusable = np.fromiter(map(_is_unhashable, values), dtype=np.bool_, count=len(values))
        usable = values.copy()
        usable[unusable] = None
        return look_up(feature, usable), unusable


def _by_value(feature: Feature, values: Column) -> Row:
    return _found(feature.index, feature.index_codes, values)


def _by_type(feature: Feature, values: Column) -> Row:
    if set(map(type, values)) <= {str, *_MARK_TYPES} and feature.by_type.keys() == {str}:
        return _by_value(feature, values)  # the common case, and much faster
    values = np.fromiter(map(_plain, values), dtype=object, count=len(values))
    codes = np.full(len(values), -1.0)
    indices, kinds = pd.factorize(np.fromiter(map(type, values), dtype=object, count=len(values)))
    for index, kind in enumerate(kinds):
        if kind in feature.by_type:
            mine = np.flatnonzero(indices == index)
            codes[mine] = _found(*feature.by_type[kind], values[mine])
    return codes


# The types of the marks for missing values; no string is equal to any of them.
_MARK_TYPES = frozenset(map(type, MARKS.values()))


def _found(index: pd.Index, codes: NDArray[np.int64], values: Column) -> Row:
    indices = index.get_indexer(pd.Index(values, dtype=object, tupleize_cols=False))
    return np.asarray(np.append(codes, -1)[indices], dtype=np.float64)


def _gap_codes(feature: Feature, objects: bool) -> Row:
    """Return the code of each mark of a missing category; an unknown mark gets the first code.

    Only an immutable feature can keep such a mark: the mark is added to it.
    """
    first = next(iter(feature.gaps.values()), -1)
    other = -1 if objects and feature.immutable else first
    return np.array([feature.gaps.get(mark, other) for mark in MARKS], dtype=np.float64)


def _is_unhashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return True
    return False


def _widened(feature: Feature, values: Column, codes: Row, unseen: Mask, missing: Mask) -> Reading:
    """Add new categories to a feature, after the known ones, in order of first appearance."""
    found: dict[Hashable, Any] = {}
    names, marks = tuple(MARKS), []
    for row in np.flatnonzero(unseen).tolist():
        mark = names[mark_indices(values[row : row + 1])[0]] if missing[row] else None
        value = None if mark else _plain(values[row])
        key = mark or category_key(value)
        if mark and key not in found:
            marks.append(mark)
        _, index = found.setdefault(key, (value, len(found)))
        codes[row] = len(feature.categories) + index
    new = tuple(value for value, _ in found.values())
    marked = (*(feature.missing_as if feature.gaps else ()), *marks) or feature.missing_as
    widened = replace(feature, categories=(*feature.categories, *new), missing_as=marked)
    return Reading(widened, codes, new=new)


def _read_numbers(feature: Feature, values: Column, dtype: np.dtype[Any] | None) -> Reading:
    if feature.calendar is not None:
        return _read_dates(feature, feature.calendar, values)
    missing = is_missing(values)
    numbers, no_number = _floats(values, missing)
    whole = feature.step is not None or values.dtype.kind in "iu"
    infinite = np.isinf(numbers)
    beyond = _beyond(values, numbers, feature.step) & whole & ~infinite
    no_float = _no_float(values) if feature.written == "Decimal" else np.zeros_like(missing)
    held, lost, rule = _held(numbers, dtype)
    if feature.immutable:
        inexact = _differ(values, numbers, beyond)
        return _kept(feature, held, missing, lost | infinite)._replace(
            faults=_faults((no_number, _NO_NUMBER), (inexact, _INEXACT), (no_float & ~inexact, _NO_FLOAT))
        )
    return Reading(
        feature,
        held,
        _faults(
            (no_number, _NO_NUMBER),
            (beyond, _BEYOND),
            (no_float & ~beyond, _NO_FLOAT),
            (missing & (not feature.missing), _MISSING),
            (infinite, _INFINITE),
            (lost & ~infinite & ~beyond, rule),
        ),
    )


def _read_dates(feature: Feature, calendar: Calendar, values: Column) -> Reading:
    numbers, no_date, inexact = calendar.numbers(values)
    low, high = calendar.limits
    beyond = (numbers < low) | (numbers > high)
    zone = f" in a time zone, as the column is ({calendar.zone})" if calendar.zone else " without a time zone"
    faults = _faults(
        (no_date, _NO_DATE.format(zone)),
        (inexact, _NOT_IN_UNIT.format(_UNITS[calendar.unit])),
        (beyond & ~inexact, _BEYOND_DATES),
    )
    missing = is_missing(values)
    if feature.immutable:
        return _kept(feature, numbers, missing, np.zeros_like(missing))._replace(faults=faults)
    return Reading(feature, numbers, faults + _faults((missing & (not feature.missing), _MISSING)))


def _kept(feature: Feature, numbers: Row, missing: Mask, odd: Mask) -> Reading:
    """Accept numbers of an immutable feature as they are, even where no known instance has such a number."""
    gone = bool(missing.any()) and not feature.missing
    new = (*np.unique(numbers[odd]).tolist(), *([None] * gone))
    return Reading(replace(feature, missing=True) if gone else feature, numbers, new=new)


def _beyond(values: Column, numbers: Row, step: float | None) -> Mask:
    """Mark numbers that are too many steps from 0 to be exact as floats."""
    size = np.abs(numbers)
    return np.asarray((size > EXACT * min(1, step or 1)) | _differ(values, numbers, size == EXACT))


def _differ(values: Column, numbers: Row, where: Mask) -> Mask:
    """Mark the values, among some, that a float cannot hold exactly."""
    differ = np.zeros(len(values), dtype=np.bool_)
    for row in np.flatnonzero(where).tolist():
        differ[row] = int(values[row]) != int(numbers[row])
    return differ


def _no_float(values: Column) -> Mask:
    """Mark Decimals with more digits than a float has."""
    wrong = (isinstance(value, Decimal) and not is_exact(value) for value in values)
    return np.fromiter(wrong, dtype=np.bool_, count=len(values))


def _floats(values: Column, missing: Mask) -> tuple[Row, Mask]:
    """Turn values into floats, and tell which of them are not numbers."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64), np.zeros(len(values), dtype=np.bool_)
    wrong = ~missing & _is_text(values)
    numbers = np.full(len(values), np.nan)
    numbers[missing] = np.array(list(NANS.values()))[mark_indices(values[missing])]
    fine = ~missing & ~wrong
    try:
        numbers[fine] = values[fine].astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        for row in np.flatnonzero(fine).tolist():
            try:
                numbers[row] = float(values[row])
            except (TypeError, ValueError, OverflowError):
                wrong[row] = True
    return numbers, wrong


def _is_text(values: Column) -> Mask:
    """Mark strings and dates, some of which numpy would turn into numbers."""
    if values.dtype == object:
        found = (isinstance(value, str | bytes) for value in values)
        return np.fromiter(found, dtype=np.bool_, count=len(values))
    return np.full(len(values), values.dtype.kind in "UScmM")


def _held(numbers: Row, dtype: np.dtype[Any] | None) -> tuple[Row, Mask, str]:
    """Round numbers to what their column's dtype can hold, so that the model gets nothing else.

    Also tells which numbers the dtype cannot hold, and why; these stay as they are.
    """
    if dtype is None or (dtype.kind == "f" and dtype.itemsize >= 8):
        return numbers, np.zeros(len(numbers), dtype=np.bool_), ""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            held = np.where(np.isnan(numbers), numbers, numbers.astype(dtype).astype(np.float64))
        lost, rule = np.isinf(held), f"numbers of {dtype}"
    else:
        limits, held = np.iinfo(dtype), numbers
        lost = (numbers != np.rint(numbers)) | (numbers < limits.min) | (numbers > limits.max)
        lost, rule = lost & ~np.isnan(numbers), f"whole numbers ({dtype})"
    cure = f"The column holds {rule}. Give one of these, or make the column float64 and fit again."
    return np.where(lost, numbers, held), lost, cure


def _faults(*found: tuple[Mask, str]) -> tuple[Fault, ...]:
    return tuple(Fault(np.flatnonzero(where), reason) for where, reason in found if where.any())


def _given(value: Any) -> Any:
    """Return a value as the caller gave it."""
    return value.value if isinstance(value, Unreadable) else _plain(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


_UNSEEN = (
    "No known instance has this category. Give a known one, or fit again with known instances that have it."
)
_MISSING = (
    "It is missing, but in no known instance. Fill it in, or fit again with known instances in which it is "
    "missing."
)
_INFINITE = "It is infinite. Replace it with a number, or with NaN if it is missing."
_NO_NUMBER = "It is not a number. Give a number, or name the column in categorical= and fit again."
_BEYOND = (
    "It is a whole number beyond 2**53, where floats are not exact. Name the column in immutable= or "
    "categorical= if it is an id."
)
_NO_FLOAT = (
    "It has more digits than a float can hold. Give fewer, or name the column in immutable= or categorical=."
)
_UNITS = {"D": "days", "s": "seconds", "ms": "milliseconds", "us": "microseconds"}
_NO_DATE = "It is not a date{}. Give a date, such as datetime.date(2024, 2, 29) or '2024-02-29T12:00'."
_NOT_IN_UNIT = "The column holds dates to {}, and it has smaller parts. Round it."
_BEYOND_DATES = "It is a date too far away to be counted exactly. Give one from 1684 to 2255."
_INEXACT = (
    "It is a whole number that a float cannot hold exactly, unlike the known ones. Name the column in "
    "categorical= and fit again."
)
_UNHASHABLE = "It cannot be a category. Split the column into columns of numbers or categories."
