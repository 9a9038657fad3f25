"""Brute force over pairs of changes, in the order that a surrogate finds promising."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint.explainers.base import Explainer, at_least
from counterpoint.explainers.brute_force import BruteForce
from counterpoint.schema import Row, Rows
from counterpoint.surrogate import Surrogate
from counterpoint.task import Search, Task

# How many log-odds one unit of distance costs: the first asks for what surely flips, the last for what is near.
RATES = (1.0, 4.0, 16.0)


@dataclass
class Guided(Explainer):
    """Variations of x in one or two features, in the order that a surrogate finds promising.

    Brute force over pairs has thousands of candidates, of which the nearest rarely flip. The black box is
    asked about those that, by a surrogate learned on the known instances, look like flipping at the least
    distance.

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
    candidates: int = 300
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "bins", "singles", "candidates")

    def search(self, task: Task) -> Search:
        """Ask about the most promising variations."""
        rows = self._variations(task)
        finds = rows[task.flips((yield rows))]
        return finds[np.argsort(task.distance(finds), kind="stable")][: task.k]

    def _variations(self, task: Task) -> Rows:
        """Make the most promising single changes and pairs of them."""
        singles = BruteForce(bins=self.bins).singles(task)
        score = Surrogate.of(task).score(singles.rows)
        first = promising(score, singles.prices, self.singles)
        if task.max_changes == 1:
            return singles.rows[first]
        a, b = np.nonzero(singles.last[first][:, None] < singles.last[first][None, :])
        # Scores and prices are sums over features, so those of a pair are known from its parts.
        a, b = first[a], first[b]
        best = promising(score[a] + score[b], singles.prices[a] + singles.prices[b], self.candidates - len(first))
        pairs, last = singles.rows[a[best]], singles.last[b[best]]
        pairs[np.arange(len(pairs)), last] = singles.rows[b[best], last]
        return np.concatenate([singles.rows[first], pairs])


def promising(score: Row, price: Row, count: int) -> NDArray[np.intp]:
    """Find the rows with the best score for their price, at several rates of exchange between the two."""
    if count >= len(score):
        return np.arange(len(score))
    share = -(-count // len(RATES))
    return np.unique(np.concatenate([np.argpartition(rate * price - score, share)[:share] for rate in RATES]))
