"""Every counterfactual seen for the instances of a task.

A labelled row that flips the decision is a counterfactual at no further cost, so a `Pool` keeps every flip of
every search. It is also the only gate to the black box: it passes on admissible rows only, each once, and no
more than the budget allows, so no search can break a constraint or exceed the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.duplicates import among, distinct
from counterpoint._util.narrow import any_of_each, count_of_each
from counterpoint._util.row_blocks import in_blocks, keep_in_place, merged
from counterpoint.data.distance import changed
from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.model.blackbox import ModelError
from counterpoint.search.bound import Bound
from counterpoint.search.engine import AnySearch, Budget, Lockstep, Reply, WithScores
from counterpoint.search.excluded import Excluded
from counterpoint.search.grouped import before_each, stable_order
from counterpoint.search.misses import Misses
from counterpoint.search.task import Question, Task
from counterpoint.search.why import Why

# Tells which rows of an instance the user's own rule accepts.
Obeys = Callable[[Rows, int], Mask]
# Computes the columns that follow others, and tells which rows have possible values in them.
Follow = Callable[[Rows, Indices], tuple[Rows, Mask]]
# Tells which rows that flip are far enough from the boundary, and how many rows were asked for each.
Holds = Callable[[Rows, Indices], tuple[Mask, int]]
Asking = Generator[Question, Reply, None]

NOBODY: Indices = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class Finds:
    """Rows that flip, with their labels and finders, sorted by instance.

    `settled` marks those that have no needless change and are as round as they can be.
    """

    rows: Rows
    instance: Indices
    labels: Labels
    finders: NDArray[np.intp]
    settled: Mask

    @cached_property
    def starts(self) -> Indices:
        """The index at which the rows of each instance start; the last entry is the end."""
        return np.searchsorted(self.instance, np.arange(self.instance.max(initial=-1) + 2))

    def indices(self, instance: int) -> Indices:
        """Find the indices of the rows of one instance."""
        if instance + 1 >= len(self.starts):
            return np.empty(0, dtype=np.intp)
        return np.arange(self.starts[instance], self.starts[instance + 1])

    def about(self, instances: Indices) -> Finds:
        """Keep the rows of some instances."""
        return self.take(np.flatnonzero(np.isin(self.instance, instances)))

    def take(self, indices: Indices) -> Finds:
        """Keep some rows, in the given order."""
        return Finds(
            self.rows.take(indices, axis=0),
            self.instance[indices],
            self.labels[indices],
            self.finders[indices],
            self.settled[indices],
        )


class Pool:
    """Runs the searches of one task: asks their questions, and keeps what flips.

    `names` are those that finds are credited to: searches, and `derived` ones for what is made from finds.
    `asked` and `calls` count rows and questions per instance, and `unsafe` flips that are too near the
    boundary. `failed` holds the error of each instance on whose rows the model failed; `stopped` says why an
    instance was stopped before its searches ended, and `bounds` what searches proved about how near
    counterfactuals can be. `places` are those of the instances in the run.
    """

    def __init__(
        self,
        task: Task,
        budget: Budget,
        rows_left: Callable[[], float],
        obeys: Obeys | None = None,
        follow: Follow | None = None,
        holds: Holds | None = None,
        excluded: Excluded | None = None,
    ) -> None:
        self.task = task
        self.names: list[str] = []
        self.asked = np.zeros(len(task), dtype=np.intp)
        self.calls = np.zeros(len(task), dtype=np.intp)
        self.counts = np.zeros(len(task), dtype=np.intp)
        self.unsafe = np.zeros(len(task), dtype=np.intp)
        self.failed: dict[int, Exception] = {}
        self.stopped: dict[int, Why] = {}
        self.bounds: dict[int, Bound] = {}
        self.places = np.arange(len(task))
        self._budget, self._rows_left, self._obeys = budget, rows_left, obeys
        self._follow, self._holds, self._excluded = follow, holds, excluded
        self._lockstep, self._searches = Lockstep(task.decisions[:0]), list[int]()
        self.misses = Misses(task)
        self._kept: list[tuple[Rows, Indices, Labels, NDArray[np.intp]]] = []
        self._is_gathered = False  # whether the first of these was sorted, with each row once
        self._settled = Question(task.x[:0], np.empty(0, dtype=np.intp))

    @property
    def seconds_left(self) -> float:
        """The time left in seconds; infinite if there is no limit."""
        return self._budget.seconds_left()

    @property
    def has_margin(self) -> bool:
        """Whether rows must keep a distance from the boundary."""
        return self._holds is not None

    @property
    def has_rule(self) -> bool:
        """Whether the user's own rule decides about rows too."""
        return self._obeys is not None

    @property
    def current(self) -> str:
        """The name of the search that is running."""
        return self.names[self._searches[self._lockstep.current]]

    def add(self, search: AnySearch, name: str) -> None:
        """Add a search; its first question is part of the next round."""
        self._searches.append(len(self.names))
        self.names.append(name)
        with _naming(self):
            self._lockstep.add(search)

    def round(self) -> Asking:
        """Ask the open questions of all searches together, if there are any."""
        question = self._lockstep.question()
        if question is not None:
            answers = yield from self._ask(question)
            with _naming(self):
                self._lockstep.answer(*answers)

    def finish(self) -> Asking:
        """Ask until all searches have ended."""
        while not self._lockstep.ended:
            yield from self.round()

    def finds(self) -> Finds:
        """Gather all flips, each once, sorted by instance and then in the order they were found."""
        if not self._kept:
            empty = np.empty(0, dtype=np.intp)
            return Finds(self.task.x[:0], empty, self.task.decisions[:0], empty, empty.astype(np.bool_))
        if len(self._kept) > 1 or not self._is_gathered:
            self._gather()
        kept = self._kept[0]
        return Finds(*kept, self._is_settled(*kept[:2]))

    def _gather(self) -> None:
        """Sort what was kept by instance, and drop what was found before; wide rows are copied once only."""
        parts, *others = zip(*self._kept, strict=True)
        instance, labels, finders = map(np.concatenate, others)
        order = stable_order(instance)
        rows, instance = merged(parts, order), instance[order]
        first, _ = self._distinct(rows, instance, np.arange(len(instance)))
        of = order[first]
        self._kept = [(keep_in_place(rows, first), instance[first], labels[of], finders[of])]
        self._is_gathered = True

    def settle(self, rows: Rows, instance: Indices) -> None:
        """Note that rows have no needless change and are as round as they can be."""
        rows, _ = self._admitted(rows, instance)
        self._settled = Question(
            np.concatenate([self._settled.rows, rows]), np.concatenate([self._settled.instance, instance])
        )

    def _is_settled(self, rows: Rows, instance: Indices) -> Mask:
        settled, whose = self._settled
        return among(self._compared(rows), instance, self._compared(settled), whose)

    def keep_only(self, returned: Question, finders: Indices) -> None:
        """Forget all finds but these, for explainers that return only some of what they find.

        `finders` are the indices of the searches that return them; of several, the first is named.
        """
        rows, _ = self._admitted(*returned)
        finds, wanted = self.finds(), self.task.with_own(rows, returned.instance)
        rows = np.concatenate([wanted.rows, finds.rows])
        instance = np.concatenate([wanted.instance, finds.instance])
        first, which = self._distinct(rows, instance, np.arange(len(instance)))
        # Equal rows are the same one's, and those that are returned come first.
        of_find = first[which[len(wanted.rows) :]]
        kept = np.flatnonzero(of_find < len(wanted.rows))
        finds = finds.take(kept)
        self._kept = [(finds.rows, finds.instance, finds.labels, finders[of_find[kept]])]

    @property
    def next_finder(self) -> int:
        """The finder that the next search to be added is."""
        return len(self.names)

    def derived(self, finders: Indices, how: str) -> Indices:
        """Name the finders of what is made from finds, such as "Tree, polished"; each name is there once."""
        each, inverse = np.unique(finders, return_inverse=True)
        names = [self.names[finder] for finder in each.tolist()]
        names = [name if name.endswith(f", {how}") else f"{name}, {how}" for name in names]
        self.names += [name for name in dict.fromkeys(names) if name not in self.names]
        return np.array([self.names.index(name) for name in names], dtype=np.intp)[inverse]

    def _finders(self) -> Indices:
        """Tell whom each row of the current question is credited to."""
        credited, own = self._lockstep.credited, np.array(self._searches, dtype=np.intp)
        return np.where(credited >= 0, credited, own[self._lockstep.owners])

    def _ask(self, question: Question) -> Generator[Question, Reply, tuple[Labels, Row | None]]:
        """Ask about the admissible rows of a question, each distinct one once, within the budget.

        Returns labels, and the leads of rows whose scores are wanted; None if there are none.
        """
        scored = self._lockstep.scored
        rows, admissible = self._admitted(*question)
        labelled = self._part(rows, question.instance, admissible & ~scored)
        # Rows that the model does not see get x's own decision: they do not flip.
        labels, leads = self.task.decisions[question.instance], None
        asked: Question = self._own(rows, question.instance, labelled.asked)
        if not scored.any():
            reply = (yield asked) if len(labelled.asked) else None
        else:
            leads = np.full(len(rows), np.nan)
            allowed = scored & (admissible | self._is_x(question))
            part = self._part(rows, question.instance, allowed, question.instance[labelled.asked])
            scores = self._own(rows, question.instance, part.asked)
            reply = (yield WithScores.of(asked, scores)) if len(part.asked) + len(labelled.asked) else None
            if reply is not None:
                part.spread(leads, self._leads(reply, scores))
        if reply is not None and len(labelled.asked):
            answer = self._received(reply, asked, self._finders()[labelled.asked])
            labels = labels.astype(np.result_type(labels, answer), copy=False)
            labelled.spread(labels, answer)
        return labels, leads

    def _own(self, rows: Rows, instance: Indices, asked: Indices) -> Question:
        """Take some rows, in which each value that equals x's is x's own."""

        def own(indices: Indices) -> Rows:
            return self.task.with_own(rows[indices], instance[indices]).rows

        return Question(in_blocks(rows.shape[1], own, asked), instance[asked])

    def _part(self, rows: Rows, instance: Indices, allowed: Mask, besides: Indices = NOBODY) -> _Part:
        """Find the rows to ask about: the first of each set of equal ones, within the budget.

        `besides` are the instances of further rows that are asked about at the same time.
        """
        keep = np.flatnonzero(allowed)
        first, inverse = self._distinct(rows, instance, keep)
        within = np.flatnonzero(self._within_budget(instance[first], besides))
        return _Part(keep, first, inverse, within)

    def _is_x(self, question: Question) -> Mask:
        """Tell which rows are x itself: their scores may be asked for."""
        differs = any_of_each(self.task.changed(*question)) | any_of_each(self.task.forced)[question.instance]
        return np.asarray(~differs)

    def _leads(self, reply: Reply, asked: Question) -> Row:
        """Count rows, and compute by how much a wanted class leads in each."""
        self.asked += (sizes := np.bincount(asked.instance, minlength=len(self.task)))
        self.calls += sizes > 0
        if reply.scores is None:
            return np.full(len(asked.rows), np.nan)
        return reply.scores.leads(self.task.target.among(reply.scores.classes, self.task.decisions[0]))

    def _admitted(self, rows: Rows, instance: Indices) -> tuple[Rows, Mask]:
        """Complete rows, and tell which may be tried: they keep every constraint, and are not x itself."""
        rows = self.task.repaired(self.task.acting(rows, instance), instance)
        mask = self.task.admissible(rows, instance)
        if self._excluded is not None:
            mask &= ~self._excluded.holds(rows, self.task.x[instance])
        if self._follow is not None and mask.any():
            rows = rows.copy()
            rows[mask], possible = self._follow(rows[mask], instance[mask])
            mask[mask] = possible
        if self.task.rules.links:
            mask &= self.task.linked(rows)
        if self._obeys is not None:
            for one in np.unique(instance[mask]).tolist():
                mine = np.flatnonzero(mask & (instance == one))
                mask[mine] = self._obeys(self.task.with_own(rows[mine], instance[mine]).rows, one)
        return rows, mask

    def _distinct(self, rows: Rows, instance: Indices, indices: Indices) -> tuple[Indices, Indices]:
        """Find the first of each set of equal rows."""
        return distinct(self._compared(rows), instance, indices)

    def _compared(self, rows: Rows) -> Rows:
        """Leave out the features that may not change: they need no comparison."""
        frozen = self.task.rules.frozen
        return rows.compress(~frozen, axis=1) if frozen.any() else rows

    def _within_budget(self, instance: Indices, besides: Indices) -> Mask:
        """Tell which rows the budget still allows; earlier rows of an instance take precedence."""
        if self._budget.rows is None and self._budget.deadline is None and not self.failed:
            return np.ones(len(instance), dtype=np.bool_)
        before = before_each(instance) + np.bincount(besides, minlength=len(self.task))[instance]
        mask = ~np.isin(instance, list(self.failed))
        if self._budget.rows is not None:
            few = self.asked[instance] + before < self._budget.rows
            self._stop(instance[~few], Why.MAX_ROWS)
            mask &= few
        if self._budget.deadline is not None:
            in_time = before < self._rows_left()
            self._stop(instance[~in_time], Why.MAX_SECONDS)
            mask &= in_time
        return mask

    def _stop(self, instance: Indices, why: Why) -> None:
        for one in np.unique(instance).tolist():
            self.stopped.setdefault(one, why)

    def _received(self, reply: Reply, asked: Question, finders: Indices) -> Labels:
        """Count rows, keep what flips, and note the instances on whose rows the model failed."""
        rows, instance = asked
        sizes = np.bincount(instance, minlength=len(self.task))
        self.asked += sizes
        self.calls += sizes > 0
        labels = reply.labels
        if reply.failed:
            self._note(reply.failed, finders)
            lost = np.isin(instance, list(reply.failed))
            labels = _filled(self.task.decisions[instance], labels, ~lost)
        keep = np.flatnonzero(self.task.flips(labels))
        if self._holds is not None and len(keep):
            labels, unsafe = self._without_unsafe(rows, instance, labels, keep)
            keep = keep[~unsafe]
        if self.task.max_changes is not None:
            differs = changed(rows[keep], self.task.x[instance[keep]]) & ~self.task.rules.follows
            few = count_of_each(differs) <= self.task.max_changes
            keep = keep[few]
        self.counts += np.bincount(instance[keep], minlength=len(self.task))
        if self._holds is None:  # what flips, but is too near the boundary, is no miss
            self.misses.add(rows, instance, labels, self.counts == 0)
        self._kept.append((rows.take(keep, axis=0), instance[keep], labels[keep], finders[keep]))
        return labels

    def _without_unsafe(
        self, rows: Rows, instance: Indices, labels: Labels, flips: Indices
    ) -> tuple[Labels, Mask]:
        """Give rows that are too near the boundary x's own decision, and tell which of the flips they are."""
        assert self._holds is not None
        safe, each = self._holds(rows[flips], instance[flips])
        self.asked += each * np.bincount(instance[flips], minlength=len(self.task))
        self.unsafe += np.bincount(instance[flips[~safe]], minlength=len(self.task))
        kept = np.ones(len(labels), dtype=np.bool_)
        kept[flips[~safe]] = False
        return _filled(self.task.decisions[instance], labels, kept), ~safe

    def _note(self, failed: dict[int, ModelError], finders: Indices) -> None:
        """Add to each error which search asked about the row that the model failed on."""
        for instance, error in failed.items():
            if error.position is not None:
                named = ModelError(f"{error} It was asked by {self.names[finders[error.position]]}.")
                named.__cause__ = error.__cause__
                error = named
            self.failed[instance] = error


class _Part(NamedTuple):
    """The rows of a question that are asked about, of those that may be."""

    keep: Indices  # those that may be
    first: Indices  # the first of each set of equal ones
    inverse: Indices  # the set of each
    within: Indices  # the sets that the budget allows

    @property
    def asked(self) -> Indices:
        """The indices of the rows that are asked about."""
        return self.first[self.within]

    def spread(self, result: NDArray[Any], answer: NDArray[Any]) -> None:
        """Write the answers about the rows asked about to all rows that equal them."""
        all_ = result[self.first]
        all_[self.within] = answer
        result[self.keep] = all_[self.inverse]


def _filled(own: Labels, labels: Labels, where: Mask) -> Labels:
    """Take labels where they are valid, and x's own decision elsewhere."""
    if not where.any():
        return own
    result = own.astype(np.result_type(own, labels))
    result[where] = labels[where]
    return result


@contextmanager
def _naming(pool: Pool) -> Iterator[None]:
    """Add the name of the search to an exception that it raises."""
    try:
        yield
    except Exception as error:
        error.add_note(f"It was raised by {pool.current}.")
        raise
