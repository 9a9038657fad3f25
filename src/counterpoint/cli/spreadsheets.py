"""Texts in csv files that a spreadsheet would run as formulas, written so that it shows them instead."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

# A cell that begins so is a formula to a spreadsheet; a plain number is not.
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)", re.IGNORECASE)


def quoted(cell: Any) -> Any:
    """Put an apostrophe before a text that a spreadsheet would run; leave everything else as it is.

    Examples
    --------
    >>> quoted("=1+1"), quoted("clerk"), quoted("-5"), quoted(-5)
    ("'=1+1", 'clerk', '-5', -5)
    """
    is_run = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_run else cell


def quoted_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Quote the texts of a table, and the names of its columns.

    Examples
    --------
    >>> quoted_table(pd.DataFrame({"job": ["@clerk", "smith"], "age": [-1, 31]}))
          job  age
    0  '@clerk   -1
    1   smith   31
    """
    texts = [index for index, dtype in enumerate(frame.dtypes) if not pd.api.types.is_numeric_dtype(dtype)]
    frame = frame.copy(deep=False)
    for index in texts:
        column = frame.iloc[:, index]
        if column.map(lambda cell: quoted(cell) is not cell).any():
            frame.isetitem(index, column.astype(object).map(quoted))
    frame.columns = [quoted(name) for name in frame.columns]
    return frame
