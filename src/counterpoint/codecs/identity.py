"""ECE_I: every cell of an instance is a feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from counterpoint.codecs.base import Signals
from counterpoint.data.types import Rows


@dataclass
class Identity:
    """Every cell (pixel, time step) is a feature. Nothing is lost, and every cell can change on its own.

    Examples
    --------
    >>> codec = Identity().fit(np.zeros((5, 2, 3)))
    >>> codec.encode(np.ones((1, 2, 3)))
    array([[1., 1., 1., 1., 1., 1.]])
    >>> codec.cells
    array([[0, 1, 2],
           [3, 4, 5]])
    """

    def fit(self, X: Signals) -> Self:
        """Learn the shape of instances."""
        self.shape_ = X.shape[1:]
        return self

    @property
    def is_fitted(self) -> bool:
        """Whether the shape is known."""
        return hasattr(self, "shape_")

    @property
    def cells(self) -> NDArray[np.intp]:
        """The latent feature of each cell."""
        return np.arange(int(np.prod(self.shape_))).reshape(self.shape_)

    def encode(self, X: Signals) -> Rows:
        """Flatten each instance into a row."""
        return np.asarray(X, dtype=np.float64).reshape(len(X), -1)

    def decode(self, Z: Rows) -> Signals:
        """Reshape rows into instances."""
        return Z.reshape(len(Z), *self.shape_)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was learned."""
        return {"shape": np.array(self.shape_, dtype=np.int64)}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return a fitted codec from the result of `arrays`."""
        codec = type(self)()
        codec.shape_ = tuple(arrays["shape"].tolist())
        return codec
