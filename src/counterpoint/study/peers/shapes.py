"""Images and series as flat rows of floats and back, for processes that share rows only."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from counterpoint.study.peers.coding import CodeError, Codes

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
