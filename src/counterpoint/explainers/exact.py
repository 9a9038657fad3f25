"""The nearest counterfactual of models made of trees, with a proof that there is none nearer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Self

import numpy as np

from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.explainers.ensemble import Ensemble
from counterpoint.explainers.fitting import Fitted
from counterpoint.model.trees import UnreadableError
from counterpoint.search.bound import Bound
from counterpoint.search.pool import Asking, Finds, Pool
from counterpoint.search.task import Question, Search, Task
from counterpoint.search.tree_solver import Interval, Solution, solve, treecf_core, wanted_scores
from counterpoint.search.tree_states import States
from counterpoint.search.why import Why
from counterpoint.selection.selection import CLOSE

# At most this many problems are solved per answer wanted, where answers must change few features.
PROBLEMS = 20
# Rows whose score is on the very edge may not flip. They are left out this often; then all such rows are.
TURNS = 12


def _default_start() -> Explainer:
    return Ensemble(selection=CLOSE)


@dataclass
class Exact(Explainer):
    """The nearest counterfactual, proven: for forests, gradient boosting, XGBoost and LightGBM.

    The trees of the model are read, and a search by branch and bound looks at every admissible value that
    they can tell apart. `Explanation.bound` says what it proves: that no counterfactual within the
    constraints is nearer, how much nearer one could be if the search had to end early, or that there is none.

    With k > 1, each further answer is the nearest one that does not hold all changes of an earlier answer.

    It needs treecf: ``pip install 'counterpoint[exact]'``. The model must decide between two classes. It may
    be the last step of a pipeline whose other steps treat each column by itself. `links`, `follows` and
    `rule` are refused: nothing can be proven about them.

    Parameters
    ----------
    start
        Finds counterfactuals from which the search starts; the nearer they are, the faster it is. None for
        none.
    steps
        How far the search goes before it ends without a proof. It looks within a quarter of the distance
        that is known, then within a half, three quarters and all of it, each time with so many steps.
    seed
        For the draws of `start`. What is proven does not depend on it.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X, X.sum(axis=1) > 0)
    >>> exact = Exact().fit(forest, X)
    >>> exact.explain(X[0], k=1).bound.is_proven
    True
    """

    start: Explainer | None = field(default_factory=_default_start)
    steps: int = 500_000
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "steps")
        if not isinstance(self.start, Explainer | None):
            raise TypeError(f"Exact.start must be an explainer or None, got {self.start!r}.")

    def keep(self, fitted: Fitted) -> Self:
        """Keep what was learned, and check that the model is one whose decisions can be proven."""
        treecf_core()
        _check(fitted)
        if self.start is not None:
            self.start.keep(fitted)
        return super().keep(fitted)

    def gather(self, task: Task, pool: Pool) -> Asking:
        """Find counterfactuals to start from, then the nearest."""
        if pool.has_margin:
            raise ValueError(
                "Exact cannot take margin: the nearest is on the boundary. Use Ensemble instead."
            )
        if self.start is not None:
            yield from self.start.gather(task, pool)
        pool.add(self._proving(task, pool), type(self).__name__)
        yield from pool.finish()

    def search(self, task: Task) -> Search:
        """Look for the nearest counterfactuals, as one of an ensemble's voices: without `start`."""
        yield from self._proving(task, None)

    def choose(self, task: Task, finds: Finds) -> list[Indices]:
        """Choose the nearest, then the nearest that does not hold all its changes, and so on."""
        distance = _distances(task, finds)
        chosen = []
        for instance in range(len(task)):
            mine = finds.indices(instance)
            mine = mine[np.argsort(distance[mine], kind="stable")]
            differs = task.changed(finds.rows[mine], finds.instance[mine])
            kept: list[int] = []
            for place in range(len(mine)):
                if len(kept) == task.k:
                    break
                if not any((differs[place] >= differs[other]).all() for other in kept):
                    kept.append(place)
            chosen.append(mine[kept])
        return chosen

    @property
    def leaves_out(self) -> Why:
        """Why some finds are not chosen although there is room for them."""
        return Why.NEEDLESS

    def _proving(self, task: Task, pool: Pool | None) -> Search:
        """Solve the problem of each instance, and again without rows that rounding keeps from flipping."""
        known = None if pool is None else pool.finds()
        provers = [_Prover(task, index, self.steps, known) for index in range(len(task))]
        left = np.inf if pool is None else pool.seconds_left
        deadline = monotonic() + left
        for turn in range(TURNS):
            asked = [prover.rows(turn == TURNS - 1, deadline) for prover in provers]
            instance = np.repeat(np.arange(len(task)), [len(each) for each in asked])
            if not len(instance):
                break
            labels = yield Question(np.concatenate([task.x[:0], *asked]), instance)
            stopped = () if pool is None else pool.stopped
            for index, prover in enumerate(provers):
                prover.hear(asked[index], labels[instance == index], index in stopped)
        if pool is not None:
            self._note(task, pool, provers)

    def _note(self, task: Task, pool: Pool, provers: Sequence[_Prover]) -> None:
        """Tell the pool what is proven."""
        finds = pool.finds()
        distance = _distances(task, finds)
        for index, prover in enumerate(provers):
            best = float(distance[finds.indices(index)].min(initial=np.inf))
            pool.bounds[index] = Bound(min(prover.lower, best), best, prover.seconds)
            if prover.is_all:
                pool.stopped.setdefault(index, Why.PROVEN)


