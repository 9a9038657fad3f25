"""The nearest miss of an instance without any counterfactual: the tried row with the best score.

The pool keeps some of the rows that were tried for each instance as long as none of them flips. If none does,
the model gives their scores, in one call for all instances of a wave. Where its output is a number, as with
`Between` and `Probability`, the output itself tells, and no further call is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from counterpoint._util.narrow import count_of_each
from counterpoint.data.distance import changed
from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.model.blackbox import BlackBox
from counterpoint.model.scores import ScoreKind, Scores, Standing
from counterpoint.search.grouped import before_each, cheapest_of_each, first_of_each
from counterpoint.search.task import Task

# How many of the tried rows of an instance get a score.
KEPT = 200

# Multiples of it, without their whole parts, are spread evenly, wherever one stops.
GOLDEN = (5**0.5 - 1) / 2


class Tried(NamedTuple):
    """Rows that do not flip, their instances and labels, and how much each is to be kept: least first."""

    rows: Rows
    instance: Indices
    labels: Labels
    price: Row

    def take(self, indices: Indices) -> Tried:
        """Keep some rows."""
        return Tried(self.rows[indices], self.instance[indices], self.labels[indices], self.price[indices])


class Misses:
    """Some of the rows tried for the instances of a task, as long as none of them flips.

    If outputs are numbers, the one closest to what is wanted is kept. Otherwise it is a sample, spread evenly
    over all that is tried for an instance, and independent of the other instances.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._seen = np.zeros(len(task), dtype=np.intp)
        self._kept: Tried | None = None

    def add(self, rows: Rows, instance: Indices, labels: Labels, without: Mask) -> None:
        """Keep some of the rows of those instances that are without any counterfactual."""
        mine = np.flatnonzero(without[instance])
        if self._kept is not None:
            self._kept = self._kept.take(np.flatnonzero(without[self._kept.instance]))
        if not len(mine):
            return
        rows, instance, labels = rows[mine], instance[mine], labels[mine]
        numbers = self._task.target.shortage(labels)
        price = self._spread(instance) if numbers is None else numbers
        allowed = np.flatnonzero(self._allowed(rows, instance, labels))
        tried = Tried(rows, instance, labels, price).take(allowed)
        if self._kept is not None:
            tried = Tried(*(np.concatenate(parts) for parts in zip(self._kept, tried, strict=True)))
        if numbers is None:
            kept = cheapest_of_each(tried.price, tried.instance, self._task.affordable(KEPT))
        else:  # of equally good ones, the nearest to x
            away = self._task.distance(tried.rows, tried.instance)
            order = np.lexsort([away, tried.price, tried.instance])
            kept = order[first_of_each(tried.instance[order], 1)]
        self._kept = tried.take(kept)

    def of(self, instances: Indices, most: Indices | None = None) -> Tried | None:
        """Get what was kept for some instances, at most so many for each; None if nothing was."""
        if self._kept is None:
            return None
        mask = np.isin(self._kept.instance, instances)
        if most is not None:
            mask &= before_each(self._kept.instance) < most[self._kept.instance]
        return self._kept.take(np.flatnonzero(mask)) if mask.any() else None

    def _spread(self, instance: Indices) -> Row:
        """Give the rows of each instance prices that are spread evenly, in the order they are tried."""
        turn = self._seen[instance] + before_each(instance)
        self._seen += np.bincount(instance, minlength=len(self._task))
        return np.asarray(turn * GOLDEN % 1.0)

    def _allowed(self, rows: Rows, instance: Indices, labels: Labels) -> Mask:
        """Tell which rows are misses: they do not flip, and do not change too much."""
        mask = ~self._task.flips(labels)
        if self._task.max_changes is not None:
            differs = changed(rows, self._task.x[instance]) & ~self._task.rules.follows
            mask &= count_of_each(differs) <= self._task.max_changes
        return mask


@dataclass(frozen=True)
class Miss:
    """The best row tried for an instance, which does not flip, and how it stands."""

    row: Row
    decision: Any
    standing: Standing


class Missing(NamedTuple):
    """The rows tried for instances of a group that are without any counterfactual."""

    instances: Indices  # the indices of all instances of the group in the run
    task: Task
    tried: Tried

    @property
    def first(self) -> Tried:
        """The first row that was kept for each instance: the best, if outputs are numbers."""
        return self.tried.take(first_of_each(self.tried.instance, 1))

    def by_output(self) -> dict[int, Miss]:
        """Find the nearest misses by the model's outputs, which are numbers."""
        target, best = self.task.target, self.first
        outputs = [float(label) for label in best.labels]
        kind = ScoreKind.OUTPUT if target.probability is None else ScoreKind.PROBABILITY
        classes = () if target.probability is None else target.probability.classes
        standings = [Standing(kind, each, target.needed(each), classes) for each in outputs]
        places = self.instances[best.instance].tolist()
        rows = zip(best.rows, best.labels, standings, strict=True)
        return {place: Miss(*each) for place, each in zip(places, rows, strict=True)}

    def by_scores(self, scores: Scores) -> dict[int, Miss]:
        """Find the nearest misses by scores: the largest margin, and of equal ones the nearest to x."""
        wanted = self.task.target.among(scores.classes, self.task.decisions[0])
        if not wanted.any() or wanted.all():
            return {}
        rows, instance = self.tried.rows, self.tried.instance
        order = np.lexsort([self.task.distance(rows, instance), -scores.margins(wanted), instance])
        best = order[first_of_each(instance[order], 1)]
        return {
            int(self.instances[instance[index]]): Miss(
                rows[index], self.tried.labels[index], scores.standing(index, wanted)
            )
            for index in best.tolist()
        }


def nearest_misses(groups: Sequence[Missing], blackbox: BlackBox | None) -> tuple[dict[int, Miss], bool]:
    """Find the nearest miss of each instance, by its index in the run; also tell whether scores were asked.

    Without a black box, no scores are asked. All groups are about the same target. Where it is the user's own
    function, no score tells what is near.
    """
    if not groups:
        return {}, False
    target = groups[0].task.target
    if target.shortage(groups[0].tried.labels[:0]) is not None:
        return {place: miss for group in groups for place, miss in group.by_output().items()}, False
    if target.test is not None or blackbox is None:
        return {}, False
    rows = np.concatenate([group.tried.rows for group in groups])
    instance = np.concatenate([group.instances[group.tried.instance] for group in groups])
    scores = blackbox.class_scores(rows, instance)
    if scores is None:
        return {}, True
    ends = np.cumsum([len(group.tried.instance) for group in groups])[:-1]
    parts = zip(groups, np.split(scores.numbers, ends), strict=True)
    by_group = [group.by_scores(replace(scores, numbers=part)) for group, part in parts]
    return {place: miss for misses in by_group for place, miss in misses.items()}, True
