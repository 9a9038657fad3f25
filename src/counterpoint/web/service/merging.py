"""Requests that come at the same time are answered by one run of the engine.

A run for many rows takes little longer than one for a single row. So whoever comes first waits a few
milliseconds for others, and all who come while a run goes on share the next one. A row's answer does not
depend on what else is in its run, and constraints are each row's own: everybody gets the answer that they
would get alone.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from math import ceil
from threading import Condition, Thread
from time import monotonic
from typing import Any

from counterpoint.data.problems import InvalidError
from counterpoint.explainers import Explainer
from counterpoint.explainers.run import IncompleteError
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.explanations import Explanations
from counterpoint.model.blackbox import ModelError
from counterpoint.web.limits import Bounds
from counterpoint.web.rows import Table, joined
from counterpoint.web.service.metrics import Metrics

# The thread ends after so many seconds without work, and is started again when there is some.
IDLE = 5.0
# While requests keep coming at least so often, a run waits for them.
GAP = 0.02
# For so long it waits for the clients of the last run, who are likely to ask again at once.
RETURNING = 0.05
# Nobody's deadline is cut by more than this share, and this many seconds, for a run with others.
SHARE, LITTLE = 0.1, 0.05
# But for no more than this share of the time that the last run took, or so many times what it always waits.
PATIENCE, KEEPING = 0.1, 4

Result = Explanation | Exception


class FullError(Exception):
    """Too many requests wait; `retry` says after how many seconds to come again."""

    def __init__(self, retry: int) -> None:
        super().__init__(f"Too many requests are waiting. Try again in {retry} seconds.")
        self.retry = retry


@dataclass(eq=False)
class Ask:
    """What one request asks for, about all its rows.

    Parameters
    ----------
    table, k, target, setting, constraints
        The rows and the question, read and checked.
    seconds
        How long the answer may take, counted from now.
    """

    table: Table
    k: int
    target: Any = None
    setting: str | None = None
    constraints: dict[str, Any] = field(default_factory=dict)
    seconds: float = 30.0
    arrived: float = field(default_factory=monotonic)
    future: Future[list[Result]] = field(default_factory=Future)

    @property
    def left(self) -> float:
        """The seconds until the deadline."""
        return self.arrived + self.seconds - monotonic()

    @property
    def key(self) -> Hashable:
        """Equal for requests that can share a run."""
        alone = None if self.table.joins else id(self)
        return self.k, repr(self.target), self.setting, self.constraints.get("max_changes"), alone

    def joins(self, other: Ask) -> bool:
        """Tell whether this can share a run with another, whose deadline then holds for both if earlier."""
        first, last = sorted((self.left, other.left))
        return self.key == other.key and last - first <= max(LITTLE, SHARE * last)


class Merger:
    """Answers requests, as many as possible in one run.

    Parameters
    ----------
    explainer_for
        Gives the explainer for a named setting.
    bounds
        How many may wait, for how long, and how many rows a run has.

    Examples
    --------
    >>> import counterpoint as cp
    >>> import pandas as pd
    >>> explainer = cp.Ensemble().fit(lambda X: X["age"] > 35, pd.DataFrame({"age": [20, 30, 40, 50]}))
    >>> merger = Merger(lambda setting: explainer, Bounds())
    >>> futures = [merger.submit(Ask(Table(("age",), ([age],)), k=1)) for age in (20, 30)]
    >>> [int(future.result()[0].counterfactuals["age"][0]) for future in futures]
    [40, 40]
    """

    def __init__(self, explainer_for: Callable[[str | None], Explainer], bounds: Bounds) -> None:
        self._explainer_for, self._bounds = explainer_for, bounds
        self._waiting: list[Ask] = []
        self._changed = Condition()
        self._thread: Thread | None = None
        self._due: float | None = None  # when the run that goes on should be over
        self._pace = 0.1  # seconds per request, lately
        self._last_seconds, self._last_count = 0.0, 0  # of the last run
        self._idle_since = 0.0
        self.metrics = Metrics(lambda: len(self._waiting))

    def submit(self, ask: Ask) -> Future[list[Result]]:
        """Queue a request; its result has one answer, or one error, per row."""
        with self._changed:
            if len(self._waiting) >= self._bounds.queue:
                raise FullError(max(1, ceil(self._pace * len(self._waiting))))
            self._waiting.append(ask)
            if self._thread is None:
                self._thread = Thread(target=self._work, name="counterpoint-runs", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return ask.future

    @property
    def is_stuck(self) -> bool:
        """Whether a run goes on long after its deadline: the model does not return."""
        due = self._due
        return due is not None and monotonic() > due + self._bounds.seconds

    def _work(self) -> None:
        """Run after run, until there has been nothing to do for a while."""
        while (batch := self._next()) is not None:
            self._answer([ask for ask in batch if ask.future.set_running_or_notify_cancel()])
            self._idle_since = monotonic()

    def _next(self) -> list[Ask] | None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting, timeout=IDLE):
                self._thread = None
                return None
            self._wait_for_others()
            return self._take()

    def _wait_for_others(self) -> None:
        """Wait a few milliseconds for others; longer if those of the last run seem to be coming again."""
        first = max(self._waiting[0].arrived, self._idle_since)
        latest = first + max(KEEPING * self._bounds.wait, PATIENCE * self._last_seconds)
        end = first + self._bounds.wait
        if len(self._waiting) < self._last_count:
            end = max(end, min(latest, first + RETURNING))
        while (now := monotonic()) < end and self._rows_waiting() < self._bounds.together:
            seen = len(self._waiting)
            self._changed.wait(end - now)
            if len(self._waiting) > seen:
                end = min(latest, max(end, monotonic() + GAP))

    def _rows_waiting(self) -> int:
        return sum(len(ask.table) for ask in self._waiting)

    def _take(self) -> list[Ask]:
        """Take the oldest request, and all that can share its run."""
        first = self._waiting[0]
        batch, rows, rest = [first], len(first.table), []
        for ask in self._waiting[1:]:
            if rows + len(ask.table) <= self._bounds.together and ask.joins(first):
                batch.append(ask)
                rows += len(ask.table)
            else:
                rest.append(ask)
        self._waiting = rest
        return batch

    def _answer(self, batch: Sequence[Ask]) -> None:
        """Answer some requests by one run; if that fails as a whole, each by its own."""
        if not batch:
            return
        try:
            results = self._run(batch)
        except BaseException as error:  # a model may even call sys.exit
            if len(batch) > 1:
                for ask in batch:
                    self._answer([ask])
            else:
                batch[0].future.set_exception(error if isinstance(error, Exception) else _ended(error))
            return
        finally:
            self._due = None
        start = 0
        for ask in batch:
            end = start + len(ask.table)
            self.metrics.answered(results[start:end])
            ask.future.set_result(results[start:end])
            start = end

    def _run(self, batch: Sequence[Ask]) -> list[Result]:
        first, begun = batch[0], monotonic()
        left = max(0.001, min(ask.left for ask in batch))
        self._due = begun + left
        frame = joined([ask.table for ask in batch])
        failed: dict[int, Exception] = {}
        try:
            found = self._explainer_for(first.setting).explain_many(
                frame,
                first.k,
                target=first.target,
                max_changes=first.constraints.get("max_changes"),
                max_seconds=left,
                invalid="skip",
                progress=False,
                **_each(batch),
            )
        except IncompleteError as error:
            found, failed = error.finished, dict(error.failed)
        took = monotonic() - begun
        self._pace = 0.7 * self._pace + 0.3 * took / len(batch)
        self._last_seconds, self._last_count = took, len(batch)
        self.metrics.ran(len(batch), len(frame), took, found.model_calls, found.model_rows)
        return _results(found, failed, len(frame))


def _each(batch: Sequence[Ask]) -> dict[str, Any]:
    """Gather the constraints of all rows, each its own; those that nobody gives are left out."""
    names = {name for ask in batch for name in ask.constraints if name != "max_changes"}
    return {
        name: [ask.constraints.get(name) for ask in batch for _ in range(len(ask.table))]
        for name in sorted(names)
    }


def _results(found: Explanations, failed: dict[int, Exception], count: int) -> list[Result]:
    """Lay out answers and errors by row."""
    results: list[Result | None] = [None] * count
    for place, item in zip(found.instances.tolist(), found, strict=True):
        results[place] = item
    for place, error in failed.items():
        results[place] = error
    for problem in found.skipped:
        results[problem.row] = InvalidError([problem])
    return [ModelError("There is no answer.") if each is None else each for each in results]


def _ended(error: BaseException) -> ModelError:
    return ModelError(f"The model raised {type(error).__name__}, which ends a program.")
