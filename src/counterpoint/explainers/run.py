"""One call of `explain` or `explain_many`: from the caller's question to waves, groups, pools and answers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Protocol

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from counterpoint._util.duplicates import distinct
from counterpoint.data.limits import AS_FITTED, Limits
from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.explainers.fitting import Fitted
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.explanations import Explanations
from counterpoint.explanation.nearest_miss import NearestMiss
from counterpoint.explanation.ranges import Ranges
from counterpoint.explanation.relaxation import Relaxation
from counterpoint.explanation.shortfall import Shortfall
from counterpoint.model.representation import Sight
from counterpoint.model.target import Target
from counterpoint.search.edges import Found, keep_off_edges
from counterpoint.search.engine import Budget, label, run
from counterpoint.search.excluded import Excluded
from counterpoint.search.margin import Margin
from counterpoint.search.misses import Miss, Missing, nearest_misses
from counterpoint.search.pool import Asking, Finds, Pool
from counterpoint.search.task import Question, Rule, Task
from counterpoint.search.why import Why

# About this many instances are explained at a time, fewer where they have many features: it bounds memory.
WAVE = 128
CELLS = 27_000

# The most counterfactuals per instance: the time that choosing them takes grows with k squared.
MOST_K = 1_000


@dataclass(frozen=True)
class Settings:
    """What a call of `explain` asks for, checked."""

    k: int
    target: Target
    max_changes: int | None
    budget: Budget
    limits: tuple[Limits, ...] = ()  # the constraints of each instance; () if all are as fitted
    margin: Margin | None = None
    excluded: Excluded | None = None  # actions that no answer may hold

    @classmethod
    def of(
        cls,
        fitted: Fitted,
        k: int,
        target: Any,
        max_changes: int | None,
        max_rows: int | None,
        max_seconds: float | None,
        limits: Sequence[Limits] = (),
        margin: Any = None,
        exclude: Iterable[Any] = (),
    ) -> Settings:
        """Check what was asked for."""
        k = check_k(k)
        for name, value in {"max_changes": max_changes, "max_rows": max_rows}.items():
            if value is not None:
                _check_count(name, value)
        if max_seconds is not None and not isinstance(max_seconds, int | float | np.number):
            raise TypeError(f"max_seconds must be a number of seconds, got {max_seconds!r}.")
        if max_seconds is not None and not max_seconds > 0:
            raise ValueError(f"max_seconds must be positive, got {max_seconds}.")
        deadline = None if max_seconds is None else monotonic() + max_seconds
        budget, own = Budget(max_rows, deadline), any(not each.is_empty for each in limits)
        asked = fitted.read_target(target)
        read = Margin.read(margin)
        if read is not None and asked.probability is not None:
            raise ValueError(
                f"Give either margin or {asked.probability!r} as the target, which is a margin itself."
            )
        excluded = Excluded.of(fitted.schema, exclude)
        own_limits = tuple(limits) if own else ()
        return cls(k, asked, max_changes, budget, own_limits, read, excluded)


def check_k(k: Any) -> int:
    """Refuse a number of counterfactuals that cannot be asked for: the same rule wherever k is given.

    Examples
    --------
    >>> check_k(5)
    5
    >>> check_k(10**9)
    Traceback (most recent call last):
        ...
    ValueError: k must be at most 1,000, got 1,000,000,000. Ask for fewer counterfactuals.
    """
    _check_count("k", k)
    if k > MOST_K:
        raise ValueError(f"k must be at most {MOST_K:,}, got {k:,}. Ask for fewer counterfactuals.")
    return int(k)


def _check_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be a whole number, got {value!r}.")
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}.")


class IncompleteError(RuntimeError):
    """Some instances could not be explained; `finished` holds the explanations of all others.

    `failed` maps the places of the instances that failed to their errors; `places` are those of the finished.
    """

    def __init__(
        self, message: str, finished: Explanations, places: list[int], failed: dict[int, Exception]
    ) -> None:
        super().__init__(message)
        self.finished = finished
        self.places = places
        self.failed = failed


def complete(
    finished: Explanations, places: list[int], failed: Mapping[int, Exception], indices: Indices
) -> Explanations:
    """Give explanations; if some instances failed, raise an error that holds the others.

    `places` are those of the finished instances among the valid ones, and `indices` those of these in X.
    """
    if not failed:
        return finished
    errors = {int(indices[place]): error for place, error in sorted(failed.items())}
    index, error = next(iter(errors.items()))
    raise IncompleteError(
        f"{len(errors)} of {len(indices)} instances could not be explained; the first "
        f"is X[{index}]: {error} The others are in this error's .finished.",
        finished,
        indices[places].tolist(),
        errors,
    ) from error


class Method(Protocol):
    """What a run asks of an explainer: its seed, how it fills a pool, and how it chooses from it."""

    seed: int

    @property
    def keeps_needless(self) -> bool:
        """Whether answers say that they may hold changes that are not needed."""
        ...

    @property
    def leaves_out(self) -> Why:
        """Why some finds are not chosen although there is room for them."""
        ...

    def gather(self, task: Task, pool: Pool) -> Asking:
        """Fill a pool with counterfactuals."""
        ...

    def choose(self, task: Task, finds: Finds) -> list[Indices]:
        """Choose at most k finds for each instance."""
        ...

    def ask_relaxed(
        self, explanation: Explanation, settings: Settings, keep: Iterable[Any], max_seconds: float | None
    ) -> Relaxation | None:
        """Find the fewest constraints whose release gives an answer."""
        ...

    def ask_ranges(
        self, explanations: Sequence[Explanation], settings: Settings, max_seconds: float | None
    ) -> list[Ranges]:
        """Find how far the changed values of answers can move."""
        ...


@dataclass(frozen=True)
class Asked:
    """Who was asked what, for an explanation to ask again."""

    method: Method
    settings: Settings

    def relax(
        self, explanation: Explanation, keep: Iterable[Any], max_seconds: float | None
    ) -> Relaxation | None:
        """Ask again, with fewer constraints."""
        return self.method.ask_relaxed(explanation, self.settings, keep, max_seconds)

    def ranges(self, explanations: Sequence[Explanation], max_seconds: float | None) -> list[Ranges]:
        """Ask how far the changed values of answers can move."""
        return self.method.ask_ranges(explanations, self.settings, max_seconds)


class Run:
    """One call of `explain` or `explain_many`, from the instances that were read to their explanations.

    Instances are explained in waves, which bounds memory. Those of a wave that pose the same question are a
    group with one task and one pool; all groups of a wave search together.
    """

    def __init__(self, method: Method, fitted: Fitted, settings: Settings, sight: Sight) -> None:
        sight, self._places = sight.split()
        self._method, self._settings = method, settings
        self._fitted = fitted.facing(settings.target).through(sight.view)
        self._instances, self._skipped = sight.instances, sight.problems
        self._decisions: list[Any] = [None] * len(self._instances.rows)
        self._done: dict[int, Explanation] = {}
        self._failed: dict[int, Exception] = {}
        self._searching: set[int] = set()
        self._found: list[Found] = []
        self._misses: dict[int, Miss] = {}
        self._blackbox = self._fitted.blackbox.about(self._instances)
        self._asked = Asked(method, settings)
        self._within: dict[Hashable, Fitted] = {}

    def explanations(self, progress: bool) -> Explanations:
        """Explain all instances; if some fail, raise an error that holds the others."""
        rows = self._instances.rows
        with tqdm(total=len(rows), desc="explaining", unit="decision", disable=not progress) as bar:
            for wave in waves(rows):
                self._failed |= run(self._groups(wave), self._search, self._blackbox)
                self._finish()
                bar.update(len(wave))
        return self._gathered()

    def _search(self, group: Indices) -> Asking:
        """Search for counterfactuals of a group of instances, and choose among what was found."""
        task, pool = self._open(group)
        yield from self._method.gather(task, pool)
        finds = pool.finds()
        self._searching.difference_update(group.tolist())
        # Kept until all of the wave are done.
        self._found.append(Found(group, task, pool, finds, self._method.choose(task, finds)))

    def _groups(self, wave: Indices) -> list[Indices]:
        """Label some instances, and group those that pose the same question."""
        (reply,) = label([Question(self._instances.rows[wave], wave)], self._blackbox)
        self._failed |= reply.failed
        groups: dict[Any, list[int]] = {}
        ways = self._forced(wave)
        for place, decision in zip(wave.tolist(), reply.labels, strict=False):
            self._decisions[place] = decision
            if place in self._failed:
                continue
            if self._settings.target.flips(np.asarray(decision)[None], decision)[0]:
                self._answer_at_once(place, Why.ALREADY)
            elif not self._fitted_for(place).constrained.actionable:
                self._answer_at_once(place, Why.NOT_ALLOWED)
            else:
                key = (
                    self._settings.target.key(decision),
                    self._limits(place).key,
                    ways[place - wave[0]],
                )
                groups.setdefault(key, []).append(place)
        self._searching = set().union(*groups.values())
        return [np.array(places) for places in groups.values()]

    def _forced(self, wave: Indices) -> list[bytes]:
        """Tell apart instances in which other features have to change: voices change those too."""
        if not self._settings.limits:
            outside = self._fitted.rules.outside(self._instances.rows[wave])
            return [b""] * len(wave) if outside is None else [row.tobytes() for row in outside]
        each = (self._fitted_for(place).rules.outside(self._instances.rows[place]) for place in wave.tolist())
        return [b"" if outside is None else outside.tobytes() for outside in each]

    def _limits(self, place: int) -> Limits:
        """Find the constraints of an instance."""
        return self._settings.limits[self._places[place]] if self._settings.limits else AS_FITTED

    def _fitted_for(self, place: int) -> Fitted:
        """Give what was fitted, with the constraints of an instance."""
        limits = self._limits(place)
        if limits.is_empty:
            return self._fitted
        if limits.key not in self._within:
            self._within[limits.key] = self._fitted.within(limits)
        return self._within[limits.key]

    def _open(self, group: Indices) -> tuple[Task, Pool]:
        """Pose the question about a group of instances."""
        fitted, settings = self._fitted_for(int(group[0])), self._settings
        decisions = np.array([self._decisions[place] for place in group])
        task = fitted.task(
            self._instances.rows[group],
            decisions,
            (self._method.seed,),
            settings.k,
            settings.target,
            settings.max_changes,
        )
        obeys = None if fitted.rule is None else partial(self._obeys, fitted.rule, group)
        follow = None
        if fitted.follows is not None:
            follow = fitted.follows.about(fitted.view, self._instances, group, fitted.constrained)
        holds = (
            None if settings.margin is None else partial(settings.margin.holds, task, self._blackbox, group)
        )
        budget = settings.budget.less(2 * settings.k)
        pool = Pool(task, budget, self._rows_left, obeys, follow, holds, settings.excluded)
        pool.places = group
        return task, pool

    def _rows_left(self) -> float:
        """Estimate how many rows per instance can still be tried: all groups share the time."""
        return self._blackbox.rows_in(self._settings.budget.seconds_left()) / max(1, len(self._searching))

    def _finish(self) -> None:
        """Make what was chosen for the instances of a wave into explanations, once it holds in any batch."""
        keep_off_edges(self._found, self._blackbox, self._method.choose, self._settings.budget)
        self._find_misses()
        for found in self._found:
            self._explain(found)
        self._found = []

    def _find_misses(self) -> None:
        """Find what came nearest for the instances without any counterfactual."""
        budget, missing = self._settings.budget, []
        for found in self._found:
            empty = [i for i, picked in enumerate(found.chosen) if not len(picked)]
            left = None if budget.rows is None else budget.rows - found.pool.asked - found.checks
            tried = found.pool.misses.of(np.setdiff1d(empty, list(found.pool.failed)), left)
            if tried is not None:
                missing.append((found, Missing(found.instances, found.task, tried)))
        blackbox = self._blackbox if budget.seconds_left() > 0 else None
        self._misses, asked = nearest_misses([group for _, group in missing], blackbox)
        for found, group in missing if asked else ():
            found.checks += np.bincount(group.tried.instance, minlength=len(found.task))

    def _miss(self, place: int) -> NearestMiss | None:
        """Show what came nearest to a counterfactual of an instance, if anything is known."""
        miss = self._misses.get(place)
        if miss is None:
            return None
        cells = self._fitted.view.cells(miss.row[None], self._instances, np.array([place]))[0]
        x = self._instances.cells[place]
        return NearestMiss(self._fitted.schema, x, cells, miss.decision, miss.standing)

    def _explain(self, found: Found) -> None:
        """Make what was chosen for a group of instances into explanations."""
        pool, finds = found.pool, found.finds
        for instance, (place, picked) in enumerate(zip(found.instances.tolist(), found.chosen, strict=True)):
            if instance in pool.failed:
                self._failed[place] = pool.failed[instance]
                continue
            cells = self._fitted.view.cells(finds.rows[picked], self._instances, np.full(len(picked), place))
            distance = self._fitted.yardstick.from_x(cells, self._instances.cells[place])
            cost = self._cost(found.task, cells, place)
            order = np.argsort(distance if cost is None else cost, kind="stable")
            if self._fitted.view.latent is not self._fitted.schema:
                order = _first_of_equal(cells, order)
            places, asked = picked[order], int(pool.asked[instance])
            self._done[place] = self._explanation(
                place,
                cells[order],
                finds.labels[places],
                found_by=tuple(pool.names[finder] for finder in finds.finders[places]),
                distance=distance[order],
                cost=None if cost is None else cost[order],
                shortfall=self._shortfall(
                    len(places),
                    len(finds.indices(instance)),
                    asked,
                    pool.stopped.get(instance),
                    int(pool.unsafe[instance]),
                ),
                nearest_miss=self._miss(place),
                bound=pool.bounds.get(instance),
                model_calls=1 + int(pool.calls[instance] + (found.checks[instance] > 0)),
                model_rows=1 + asked + int(found.checks[instance]),
            )

    def _cost(self, task: Task, cells: Rows, place: int) -> Row | None:
        """Measure what the changes of counterfactuals cost, if that differs from their distance."""
        if task.costs is None:
            return None
        x = self._instances.cells[place]
        return task.measure.from_x(np.where(task.rules.follows, x, cells), x)

    def _gathered(self) -> Explanations:
        """Give all explanations; if some instances failed, raise an error that holds the others."""
        names, count = self._instances.labels, self._blackbox.count
        names = pd.RangeIndex(len(self._decisions)) if names is None else names
        places = sorted(self._done)
        finished = Explanations(
            [self._done[place] for place in places],
            self._fitted.schema,
            count.calls,
            count.rows,
            names.take(places) if self._failed else names,
            self._skipped,
        )
        return complete(finished, places, self._failed, self._places)

    def _obeys(self, rule: Rule, group: Indices, rows: Rows, instance: int) -> Mask:
        """Ask the user's own rule which rows are admissible."""
        place, view = group[[instance]], self._fitted.view
        candidates = view.decode(rows, self._instances, np.repeat(place, len(rows)))
        x = view.decode(self._instances.rows[place], self._instances, place)
        try:
            mask = np.asarray(rule(candidates, x))
        except Exception as error:
            error.add_note(f"It was raised by rule={getattr(rule, '__name__', rule)!s}, not by the library.")
            raise
        if mask.shape != (len(rows),) or mask.dtype != np.bool_:
            raise ValueError(
                f"rule must return one truth value a candidate: {len(rows)} candidates, "
                f"got shape {mask.shape} of {mask.dtype}."
            )
        return mask

    def _answer_at_once(self, place: int, why: Why) -> None:
        """Explain an instance for which nothing has to change, or nothing may."""
        none = np.asarray(self._decisions[place])[None][:0]
        shortfall = Shortfall(self._settings.k, 0, why, target=str(self._settings.target))
        self._done[place] = self._explanation(place, self._instances.cells[:0], none, shortfall=shortfall)

    def _shortfall(
        self, found: int, seen: int, asked: int, stopped: Why | None, unsafe: int
    ) -> Shortfall | None:
        """Tell why there are fewer than k, if there are."""
        k, why, count = self._settings.k, stopped or Why.NOT_FOUND, asked
        if found == k:
            return None
        if stopped is None and found < min(k, seen):
            why, count = self._method.leaves_out, seen
        elif stopped is None and unsafe:
            why, count = Why.UNSAFE, unsafe
        elif stopped is None and not asked:
            why = Why.NOT_ALLOWED
        elif stopped is Why.MAX_ROWS:
            count = self._settings.budget.rows or 0
        return Shortfall(k, found, why, count, str(self._settings.target))

    def _explanation(self, place: int, cells: Rows, labels: Labels, **facts: Any) -> Explanation:
        defaults: dict[str, Any] = {
            "found_by": (),
            "distance": np.empty(0),
            "model_calls": 1,
            "model_rows": 1,
        }
        return Explanation(
            schema=self._fitted.schema,
            row=self._instances.cells[place],
            decision=self._decisions[place],
            rows=cells,
            labels=labels,
            k=self._settings.k,
            target=str(self._settings.target),
            classes=self._settings.target.classes,
            probability=self._settings.target.probability,
            codec=self._fitted.view.name,
            may_hold_needless=self._method.keeps_needless,
            limits=self._limits(place),
            _asked=self._asked,
            **(defaults | facts),
        )


def waves(rows: Rows) -> list[Indices]:
    """Cut instances into those that are explained at a time, about the same number each.

    A few more than fit join the others: alone, they would take as many model calls.

    Examples
    --------
    >>> [len(wave) for wave in waves(np.zeros((133, 5)))], [len(wave) for wave in waves(np.zeros((300, 5)))]
    ([133], [150, 150])
    """
    size = max(1, min(WAVE, CELLS // int(rows.shape[1])))
    cut = np.array_split(np.arange(len(rows)), max(1, round(len(rows) / size)))
    return [wave for wave in cut if len(wave)]


def _first_of_equal(cells: Rows, order: Indices) -> Indices:
    """Keep the first of rows that decode to the same cells."""
    return distinct(cells, np.zeros(len(cells), dtype=np.intp), order)[0]
