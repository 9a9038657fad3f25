"""From the caller's question to tasks, and from what their searches found to explanations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.blackbox import BlackBox, Labels, is_continuous
from counterpoint.bounds import Mask, Rules
from counterpoint.distances import Distance, Euclidean
from counterpoint.distinct import distinct
from counterpoint.engine import Budget, label
from counterpoint.explanation import Explanation
from counterpoint.explanations import Explanations
from counterpoint.pool import Finds, Pool
from counterpoint.population import Population
from counterpoint.schema import Rows, Schema
from counterpoint.shortfall import Shortfall, Why
from counterpoint.target import Target
from counterpoint.task import Places, Question, Rule, Task
from counterpoint.view import Sight, View


@dataclass(frozen=True)
class Fitted:
    """What an explainer learns at `fit`: constraints, black box and known instances."""

    rules: Rules
    blackbox: BlackBox
    known: Population
    rule: Rule | None = None

    @property
    def view(self) -> View:
        """How the caller's instances become rows."""
        return self.blackbox.view

    @property
    def schema(self) -> Schema:
        """What the caller's instances are."""
        return self.view.schema

    @property
    def yardstick(self) -> Distance:
        """What answers are measured with: of images and series, the Euclidean distance of their cells."""
        shaped = self.schema.form.shape
        return Euclidean.of(len(self.schema.features)) if shaped else self.known.distance

    def through(self, view: View) -> Fitted:
        """Give the same, seen through another view."""
        return self if view is self.view else replace(self, blackbox=self.blackbox.seen_by(view))

    def task(
        self,
        rows: Rows,
        decisions: Labels,
        stream: tuple[int, ...],
        k: int = 1,
        target: Target = Target(),  # noqa: B008 - frozen
        max_changes: int | None = None,
    ) -> Task:
        """Pose a question about instances, to be answered with all known instances and features."""
        return Task(
            x=rows,
            decisions=decisions,
            k=k,
            known=self.known,
            features=np.array(self.known.schema.actionable, dtype=np.intp),
            rules=self.rules,
            target=target,
            max_changes=max_changes,
            stream=stream,
        )


@dataclass(frozen=True)
class Settings:
    """What a call of `explain` asks for, checked."""

    k: int
    target: Target
    max_changes: int | None
    budget: Budget

    @classmethod
    def of(
        cls,
        fitted: Fitted,
        k: int,
        target: Any,
        max_changes: int | None,
        max_rows: int | None,
        max_seconds: float | None,
    ) -> Settings:
        """Check what was asked for."""
        for name, value in {"k": k, "max_changes": max_changes, "max_rows": max_rows}.items():
            if value is None and name != "k":
                continue
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise TypeError(f"{name} must be a whole number, got {value!r}.")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}.")
        if max_seconds is not None and not isinstance(max_seconds, int | float | np.number):
            raise TypeError(f"max_seconds must be a number of seconds, got {max_seconds!r}.")
        if max_seconds is not None and not max_seconds > 0:
            raise ValueError(f"max_seconds must be positive, got {max_seconds}.")
        labels = fitted.known.labels
        continuous = is_continuous(labels, fitted.blackbox.model)
        known = [] if continuous else [*np.unique(labels).tolist(), *fitted.blackbox.classes()]
        deadline = None if max_seconds is None else monotonic() + max_seconds
        wanted = Target.of(target, list(dict.fromkeys(known)), continuous)
        return cls(int(k), wanted, max_changes, Budget(max_rows, deadline))


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


