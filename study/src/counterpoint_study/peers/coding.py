"""Instances as rows of floats and back, for processes that cannot share data frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Codes = NDArray[np.float64]

Instances = TypeVar("Instances")


class CodeError(ValueError):
    """Codes that stand for no instance."""


class Coding(Protocol[Instances]):
    """Instances as rows of floats, which is all that a worker and the study tell each other.

    `codebook.Codebook` is the one for tables, `shapes.Shape` the one for images and series.
    """

    @property
    def width(self) -> int:
        """How many floats an instance is."""
        ...

    @property
    def network_file(self) -> str:
        """What a worker finds the network's weights under: a name for each format of them."""
        ...

    def terms(self) -> dict[str, Any]:
        """Return what a worker must know of the instances."""
        ...

    def encode(self, instances: Instances) -> NDArray[np.floating[Any]]:
        """Turn instances into rows."""
        ...

    def decode(self, codes: Codes) -> Instances:
        """Turn rows into instances."""
        ...

    def check(self, codes: Codes) -> None:
        """Raise `CodeError` unless all rows can be decoded without loss."""
        ...


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its categories, if it has any, and its dtype.

    Parameters
    ----------
    name
        The column's name.
    levels
        The categories, in the order of their codes; None for a number. A missing category is one of them.
    seen
        How many different values training has. Its categories come first.
    dtype
        The column's dtype in the training data.
    """

    name: str
    levels: tuple[Any, ...] | None
    seen: int
    dtype: Any

    @classmethod
    def of(cls, train: pd.Series, instances: pd.Series, categorical: bool) -> Column:
        """Learn a column from the training data and the instances to explain."""
        name, dtype = train.name, train.dtype
        if not isinstance(name, str):
            raise TypeError(f"The columns of X_train must have strings as names, got {name!r}.")
        seen = train.nunique(dropna=False)
        if not categorical:
            if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
                raise TypeError(f"{name!r} holds no numbers but {dtype}: name it in categorical.")
            return cls(name, None, seen, dtype)
        known = {str(value): value for value in train.unique().tolist()}
        new = {str(value): value for value in instances.unique().tolist() if str(value) not in known}
        if len(known) < seen:
            raise ValueError(f"{name!r} has categories that are the same as texts, such as 1 and '1'.")
        texts = [*sorted(known), *sorted(new)]
        return cls(name, tuple((known | new)[text] for text in texts), seen, dtype)

    @property
    def texts(self) -> list[str] | None:
        """The categories as texts."""
        return None if self.levels is None else [str(level) for level in self.levels]

    def plain(self) -> dict[str, Any]:
        """Return what a worker must know of the column."""
        whole = self.levels is None and bool(pd.api.types.is_integer_dtype(self.dtype))
        return {"name": self.name, "levels": self.texts, "seen": self.seen, "whole": whole}

    def encode(self, values: pd.Series) -> Codes:
        """Return a float for each value."""
        if self.levels is None:
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.array([self._numbers[str(value)] for value in values.tolist()], dtype=np.float64)

    def decode(self, codes: Codes) -> pd.Series:
        """Return a value for each float; a category that is none is missing."""
        if self.levels is None:
            # Some peers move whole numbers by fractions. Rounding could undo an answer, so they stay.
            whole = pd.api.types.is_integer_dtype(self.dtype)
            keep = whole and not np.array_equal(codes, np.rint(codes))
            return pd.Series(codes, dtype=np.float64 if keep else self.dtype)
        places = np.where(self.valid(codes), codes, -1.0).astype(np.int64)
        return pd.Series(self._levels.take(places, allow_fill=True), name=self.name)

    def valid(self, codes: Codes) -> NDArray[np.bool_]:
        """Tell which floats stand for something."""
        if self.levels is None:
            return np.ones(len(codes), dtype=np.bool_)
        return np.isin(codes, np.arange(len(self.levels)))

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self.texts or ())}

    @cached_property
    def _levels(self) -> Any:
        return pd.Series(list(self.levels or ()), dtype=self.dtype).array


@dataclass(frozen=True, eq=False)
class Codebook:
    """All columns of the training data.

    Examples
    --------
    >>> train = pd.DataFrame({"age": [31, 45], "job": ["cook", "clerk"]})
    >>> codebook = Codebook.of(train, train, categorical=["job"])
    >>> codebook.encode(train).tolist()
    [[31.0, 1.0], [45.0, 0.0]]
    >>> codebook.decode(np.array([[50.5, 0.0]])).to_dict("records")
    [{'age': 50.5, 'job': 'clerk'}]
    """

    columns: tuple[Column, ...]

    network_file: ClassVar[str] = "blueprint.npz"

    @classmethod
    def of(cls, train: pd.DataFrame, instances: pd.DataFrame, categorical: Sequence[str]) -> Codebook:
        """Learn the columns from the training data and the instances to explain."""
        missing = [name for name in [*train.columns, *categorical] if name not in instances.columns]
        if missing:
            raise ValueError(f"X must have the columns of X_train and of categorical, it has no {missing}.")
        named = set(categorical)
        return cls(tuple(Column.of(train[name], instances[name], name in named) for name in train.columns))

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def terms(self) -> dict[str, Any]:
        """Return what a worker must know of the columns."""
        return {"columns": [column.plain() for column in self.columns]}

    def encode(self, frame: pd.DataFrame) -> Codes:
        """Turn a data frame into rows of codes."""
        return np.column_stack([column.encode(frame[column.name]) for column in self.columns])

    def decode(self, codes: Codes) -> pd.DataFrame:
        """Turn rows of codes into a data frame; a category that is none is missing."""
        codes = codes.reshape(-1, len(self.columns))
        return pd.DataFrame(
            {column.name: column.decode(codes[:, j]) for j, column in enumerate(self.columns)}
        )

    def check(self, codes: Codes) -> None:
        """Raise unless all rows can be decoded without loss."""
        for j, column in enumerate(self.columns):
            wrong = codes[~column.valid(codes[:, j]), j]
            if len(wrong):
                raise CodeError(f"{column.name!r} has no category number {wrong[0]:g}.")


Signals = NDArray[Any]


@dataclass(frozen=True)
class Shape:
    """The shape that all instances have, and their dtype.

    Examples
    --------
    >>> images = np.zeros((5, 2, 3), dtype=np.float32)
    >>> shape = Shape.of(images, images[:1])
    >>> shape.encode(images).shape
    (5, 6)
    >>> answer = shape.decode(np.ones((1, 6)))
    >>> answer.shape, answer.dtype
    ((1, 2, 3), dtype('float32'))
    """

    cells: tuple[int, ...]
    dtype: np.dtype[Any]

    network_file: ClassVar[str] = "convolution.npz"

    @classmethod
    def of(cls, train: Signals, instances: Signals) -> Shape:
        """Learn the shape from the training data, and check that the instances to explain have it too."""
        if train.ndim < 2:
            raise ValueError(
                f"X_train must hold instances of at least one dimension, got the shape {train.shape}."
            )
        if instances.shape[1:] != train.shape[1:]:
            raise ValueError(
                f"The instances of X must have the shape of X_train's, {train.shape[1:]}, "
                f"got {instances.shape[1:]}."
            )
        if not np.issubdtype(train.dtype, np.number) or np.issubdtype(train.dtype, np.complexfloating):
            raise TypeError(f"X_train must hold numbers, got {train.dtype}.")
        return cls(train.shape[1:], train.dtype)

    @property
    def width(self) -> int:
        """How many cells an instance has."""
        return prod(self.cells)

    def terms(self) -> dict[str, Any]:
        """Return what a worker must know: the shape, and that there are no columns to tell apart."""
        return {"shape": self.cells, "columns": []}

    def encode(self, signals: Signals) -> NDArray[np.floating[Any]]:
        """Turn instances into flat rows; 60,000 images of float32 stay float32, half as large."""
        floats = signals if signals.dtype == np.float32 else signals.astype(np.float64)
        return floats.reshape(len(signals), self.width)

    def decode(self, codes: Codes) -> Signals:
        """Turn flat rows into instances of the training data's dtype.

        Fractions stay where the data are whole: rounding could undo an answer.
        """
        signals = codes.reshape(-1, *self.cells)
        whole = np.issubdtype(self.dtype, np.integer)
        keep = whole and not np.array_equal(signals, np.rint(signals))
        return signals if keep else signals.astype(self.dtype)

    def check(self, codes: Codes) -> None:
        """Raise unless all rows have as many values as an instance has cells."""
        if codes.shape[1:] != (self.width,):
            raise CodeError(
                f"An instance has {self.width} cells, and these codes have the shape {codes.shape}."
            )
