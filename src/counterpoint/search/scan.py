"""A scan: the scores of all changes of one feature, and what they promise for several features together.

Where the model gives scores, one question about all single changes of x tells how much each gains. Effects in
log-odds nearly add up in many models, so the cheapest values of a pair of actions that should flip are known
before any pair is tried. Whether they do flip is asked, as always.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from counterpoint.data.types import Indices, Mask, Row, Rows
from counterpoint.search.grouped import nearest
from counterpoint.search.single_changes import Singles
from counterpoint.search.task import Question, Scored, Task

# Changes should gain this much more than is needed, as a share of it: effects do not add up exactly.
SLACK = 0.2

# How much lead a unit of distance has to gain, for combinations of any number of features.
RATES = 2.0 ** np.arange(-1, 7)


def scan(task: Task, bins: int) -> Generator[Question, Row, Scan]:
    """Ask for the scores of x and of all its single changes."""
    changes = Singles.spread(task, bins)
    instance, single = np.nonzero(np.isfinite(changes.prices))
    rows = np.concatenate([task.home, changes.rows(task, instance, single)])
    lead = yield Scored(rows, np.concatenate([np.arange(len(task)), instance]))
    own, gain = lead[: len(task)], np.full(changes.prices.shape, -np.inf)
    gain[instance, single] = lead[len(task) :] - own[instance]
    # What has no score gains nothing, and an x without a score needs more than there is.
    return Scan(task, changes, np.nan_to_num(gain, nan=-np.inf), np.nan_to_num(-own, nan=np.inf))


class _Action(NamedTuple):
    """One action: the changes of a feature that go one way, cheapest first; instance × rank."""

    feature: int
    single: Indices
    price: Rows  # infinite where there is no further change, and in one more column
    most: Rows  # the largest gain up to that price
    best: Indices  # the rank of the largest gain of all: one per instance

    def reaching(self, gain: Rows) -> Indices:
        """Find the rank of the cheapest change that gains so much; the number of ranks if none does."""
        return np.asarray((self.most[:, None] < gain[..., None]).sum(axis=-1))


@dataclass(frozen=True)
class Scan:
    """What all changes of one feature gain, instance × change, and what a flip needs."""

    task: Task
    changes: Singles
    gain: Rows
    need: Row

    @cached_property
    def actions(self) -> list[_Action]:
        """All actions of one feature: numbers and ordered categories up and down, others to any category."""
        feature, own = self.changes.feature, self.task.home[:, self.changes.feature]
        up = self.changes.values > own
        found = []
        for each in np.unique(feature).tolist():
            columns = np.flatnonzero(feature == each)
            if self.task.is_category[each]:
                found.append(self._action(each, columns, np.ones((len(up), len(columns)), dtype=np.bool_)))
            else:
                found += [self._action(each, columns, way) for way in (up[:, columns], ~up[:, columns])]
        return found

    def _action(self, feature: int, columns: Indices, mask: Mask) -> _Action:
        price = np.where(mask, self.changes.prices[:, columns], np.inf)
        order = np.argsort(price, axis=1, kind="stable")
        price = np.take_along_axis(price, order, 1)
        gain = np.take_along_axis(self.gain[:, columns], order, 1)
        gain = np.where(np.isfinite(price), gain, -np.inf)
        most, beyond = np.maximum.accumulate(gain, axis=1), np.full((len(price), 1), np.inf)
        price = np.concatenate([price, beyond], axis=1)
        return _Action(feature, columns[order], price, most, gain.argmax(axis=1))

    def alone(self) -> Question:
        """Ask about the actions that should flip alone, with the nearest value that should."""
        instances, singles = [], []
        for action in self.actions:
            rank = action.reaching(self.need[:, None])[:, 0]
            instance = np.flatnonzero(rank < action.single.shape[1])
            instances.append(instance)
            singles.append(action.single[instance, rank[instance]])
        instance = np.concatenate(instances)
        return Question(self.changes.rows(self.task, instance, np.concatenate(singles)), instance)

    def pairs(self, count: int) -> Question:
        """Ask about the cheapest pairs of actions that should flip, then about those that may.

        An action that flips alone needs no second change. It is part of pairs only where fewer than k do.
        """
        need = (1 + SLACK) * np.maximum(self.need, 0.0)
        largest = np.stack([action.most[:, -1] for action in self.actions], axis=1)
        flip_alone = largest > self.need[:, None]
        out = flip_alone & (flip_alone.sum(axis=1) >= self.task.k)[:, None]
        pairs = [
            (a, b)
            for a in range(len(self.actions))
            for b in range(a + 1, len(self.actions))
            if self.actions[a].feature != self.actions[b].feature
        ]
        if not pairs:
            return Question(self.task.x[:0], np.empty(0, dtype=np.intp))
        a, b = np.array(pairs).T
        price, one, other = self._cheapest(need, a, b)
        short = need[:, None] - largest[:, a] - largest[:, b]
        # Pairs that should flip come first, by price; then the others, by what they lack.
        cost = np.where(np.isfinite(price), np.arctan(price), 2.0 + np.arctan(short))
        cost[out[:, a] | out[:, b] | ~np.isfinite(short)] = np.inf
        best = nearest(cost, min(count, len(a)))
        instance, pair = np.repeat(np.arange(len(best)), best.shape[1]), best.ravel()
        instance, pair = (each[np.isfinite(cost[instance, pair])] for each in (instance, pair))
        rows = self.changes.rows(self.task, instance, one[instance, pair])
        other = other[instance, pair]
        rows[np.arange(len(rows)), self.changes.feature[other]] = self.changes.values[instance, other]
        return Question(rows, instance)

    def _cheapest(self, need: Row, a: Indices, b: Indices) -> tuple[Rows, Indices, Indices]:
        """Find the cheapest values of pairs of actions that gain enough, or those that gain most."""
        shape = len(need), len(a)
        price, one, other = np.full(shape, np.inf), np.zeros(shape, np.intp), np.zeros(shape, np.intp)
        each = np.arange(len(need))
        for second in np.unique(b).tolist():
            action = self.actions[second]
            rank = action.reaching(need[:, None] - self.gain)
            rest = np.take_along_axis(action.price, rank, 1)
            for pair in np.flatnonzero(b == second).tolist():
                first = self.actions[a[pair]]
                total = first.price[:, :-1] + np.take_along_axis(rest, first.single, 1)
                best = total.argmin(axis=1)
                price[:, pair] = total[each, best]
                enough = np.isfinite(price[:, pair])
                single = first.single[each, np.where(enough, best, first.best)]
                partner = np.minimum(rank[each, single], action.single.shape[1] - 1)
                one[:, pair] = single
                other[:, pair] = action.single[each, np.where(enough, partner, action.best)]
        return price, one, other

    def combined(self) -> Question:
        """Ask about combinations of any number of features that should flip: the best at several rates."""
        if self.task.max_changes is not None:
            return Question(self.task.x[:0], np.empty(0, dtype=np.intp))
        feature = self.changes.feature
        starts = np.flatnonzero(np.diff(feature, prepend=-1))
        rows, enough = [], []
        for rate in RATES:
            worth = np.where(np.isfinite(self.gain), self.gain - rate * self.changes.prices, -np.inf)
            row, gain = self.task.home.copy(), np.zeros(len(self.need))
            for start, end in zip(starts, [*starts[1:], len(feature)], strict=True):
                single = start + worth[:, start:end].argmax(axis=1)
                each = np.flatnonzero(worth[np.arange(len(row)), single] > 0)
                row[each, feature[start]] = self.changes.values[each, single[each]]
                gain[each] += self.gain[each, single[each]]
            rows.append(row)
            enough.append(gain > (1 + SLACK / 2) * self.need)
        rate, instance = np.nonzero(np.stack(enough))
        return Question(np.stack(rows)[rate, instance], instance)
