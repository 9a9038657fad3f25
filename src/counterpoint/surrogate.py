"""A surrogate of the black box: learned on the known instances, and far cheaper a row.

It says how much a row looks like flipping, so that the black box is asked about the promising rows first.
What flips is still the black box's word alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier

from counterpoint.schema import Row, Rows
from counterpoint.task import Task

# Enough known instances to learn in which direction a decision changes.
MOST = 5000


@dataclass(frozen=True)
class Surrogate:
    """A boosted model of which rows flip; categories are coded by how often they do.

    It runs on one core whatever the machine has, so answers do not depend on the number of cores.
    """

    model: GradientBoostingClassifier | None
    rates: dict[int, Row]
    median: Row

    @classmethod
    def of(cls, task: Task) -> Surrogate:
        """Find the surrogate for a task's question, learned at the first call."""
        return task.once("surrogate", lambda: cls._fit(task))

    @classmethod
    def _fit(cls, task: Task) -> Surrogate:
        known = task.known.sample(task.rng(), MOST)
        flips = task.flips(known.labels)
        if flips.all() or not flips.any():
            return cls(None, {}, known.distance.median)
        rates = {int(f): _rates(known.rows[:, f], flips) for f in known.schema.categorical}
        model = GradientBoostingClassifier(
            n_estimators=60, max_depth=4, learning_rate=0.2, subsample=0.5, random_state=task.stream[0]
        )
        surrogate = cls(model, rates, known.distance.median)
        model.fit(surrogate._coded(known.rows), flips)
        return surrogate

    def score(self, rows: Rows) -> Row:
        """Say how much rows look like flipping: log-odds, or 0 for all where no known instance tells."""
        if self.model is None or not len(rows):
            return np.zeros(len(rows))
        return np.asarray(self.model.decision_function(self._coded(rows)))

    def _coded(self, rows: Rows) -> Rows:
        coded = np.where(np.isnan(rows), self.median, rows)
        for feature, rates in self.rates.items():
            coded[:, feature] = rates[rows[:, feature].astype(np.intp)]
        return coded


def _rates(codes: Row, flips: NDArray[np.bool_]) -> Row:
    """Find how often each category flips, drawn towards the overall rate where it is rare."""
    places = codes.astype(np.intp)
    size = int(places.max()) + 2
    counts = np.bincount(places, minlength=size)
    return np.asarray((np.bincount(places, flips, minlength=size) + 10 * flips.mean()) / (counts + 10))
