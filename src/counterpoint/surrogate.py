"""A surrogate of the black box: learned on the known instances, and far cheaper a row.

It says how much a row looks like flipping, so that the black box is asked about the promising rows first.
What flips is still the black box's word alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from counterpoint.bounds import Mask
from counterpoint.schema import Row, Rows
from counterpoint.task import Task

# A value seen so seldom counts as if seen this often at the overall rate.
PRIOR = 5.0


@dataclass(frozen=True)
class Surrogate:
    """Weights of evidence, as in credit scoring: how much each value speaks for a flip, in log-odds.

    The score of a row is the sum of its values' weights, so that the score of two changes is known from those
    of each, and nothing needs to be trained but counts: it costs a look-up a feature. It misses how features
    work together, and still ranks pairs of changes about as well as a boosted forest does.
    """

    cuts: tuple[Row, ...]
    weights: tuple[Row, ...]
    is_category: Mask

    @classmethod
    def of(cls, task: Task, bins: int = 16) -> Self:
        """Find the surrogate for a task's question, learned at the first call."""
        return task.once(("surrogate", bins), lambda: cls._fit(task, bins))

    @classmethod
    def _fit(cls, task: Task, bins: int) -> Self:
        rows, flips = task.known.rows, task.flips(task.known.labels)
        is_category = task.known.distance.is_category
        cuts, weights = [np.empty(0)] * rows.shape[1], [np.zeros(2)] * rows.shape[1]
        for f in task.features.tolist():  # what cannot change speaks for nothing
            cuts[f] = _cuts(rows[:, f], is_category[f], bins)
            weights[f] = _weights(_place(rows[:, f], cuts[f], is_category[f]), flips, len(cuts[f]) + 2)
        return cls(tuple(cuts), tuple(weights), is_category)

    def score(self, rows: Rows) -> Row:
        """Say how much rows look like flipping: a sum of log-odds, higher is more.

        Rows may be arranged in any shape, features last; so are their scores.
        """
        total = np.zeros(rows.shape[:-1])
        for feature, (cut, weights) in enumerate(zip(self.cuts, self.weights, strict=True)):
            if weights.any():  # what cannot change speaks for nothing
                total += weights[_place(rows[..., feature], cut, self.is_category[feature])]
        return total

    def gain(self, values: Rows, own: Rows, feature: NDArray[np.intp]) -> Rows:
        """Say how much more changed values speak for a flip than x's own do; one column a change."""
        starts = np.flatnonzero(np.diff(feature, prepend=-1))
        before = self._weights_of(own[:, starts], feature[starts])
        return self._weights_of(values, feature) - np.repeat(before, np.diff([*starts, len(feature)]), axis=1)

    def _weights_of(self, values: Rows, feature: NDArray[np.intp]) -> Rows:
        """Look up the weights of values of many features at once; one column a feature."""
        cuts, counts, weights = self._tables
        counts, category = counts[feature], self.is_category[feature]
        places = np.empty(values.shape, dtype=np.intp)
        places[:, category] = values[:, category]  # a category lies between two cuts, in the order of codes
        numbers = values[:, ~category]
        places[:, ~category] = (cuts[feature[~category]] <= numbers[..., None]).sum(axis=-1)
        places = np.minimum(places, counts)
        return np.asarray(weights[feature, np.where(np.isnan(values), counts + 1, places)])

    @cached_property
    def _tables(self) -> tuple[Rows, NDArray[np.intp], Rows]:
        """Cuts of numbers, how many there are of any, and weights, filled up to a line a feature."""
        cuts = [
            cut[:0] if category else cut for cut, category in zip(self.cuts, self.is_category, strict=True)
        ]
        return _filled(cuts, np.inf), np.array([len(cut) for cut in self.cuts]), _filled(self.weights, 0.0)


def _filled(lines: Sequence[Row], value: float) -> Rows:
    """Fill lines up to the length of the longest."""
    table = np.full((len(lines), max(map(len, lines), default=0)), value)
    for place, line in enumerate(lines):
        table[place, : len(line)] = line
    return table


def _cuts(column: Row, is_category: bool, bins: int) -> Row:
    """Divide a feature's values: between any two categories, at quantiles and at equal widths of numbers."""
    if is_category:
        return np.asarray(np.arange(np.nanmax(column)) + 0.5, dtype=np.float64)
    known = column[~np.isnan(column)]
    if not len(known):
        return np.asarray(known)
    inner = np.linspace(0, 1, bins + 1)[1:-1]
    # Of halves, because the largest floats lie further apart than a float can say.
    half = known / 2
    # Quantiles alone see nothing of a feature that is 0 for most.
    return np.unique(
        2 * np.concatenate([np.quantile(half, inner), np.quantile([half.min(), half.max()], inner)])
    )


def _place(column: Row, cuts: Row, is_category: bool) -> NDArray[np.intp]:
    """Find the bin of each value; a missing one has the last, for itself."""
    if is_category:  # a category lies between two cuts, in the order of codes
        return np.minimum(column.astype(np.intp), len(cuts))
    places = np.searchsorted(cuts, column, side="right")
    missing = np.isnan(column)
    if missing.any():
        places[missing] = len(cuts) + 1
    return places


def _weights(places: NDArray[np.intp], flips: NDArray[np.bool_], size: int) -> Row:
    """Weigh each bin: the log of its odds of flipping over the overall odds."""
    rate = np.clip(flips.mean(), 1e-6, 1 - 1e-6)
    for_, against = np.bincount(places[flips], minlength=size), np.bincount(places[~flips], minlength=size)
    odds = (for_ + PRIOR * rate) / (against + PRIOR * (1 - rate))
    return np.asarray(np.log(odds * (1 - rate) / rate))
