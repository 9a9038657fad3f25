"""Brute force over pairs of changes, in the order that a surrogate finds promising."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterpoint.data.types import Indices, Rows
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.search.grouped import smallest
from counterpoint.search.single_changes import Singles
from counterpoint.search.surrogate import Surrogate
from counterpoint.search.task import Question, Search, Task

# How many log-odds one unit of distance costs: the first asks for what surely flips, the last for the near.
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
        How many variations are tried.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> guided = Guided().fit(lambda rows: rows[:, 0] > 1, X)
    >>> guided.explain(np.array([-1.0, 0.0, 0.0]), k=1).changes["feature"].tolist()
    ['x0']
    """

    bins: int = 10
    singles: int = 60
    candidates: int = 300
    seed: int = 0

    changes_one_by_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least(1, self, "bins", "singles", "candidates")

    def search(self, task: Task) -> Search:
        """Ask about the most promising single changes and pairs of them."""
        singles = Singles.of(task, self.bins)
        feature = singles.feature
        score = Surrogate.of(task).gain(singles.values, task.home[:, feature], feature)
        first = promising(score, singles.prices, task.affordable(self.singles))
        instance = np.repeat(np.arange(len(task)), first.shape[1])
        candidates = [Question(singles.rows(task, instance, first.ravel()), instance)]
        if task.max_changes != 1 and first.shape[1] > 1:
            a, b = np.triu_indices(first.shape[1], 1)
            # Scores and prices are sums over features, so those of a pair are known from its parts.
            pair_score = np.take_along_axis(score, first, 1)
            pair_price = np.take_along_axis(singles.prices, first, 1)
            pair_price = pair_price[:, a] + pair_price[:, b]
            pair_price[feature[first[:, a]] == feature[first[:, b]]] = np.inf
            count = task.affordable(self.candidates - self.singles)
            best = promising(pair_score[:, a] + pair_score[:, b], pair_price, count)
            instance = np.repeat(np.arange(len(task)), best.shape[1])
            one, other = first[instance, a[best].ravel()], first[instance, b[best].ravel()]
            pairs = singles.rows(task, instance, one)
            pairs[np.arange(len(instance)), feature[other]] = singles.values[instance, other]
            candidates.append(Question(pairs, instance))
        rows, instance = (np.concatenate(parts) for parts in zip(*candidates, strict=True))
        yield Question(rows, instance)


def promising(score: Rows, price: Rows, count: int) -> Indices:
    """Find, for each instance, the candidates with the best score for their price.

    There are several rates of exchange between the two, and each has its share of the result.
    """
    if count >= score.shape[1]:
        return np.broadcast_to(np.arange(score.shape[1]), score.shape)
    share = max(1, count // len(RATES))
    costs = [rate * price - score for rate in RATES]
    return np.concatenate([smallest(cost, share) for cost in costs], axis=1)