class Answers:
    """The instances of one call, and the explanations of those that are done."""

    def __init__(self, fitted: Fitted, settings: Settings, sight: Sight, seed: int) -> None:
        sight, self._places = sight.split()
        self._fitted, self._settings, self._seed = fitted.through(sight.view), settings, seed
        self._instances, self._skipped = sight.instances, sight.problems
        instances = sight.instances
        self._decisions: list[Any] = [None] * len(instances.rows)
        self._done: dict[int, Explanation] = {}
        self._searching: set[int] = set()
        self.blackbox = self._fitted.blackbox.about(instances)
        self.failed: dict[int, Exception] = {}

    def __len__(self) -> int:
        return len(self._instances.rows)

    def groups(self, wave: Places) -> list[Places]:
        """Label some instances, and group those that pose the same question."""
        (reply,) = label([Question(self._instances.rows[wave], wave)], self.blackbox)
        self.failed |= reply.failed
        groups: dict[Any, list[int]] = {}
        ways = self._forced(wave)
        for place, decision in zip(wave.tolist(), reply.labels, strict=False):
            self._decisions[place] = decision
            if place in self.failed:
                continue
            if self._settings.target.flips(np.asarray(decision)[None], decision)[0]:
                self._answer_at_once(place)
            else:
                key = self._settings.target.key(decision), ways[place - wave[0]]
                groups.setdefault(key, []).append(place)
        self._searching = set().union(*groups.values())
        return [np.array(places) for places in groups.values()]

    def _forced(self, wave: Places) -> list[bytes]:
        """Tell apart instances in which other features have to change; it matters if few may."""
        outside = self._fitted.rules.outside(self._instances.rows[wave])
        if outside is None or self._settings.max_changes is None:
            return [b""] * len(wave)
        return [row.tobytes() for row in outside]

    def open(self, group: Places) -> tuple[Task, Pool]:
        """Pose the question about a group of instances."""
        fitted, settings = self._fitted, self._settings
        decisions = np.array([self._decisions[place] for place in group])
        task = fitted.task(
            self._instances.rows[group],
            decisions,
            (self._seed,),
            settings.k,
            settings.target,
            settings.max_changes,
        )
        obeys = None if fitted.rule is None else partial(self._obeys, fitted.rule, group)
        return task, Pool(task, settings.budget, self._rows_left, obeys)

    def _rows_left(self) -> float:
        """Estimate how many rows of each instance can still be asked about: all groups share the time."""
        return self.blackbox.rows_in(self._settings.budget.seconds_left()) / max(1, len(self._searching))

    def close(self, group: Places, pool: Pool, finds: Finds, chosen: list[Places]) -> None:
        """Make what was chosen for a group of instances into explanations."""
        self._searching.difference_update(group.tolist())
        for instance, (place, picked) in enumerate(zip(group.tolist(), chosen, strict=True)):
            if instance in pool.failed:
                self.failed[place] = pool.failed[instance]
                continue
            cells = self._fitted.view.cells(finds.rows[picked], self._instances, np.full(len(picked), place))
            distance = self._fitted.yardstick.from_x(cells, self._instances.cells[place])
            order = np.argsort(distance, kind="stable")
            if self._fitted.view.latent is not self._fitted.schema:
                order = _first_of_equal(cells, order)
            places, asked = picked[order], int(pool.asked[instance])
            self._done[place] = self._explanation(
                place,
                cells[order],
                finds.labels[places],
                found_by=tuple(pool.names[finder] for finder in finds.finders[places]),
                distance=distance[order],
                shortfall=self._shortfall(
                    len(places), len(finds.places(instance)), asked, pool.stopped.get(instance)
                ),
                model_calls=1 + int(pool.calls[instance]),
                model_rows=1 + asked,
            )

    def explanations(self) -> Explanations:
        """Give all explanations; if some instances failed, raise an error that holds the others."""
        count, places, labels = self.blackbox.count, sorted(self._done), self._instances.labels
        labels = pd.RangeIndex(len(self)) if labels is None else labels
        finished = Explanations(
            [self._done[place] for place in places],
            self._fitted.schema,
            count.calls,
            count.rows,
            labels.take(places) if self.failed else labels,
            self._skipped,
        )
        if self.failed:
            # They are named by their places in X, of which some may have been skipped.
            failed = {int(self._places[place]): error for place, error in sorted(self.failed.items())}
            place, error = next(iter(failed.items()))
            raise IncompleteError(
                f"{len(failed)} of {len(self)} instances could not be explained; the first "
                f"is X[{place}]: {error} The others are in this error's .finished.",
                finished,
                self._places[places].tolist(),
                failed,
            ) from error
        return finished

    def _obeys(self, rule: Rule, group: Places, rows: Rows, instance: int) -> Mask:
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

    def _answer_at_once(self, place: int) -> None:
        """Explain an instance that already has the decision asked for: nothing has to change."""
        none = np.asarray(self._decisions[place])[None][:0]
        shortfall = Shortfall(self._settings.k, 0, Why.ALREADY, target=str(self._settings.target))
        self._done[place] = self._explanation(place, self._instances.cells[:0], none, shortfall=shortfall)

    def _shortfall(self, found: int, seen: int, asked: int, stopped: Why | None) -> Shortfall | None:
        """Tell why there are fewer than k, if there are."""
        k, why, count = self._settings.k, stopped or Why.NOT_FOUND, asked
        if found == k:
            return None
        if found < min(k, seen):
            why, count = Why.NOT_WORTH_IT, seen
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
            codec=self._fitted.view.name,
            **(defaults | facts),
        )


def _first_of_equal(cells: Rows, order: Places) -> Places:
    """Keep the first of rows that decode to the same cells."""
    return distinct(cells, np.zeros(len(cells), dtype=np.intp), order)[0]
