"""What every explainer is: fit on a model and known instances, then explain decisions.

A subclass states its method as `search`, a generator that yields rows and is sent labels. All else, from the
caller's tables to the promises of every answer, is done here once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from tqdm.auto import tqdm

from counterpoint.blackbox import BlackBox, Labels, is_continuous
from counterpoint.bounds import Mask, Rules
from counterpoint.engine import Budget, OutOfBudget, Outcome, run
from counterpoint.explanation import Explanation, Explanations, Shortfall
from counterpoint.pool import Pool
from counterpoint.population import MOST, Population
from counterpoint.schema import Row, Rows, Schema
from counterpoint.target import Target
from counterpoint.task import Rule, Search, Task


@dataclass(frozen=True)
class Fitted:
    """What an explainer learns at `fit`: the columns, their constraints, the black box and the known instances."""

    schema: Schema
    rules: Rules
    blackbox: BlackBox
    known: Population
    rule: Rule | None = None


@dataclass(frozen=True)
class Answer:
    """What a search came to: counterfactuals with their labels and finders, and why it stopped early."""

    rows: Rows
    labels: Labels
    finders: tuple[str, ...]
    stopped: str | None = None

    @classmethod
    def of(cls, pool: Pool, places: NDArray[np.intp], stopped: str | None = None) -> Answer:
        """Take rows out of a pool."""
        return cls(pool.rows[places], pool.labels[places], tuple(pool.finders[places]), stopped)


class IncompleteError(RuntimeError):
    """Some instances could not be explained; `finished` holds the explanations of all others.

    `failed` maps the places of the instances that failed to their errors.
    """

    def __init__(self, message: str, finished: Explanations, failed: dict[int, Exception]) -> None:
        super().__init__(message)
        self.finished = finished
        self.failed = failed


class Explainer(ABC):
    """A k-counterfactual explainer: the paper's f_k(x, b, X, A).

    Subclasses are dataclasses whose fields are their parameters, with a `seed`, and implement `search`.
    """

    seed: int
    fitted_: Fitted

    @abstractmethod
    def search(self, task: Task) -> Search:
        """Look for counterfactuals: yield rows to be labelled, be sent their labels, return the finds."""

    def fit(
        self,
        model: Any,
        X: Any,
        *,
        schema: Schema | None = None,
        categorical: Iterable[Any] | None = None,
        immutable: Iterable[Any] = (),
        ranges: Mapping[Any, Sequence[Any]] | None = None,
        increase: Iterable[Any] = (),
        decrease: Iterable[Any] = (),
        rule: Rule | None = None,
    ) -> Self:
        """Learn the columns, ask the model about the known instances, and make the random draws.

        Parameters
        ----------
        model
            Anything with ``predict``, or a callable from rows to labels.
        X
            The known instances: a pandas or polars frame, or an array.
        schema
            What the columns are; inferred from X if not given.
        categorical
            Features to take as categorical although they hold numbers.
        immutable
            Features that a counterfactual keeps.
        ranges
            Admissible values a feature: a pair (low, high), or a list of categories.
        increase, decrease
            Features that may only rise, or only fall.
        rule
            A function (candidates as a table, x as a one-row table) to a mask of those that are admissible.
        """
        constraints: dict[str, Any] = {
            "immutable": list(immutable), "ranges": ranges, "increase": list(increase), "decrease": list(decrease)
        }
        if schema is None:
            schema = Schema.infer(X, categorical=categorical, **constraints)
        elif categorical is not None:
            raise ValueError("Give either schema or categorical, not both: a schema says what is categorical.")
        else:
            schema = schema.constrain(**constraints)
        if not schema.actionable:
            raise ValueError("Every feature is immutable, so nothing can change; leave at least one free.")
        rows = schema.encode(X)
        blackbox = BlackBox(model, schema)
        labels = blackbox.predict(rows)
        if labels.ndim == 1 and (labels == labels[0]).all():
            raise ValueError(
                f"The model decides every known instance as {labels[0]!r}, so X shows no other decision. "
                f"Give known instances of at least two decisions."
            )
        return self._fit_known(schema, blackbox, Population.of(schema, rows, labels), rule)

    def _fit_known(self, schema: Schema, blackbox: BlackBox, known: Population, rule: Rule | None) -> Self:
        """Keep what was learned; known instances beyond the limit are sampled."""
        known = known.sample(np.random.default_rng([self.seed]), MOST)
        self.fitted_ = Fitted(schema, Rules.of(schema), blackbox, known, rule)
        return self

    def explain(
        self,
        x: Any,
        k: int = 5,
        *,
        target: Any = None,
        max_changes: int | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
    ) -> Explanation:
        """Explain one decision by at most k counterfactuals.

        Parameters
        ----------
        x
            One instance: a dict, a Series, a one-row frame or a vector.
        k
            How many counterfactuals are wanted.
        target
            What counts as different: None for any other decision, a class, several classes, or a function of
            the model's outputs such as `Between`.
        max_changes
            At most so many features may change.
        max_rows
            At most so many rows are given to the model; then the best found so far is returned.
        max_seconds
            No new question is asked after so many seconds; then the best found so far is returned.
        """
        fitted = self._fitted()
        rows = fitted.schema.encode_one(x)[None]
        settings = _Settings.of(fitted, k, target, max_changes, max_rows, max_seconds)
        try:
            return self._explain(rows, settings, False)[0]
        except IncompleteError as error:
            raise error.failed[0] from error.failed[0].__cause__

    def explain_many(
        self,
        X: Any,
        k: int = 5,
        *,
        target: Any = None,
        max_changes: int | None = None,
        max_rows: int | None = None,
        max_seconds: float | None = None,
        progress: bool = True,
    ) -> Explanations:
        """Explain many decisions; far cheaper a row than one by one. Parameters are as for `explain`.

        `max_rows` is for each instance, `max_seconds` for all of them together. Where the model fails on some
        instances, the rest is explained and `IncompleteError.finished` holds it.
        """
        fitted = self._fitted()
        rows = fitted.schema.encode(X)
        settings = _Settings.of(fitted, k, target, max_changes, max_rows, max_seconds)
        return self._explain(rows, settings, progress)

    def answer(self, task: Task) -> Generator[Rows, Labels, Answer]:
        """Run the search and answer with its finds, each of which the black box was seen to flip on."""
        pool, stopped = Pool(task), None
        try:
            (finds,) = yield from pool.listen([self.search(task)], [str(self)])
            places = pool.places(task.x[None][:0] if finds is None else finds)
        except OutOfBudget as stop:
            places, stopped = np.argsort(task.distance(pool.rows), kind="stable"), str(stop)
        return Answer.of(pool, places[: task.k], stopped)

    def clone(self) -> Self:
        """Return an unfitted explainer with the same parameters."""
        return replace(self)  # type: ignore[type-var]

    def _fitted(self) -> Fitted:
        try:
            return self.fitted_
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: call fit(model, X) before explaining."
            ) from None

    def _explain(self, rows: Rows, settings: _Settings, progress: bool) -> Explanations:
        """Label rows, search for counterfactuals of each, and make the answers into explanations."""
        fitted = self._fitted()
        fitted.rules.check(rows)
        if not len(rows):
            return Explanations([])
        decisions = fitted.blackbox.predict(rows)
        tasks = (self._task(row, decision, settings) for row, decision in zip(rows, decisions, strict=True))
        with tqdm(total=len(rows), desc="explaining", unit="decision", disable=not progress) as bar:
            starts = (partial(self._start, task) for task in tasks)
            outcomes = run(starts, fitted.blackbox, settings.budget, finished=bar.update)
            return _gather(fitted, settings, rows, decisions, outcomes)

    def _task(self, row: Row, decision: Any, settings: _Settings) -> Task:
        """Pose the question about one instance."""
        fitted = self._fitted()
        return Task(
            x=row,
            decision=decision,
            k=settings.k,
            known=fitted.known,
            features=np.array(fitted.schema.actionable, dtype=np.intp),
            bounds=fitted.rules.around(row),
            target=settings.target,
            max_changes=settings.max_changes,
            rule=None if fitted.rule is None else partial(_obey, fitted.rule, fitted.schema, row),
            stream=(self.seed,),
        )

    def _start(self, task: Task) -> Generator[Rows, Labels, Answer]:
        """Answer a task, at once if x already has the decision that is asked for."""
        if task.flips(np.asarray(task.decision)[None])[0]:
            return Answer(task.x[None][:0], np.asarray(task.decision)[None][:0], (), "x already is what is asked for")
        return (yield from self.answer(task))


@dataclass(frozen=True)
class _Settings:
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
    ) -> _Settings:
        limits = {"k": k, "max_changes": max_changes, "max_rows": max_rows}
        for name, value in limits.items():
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | np.integer)):
                raise TypeError(f"{name} must be a whole number, got {value!r}.")
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}.")
        if max_seconds is not None and not max_seconds > 0:
            raise ValueError(f"max_seconds must be positive, got {max_seconds}.")
        labels = fitted.known.labels
        continuous = is_continuous(labels, fitted.blackbox.model)
        known = [] if continuous else list(dict.fromkeys([*np.unique(labels).tolist(), *fitted.blackbox.classes()]))
        deadline = None if max_seconds is None else monotonic() + max_seconds
        return cls(int(k), Target.of(target, known, continuous), max_changes, Budget(max_rows, deadline))


def _obey(rule: Rule, schema: Schema, x: Row, rows: Rows) -> Mask:
    """Ask the user's own rule which rows are admissible."""
    mask = np.asarray(rule(schema.decode(rows), schema.decode(x[None])))
    if mask.shape != (len(rows),) or mask.dtype != np.bool_:
        raise ValueError(
            f"rule must return one truth value a candidate: {len(rows)} candidates, "
            f"got shape {mask.shape} of {mask.dtype}."
        )
    return mask


