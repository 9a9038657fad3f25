"""The columns of a table as plain values, which JSON can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.data.marks import is_missing
from counterpoint.data.tables import TableFormat
from counterpoint.model.adapters.layouts import Array

# The name that the Open Inference Protocol has for each kind of numpy's dtypes, without its size in bits.
_KINDS = {"f": "FP", "i": "INT", "u": "UINT"}
TEXT, DATES = "BYTES", "datetime"

# What pandas calls the values of a column of objects, and the datatype that holds them.
_OBJECTS = {
    "string": TEXT,
    "empty": TEXT,
    "boolean": "BOOL",
    "integer": "INT64",
    "floating": "FP64",
    "mixed-integer-float": "FP64",
    "decimal": "FP64",
    "datetime64": DATES,
    "datetime": DATES,
    "date": DATES,
}


@dataclass(frozen=True)
class Column:
    """A column: its name, its values with None where one is missing, and its datatype.

    The datatype is that of the Open Inference Protocol, or "datetime" for dates, which are written as text.
    """

    name: str
    values: list[Any]
    datatype: str


def columns_of(frame: Any) -> list[Column]:
    """Read the columns of a pandas or polars frame, or of a two-dimensional array.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [31.5, None], "job": ["clerk", "smith"]})
    >>> for column in columns_of(frame):
    ...     print(column)
    Column(name='age', values=[31.5, None], datatype='FP64')
    Column(name='job', values=['clerk', 'smith'], datatype='BYTES')
    """
    form = TableFormat.of(frame)
    return [_column(str(name), values) for name, values in zip(form.names, form.columns(frame), strict=True)]


def datatype_of(dtype: np.dtype[Any]) -> str | None:
    """Return the datatype of numpy's numbers and bools; None for any other dtype.

    Examples
    --------
    >>> datatype_of(np.dtype("f4")), datatype_of(np.dtype(bool)), datatype_of(np.dtype("U3"))
    ('FP32', 'BOOL', None)
    """
    if dtype.kind == "b":
        return "BOOL"
    return f"{_KINDS[dtype.kind]}{8 * min(dtype.itemsize, 8)}" if dtype.kind in _KINDS else None


def plain(array: Array) -> Any:
    """Turn an array of numbers or bools into nested lists, with None for NaN.

    Examples
    --------
    >>> plain(np.array([[1.5, np.nan]]))
    [[1.5, None]]
    """
    if array.dtype.kind != "f":
        return array.tolist()
    values = array.astype(object)
    values[np.isnan(array)] = None
    return values.tolist()


def _column(name: str, values: Array) -> Column:
    datatype = datatype_of(values.dtype)
    if datatype is not None:
        return Column(name, plain(values), datatype)
    gone = is_missing(values)
    found = pd.api.types.infer_dtype(values[~gone], skipna=True)
    if found not in _OBJECTS:
        raise TypeError(
            f"A remote model is sent numbers, bools, texts and dates, got {found} values in the column "
            f"{name!r}; give the column one of these types."
        )
    datatype = _OBJECTS[found]
    if datatype == "INT64" and gone.any():
        datatype = "FP64"  # whole numbers cannot be missing
    known = [None if missing else value for value, missing in zip(values.tolist(), gone, strict=True)]
    return Column(name, [None if value is None else _WRITE[datatype](value) for value in known], datatype)


def _written_date(value: Any) -> str:
    return str(pd.Timestamp(value).isoformat())


_WRITE: dict[str, Any] = {
    TEXT: str,
    "BOOL": bool,
    "INT64": int,
    "FP64": float,
    DATES: _written_date,
}
