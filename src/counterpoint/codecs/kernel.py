"""ECE_K: each window of an instance is a feature, represented by its mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from counterpoint.codecs.base import Signals
from counterpoint.data.types import Rows


@dataclass
class Kernel:
    """Windows that do not overlap, encoded as their means and decoded as constant blocks.

    Only blocks whose mean a counterfactual changes become constant; all others keep x's cells exactly.

    Parameters
    ----------
    window
        Length of a window: one number for all axes, or one number per axis. With one number, an axis of
        length 1 and the channels of images (the last axis of three) are not split into windows. Series with
        several channels take a pair, such as ``(1, 4)``: each channel has its own windows. The last window
        of an axis may be smaller.

    Examples
    --------
    >>> series = np.array([[1.0, 3.0, 5.0, 5.0, 9.0]])
    >>> codec = Kernel(2).fit(series)
    >>> codec.encode(series)
    array([[2., 5., 9.]])
    >>> codec.decode(codec.encode(series))
    array([[2., 2., 5., 5., 9.]])
    """

    window: int | Sequence[int] = 4

    def __post_init__(self) -> None:
        sizes = [self.window] if isinstance(self.window, int | np.integer) else list(self.window)
        if not sizes or not all(isinstance(size, int | np.integer) and size >= 1 for size in sizes):
            raise ValueError(
                f"Kernel.window must be a whole number >= 1, or one per axis, got {self.window!r}."
            )

    def fit(self, X: Signals) -> Self:
        """Learn the shape of instances."""
        self.shape_ = X.shape[1:]
        self.__dict__.pop("cells", None)
        self.__dict__.pop("_sorted", None)
        if not isinstance(self.window, int | np.integer) and len(self.window) != len(self.shape_):
            raise ValueError(
                f"Kernel.window must have one number for each of the {len(self.shape_)} axes of an instance "
                f"of shape {self.shape_}, got {tuple(self.window)}."
            )
        return self

    @property
    def is_fitted(self) -> bool:
        """Whether the shape is known."""
        return hasattr(self, "shape_")

    @cached_property
    def cells(self) -> NDArray[np.intp]:
        """The window of each cell."""
        labels = np.zeros(self.shape_, dtype=np.intp)
        for axis, (length, size) in enumerate(zip(self.shape_, self._sizes(), strict=True)):
            blocks = np.arange(length) // size
            along = np.expand_dims(blocks, tuple(i for i in range(len(self.shape_)) if i != axis))
            labels = labels * (blocks[-1] + 1) + along
        return labels

    def encode(self, X: Signals) -> Rows:
        """Compute the mean of each window."""
        order, starts, counts = self._sorted
        flat = np.asarray(X, dtype=np.float64).reshape(len(X), -1)
        return np.asarray(np.add.reduceat(flat[:, order], starts, axis=1) / counts)

    def decode(self, Z: Rows) -> Signals:
        """Fill each window with its mean."""
        return np.take(Z, self.cells.ravel(), axis=1).reshape(len(Z), *self.shape_)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was learned."""
        return {"shape": np.array(self.shape_, dtype=np.int64)}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return a fitted codec from the result of `arrays`."""
        codec = type(self)(self.window)
        codec.shape_ = tuple(arrays["shape"].tolist())
        return codec

    def _sizes(self) -> list[int]:
        """Return the length of a window along each axis."""
        if not isinstance(self.window, int | np.integer):
            return [int(size) for size in self.window]
        images_of_channels = len(self.shape_) == 3
        return [
            1 if length == 1 or (images_of_channels and axis == 2) else int(self.window)
            for axis, length in enumerate(self.shape_)
        ]

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Order cells by their window; where each window starts, and how many cells it has."""
        flat = self.cells.ravel()
        counts = np.bincount(flat)
        return np.argsort(flat, kind="stable"), np.cumsum(counts) - counts, counts
