"""Brute force over pairs of changes, in the order that a surrogate finds promising."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint.explainers.base import Explainer, at_least
from counterpoint.explainers.brute_force import BruteForce, Level
from counterpoint.schema import Row, Rows
from counterpoint.surrogate import Surrogate
from counterpoint.task import Search, Task

# How many log-odds one unit of distance costs: the first asks for what surely flips, the last for what is near.
RATES = (1.0, 4.0, 16.0)


@dataclass
class Guided(Explainer):
    """Variations of x in one or two features, in the order that a surrogate finds promising.

    Brute force over pairs has thousands of candidates, of which the nearest rarely flip. A boosted surrogate
    of the black box, trained on the known instances, costs a twentieth of it a row; the black box is asked
    about those that look like flipping at the least distance.

    Parameters
    ----------
    bins
        Values a continuous feature is tried with, as in `BruteForce`.
    singles
        The most promising single changes, of which pairs are made.
    candidates
        How many variations the black box is asked about.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> guided = Guided().fit(lambda rows: rows[:, 0] + rows[:, 1] > 1, X)
    >>> guided.explain(np.array([-1.0, 0.0, 0.0]), k=1).changes["feature"].tolist()
    ['x0']
    """

    bins: int = 10
    singles: int = 60
    candidates: int = 150
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "bins", "singles", "candidates")

    def search(self, task: Task) -> Search:
        """Ask about the most promising variations."""
        surrogate = Surrogate.of(task)
        rows, price = self._variations(task, surrogate)
        rows = rows[promising(surrogate.score(rows), price, self.candidates)]
        finds = rows[task.flips((yield rows))]
        return finds[np.argsort(task.distance(finds), kind="stable")][: task.k]

    def _variations(self, task: Task, surrogate: Surrogate) -> tuple[Rows, Row]:
        """Make single changes, and pairs of the most promising of them."""
        brute = BruteForce(bins=self.bins, candidates=self.singles**2)
        singles = brute.singles(task)
        if task.max_changes == 1 or len(singles.rows) < 2:
            return singles.rows, singles.prices
        best = promising(surrogate.score(singles.rows), singles.prices, self.singles)
        few = Level(singles.rows[best], singles.prices[best], singles.last[best])
        pairs = brute.extended(few, few)
        return np.concatenate([singles.rows, pairs.rows]), np.concatenate([singles.prices, pairs.prices])


def promising(score: Row, price: Row, count: int) -> NDArray[np.intp]:
    """Find the rows with the best score for their price, at several rates of exchange between the two."""
    if count >= len(score):
        return np.arange(len(score))
    share = -(-count // len(RATES))
    best = [np.argsort(rate * price - score, kind="stable")[:share] for rate in RATES]
    return np.unique(np.concatenate(best))
