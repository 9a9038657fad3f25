"""Finds the cuts of numbers: for each threshold, the last possible value on its left, and the next one.

What a pipeline does to a number is not inverted but searched: from a good guess, by bisecting over the
possible values, so that rounding anywhere on the way cannot put a value on the wrong side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.constraints import Grid
from counterpoint.data.schema import EXACT, Schema
from counterpoint.data.types import Indices, Mask, Row, Rows
from counterpoint.model.trees.encoding import Encoding
from counterpoint.model.trees.trees import Trees, UnreadableError

Keys = NDArray[np.int64]

# Floats have 64 bits: a search needs at most as many doublings, and as many halvings.
ROUNDS = 130
# Guesses of floats are off by rounding to float32, somewhere on the way: by up to this many floats.
FIRST_STRIDE = 2**27


@dataclass(frozen=True)
class Cutting:
    """Looks for cuts among the possible values of features.

    `owner` tells which feature each column comes from, and `tried` what columns known values became.
    """

    encoding: Encoding
    trees: Trees
    example: Row
    owner: Indices
    tried: Mapping[int, tuple[Row, Rows]]

    def cuts(self, nodes: Indices) -> tuple[dict[int, tuple[Row, Row]], Indices]:
        """Find the cuts of each feature that nodes ask about, and the index of the cut of each node."""
        place = np.full(len(self.trees.column), -1, dtype=np.intp)
        cuts: dict[int, tuple[Row, Row]] = {}
        first, which = _distinct_pairs(self.trees.column[nodes], self.trees.threshold[nodes])
        asked = nodes[first]
        below, above = self._between(asked)
        features = self.owner[self.trees.column[asked]]
        index = np.empty(len(asked), dtype=np.intp)
        for feature in np.unique(features).tolist():
            mine = features == feature
            ends, index[mine] = np.unique(below[mine], return_inverse=True)
            after = np.empty(len(ends))
            after[index[mine]] = above[mine]
            cuts[feature] = ends, after
        place[nodes] = index[which]
        return cuts, place

    def _between(self, nodes: Indices) -> tuple[Row, Row]:
        """Find, for each node, the last possible value that goes left and the first that goes right.

        From the guess, look further and further away until there is a value on each side; then halve.
        """
        keys = _Keys.of(self.encoding.schema, self.owner[self.trees.column[nodes]])
        low, high = keys.least - 1, keys.most + 1
        probe = keys.number(self._guesses(nodes))
        stride = np.where(keys.is_counted, 1, FIRST_STRIDE >> keys.shift)
        for _ in range(ROUNDS):
            busy = np.flatnonzero(high - 1 > low)
            if not len(busy):
                break
            left = self._is_left(keys.take(busy), probe[busy], nodes[busy])
            low[busy] = np.where(left, probe[busy], low[busy])
            high[busy] = np.where(left, high[busy], probe[busy])
            ahead = np.where(high > keys.most, low + stride, high - stride)
            halved = (low >> 1) + (high >> 1) + (low & high & 1)
            is_open = (high > keys.most) | (low < keys.least)
            probe = np.clip(np.where(is_open, ahead, halved), low + 1, high - 1)
            stride = np.minimum(stride * 2, 2**60)
        return keys.values(low), keys.values(high)

    def _guesses(self, nodes: Indices) -> Row:
        """Guess the value at which each node's column reaches its threshold."""
        guesses = np.empty(len(nodes))
        column, threshold = self.trees.column[nodes], self.trees.threshold[nodes]
        for one in np.unique(column).tolist():
            values, matrix = self.tried[int(self.owner[one])]
            guesses[column == one] = self._guess(values, matrix[:, one], threshold[column == one])
        return guesses

    def _guess(self, values: Row, became: Row, thresholds: Row) -> Row:
        if (np.diff(became) < 0).any():
            raise UnreadableError("a number does not keep its order on the way to its trees")
        if (values == became).all():
            return _last_rounded_to(thresholds, self.trees.strict) if self.trees.narrow else thresholds
        rises = np.append(True, np.diff(became) > 0)
        x, y = values[rises], became[rises]
        if len(x) < 2:
            return np.full(len(thresholds), x[0])
        slope = (x[-1] - x[0]) / (y[-1] - y[0])
        is_straight = np.allclose(x[0] + (y - y[0]) * slope, x, rtol=1e-9)
        return np.asarray(x[0] + (thresholds - y[0]) * slope if is_straight else np.interp(thresholds, y, x))

    def _is_left(self, keys: _Keys, asked: Keys, nodes: Indices) -> Mask:
        """Send rows with these values through the pipeline, and ask the nodes."""
        rows = np.repeat(self.example[None], len(asked), axis=0)
        rows[np.arange(len(asked)), keys.features] = keys.values(asked)
        matrix = self.encoding.matrix(rows)
        return self.trees.goes_left(matrix[np.arange(len(asked)), self.trees.column[nodes]], nodes)


