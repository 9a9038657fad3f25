"""Replaces answers that lie on the very edge of a decision.

A model may round differently for a single row than for a batch, because matrix products are summed in another
order. A row on the very edge of a decision then flips in one call and not in the next. This module checks how
close the chosen rows are to the edge: by the model's scores if it has any, otherwise by asking about each row
again, moved by a billionth in both directions. If a row lies on the edge and the model's outputs depend on
the batch, another counterfactual is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from counterpoint.data.distance import changed
from counterpoint.data.outputs import is_continuous
from counterpoint.data.schema import Schema
from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.model.blackbox import BATCH, BlackBox, ModelError
from counterpoint.search.engine import Budget
from counterpoint.search.grouped import cheapest_of_each
from counterpoint.search.pool import Finds, Pool
from counterpoint.search.task import Task

# Rows are moved by this share of their values: much more than rounding, too little to matter.
NUDGE = 2.0**-30
NUDGE_OF_FLOAT32 = 2.0**-16

# Scores that differ by at most this much, relative to the largest, are on the edge.
NUDGE_OF_SCORES = 2.0**-26

# Rows are replaced at most this many times, from this many spares. What is then on the edge is dropped.
ROUNDS = 4
SPARE = 100

Choose = Callable[[Task, Finds], list[Indices]]


@dataclass
class Found:
    """What the searches for a group of instances found, and which of it was chosen.

    `instances` holds the indices of the group's instances in the run. `checks` counts, per instance, the rows
    that the model labelled to see whether they lie on the edge.
    """

    instances: Indices
    task: Task
    pool: Pool
    finds: Finds
    chosen: list[Indices]

    def __post_init__(self) -> None:
        self.checks = np.zeros(len(self.task), dtype=np.intp)
        self._seen = np.zeros(len(self.finds.rows), dtype=np.bool_)
        self._short: set[int] = set()

    def unseen(self, budget: Budget) -> Indices:
        """Find the rows to check, within the budget.

        These are the chosen rows and, for instances that had one on the edge, spares to choose from.
        """
        indices = np.concatenate([np.empty(0, dtype=np.intp), *self.chosen])
        indices = indices[
            ~self._seen[indices] & ~np.isin(self.finds.instance[indices], list(self.pool.failed))
        ]
        if budget.rows is not None:
            asked = self.pool.asked + self.checks + 2 * self._counts(indices)
            return np.asarray(indices[asked[self.finds.instance[indices]] <= budget.rows])
        if not self._short or not len(indices):
            return np.asarray(indices)
        mine = np.flatnonzero(np.isin(self.finds.instance, list(self._short)) & ~self._seen)
        instance = self.finds.instance[mine]
        away = self.task.distance(self.finds.rows[mine], instance)
        # Settled rows come first: another choice is made from them where there are any.
        first = np.where(self.finds.settled[mine], 0.0, away)
        return np.union1d(indices, mine[cheapest_of_each(first, instance, SPARE)])

    def count(self, indices: Indices, rows: int) -> None:
        """Note which rows were checked, and how many rows the model labelled for each."""
        self._seen[indices] = True
        self.checks += rows * self._counts(indices)

    def _counts(self, indices: Indices) -> Indices:
        return np.bincount(self.finds.instance[indices], minlength=len(self.task))

    def without(self, indices: Indices) -> None:
        """Drop rows that lie on the edge."""
        self._short = set(self.finds.instance[indices].tolist())
        kept = np.ones(len(self.finds.rows), dtype=np.bool_)
        kept[indices] = False
        moved = np.cumsum(kept) - 1
        self.chosen = [moved[each[kept[each]]] for each in self.chosen]
        self.finds, self._seen = self.finds.take(np.flatnonzero(kept)), self._seen[kept]


def keep_off_edges(founds: Sequence[Found], blackbox: BlackBox, choose: Choose, budget: Budget) -> None:
    """Replace rows that a model may decide differently in another batch.

    This takes one model call, and more only if some rows lie on the edge. Tree models need none.
    """
    if blackbox.is_steady:
        return
    for turn in range(ROUNDS):
        asked = [(found, indices) for found in founds if len(indices := found.unseen(budget))]
        if not asked or budget.seconds_left() <= 0:
            return
        check = _Check(asked, blackbox)
        safe = check.safe(probing=budget.rows is None)
        for found, indices in asked:
            found.count(indices, check.rows_asked)
        ends = np.cumsum([len(indices) for _, indices in asked])[:-1]
        for (found, indices), mask in zip(asked, np.split(safe, ends), strict=True):
            if not mask.all():
                found.without(indices[~mask])
                if turn + 1 < ROUNDS:
                    found.chosen = choose(found.task, found.finds)


class _Check:
    """Checks the chosen rows of several groups together."""

    def __init__(self, asked: Sequence[tuple[Found, Indices]], blackbox: BlackBox) -> None:
        self._asked, self._blackbox = asked, blackbox
        self._rows = np.concatenate([found.finds.rows[indices] for found, indices in asked])
        self._labels = np.concatenate([found.finds.labels[indices] for found, indices in asked])
        self._instance = np.concatenate(
            [found.instances[found.finds.instance[indices]] for found, indices in asked]
        )
        self._known = asked[0][0].task.known
        self.rows_asked = 0  # per row

    def safe(self, probing: bool) -> Mask:
        """Tell which rows flip in any batch; `probing` allows asking the model about single rows."""
        for look in (self._by_output, self._by_scores, self._by_moving):
            if (safe := look()) is not None:
                break
        assert safe is not None
        if safe.all():
            return safe
        by_numbers = look != self._by_moving
        depends = self._depends(~safe, by_numbers) if probing else self._blackbox.is_known_to_depend
        if not depends:
            return np.ones(len(safe), dtype=np.bool_)
        if not by_numbers:  # for some rows there is no other way to tell
            for index in np.flatnonzero(~safe & ~self._nudges().any(axis=1)).tolist():
                safe[index] = self._flips_alone(index)
        return safe

    def _by_output(self) -> Mask | None:
        """Check whether numeric outputs would still flip if they were slightly larger or smaller."""
        if not is_continuous(self._labels, self._blackbox.model):
            return None
        share = NUDGE_OF_FLOAT32 if self._labels.dtype.itemsize < 8 else NUDGE
        size = share * np.maximum(np.abs(self._labels), np.abs(self._known.labels).max())
        return self._flips(self._labels + size) & self._flips(self._labels - size)

    def _by_scores(self) -> Mask | None:
        """Check how far the score of the decision is from the next one."""
        scores = self._blackbox.scores(self._rows, self._instance)
        if scores is None:
            return None
        self.rows_asked += 1
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], axis=1) / 2
        classes = self._blackbox.classes()
        far = _gap(scores) > NUDGE_OF_SCORES * max(1.0, float(np.abs(scores).max()))
        if len(classes) == scores.shape[1]:
            decided = np.array(classes)[scores.argmax(axis=1)]
            if (decided != self._labels)[far].any():
                return None  # the model uses another threshold, so its scores do not tell
        return far

    def _by_moving(self) -> Mask:
        """Check whether rows still flip when they are moved slightly in both directions."""
        nudges = self._nudges()
        moved = np.concatenate([self._rows + nudges, self._rows - nudges])
        self.rows_asked += 2
        try:
            labels = self._blackbox.predict(moved, np.tile(self._instance, 2))
        except ModelError:  # it may refuse values slightly outside its range: then this check cannot tell
            return np.ones(len(self._rows), dtype=np.bool_)
        one_way, other_way = np.split(labels, 2)
        return self._flips(one_way) & self._flips(other_way)

    def _depends(self, on_edge: Mask, by_numbers: bool) -> bool:
        """Tell whether the model's outputs, or its decisions about rows on the edge, depend on the batch."""
        rows, instance = self._rows[on_edge], self._instance[on_edge]
        if by_numbers and self._is_direct:
            rows, instance = self._known.rows[:BATCH], np.zeros(BATCH, dtype=np.intp)

        def ask(indices: Indices) -> Labels:
            scores = self._blackbox.scores(rows[indices], instance[indices]) if by_numbers else None
            return self._blackbox.predict(rows[indices], instance[indices]) if scores is None else scores

        return self._blackbox.depends_on_batch(ask, len(rows))

    def _flips(self, labels: Labels) -> Mask:
        """Tell from their labels which rows flip."""
        ends = np.cumsum([len(indices) for _, indices in self._asked])[:-1]
        parts = zip(self._asked, np.split(labels, ends), strict=True)
        return np.concatenate([found.task.flips(part) for (found, _), part in parts])

    def _flips_alone(self, index: int) -> bool:
        """Tell whether a row flips alone, and together with the other answers for its instance."""
        group = np.repeat(np.arange(len(self._asked)), [len(indices) for _, indices in self._asked])
        task, mates = (
            self._asked[group[index]][0].task,
            np.flatnonzero(self._instance == self._instance[index]),
        )
        alone, together = (
            task.flips(self._blackbox.predict(self._rows[each], self._instance[each]))
            for each in (np.array([index]), mates)
        )
        return bool(alone[0] and together[mates == index][0])

    @property
    def _is_direct(self) -> bool:
        return self._blackbox.view.latent is self._blackbox.view.schema

    def _nudges(self) -> Rows:
        """Compute how far rows are moved: in all floats of a table, in the changed values of latent rows."""
        share, distance = _shares(self._known.schema), self._known.distance
        signs = np.random.default_rng(0).choice([-1.0, 1.0], len(share))
        unit = 1 / np.maximum(distance.weight, 1e-300) / len(share)
        nudges = share * signs * np.maximum(np.abs(self._rows), unit)
        if not self._is_direct:
            x = [found.task.x[found.finds.instance[indices]] for found, indices in self._asked]
            nudges *= changed(self._rows, np.concatenate(x))
        return np.asarray(np.where(np.isfinite(nudges), nudges, 0.0))


def _gap(scores: Rows) -> Row:
    """Compute the margin between the largest score of each row and the next."""
    if scores.shape[1] < 2:
        return np.full(len(scores), np.inf)
    top = np.sort(scores, axis=1)[:, -2:]
    return np.asarray(top[:, 1] - top[:, 0])


def _shares(schema: Schema) -> Row:
    """Compute the relative amount by which each feature can be moved: 0 for categories and whole numbers."""
    shares = np.zeros(len(schema.features))
    for index in schema.continuous.tolist():
        dtype, step = schema.form.number_type(index), schema.features[index].step
        if dtype is None:  # objects, which may be integers
            shares[index] = NUDGE if step is None else 0.0
        elif dtype.kind == "f":
            shares[index] = NUDGE if dtype.itemsize >= 8 else NUDGE_OF_FLOAT32
    return shares
