"""Marks for missing values: NaN, None and pandas' NA, which also stands for the null of Arrow and polars.

Internally, a missing number is a NaN whose last bits say which mark it was, as R distinguishes NA from NaN.
So a row can be turned back into what the caller's table held, and arithmetic treats it like any other NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MARKS: dict[str, Any] = {"nan": np.nan, "None": None, "NA": pd.NA, "NaT": pd.NaT}

_BITS = np.array([np.nan]).view(np.uint64) | np.arange(len(MARKS), dtype=np.uint64)
_MARK_INDICES = {id(mark): index for index, mark in enumerate(MARKS.values())}

# The NaN of each mark.
NANS: dict[str, float] = dict(zip(MARKS, _BITS.view(np.float64), strict=True))


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which values are missing, whatever their mark.

    Examples
    --------
    >>> is_missing(np.array(["a", None, np.nan], dtype=object))
    array([False,  True,  True])
    """
    return np.asarray(pd.isna(values), dtype=np.bool_)


def mark_indices(missing: NDArray[Any]) -> NDArray[np.intp]:
    """Find the index in `MARKS` of the mark of each missing value.

    Examples
    --------
    >>> mark_indices(np.array([None, np.nan], dtype=object)), mark_indices(np.array([NANS["None"]]))
    (array([1, 0]), array([1]))
    """
    if missing.dtype == np.object_:
        return np.array([_MARK_INDICES.get(id(value), 0) for value in missing], dtype=np.intp)
    if missing.dtype != np.float64:
        return np.zeros(len(missing), dtype=np.intp)
    last = np.ascontiguousarray(missing).view(np.uint64) ^ _BITS[0]
    return np.where(last < len(MARKS), last, 0).astype(np.intp)


def marks_in(values: NDArray[Any]) -> tuple[str, ...]:
    """List the marks of missing values, in order of appearance.

    Examples
    --------
    >>> marks_in(np.array(["a", None, np.nan], dtype=object))
    ('None', 'nan')
    """
    names = tuple(MARKS)
    indices = pd.unique(mark_indices(values[is_missing(values)]))
    return tuple(names[index] for index in indices)


def nulls(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which numbers are missing and marked as None or NA, not as NaN."""
    missing = np.isnan(numbers)
    missing[missing] = mark_indices(numbers[missing]) > 0
    return missing