@dataclass(frozen=True)
class _Keys:
    """The possible values of features, counted: whole numbers in the order of the values."""

    grid: Grid
    features: Indices
    least: Keys
    most: Keys

    @classmethod
    def of(cls, schema: Schema, features: Indices) -> _Keys:
        grid, nothing = Grid.of(schema), np.zeros(len(features), dtype=np.int64)
        keys = cls(grid, features, nothing, nothing)
        ends = np.array([_ends(schema, index) for index in range(len(schema.features))]).reshape(-1, 2)
        return cls(grid, features, keys.number(ends[features, 0]), keys.number(ends[features, 1]))

    def take(self, indices: Indices) -> _Keys:
        """Keep some of the features."""
        return _Keys(self.grid, self.features[indices], self.least[indices], self.most[indices])

    def number(self, values: Row) -> Keys:
        """Give each value its number; one that is not possible gets the number of a neighbour."""
        counted = np.rint(np.where(self.is_counted, values, 0.0) / self._steps)
        return np.where(self.is_counted, counted.astype(np.int64), _ordered(values) >> self.shift)

    def values(self, keys: Keys) -> Row:
        """Return the values; beyond the last one, infinity."""
        inside = np.clip(keys, self.least, self.most)
        values = np.where(self.is_counted, inside * self._steps, _floats(inside << self.shift))
        values = self.grid.settle(values, self.features) + 0.0
        values = np.where(keys > self.most, np.inf, values)
        return np.asarray(np.where(keys < self.least, -np.inf, values))

    @property
    def is_counted(self) -> Mask:
        """Which features have steps."""
        return ~np.isnan(self.grid.steps[self.features])

    @property
    def shift(self) -> Keys:
        """How many bits of a float64 the column cannot hold: 29 where it holds float32."""
        shift = np.zeros(len(self.grid.steps), dtype=np.int64)
        for dtype, mask in self.grid.narrow:
            shift[mask] = np.finfo(np.float64).nmant - np.finfo(dtype).nmant
        return np.where(self.is_counted, 0, shift[self.features])

    @property
    def _steps(self) -> Row:
        steps = self.grid.steps[self.features]
        return np.where(np.isnan(steps), 1.0, steps)


def _ends(schema: Schema, index: int) -> tuple[float, float]:
    """Find the least and largest number that a column can hold."""
    feature, dtype = schema.features[index], schema.form.number_type(index)
    if feature.calendar is not None:
        first, last = feature.calendar.limits
        return float(first), float(last)
    if dtype is not None and dtype.kind in "iu":
        return float(max(np.iinfo(dtype).min, -EXACT)), float(min(np.iinfo(dtype).max, EXACT))
    most = float(np.finfo(dtype or np.float64).max)
    most = most if feature.step is None else min(most, EXACT * feature.step)
    return -most, most


def _ordered(values: Row) -> Keys:
    """Give floats numbers in their order: neighbouring floats are neighbouring numbers, and 0.0 is 0.

    Examples
    --------
    >>> _ordered(np.array([-0.0, 0.0, 5e-324]))
    array([0, 0, 1])
    """
    bits = np.ascontiguousarray(values + 0.0).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _floats(keys: Keys) -> Row:
    bits = np.where(keys < 0, np.iinfo(np.int64).min - keys, keys)
    return np.ascontiguousarray(bits).view(np.float64)


def _last_rounded_to(thresholds: Row, strict: bool) -> Row:
    """Guess the last float64 that a model which rounds to float32 sends left: half way between two float32.

    Examples
    --------
    >>> guess = _last_rounded_to(np.array([0.1]), strict=False)[0]
    >>> bool(np.float32(guess) <= 0.1 < np.float32(guess * (1 + 1e-6)))
    True
    """
    with np.errstate(over="ignore"):
        single = thresholds.astype(np.float32)
        beyond = single >= thresholds if strict else single > thresholds
        single = np.where(beyond, np.nextafter(single, np.float32(-np.inf)), single)
        after = np.nextafter(single, np.float32(np.inf))
    return np.asarray((single.astype(np.float64) + after.astype(np.float64)) / 2)


def _distinct_pairs(column: Indices, threshold: Row) -> tuple[Indices, Indices]:
    """Find the first of each pair of equal column and threshold, and which pair each one is."""
    order = np.lexsort([threshold, column])
    column, threshold = column[order], threshold[order]
    new = np.append(True, (column[1:] != column[:-1]) | (threshold[1:] != threshold[:-1]))[: len(order)]
    which = np.empty(len(order), dtype=np.intp)
    which[order] = np.cumsum(new) - 1
    return order[new], which