def _gather(
    fitted: Fitted, settings: _Settings, rows: Rows, decisions: Labels, outcomes: Iterable[Outcome[Answer]]
) -> Explanations:
    """Make outcomes into explanations; errors are raised together once all others have finished."""
    finished: list[Explanation] = []
    failed: dict[int, Exception] = {}
    for place, (row, decision, outcome) in enumerate(zip(rows, decisions, outcomes, strict=True)):
        if outcome.error is not None:
            failed[place] = outcome.error
        elif outcome.value is not None:
            finished.append(_explanation(fitted, settings, row, decision, outcome.value, outcome))
    if failed:
        place, error = next(iter(failed.items()))
        raise IncompleteError(
            f"{len(failed)} of {len(rows)} instances could not be explained; the first is X[{place}]: {error} "
            f"The others are in this error's .finished.",
            Explanations(finished),
            failed,
        ) from error
    return Explanations(finished)


def _explanation(
    fitted: Fitted, settings: _Settings, row: Row, decision: Any, answer: Answer, outcome: Outcome[Answer]
) -> Explanation:
    """Make one answer into an explanation."""
    found = len(answer.rows)
    shortfall = None
    if found < settings.k:
        reason = answer.stopped or (
            f"{found or 'no'} admissible counterfactual{'s' * (found != 1)} turned up "
            f"among {outcome.rows:,} rows asked about"
        )
        shortfall = Shortfall(settings.k, found, reason)
    return Explanation(
        schema=fitted.schema,
        row=row,
        decision=decision,
        rows=answer.rows,
        labels=answer.labels,
        found_by=answer.finders,
        k=settings.k,
        distance=fitted.known.distance.from_x(answer.rows, row),
        shortfall=shortfall,
        model_calls=outcome.calls + 1,
        model_rows=outcome.rows + 1,
        target=str(settings.target),
    )


def at_least(least: float, explainer: object, *names: str) -> None:
    """Refuse parameters that are smaller than they can be."""
    for name in names:
        value = getattr(explainer, name)
        if not value >= least:
            raise ValueError(f"{type(explainer).__name__}.{name} must be at least {least}, got {value}.")
