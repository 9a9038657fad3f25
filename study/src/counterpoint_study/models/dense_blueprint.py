"""What a trained dense network is: how a table becomes its input, and its weights.

A blueprint answers by itself, in numpy, in float64 and on one thread, so an answer hardly depends on how many
rows are asked at once. Saved, it can be rebuilt wherever numpy is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint._util.blas import one_thread_of_blas

Floats = NDArray[np.float64]

# Rows answered at a time: few enough that every layer's output stays small and near.
BLOCK = 4096


@dataclass(frozen=True)
class Column:
    """How one column of a table becomes numbers.

    Parameters
    ----------
    name
        The column's name in the table.
    levels
        The categories, each of which becomes a 0 or 1; None for a number.
    mean, scale
        A number x becomes (x - mean) / scale, and a missing one 0. Not used for categories.

    Examples
    --------
    >>> Column("age", None, mean=40.0, scale=10.0).encode(pd.Series([30, 45, None])).tolist()
    [[-1.0], [0.5], [0.0]]
    >>> Column("sex", ("female", "male")).encode(pd.Series(["male", "unheard of"])).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """

    name: str
    levels: tuple[str, ...] | None
    mean: float = 0.0
    scale: float = 1.0

    @classmethod
    def of(cls, series: pd.Series) -> Column:
        """Learn a column from its values; what is not a number is a category."""
        if not pd.api.types.is_numeric_dtype(series.dtype):
            return cls(str(series.name), tuple(sorted({str(value) for value in series.dropna().unique()})))
        values = _numbers(series)
        if np.isnan(values).all():
            return cls(str(series.name), None)
        return cls(str(series.name), None, float(np.nanmean(values)), float(np.nanstd(values)) or 1.0)

    @property
    def width(self) -> int:
        """How many numbers the column becomes."""
        return 1 if self.levels is None else len(self.levels)

    def encode(self, series: pd.Series) -> Floats:
        """Turn values into rows of numbers; a category that is not a level becomes all zeros."""
        encoded = np.zeros((len(series), self.width))
        if self.levels is None:
            encoded[:, 0] = (_numbers(series) - self.mean) / self.scale
            encoded[np.isnan(encoded)] = 0.0
            return encoded
        names = map(str, series.tolist())
        places = np.fromiter(map(self._places.get, names, repeat(-1)), dtype=np.intp, count=len(series))
        known = np.flatnonzero(places >= 0)
        encoded[known, places[known]] = 1.0
        return encoded

    @cached_property
    def _places(self) -> dict[str, int]:
        return {level: place for place, level in enumerate(self.levels or ())}


@dataclass(frozen=True, eq=False)
class Blueprint:
    """All that a trained network is: how its input is made, and its weights.

    Parameters
    ----------
    columns
        The table's columns; the network's input is what they become, side by side in this order.
    layers
        Weights (inputs × outputs) and biases of each layer. There is a ReLU after each but the last, and a
        softmax after the last.

    Examples
    --------
    >>> age = Column("age", None, mean=40.0, scale=10.0)
    >>> blueprint = Blueprint((age,), ((np.array([[0.0, 1.0]]), np.zeros(2)),))
    >>> blueprint.predict_proba(pd.DataFrame({"age": [40, 50]})).round(2).tolist()
    [[0.5, 0.5], [0.27, 0.73]]
    """

    columns: tuple[Column, ...]
    layers: tuple[tuple[Floats, Floats], ...]

    def encode(self, frame: pd.DataFrame) -> Floats:
        """Turn a table into the network's input."""
        _check(frame, [column.name for column in self.columns])
        return np.hstack([column.encode(frame[column.name]) for column in self.columns])

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """Give every row's probability of each class."""
        with one_thread_of_blas():
            if len(frame) <= BLOCK:
                return self._answer(frame)
            starts = range(0, len(frame), BLOCK)
            return np.vstack([self._answer(frame.iloc[start : start + BLOCK]) for start in starts])

    def _answer(self, frame: pd.DataFrame) -> Floats:
        """Run a block of rows through the layers."""
        signal = self.encode(frame)
        *inner, (weights, biases) = self.layers
        for inner_weights, inner_biases in inner:
            signal = np.maximum(signal @ inner_weights + inner_biases, 0.0)
        return _softmax(signal @ weights + biases)

    def save(self, path: str | Path) -> None:
        """Write the blueprint to an ``.npz`` file that bare numpy can read, without pickle.

        Its arrays: ``names``, ``means`` and ``scales``, one entry a column; ``levels_<i>`` for each column i
        (from 0) that is a category, and for no other; ``weights_<j>`` (inputs × outputs) and ``biases_<j>``
        for each layer j from 0.
        """
        arrays: dict[str, NDArray[Any]] = {
            "names": np.array([column.name for column in self.columns], dtype=np.str_),
            "means": np.array([column.mean for column in self.columns]),
            "scales": np.array([column.scale for column in self.columns]),
        }
        for place, column in enumerate(self.columns):
            if column.levels is not None:
                arrays[f"levels_{place}"] = np.array(column.levels, dtype=np.str_)
        for place, (weights, biases) in enumerate(self.layers):
            arrays |= {f"weights_{place}": weights, f"biases_{place}": biases}
        # Opened here, because numpy would add an ending to a bare name.
        with Path(path).open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)


def _numbers(series: pd.Series) -> Floats:
    numbers: Floats = series.to_numpy(dtype=np.float64)
    return numbers


def _softmax(scores: Floats) -> Floats:
    # Less the largest, so that no exponential is infinite.
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _check(frame: pd.DataFrame, names: list[str]) -> None:
    """Say which columns are missing."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"The table lacks the columns {missing}: give all that the network learned from.")
