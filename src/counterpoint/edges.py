"""Answers on the very edge of a decision, and what is chosen in their place.

A model may round differently alone than in a batch: a product of matrices is added up in another order. A row
on the very edge of a decision then flips in one call and not in the next. So it is looked at how close to the
edge the chosen rows are: by the model's scores, if it has any; otherwise by asking about the rows again, each
moved by a billionth one way and the other. Where one lies on the edge, and the model's numbers do depend on
the batch, another counterfactual is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from counterpoint.blackbox import BATCH, BlackBox, Labels, ModelError, is_continuous
from counterpoint.bounds import Mask
from counterpoint.distances import changed
from counterpoint.engine import Budget
from counterpoint.pool import Finds, Pool
from counterpoint.schema import Row, Rows, Schema
from counterpoint.task import Places, Task, cheapest_of_each

# Rows are moved by this share of their numbers: far more than rounding does, far less than anyone minds.
NUDGE = 2.0**-30
NUDGE_OF_FLOAT32 = 2.0**-16

# Scores that are no further apart than this, in units of the largest, are on the edge.
NUDGE_OF_SCORES = 2.0**-26

# So often other rows are chosen at most, each time from so many; what lies on the edge then is left out.
ROUNDS = 4
SPARE = 100

Choose = Callable[[Task, Finds], list[Places]]


@dataclass
class Found:
    """What the searches about a group of instances found, and what was chosen of it.

    `instances` are the places of the group's instances in the run. `checks` counts, for each of them, the
    rows that were asked about to see whether they lie on the edge.
    """

    instances: Places
    task: Task
    pool: Pool
    finds: Finds
    chosen: list[Places]

    def __post_init__(self) -> None:
        self.checks = np.zeros(len(self.task), dtype=np.intp)
        self._seen = np.zeros(len(self.finds.rows), dtype=np.bool_)
        self._short: set[int] = set()

    def unseen(self, budget: Budget) -> Places:
        """Find the rows to ask about again, as far as the budget allows it.

        These are the chosen ones; of instances that had one on the edge, others to choose from, too.
        """
        places = np.concatenate([np.empty(0, dtype=np.intp), *self.chosen])
        places = places[~self._seen[places] & ~np.isin(self.finds.of[places], list(self.pool.failed))]
        if budget.rows is not None:
            asked = self.pool.asked + self.checks + 2 * self._counts(places)
            return np.asarray(places[asked[self.finds.of[places]] <= budget.rows])
        if not self._short or not len(places):
            return np.asarray(places)
        mine = np.flatnonzero(np.isin(self.finds.of, list(self._short)) & ~self._seen)
        of = self.finds.of[mine]
        spare = mine[cheapest_of_each(self.task.distance(self.finds.rows[mine], of), of, SPARE)]
        return np.union1d(places, spare)

    def count(self, places: Places, rows: int) -> None:
        """Note which rows were looked at again, and about how many rows the model was asked for each."""
        self._seen[places] = True
        self.checks += rows * self._counts(places)

    def _counts(self, places: Places) -> Places:
        return np.bincount(self.finds.of[places], minlength=len(self.task))

    def without(self, places: Places) -> None:
        """Leave out rows that lie on the edge."""
        self._short = set(self.finds.of[places].tolist())
        kept = np.ones(len(self.finds.rows), dtype=np.bool_)
        kept[places] = False
        moved = np.cumsum(kept) - 1
        self.chosen = [moved[each[kept[each]]] for each in self.chosen]
        self.finds, self._seen = self.finds.take(np.flatnonzero(kept)), self._seen[kept]


def keep_off_edges(founds: Sequence[Found], blackbox: BlackBox, choose: Choose, budget: Budget) -> None:
    """Choose other rows in place of those that a model may decide otherwise in another batch.

    It takes one call of the model, and more only where some rows lie on the edge; none of a model of trees.
    """
    if blackbox.is_steady:
        return
    for turn in range(ROUNDS):
        asked = [(found, places) for found in founds if len(places := found.unseen(budget))]
        if not asked or budget.seconds_left() <= 0:
            return
        check = _Check(asked, blackbox)
        safe = check.safe(probing=budget.rows is None)
        for found, places in asked:
            found.count(places, check.rows_asked)
        ends = np.cumsum([len(places) for _, places in asked])[:-1]
        for (found, places), mask in zip(asked, np.split(safe, ends), strict=True):
            if not mask.all():
                found.without(places[~mask])
                if turn + 1 < ROUNDS:
                    found.chosen = choose(found.task, found.finds)


class _Check:
    """Looks again at chosen rows of several groups, all together."""

    def __init__(self, asked: Sequence[tuple[Found, Places]], blackbox: BlackBox) -> None:
        self._asked, self._blackbox = asked, blackbox
        self._rows = np.concatenate([found.finds.rows[places] for found, places in asked])
        self._labels = np.concatenate([found.finds.labels[places] for found, places in asked])
        self._of = np.concatenate([found.instances[found.finds.of[places]] for found, places in asked])
        self._known = asked[0][0].task.known
        self.rows_asked = 0  # about each row

    def safe(self, probing: bool) -> Mask:
        """Tell which rows flip in any batch; `probing` lets the model be asked about rows one by one."""
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
        if not by_numbers:  # of some there is no other way to tell
            for place in np.flatnonzero(~safe & ~self._nudges().any(axis=1)).tolist():
                safe[place] = self._flips_alone(place)
        return safe

    def _by_output(self) -> Mask | None:
        """Look whether outputs that are numbers would be wanted if they were a little larger or smaller."""
        if not is_continuous(self._labels, self._blackbox.model):
            return None
        size = NUDGE * np.maximum(np.abs(self._labels), np.abs(self._known.labels).max())
        return self._flips(self._labels + size) & self._flips(self._labels - size)

    def _by_scores(self) -> Mask | None:
        """Look how far the scores of the decision made and of the next one are apart."""
        scores = self._blackbox.scores(self._rows, self._of)
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
                return None  # it decides by another threshold, so its scores do not tell
        return far

    def _by_moving(self) -> Mask:
        """Look whether rows flip when they are moved a little, one way and the other."""
        nudges = self._nudges()
        moved = np.concatenate([self._rows + nudges, self._rows - nudges])
        self.rows_asked += 2
        try:
            labels = self._blackbox.predict(moved, np.tile(self._of, 2))
        except ModelError:  # it may refuse what is a little out of its range: then nothing can be told
            return np.ones(len(self._rows), dtype=np.bool_)
        one_way, other_way = np.split(labels, 2)
        return self._flips(one_way) & self._flips(other_way)

    def _depends(self, on_edge: Mask, by_numbers: bool) -> bool:
        """Tell whether the model's numbers, or its decisions about rows on the edge, depend on the batch."""
        rows, of = self._rows[on_edge], self._of[on_edge]
        if by_numbers and self._is_direct:
            rows, of = self._known.rows[:BATCH], np.zeros(BATCH, dtype=np.intp)

        def ask(places: Places) -> Labels:
            scores = self._blackbox.scores(rows[places], of[places]) if by_numbers else None
            return self._blackbox.predict(rows[places], of[places]) if scores is None else scores

        return self._blackbox.depends_on_batch(ask, len(rows))

    def _flips(self, labels: Labels) -> Mask:
        """Tell which rows flip by their labels."""
        ends = np.cumsum([len(places) for _, places in self._asked])[:-1]
        parts = zip(self._asked, np.split(labels, ends), strict=True)
        return np.concatenate([found.task.flips(part) for (found, _), part in parts])

    def _flips_alone(self, place: int) -> bool:
        """Tell whether a row flips by itself, and together with the other answers about its instance."""
        group = np.repeat(np.arange(len(self._asked)), [len(places) for _, places in self._asked])
        task, mates = self._asked[group[place]][0].task, np.flatnonzero(self._of == self._of[place])
        alone, together = (
            task.flips(self._blackbox.predict(self._rows[each], self._of[each]))
            for each in (np.array([place]), mates)
        )
        return bool(alone[0] and together[mates == place][0])

    @property
    def _is_direct(self) -> bool:
        return self._blackbox.view.latent is self._blackbox.view.schema

    def _nudges(self) -> Rows:
        """Say by how much rows are moved: in all floats of a table, of latent rows in those that changed."""
        share, distance = _shares(self._known.schema), self._known.distance
        signs = np.random.default_rng(0).choice([-1.0, 1.0], len(share))
        unit = 1 / np.maximum(distance.weight, 1e-300) / len(share)
        nudges = share * signs * np.maximum(np.abs(self._rows), unit)
        if not self._is_direct:
            x = [found.task.x[found.finds.of[places]] for found, places in self._asked]
            nudges *= changed(self._rows, np.concatenate(x))
        return np.asarray(np.where(np.isfinite(nudges), nudges, 0.0))


def _gap(scores: Rows) -> Row:
    """Measure how far the largest score of each row is above the next."""
    if scores.shape[1] < 2:
        return np.full(len(scores), np.inf)
    top = np.sort(scores, axis=1)[:, -2:]
    return np.asarray(top[:, 1] - top[:, 0])


def _shares(schema: Schema) -> Row:
    """Say by which share of it each feature can be moved: 0 for categories and whole numbers."""
    shares = np.zeros(len(schema.features))
    for place in schema.continuous.tolist():
        dtype, step = schema.form.number_type(place), schema.features[place].step
        if dtype is None:  # objects, which may be whole numbers
            shares[place] = NUDGE if step is None else 0.0
        elif dtype.kind == "f":
            shares[place] = NUDGE if dtype.itemsize >= 8 else NUDGE_OF_FLOAT32
    return shares
