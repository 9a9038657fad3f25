"""Rows of numbers only, for the peers that know nothing else: scaled numbers, and a 0 or 1 a category."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from .rows import Codes, Rows

Floats = NDArray[np.float64]

# Peers compute in float32, which cannot hold most values exactly: what moved by less has not moved.
UNMOVED = 1e-6


class ScaledOneHot:
    """Codes to rows of numbers and back.

    A number is scaled so that training's values lie between `low` and `high`. A category becomes a column for
    each of its levels that training has, 1 for its own and 0 for the others.

    Parameters
    ----------
    rows
        What the columns of the codes are.
    train
        The training instances as codes.
    order
        Places of the features in the order in which their columns are to stand; by default, as they are.
    low, high
        Where the least and the largest of training's numbers are to lie.

    Examples
    --------
    >>> age = {"name": "age", "levels": None, "seen": 3, "whole": True}
    >>> job = {"name": "job", "levels": ["cook", "clerk"], "seen": 2, "whole": False}
    >>> space = ScaledOneHot(Rows([age, job]), np.array([[20.0, 0.0], [40.0, 1.0], [60.0, 1.0]]))
    >>> space.encode(np.array([[30.0, 1.0]])).tolist()
    [[0.25, 0.0, 1.0]]
    >>> space.decode(np.array([[0.26, 0.7, 0.5]])).tolist()
    [[30.4, 0.0]]
    >>> space.answers(np.array([[0.26, 0.2, 0.5]]), np.array([30.0, 1.0])).tolist()
    [[30.0, 1.0]]
    """

    def __init__(
        self,
        rows: Rows,
        train: Codes,
        order: Sequence[int] | None = None,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        self.rows = rows
        self.order = list(range(len(rows.columns))) if order is None else list(order)
        self.low, self.high = low, high
        least, most = train.min(axis=0), train.max(axis=0)
        spans = np.where(most > least, most - least, 1.0)
        # A number x stands as (x - offset) / step.
        self.step = spans / (high - low)
        self.offset = least - low * self.step
        self._slices: dict[int, slice] = {}
        self.width = 0
        for place in self.order:
            wide = rows.seen[place] if place in rows.levels else 1
            self._slices[place] = slice(self.width, self.width + wide)
            self.width += wide

    def slice(self, place: int) -> slice:
        """Return the columns of a feature."""
        return self._slices[place]

    def columns(self, places: Iterable[int]) -> list[int]:
        """Return the numbers of all columns of some features, feature after feature."""
        return [column for place in places for column in range(self.width)[self._slices[place]]]

    def encode(self, codes: Codes) -> Floats:
        """Turn codes into rows; a category that training has not seen becomes all zeros."""
        encoded = np.zeros((len(codes), self.width))
        for place, columns in self._slices.items():
            if place in self.rows.levels:
                encoded[:, columns] = codes[:, [place]] == np.arange(columns.stop - columns.start)
            else:
                encoded[:, columns] = (codes[:, [place]] - self.offset[place]) / self.step[place]
        return encoded

    def decode(self, encoded: NDArray[np.floating]) -> Codes:
        """Turn rows into codes: the category with the largest column, and numbers unscaled."""
        codes = np.empty((len(encoded), len(self.rows.columns)))
        for place, columns in self._slices.items():
            if place in self.rows.levels:
                codes[:, place] = encoded[:, columns].argmax(axis=1)
            else:
                codes[:, place] = encoded[:, columns.start] * self.step[place] + self.offset[place]
        return codes

    def answers(self, encoded: NDArray[np.floating], x: Codes) -> Codes:
        """Turn a peer's answers for an instance into codes of possible instances.

        Whole numbers are rounded, as every user of such a peer would have to do: a number of years with a
        fraction is no instance. That may undo an answer. A feature that was not moved keeps its very value.
        """
        codes = self.decode(encoded)
        codes[:, self.rows.whole] = np.rint(codes[:, self.rows.whole])
        unmoved = np.abs(encoded - self.encode(x[None])) <= UNMOVED
        for place, columns in self._slices.items():
            codes[unmoved[:, columns].all(axis=1), place] = x[place]
        return codes
