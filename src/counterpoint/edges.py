"""Answers on the very edge of a decision, and what is chosen in their place.

A model may round differently alone than in a batch: a product of matrices is added up in another order. A row
on the very edge of a decision then flips in one call and not in the next. So all chosen rows are asked about
once more, each moved by a billionth one way and the other. Where both flip, no rounding can undo the answer.
Where one does not, and the model's numbers do depend on the batch, another counterfactual is chosen.
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
from counterpoint.schema import Rows, Schema
from counterpoint.task import Places, Task, cheapest_of_each

# Rows are moved by this share of their numbers: far more than rounding does, far less than anyone minds.
NUDGE = 2.0**-30
NUDGE_OF_FLOAT32 = 2.0**-16

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
        spare = np.empty(0, dtype=np.intp)
        if self._short and budget.rows is None:
            mine = np.flatnonzero(np.isin(self.finds.of, list(self._short)) & ~self._seen)
            of = self.finds.of[mine]
            spare = mine[cheapest_of_each(self.task.distance(self.finds.rows[mine], of), of, SPARE)]
        places = np.unique(np.concatenate([spare, *self.chosen]))
        places = places[~self._seen[places] & ~np.isin(self.finds.of[places], list(self.pool.failed))]
        if budget.rows is None:
            return np.asarray(places)
        asked = self.pool.asked + self.checks + 2 * self._counts(places)
        return np.asarray(places[asked[self.finds.of[places]] <= budget.rows])

    def count(self, places: Places) -> None:
        """Note which rows are asked about again, twice each."""
        self._seen[places] = True
        self.checks += 2 * self._counts(places)

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

    It takes one call of the model, and more only where some rows lie on the edge.
    """
    for turn in range(ROUNDS):
        asked = [(found, places) for found in founds if len(places := found.unseen(budget))]
        if not asked or budget.seconds_left() <= 0:
            return
        for found, places in asked:
            found.count(places)
        safe = _Check(asked, blackbox).safe(probing=budget.rows is None)
        ends = np.cumsum([len(places) for _, places in asked])[:-1]
        for (found, places), mask in zip(asked, np.split(safe, ends), strict=True):
            if not mask.all():
                found.without(places[~mask])
                if turn + 1 < ROUNDS:
                    found.chosen = choose(found.task, found.finds)


class _Check:
    """Asks again about chosen rows of several groups, all together."""

    def __init__(self, asked: Sequence[tuple[Found, Places]], blackbox: BlackBox) -> None:
        self._asked, self._blackbox = asked, blackbox
        self._rows = np.concatenate([found.finds.rows[places] for found, places in asked])
        self._of = np.concatenate([found.instances[found.finds.of[places]] for found, places in asked])

    def safe(self, probing: bool) -> Mask:
        """Tell which rows flip in any batch; `probing` lets the model be asked about rows one by one."""
        nudges = self._nudges()
        moves = nudges.any(axis=1)
        safe = self._flips_both_ways(nudges) & moves
        if safe.all():
            return safe
        depends = self._depends_on_batch(~safe) if probing else self._blackbox.is_known_to_depend
        if not depends:
            return np.ones(len(safe), dtype=np.bool_)
        for place in np.flatnonzero(~moves).tolist():  # there is no way off the edge but to look
            safe[place] = self._flips_alone(place)
        return safe

    def _depends_on_batch(self, on_edge: Mask) -> bool:
        """Tell whether the model decides otherwise in other batches; known instances show it, if they can."""
        known = self._asked[0][0].task.known
        tells = self._blackbox.has_scores or is_continuous(known.labels)
        if tells and self._is_direct:
            rows = known.rows[:BATCH]
            return self._blackbox.depends_on_batch(rows, np.zeros(len(rows), dtype=np.intp))
        return self._blackbox.depends_on_batch(self._rows[on_edge], self._of[on_edge])

    @property
    def _is_direct(self) -> bool:
        return self._blackbox.view.latent is self._blackbox.view.schema

    def _flips_both_ways(self, nudges: Rows) -> Mask:
        """Tell which rows flip when they are moved a little, one way and the other."""
        if not nudges.any():
            return np.zeros(len(self._rows), dtype=np.bool_)
        moved = np.concatenate([self._rows + nudges, self._rows - nudges])
        try:
            labels = self._blackbox.loosened().predict(moved, np.tile(self._of, 2))
        except ModelError:  # it may refuse fractions; then rows are looked at one by one
            nudges[:] = 0.0
            return np.zeros(len(self._rows), dtype=np.bool_)
        one_way, other_way = np.split(labels, 2)
        return self._flips(one_way) & self._flips(other_way)

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

    def _nudges(self) -> Rows:
        """Say by how much each row is moved: all numbers of a table, of a latent row those that changed."""
        task = self._asked[0][0].task
        x = np.concatenate([found.task.x[found.finds.of[places]] for found, places in self._asked])
        numbers = np.zeros(x.shape[1])
        numbers[task.known.distance.continuous] = 1.0
        size = np.maximum(np.abs(self._rows), 1 / np.maximum(task.known.distance.weight, 1e-300) / x.shape[1])
        signs = np.random.default_rng(0).choice([-1.0, 1.0], x.shape[1])
        nudge = np.where(_is_float32(task.known.schema), NUDGE_OF_FLOAT32, NUDGE) * signs * numbers
        if not self._is_direct:
            nudge = nudge * changed(self._rows, x)
        with np.errstate(invalid="ignore"):  # an immutable number may be infinite
            return np.asarray(np.nan_to_num(nudge * size, posinf=0.0, neginf=0.0))


def _is_float32(schema: Schema) -> Mask:
    types = [schema.form.number_type(place) for place in range(len(schema.features))]
    return np.array([dtype is not None and dtype.kind == "f" and dtype.itemsize < 8 for dtype in types])
