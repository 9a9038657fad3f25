"""From a column of the caller's to floats: numbers as they are, categories as codes.

What cannot be read is a fault, not an error: all of them are collected, so that one bad row need not stop the
others. What may not change may hold anything: an immutable feature is widened by what it has not seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.feature import EXACT, MARKS, Feature, Mask, Row
from counterpoint.problems import Problem, listed
from counterpoint.tables import Column, is_missing, missing_value


class Fault(NamedTuple):
    """Rows of a column that cannot be read, and why."""

    rows: NDArray[np.intp]
    reason: str


class Reading(NamedTuple):
    """A column as floats.

    Attributes
    ----------
    feature
        What the floats mean: an immutable feature that holds something new is widened by it.
    numbers
        One float per row; of no meaning where there is a fault.
    faults
        What could not be read.
    new
        What the feature was widened by, which the dtype of the column may not hold.
    """

    feature: Feature
    numbers: Row
    faults: tuple[Fault, ...] = ()
    new: tuple[Any, ...] = ()

    def problems(self, values: Column) -> list[Problem]:
        """Name each value that could not be read."""
        return [
            Problem(row, self.feature.name, _plain(values[row]), fault.reason)
            for fault in self.faults
            for row in fault.rows.tolist()
        ]


def read_column(feature: Feature, values: Column, dtype: np.dtype[Any] | None = None) -> Reading:
    """Read a column; `dtype` is that of its numbers, if it limits them.

    Examples
    --------
    >>> read_column(Feature("job", kind="categorical", categories=("clerk", "smith")), np.array(["smith"]))
    Reading(feature=..., numbers=array([1.]), faults=(), new=())
    """
    return (
        _read_categories(feature, values) if feature.is_categorical else _read_numbers(feature, values, dtype)
    )


def _read_categories(feature: Feature, values: Column) -> Reading:
    missing = is_missing(values)
    codes, unusable = _codes(feature, np.asarray(values, dtype=object))
    codes[missing] = -1 if feature.missing_code is None else feature.missing_code
    unseen = codes < 0
    if not unseen.any():
        return Reading(feature, codes)
    unseen &= ~unusable
    faults = _faults((unusable, _UNHASHABLE))
    if feature.immutable:
        return _widened(feature, values, codes, unseen, missing)._replace(faults=faults)
    known = f" Known: {listed(feature.categories)}."
    faults += _faults((unseen & missing, _MISSING + known), (unseen & ~missing, _UNSEEN + known))
    return Reading(feature, codes, faults)


def _codes(feature: Feature, values: Column) -> tuple[Row, Mask]:
    """Look up the codes of values, -1 for one that has none, and mark those that cannot be looked up."""
    unusable = np.zeros(len(values), dtype=np.bool_)
    try:
        places = feature.index.get_indexer(pd.Index(values, dtype=object))
    except TypeError:
        unusable = np.fromiter(map(_is_unhashable, values), dtype=np.bool_, count=len(values))
        usable = values.copy()
        usable[unusable] = None
        places = feature.index.get_indexer(pd.Index(usable, dtype=object))
    return np.append(feature.index_codes, -1)[places].astype(np.float64), unusable


def _is_unhashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return True
    return False


def _widened(feature: Feature, values: Column, codes: Row, unseen: Mask, missing: Mask) -> Reading:
    """Give a feature further categories, after all known ones, in order of first appearance."""
    places, found = pd.factorize(np.asarray(values[unseen], dtype=object))
    gone = bool((unseen & missing).any())
    new = (*(_plain(value) for value in found), *([None] * gone))
    # What is missing has the place -1 here, and the last of the new codes.
    codes[unseen] = len(feature.categories) + np.where(places < 0, len(found), places)
    mark = missing_value(values)
    marked: Any = next((text for text, value in MARKS.items() if gone and value is mark), feature.missing_as)
    widened = replace(feature, categories=(*feature.categories, *new), missing_as=marked)
    return Reading(widened, codes, new=new)


def _read_numbers(feature: Feature, values: Column, dtype: np.dtype[Any] | None) -> Reading:
    missing = is_missing(values)
    numbers, no_number = _floats(values, missing)
    whole = feature.step is not None or values.dtype.kind in "iu"
    infinite = np.isinf(numbers)
    beyond = _beyond(values, numbers) & whole & ~infinite
    held, lost, rule = _held(numbers, dtype)
    if feature.immutable:
        inexact = _differ(values, numbers, beyond)
        return _kept(feature, held, missing, lost | infinite)._replace(
            faults=_faults((no_number, _NO_NUMBER), (inexact, _INEXACT))
        )
    return Reading(
        feature,
        held,
        _faults(
            (no_number, _NO_NUMBER),
            (beyond, _BEYOND),
            (missing & (not feature.missing), _MISSING),
            (infinite, _INFINITE),
            (lost & ~infinite & ~beyond, rule),
        ),
    )


def _kept(feature: Feature, numbers: Row, missing: Mask, odd: Mask) -> Reading:
    """Take numbers of an immutable feature as they are, although no known one is like them."""
    gone = bool(missing.any()) and not feature.missing
    new = (*np.unique(numbers[odd]).tolist(), *([None] * gone))
    return Reading(replace(feature, missing=True) if gone else feature, numbers, new=new)


def _beyond(values: Column, numbers: Row) -> Mask:
    """Mark what lies beyond the whole numbers that are all exact as floats."""
    size = np.abs(numbers)
    return np.asarray((size > EXACT) | _differ(values, numbers, size == EXACT))


def _differ(values: Column, numbers: Row, where: Mask) -> Mask:
    """Mark values that a float does not hold exactly, of some."""
    differ = np.zeros(len(values), dtype=np.bool_)
    for row in np.flatnonzero(where).tolist():
        differ[row] = int(values[row]) != int(numbers[row])
    return differ


def _floats(values: Column, missing: Mask) -> tuple[Row, Mask]:
    """Turn values into floats, and tell which of them are no numbers."""
    if values.dtype.kind in "biuf":
        return values.astype(np.float64), np.zeros(len(values), dtype=np.bool_)
    wrong = ~missing & _is_text(values)
    numbers = np.full(len(values), np.nan)
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
    """Mark texts and dates, some of which numpy would turn into numbers."""
    if values.dtype == object:
        found = (isinstance(value, str | bytes) for value in values)
        return np.fromiter(found, dtype=np.bool_, count=len(values))
    return np.full(len(values), values.dtype.kind in "UScmM")


def _held(numbers: Row, dtype: np.dtype[Any] | None) -> tuple[Row, Mask, str]:
    """Bring numbers to what their column's dtype can hold, so that the model is asked about nothing else.

    It also tells which ones that dtype cannot hold, which stay as they are, and why.
    """
    if dtype is None or (dtype.kind == "f" and dtype.itemsize >= 8):
        return numbers, np.zeros(len(numbers), dtype=np.bool_), ""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            held = numbers.astype(dtype).astype(np.float64)
        lost, rule = np.isinf(held), f"numbers of {dtype}"
    else:
        limits, held = np.iinfo(dtype), numbers
        lost = (numbers != np.rint(numbers)) | (numbers < limits.min) | (numbers > limits.max)
        lost, rule = lost & ~np.isnan(numbers), f"whole numbers ({dtype})"
    cure = f"The column holds {rule}. Give such a one, or make the column float64 and fit again."
    return np.where(lost, numbers, held), lost, cure


def _faults(*found: tuple[Mask, str]) -> tuple[Fault, ...]:
    return tuple(Fault(np.flatnonzero(where), reason) for where, reason in found if where.any())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


_UNSEEN = (
    "No known instance has this category. Give a known one, or fit again with known instances that have it."
)
_MISSING = (
    "It is missing, as in no known instance. Fill it in, or fit again with known instances in which it is "
    "missing."
)
_INFINITE = "It is infinite. Replace it by a number, or by NaN if it is missing."
_NO_NUMBER = "It is not a number. Give one, or name the column in categorical= and fit again."
_BEYOND = (
    "It is a whole number beyond 2**53, which is not exact as a float. Name the column in immutable= or "
    "categorical= if it is an id."
)
_INEXACT = (
    "It is a whole number that is not exact as a float, unlike the known ones. Name the column in "
    "categorical= and fit again."
)
_UNHASHABLE = "It cannot be a category. Turn the column into columns of numbers or categories."
