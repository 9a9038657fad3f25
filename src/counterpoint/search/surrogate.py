"""A surrogate of the black box: learned from the known instances, and much cheaper per row.

It estimates how likely a row is to flip, so that the black box is asked about promising rows first.
Whether a row flips is still decided by the black box alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Mask, Row, Rows
from counterpoint.search.task import Task

# The weight of the prior: each bin counts as if it also held this many instances at the overall rate.
PRIOR = 5.0


@dataclass(frozen=True)
class Surrogate:
    """Weights of evidence, as in credit scoring: how strongly each value suggests a flip, in log-odds.

    The score of a row is the sum of the weights of its values. So the score of two changes follows from the
    score of each, training only counts, and scoring takes one look-up per feature. The surrogate ignores
    interactions between features, but ranks pairs of changes about as well as a boosted forest does.
    """

    cuts: tuple[Row, ...]
    weights: tuple[Row, ...]
    is_category: Mask

    @classmethod
    def of(cls, task: Task, bins: int = 16) -> Self:
        """Get the surrogate for a task's question; it is learned at the first call."""
        return task.learned(("surrogate", bins), lambda: cls._fit(task, bins))

    @classmethod
    def _fit(cls, task: Task, bins: int) -> Self:
        rows, flips = task.known.rows, task.flips(task.known.labels)
        is_category = task.is_coded
        cuts, weights = [np.empty(0)] * rows.shape[1], [np.zeros(2)] * rows.shape[1]
        for f in task.features.tolist():  # a feature that cannot change has no weight
            cuts[f] = _cuts(rows[:, f], is_category[f], bins)
            weights[f] = _weights(_bin(rows[:, f], cuts[f], is_category[f]), flips, len(cuts[f]) + 2)
        return cls(tuple(cuts), tuple(weights), is_category)

    def score(self, rows: Rows) -> Row:
        """Score how likely rows are to flip: a sum of log-odds, higher is more likely.

        Rows may have any shape with features last; scores have the same shape without features.
        """
        total = np.zeros(rows.shape[:-1])
        for feature, (cut, weights) in enumerate(zip(self.cuts, self.weights, strict=True)):
            if weights.any():  # a feature that cannot change has no weight
                total += weights[_bin(rows[..., feature], cut, self.is_category[feature])]
        return total

    def gain(self, values: Rows, own: Rows, feature: NDArray[np.intp]) -> Rows:
        """Compute how much more changed values suggest a flip than x's own do; one column per change."""
        starts = np.flatnonzero(np.diff(feature, prepend=-1))
        before = self._weights_of(own[:, starts], feature[starts])
        return self._weights_of(values, feature) - np.repeat(before, np.diff([*starts, len(feature)]), axis=1)

    def _weights_of(self, values: Rows, feature: NDArray[np.intp]) -> Rows:
        """Look up the weights of values of many features at once; one column per feature."""
        cuts, counts, weights = self._tables
        counts, category = counts[feature], self.is_category[feature]
        binned = np.empty(values.shape, dtype=np.intp)
        binned[:, category] = values[:, category]  # cuts lie between the codes of categories
        numbers = values[:, ~category]
        binned[:, ~category] = (cuts[feature[~category]] <= numbers[..., None]).sum(axis=-1)
        binned = np.minimum(binned, counts)
        return np.asarray(weights[feature, np.where(np.isnan(values), counts + 1, binned)])

    @cached_property
    def _tables(self) -> tuple[Rows, NDArray[np.intp], Rows]:
        """Cuts of numbers, the number of cuts, and weights, padded to one row per feature."""
        cuts = [
            cut[:0] if category else cut for cut, category in zip(self.cuts, self.is_category, strict=True)
        ]
        return _filled(cuts, np.inf), np.array([len(cut) for cut in self.cuts]), _filled(self.weights, 0.0)


def _filled(lines: Sequence[Row], value: float) -> Rows:
    """Pad lines to the length of the longest."""
    table = np.full((len(lines), max(map(len, lines), default=0)), value)
    for i, line in enumerate(lines):
        table[i, : len(line)] = line
    return table


def _cuts(column: Row, is_category: bool, bins: int) -> Row:
    """Bin a feature: between any two categories; for numbers, at quantiles and at equal widths."""
    if is_category:
        return np.asarray(np.arange(np.nanmax(column)) + 0.5, dtype=np.float64)
    known = column[~np.isnan(column)]
    if not len(known):
        return np.asarray(known)
    inner = np.linspace(0, 1, bins + 1)[1:-1]
    # Computed on halves, because the difference of the largest floats overflows.
    half = known / 2
    # Quantiles alone miss the spread of a feature that is mostly 0.
    return np.unique(
        2 * np.concatenate([np.quantile(half, inner), np.quantile([half.min(), half.max()], inner)])
    )


def _bin(column: Row, cuts: Row, is_category: bool) -> NDArray[np.intp]:
    """Find the bin of each value; missing values have a bin of their own, the last."""
    if is_category:  # cuts lie between the codes of categories
        return np.minimum(column.astype(np.intp), len(cuts))
    binned = np.searchsorted(cuts, column, side="right")
    missing = np.isnan(column)
    if missing.any():
        binned[missing] = len(cuts) + 1
    return binned


def _weights(binned: NDArray[np.intp], flips: NDArray[np.bool_], size: int) -> Row:
    """Compute the weight of each bin: the log of its odds of flipping relative to the overall odds."""
    rate = np.clip(flips.mean(), 1e-6, 1 - 1e-6)
    for_, against = np.bincount(binned[flips], minlength=size), np.bincount(binned[~flips], minlength=size)
    odds = (for_ + PRIOR * rate) / (against + PRIOR * (1 - rate))
    return np.asarray(np.log(odds * (1 - rate) / rate))
