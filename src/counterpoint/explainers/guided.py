"""All actions of one feature, then pairs of them, with the values that a surrogate finds promising."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Indices, Mask, Rows
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.search.grouped import nearest, smallest
from counterpoint.search.scan import scan
from counterpoint.search.single_changes import Singles
from counterpoint.search.surrogate import Surrogate
from counterpoint.search.task import Question, Search, Task

# How many log-odds one unit of distance costs: the first asks for what surely flips, the last for the near.
RATES = (1.0, 4.0, 16.0)

# The shares of the pairs that are tried with the values of each rate.
SHARES = (0.7, 0.15, 0.15)

# The scores of all single changes are asked for if at most this many features may change.
SCANNED = 40


@dataclass
class Guided(Explainer):
    """Actions of one feature, and of two that do not flip alone, with the values that a surrogate suggests.

    An action is a feature that rises, falls or takes another category. Brute force over pairs of values has
    thousands of candidates, of which few flip. A surrogate learned on the known instances suggests values for
    each action: one that surely flips if any does, and nearer ones. All actions of one feature are tried
    first. Pairs are made of those that do not flip alone, because the others need no second change.

    Parameters
    ----------
    bins
        Values a continuous feature is tried with, as in `BruteForce`.
    singles
        The most promising actions of one feature, of which pairs are made.
    candidates
        How many pairs are tried.

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
    candidates: int = 240
    seed: int = 0

    changes_one_by_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least(1, self, "bins", "singles", "candidates")

    def search(self, task: Task) -> Search:
        """Ask about the actions of one feature, then about pairs of those that do not flip."""
        if task.has_scores and len(task.features) <= SCANNED:
            yield from self._by_scores(task)
        else:
            yield from self._by_surrogate(task)

    def _by_scores(self, task: Task) -> Search:
        """Ask about what the scores of all single changes promise."""
        scanned = yield from scan(task, self.bins)
        parts = [scanned.alone()]
        if task.max_changes != 1:
            parts += [scanned.pairs(task.affordable(self.candidates // 2)), scanned.combined()]
        yield Question(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _by_surrogate(self, task: Task) -> Search:
        suggested = _Suggested.of(task, self.bins, task.affordable(self.singles))
        flips = task.flips((yield suggested.alone(task)))
        if task.max_changes != 1:
            yield suggested.failing(flips, task.k).pairs(task, task.affordable(self.candidates))


class _Suggested(NamedTuple):
    """The value that a surrogate suggests for each action of one feature: instance × rate × action."""

    changes: Singles
    single: NDArray[np.intp]  # the index of the single change
    score: Rows
    price: Rows  # infinite where there is none

    @classmethod
    def of(cls, task: Task, bins: int, most: int) -> _Suggested:
        """Find the best value of each action at each rate, for the most promising actions."""
        changes = Singles.of(task, bins)
        feature, prices = changes.feature, changes.prices
        score = Surrogate.of(task).gain(changes.values, task.home[:, feature], feature)
        up = (changes.values > task.home[:, feature]) & ~task.is_coded[feature]
        action = 2 * np.searchsorted(np.unique(feature), feature) + up
        single = np.stack([_best_of_each(action, rate * prices - score) for rate in RATES], axis=1)
        surest = RATES[0] * _at(prices, single[:, :1], np.inf) - _at(score, single[:, :1], 0.0)
        single = np.take_along_axis(single, nearest(surest[:, 0], most)[:, None], 2)
        return cls(changes, single, _at(score, single, 0.0), _at(prices, single, np.inf))

    def alone(self, task: Task) -> Question:
        """Ask about each action alone, with the value of each rate."""
        exists = np.isfinite(self.price)
        instance = np.nonzero(exists)[0]
        return Question(self.changes.rows(task, instance, self.single[exists]), instance)

    def failing(self, flips: Mask, k: int) -> _Suggested:
        """Leave out the actions that flip alone, for instances of which k rows flip already."""
        alone = np.zeros(self.price.shape, dtype=np.bool_)
        alone[np.isfinite(self.price)] = flips
        alone &= (alone.sum(axis=(1, 2)) >= k)[:, None, None]
        return self._replace(price=np.where(alone.any(axis=1, keepdims=True), np.inf, self.price))

    def pairs(self, task: Task, count: int) -> Question:
        """Ask about the most promising pairs of actions; both take the values of the same rate."""
        a, b = np.triu_indices(self.single.shape[2], 1)
        picked, left, shared = [], count, 0.0
        for rate, share in enumerate(SHARES):
            shared += share
            take = min(len(a), round(shared * count) - (count - left))
            left -= take
            picked.append(self._best_pairs(rate, a, b, take))
        instance, one, other = (np.concatenate(parts) for parts in zip(*picked, strict=True))
        rows, feature = self.changes.rows(task, instance, one), self.changes.feature
        rows[np.arange(len(rows)), feature[other]] = self.changes.values[instance, other]
        return Question(rows, instance)

    def _best_pairs(self, rate: int, a: Indices, b: Indices, count: int) -> tuple[Indices, ...]:
        """Find the instances and the two single changes of the best pairs at a rate."""
        single, feature = self.single[:, rate], self.changes.feature
        # Scores and prices are sums over features, so those of a pair are known from its parts.
        price = self.price[:, rate][:, a] + self.price[:, rate][:, b]
        price[feature[single[:, a]] == feature[single[:, b]]] = np.inf
        cost = RATES[rate] * price - self.score[:, rate][:, a] - self.score[:, rate][:, b]
        best = smallest(cost, count) if count else np.empty((len(cost), 0), dtype=np.intp)
        instance = np.repeat(np.arange(len(best)), best.shape[1])
        exists = np.isfinite(price[instance, best.ravel()])
        instance, pair = instance[exists], best.ravel()[exists]
        return instance, single[instance, a[pair]], single[instance, b[pair]]


def _best_of_each(action: Indices, cost: Rows) -> Indices:
    """Find the index of the cheapest change of each action; -1 where there is none."""
    best = np.full((len(cost), int(action.max(initial=-1)) + 1), -1, dtype=np.intp)
    order = np.argsort(-cost, axis=1, kind="stable")  # the cheapest last, so that it is the one that stays
    for column in range(order.shape[1]):
        single, each = order[:, column], np.arange(len(cost))
        exists = np.isfinite(cost[each, single])
        best[each[exists], action[each, single][exists]] = single[exists]
    return best


def _at(table: Rows, single: Indices, otherwise: float) -> Rows:
    """Look up single changes, instance × rate × action, in a table of instance × change."""
    flat = np.take_along_axis(table, np.maximum(single, 0).reshape(len(single), -1), 1)
    return np.where(single >= 0, flat.reshape(single.shape), otherwise)