def _check(fitted: Fitted) -> None:
    """Refuse models and constraints about which nothing can be proven."""
    why = ""
    try:
        structure = fitted.structure()
        if structure.trees.classes is None:
            why = "it does not decide between two classes"
        elif not structure.is_true(fitted.known.rows, fitted.known.labels):
            why = "its decisions about known instances are not those of its trees, as they were read"
    except UnreadableError as error:
        why = str(error)
    if why:
        raise TypeError(f"Exact cannot prove anything about this model: {why}. Use Ensemble instead.")
    given = {
        "rule": fitted.rule is not None,
        "follows": fitted.follows is not None,
        "links": bool(fitted.known.schema.links),
    }
    for name, is_given in given.items():
        if is_given:
            raise ValueError(
                f"Exact cannot take {name}: nothing can be proven about it. Use Ensemble instead."
            )


def _distances(task: Task, finds: Finds) -> Row:
    """Measure from x itself, also where it lies outside its ranges."""
    return task.measure.from_x(finds.rows, task.x[finds.instance])


@dataclass(frozen=True)
class _Part:
    """A problem in which some features are kept, and its solution."""

    kept: frozenset[int]
    solution: Solution


class _Prover:
    """Finds the nearest rows of one instance, one after another, and what is proven about them.

    An answer that must not hold all changes of an earlier one keeps at least one of the features that this
    one changes. So each answer makes as many smaller problems as it has changes, and the nearest solution of
    all open problems is the next answer. `lower` bounds the distance of the first, and `is_all` tells whether
    there are no others.
    """

    def __init__(self, task: Task, instance: int, steps: int, known: Finds | None) -> None:
        self._task, self._instance, self._steps = task, instance, steps
        self._known = None if known is None else known.take(known.indices(instance))
        self.seconds, self.lower, self.is_all = 0.0, 0.0, False
        self._is_done = False
        self._without: list[Row] = [task.x[instance]] if self._is_on_edge else []

    @property
    def _is_on_edge(self) -> bool:
        """Whether the score of x itself cannot be told from one that flips."""
        trees = self._task.structure.trees
        home = self._task.home[[self._instance]]
        score = trees.scores(self._task.structure.encoding.matrix(home))[0]
        return bool(abs(score - trees.cut) <= trees.blur and not self._task.forced[self._instance].any())

    def rows(self, strictly: bool, deadline: float) -> Rows:
        """List the nearest rows, if they are not known already; `strictly` only those that surely flip.

        The instances that are left share the time.
        """
        none, started = self._task.x[:0], monotonic()
        if self._is_done or started >= deadline:
            return none
        self._deadline = started + (deadline - started) / (len(self._task) - self._instance)
        interval = wanted_scores(self._task.structure, self._task, strictly)
        found = [] if interval is None else self._nearest(interval, strictly)
        if interval is None:
            self.lower, self.is_all = np.inf, True
        self.seconds += monotonic() - started
        self._is_done = not found
        return np.array(found).reshape(-1, none.shape[1])

    def hear(self, rows: Rows, labels: Labels, is_stopped: bool) -> None:
        """Be told how the model decides about rows: they flip, unless their score is on the very edge.

        If the instance was stopped, the model was perhaps not asked.
        """
        if not self._is_done and len(rows):
            flips = self._task.flips(labels)
            self._without += list(rows[~flips])
            self._is_done = is_stopped or bool(flips.all())

    def _nearest(self, interval: Interval, strictly: bool) -> list[Row]:
        """List the nearest row, then the nearest that does not hold all its changes, and so on."""
        parts, tried = [self._solved(frozenset(), interval)], {frozenset[int]()}
        found: list[Row] = []
        changes: list[frozenset[int]] = []
        for _ in range(PROBLEMS * self._task.k):
            part = min(parts, key=lambda each: each.solution.distance, default=None)
            if part is None or part.solution.row is None or len(found) == self._task.k:
                break
            mine = self._changes(part.solution.row)
            held = next((each for each in changes if each <= mine), None)
            if held is None and len(mine) <= (self._task.max_changes or len(mine)):
                if not found and not strictly:
                    self.lower = min(each.solution.lower for each in parts)
                found.append(part.solution.row)
                changes.append(mine)
            parts.remove(part)
            if len(found) < self._task.k:
                kept = [part.kept | {feature} for feature in sorted(mine if held is None else held)]
                parts += [self._solved(each, interval) for each in kept if self._is_new(each, tried)]
        if not found and not strictly:
            self.lower = min((each.solution.lower for each in parts), default=np.inf)
        self.is_all = not strictly and all(each.solution.lower == np.inf for each in parts)
        return found

    def _is_new(self, kept: frozenset[int], tried: set[frozenset[int]]) -> bool:
        """Tell whether a problem was not tried yet, and can have a solution."""
        is_new = kept not in tried and not self._task.forced[self._instance, list(kept)].any()
        tried.add(kept)
        return is_new

    def _solved(self, kept: frozenset[int], interval: Interval) -> _Part:
        states = States(self._task.structure, self._task, self._instance, kept)
        seconds = self._deadline - monotonic()
        best = self._nearest_known(kept)
        return _Part(kept, solve(states, interval, self._steps, seconds, best, self._without))

    def _nearest_known(self, kept: Collection[int]) -> Row | None:
        """Find the nearest row that is known to flip and keeps some features."""
        if self._known is None:
            return None
        rows = self._known.rows
        some = np.flatnonzero(~self._differs(rows)[:, list(kept)].any(axis=1))
        if not len(some):
            return None
        distance = self._task.measure.from_x(rows[some], self._task.x[[self._instance]])
        return np.asarray(rows[some[distance.argmin()]])

    def _changes(self, row: Row) -> frozenset[int]:
        return frozenset(np.flatnonzero(self._differs(row[None])[0]).tolist())

    def _differs(self, rows: Rows) -> Mask:
        return self._task.changed(rows, np.full(len(rows), self._instance))
