"""BCE-B: all variations of x in at most n features, by values binned on instances decided differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from counterpoint.data.types import Indices, Row, Rows
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.search.grouped import first_of_each
from counterpoint.search.polish import shrink
from counterpoint.search.single_changes import Singles
from counterpoint.search.task import Search, Task

# Each batch of candidates is this much larger than the one before: few rounds, and few rows if few suffice.
GROWTH = 4


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
        The most variations to try, nearest first.
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
    refine: int = 2
    seed: int = 0

    changes_one_by_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least(1, self, "features", "bins", "candidates")
        at_least(0, self, "refine")

    def search(self, task: Task) -> Search:
        """Try variations in growing batches, nearest first, until k flip; then refine those."""
        variations = self.variations(task)
        finds, instance = [task.x[:0]], [np.empty(0, dtype=np.intp)]
        found, start, size = np.zeros(len(task), dtype=np.intp), 0, max(100, 4 * task.k)
        while start < max(map(len, variations), default=0):
            batches = [
                rows[start : start + size] if have < task.k else rows[:0]
                for rows, have in zip(variations, found, strict=True)
            ]
            question = task.question(batches)
            flips = task.flips((yield question))
            finds.append(question.rows[flips])
            instance.append(question.instance[flips])
            found += np.bincount(question.instance[flips], minlength=len(task))
            start, size = start + size, size * GROWTH
        if self.refine:
            nearest = first_of_each(np.concatenate(instance), task.k)
            yield from shrink(
                task, np.concatenate(finds)[nearest], np.concatenate(instance)[nearest], self.refine
            )

    def variations(self, task: Task) -> list[Rows]:
        """Make the nearest variations of each x, nearest first."""
        singles = Singles.of(task, self.bins)
        return [self._nearest(task, singles, instance) for instance in range(len(task))]

    def _nearest(self, task: Task, singles: Singles, instance: int) -> Rows:
        """Combine single changes of one instance, and keep the nearest results."""
        most = task.affordable(self.candidates)
        prices = singles.prices[instance]
        moved = np.flatnonzero(np.isfinite(prices))
        if len(moved) > most:
            moved = np.sort(moved[np.argsort(prices[moved], kind="stable")[:most]])
        rows = singles.rows(task, np.full(len(moved), instance), moved)
        single = level = _Level(rows, prices[moved], singles.feature[moved])
        levels = [single]
        for _ in range(1, min(self.features, task.max_changes or self.features)):
            level = _extended(level, single, most)
            levels.append(level)
        nearest = np.argsort(np.concatenate([each.prices for each in levels]), kind="stable")
        return np.concatenate([each.rows for each in levels])[nearest[:most]]


class _Level(NamedTuple):
    """Variations of one x that change equally many features."""

    rows: Rows
    prices: Row
    last: Indices  # the last feature that each changes


def _extended(level: _Level, single: _Level, most: int) -> _Level:
    """Change one more feature of each variation, and keep the nearest results."""
    total = level.prices[:, None] + single.prices[None, :]
    total[level.last[:, None] >= single.last[None, :]] = np.inf  # each set of features once
    nearest = np.argsort(total, axis=None, kind="stable")[:most]
    nearest = nearest[np.isfinite(total.ravel()[nearest])]
    base, added = np.unravel_index(nearest, total.shape)
    rows, last = level.rows[base], single.last[added]
    rows[np.arange(len(rows)), last] = single.rows[added, last]
    return _Level(rows, total[base, added], last)
