"""BCE-B: all variations of x in at most n features, by values binned on instances decided differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.distances import changed
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.polish import shrink
from counterpoint.schema import Row, Rows
from counterpoint.task import Search, Task

# Each batch of candidates is this much larger than the one before: few rounds, and few rows if few suffice.
GROWTH = 4



class Level(NamedTuple):
    """Variations of x that change equally many features."""

    rows: Rows
    prices: Row
    last: NDArray[np.intp]  # the last feature that each changes


@dataclass
class BruteForce(Explainer):
    """All variations of x in at most `features` features, nearest first.

    A continuous feature takes the centres of equal-width bins over the known instances that are decided
    differently, a categorical one the categories they hold. What flips is moved towards x by bisecting.

    Parameters
    ----------
    features
        The paper's n: how many features are varied together.
    bins
        The paper's r.
    candidates
        At most so many variations are asked about, nearest first.
    refine
        Rounds of the line search that moves the finds towards x; 0 for none.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [8.0, 1.0], [9.0, 1.0]])
    >>> BruteForce().fit(lambda rows: rows[:, 0] > 5, X).explain(X[0], k=1).counterfactuals.round(1)
    array([[5.1, 5. ]])
    """

    features: int = 1
    bins: int = 10
    candidates: int = 1000
    refine: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "features", "bins", "candidates")
        at_least(0, self, "refine")

    def search(self, task: Task) -> Search:
        """Ask about variations in growing batches, nearest first, until k flip."""
        rows = self._variations(task)
        finds = rows[:0]
        start, size = 0, max(64, 4 * task.k)
        while start < len(rows) and len(finds) < task.k:
            batch = rows[start : start + size]
            finds = np.concatenate([finds, batch[task.flips((yield batch))]])
            start, size = start + size, size * GROWTH
        finds = finds[: task.k]
        if self.refine and len(finds):
            finds = yield from shrink(task, finds, self.refine)
        return finds[np.argsort(task.distance(finds), kind="stable")][: task.k]

    def _variations(self, task: Task) -> Rows:
        """Make the nearest variations of x, nearest first."""
        singles = level = self.singles(task)
        levels = [singles]
        for _ in range(1, min(self.features, task.max_changes or self.features)):
            level = self._extended(level, singles)
            levels.append(level)
        nearest = np.argsort(np.concatenate([each.prices for each in levels]), kind="stable")
        return np.concatenate([each.rows for each in levels])[nearest[: self.candidates]]

    def singles(self, task: Task) -> Level:
        """Give x each value of each feature, one feature at a time."""
        values = task.once(("values", self.bins), lambda: self._values(task))
        last = np.repeat(list(values), [len(v) for v in values.values()]).astype(np.intp)
        rows = np.repeat(task.x[None], len(last), axis=0)
        rows[np.arange(len(rows)), last] = np.concatenate(list(values.values()) or [np.empty(0)])
        rows = task.project(rows)
        moved = changed(rows, task.x).any(axis=1)
        return Level(rows[moved], task.distance(rows[moved]), last[moved])

    def _extended(self, level: Level, singles: Level) -> Level:
        """Change one more feature of each variation, and keep the nearest results."""
        total = level.prices[:, None] + singles.prices[None, :]
        total[level.last[:, None] >= singles.last[None, :]] = np.inf  # each set of features once
        nearest = np.argsort(total, axis=None, kind="stable")[: self.candidates]
        nearest = nearest[np.isfinite(total.ravel()[nearest])]
        base, single = np.unravel_index(nearest, total.shape)
        rows, last = level.rows[base], singles.last[single]
        rows[np.arange(len(rows)), last] = singles.rows[single, last]
        return Level(rows, total[base, single], last)

    def _values(self, task: Task) -> dict[int, Row]:
        """Find the values that each feature is tried with."""
        unlike = task.unlike()
        return {int(f): self._feature_values(task, unlike[:, f], int(f)) for f in task.features}

    def _feature_values(self, task: Task, column: Row, feature: int) -> Row:
        if task.known.schema.features[feature].is_categorical:
            return np.unique(column)
        numbers = column[~np.isnan(column)]
        missing = column[np.isnan(column)][:1]
        if not len(numbers):
            return missing
        edges = np.linspace(numbers.min(), numbers.max(), self.bins + 1)
        return np.concatenate([np.unique((edges[1:] + edges[:-1]) / 2), missing])
