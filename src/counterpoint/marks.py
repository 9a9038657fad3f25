"""What stands for a missing value: NaN, None, pandas' NA, which also stands for the null of Arrow and polars.

Inside, a missing number is a NaN whose last bits say which of these it was, as R tells NA from NaN. So a row
can give back what the caller's table held, and arithmetic sees a NaN like any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MARKS: dict[str, Any] = {"nan": np.nan, "None": None, "NA": pd.NA, "NaT": pd.NaT}

_BITS = np.array([np.nan]).view(np.uint64) | np.arange(len(MARKS), dtype=np.uint64)
_PLACES = {id(mark): place for place, mark in enumerate(MARKS.values())}

# The NaN of each mark.
NANS: dict[str, float] = dict(zip(MARKS, _BITS.view(np.float64), strict=True))


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which values are missing, whatever stands for them.

    Examples
    --------
    >>> is_missing(np.array(["a", None, np.nan], dtype=object))
    array([False,  True,  True])
    """
    return np.asarray(pd.isna(values), dtype=np.bool_)


def mark_places(missing: NDArray[Any]) -> NDArray[np.intp]:
    """Find the place in `MARKS` of what stands for each of some missing values.

    Examples
    --------
    >>> mark_places(np.array([None, np.nan], dtype=object)), mark_places(np.array([NANS["None"]]))
    (array([1, 0]), array([1]))
    """
    if missing.dtype == np.object_:
        return np.array([_PLACES.get(id(value), 0) for value in missing], dtype=np.intp)
    if missing.dtype != np.float64:
        return np.zeros(len(missing), dtype=np.intp)
    last = np.ascontiguousarray(missing).view(np.uint64) ^ _BITS[0]
    return np.where(last < len(MARKS), last, 0).astype(np.intp)


def marks_in(values: NDArray[Any]) -> tuple[str, ...]:
    """List what stands for missing values, the first found first.

    Examples
    --------
    >>> marks_in(np.array(["a", None, np.nan], dtype=object))
    ('None', 'nan')
    """
    names = tuple(MARKS)
    places = pd.unique(mark_places(values[is_missing(values)]))
    return tuple(names[place] for place in places)


def nulls(numbers: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which numbers are missing as None or NA, rather than NaN."""
    missing = np.isnan(numbers)
    missing[missing] = mark_places(numbers[missing]) > 0
    return missing
