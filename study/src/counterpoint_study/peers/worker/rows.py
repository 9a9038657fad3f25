"""Rows of codes, and the data frames that some peers want instead.

A code is a category's number, or a number as it is. A missing category is a category of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Codes = NDArray[np.float64]


class Rows:
    """What the columns are, and codes to data frames and back.

    Parameters
    ----------
    columns
        For each column its ``name``, its ``levels`` (the categories as texts; None for a number), how many of
        them (or of its numbers) training has ``seen``, and whether a number is ``whole``.

    Attributes
    ----------
    columns
        The names.
    categorical, continuous, whole
        Places of the columns that are categories, those that are numbers, and those that are whole numbers.
    levels
        The categories of each categorical column, as texts, by its place: first those that training has, then
        those that only the instances have.
    seen
        For each place, how many different values training has.

    Examples
    --------
    >>> age = {"name": "age", "levels": None, "seen": 40, "whole": True}
    >>> job = {"name": "job", "levels": ["cook", "clerk"], "seen": 2, "whole": False}
    >>> rows = Rows([age, job])
    >>> rows.frame(np.array([[31.0, 1.0]])).to_dict("records")
    [{'age': 31, 'job': 'clerk'}]
    >>> rows.codes(pd.DataFrame({"job": ["cook", "king"], "age": [45, 50.5]})).tolist()
    [[45.0, 0.0], [50.5, nan]]
    """

    def __init__(self, columns: Sequence[Mapping[str, Any]]) -> None:
        self.columns: list[str] = [column["name"] for column in columns]
        self.levels: dict[int, list[str]] = {
            place: list(column["levels"])
            for place, column in enumerate(columns)
            if column["levels"] is not None
        }
        self.categorical = list(self.levels)
        self.continuous = [place for place in range(len(columns)) if place not in self.levels]
        self.whole = [place for place, column in enumerate(columns) if column["whole"]]
        self.seen = [int(column["seen"]) for column in columns]
        self._texts = {place: np.array(levels, dtype=object) for place, levels in self.levels.items()}
        self._numbers = {
            place: {text: float(number) for number, text in enumerate(levels)}
            for place, levels in self.levels.items()
        }

    def frame(self, codes: Codes) -> pd.DataFrame:
        """Make a data frame of rows, with categories as strings and whole numbers as integers."""
        codes = np.asarray(codes, dtype=np.float64)
        return pd.DataFrame({name: self._column(codes[:, j], j) for j, name in enumerate(self.columns)})

    def codes(self, frame: pd.DataFrame) -> Codes:
        """Turn a data frame of these columns, in any order, into rows; an unknown category becomes NaN."""
        codes = np.empty((len(frame), len(self.columns)))
        for place, name in enumerate(self.columns):
            values = frame[name]
            if place in self._numbers:
                known = self._numbers[place]
                codes[:, place] = [known.get(str(value), np.nan) for value in values.tolist()]
            else:
                codes[:, place] = pd.to_numeric(values).to_numpy(dtype=np.float64)
        return codes

    def _column(self, codes: Codes, place: int) -> Any:
        if place in self._texts:
            return pd.Series(self._texts[place][codes.astype(np.int64)]).astype(str)
        if place in self.whole and np.array_equal(codes, np.rint(codes)):
            return codes.astype(np.int64)
        return codes
