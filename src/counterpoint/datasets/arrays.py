"""Data sets whose instances are arrays: images and time series, with their published split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from counterpoint.datasets.fetch import RawFile, fetch_all

Labels = NDArray[np.int64]
Kind = Literal["image", "series"]


@dataclass(frozen=True, eq=False)
class ArrayDataset:
    """Images or time series with labels, with their published split.

    Parameters
    ----------
    name
        The data set's name.
    kind
        ``"image"`` or ``"series"``.
    X_train, X_test
        Images (n, height, width), float32 in [0, 1], or series (n, length), float64.
    y_train, y_test
        One integer per instance, as published.

    Examples
    --------
    >>> from counterpoint.datasets import load
    >>> power = load("power")
    >>> power
    ArrayDataset(name='power', 67 + 1029 series of 24, 2 classes)
    >>> power.X_train.shape, power.classes.tolist()
    ((67, 24), [1, 2])
    """

    name: str
    kind: Kind
    X_train: NDArray[Any]
    y_train: Labels
    X_test: NDArray[Any]
    y_test: Labels

    @property
    def classes(self) -> Labels:
        """The distinct labels, in order."""
        return np.unique(self.y_train)

    def __repr__(self) -> str:
        things = "images" if self.kind == "image" else "series"
        shape = " x ".join(map(str, self.X_train.shape[1:]))
        return (
            f"ArrayDataset(name={self.name!r}, {len(self.X_train)} + {len(self.X_test)} {things} of {shape}, "
            f"{len(self.classes)} classes)"
        )


@dataclass(frozen=True)
class Arrays:
    """How to make a data set from the raw files of its two parts; `read` takes those of one part."""

    kind: Kind
    train: tuple[RawFile, ...]
    test: tuple[RawFile, ...]
    read: Callable[..., tuple[NDArray[Any], Labels]]

    def load(self, name: str) -> ArrayDataset:
        """Get the raw files and read them."""
        paths: list[Path] = fetch_all((*self.train, *self.test))
        middle = len(self.train)
        return ArrayDataset(name, self.kind, *self.read(*paths[:middle]), *self.read(*paths[middle:]))
