"""Runs many searches in lockstep and merges their questions into one model call a round.

A model call has a large fixed price and a small price a row, so the number of calls must not grow with the
number of instances, explainers or candidates. `Lockstep` merges several searches into one; `run` drives the
searches of many instances against the black box, in waves that bound memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from time import monotonic
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from counterpoint.blackbox import BlackBox, Labels, ModelError
from counterpoint.schema import Rows

T = TypeVar("T")

# So many models failing in a row is a model that is down, not a few rows that it cannot take.
DOWN = 3


class OutOfBudget(Exception):
    """Thrown into a search whose budget of rows or seconds is used up; it may still answer with what it has."""


@dataclass(frozen=True)
class Budget:
    """How many rows a search may ask about, and when all must be over (by the monotonic clock)."""

    rows: int | None = None
    deadline: float | None = None

    def allows(self, rows: int) -> bool:
        """Whether so many rows in all are within the budget."""
        return self.rows is None or rows <= self.rows

    def over(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and monotonic() >= self.deadline


@dataclass
class Outcome(Generic[T]):
    """What became of one search: its value or its error, and what it cost."""

    value: T | None = None
    error: Exception | None = None
    calls: int = 0
    rows: int = 0


class Lockstep(Generic[T]):
    """Several searches as one: each round asks the questions of all together.

    `owners` tells, while a question is being asked, which search each of its rows belongs to; `current`
    tells which one is at work, should it raise.

    Examples
    --------
    >>> def ask(row):
    ...     labels = yield np.array([row])
    ...     return labels[0]
    >>> both = Lockstep([ask([1.0]), ask([5.0])])
    >>> search = both.search()
    >>> next(search)
    array([[1.],
           [5.]])
    >>> both.owners
    array([0, 1])
    >>> try:
    ...     search.send(np.array(["low", "high"]))
    ... except StopIteration as stop:
    ...     print(*stop.value)
    low high
    """

    def __init__(self, searches: Iterable[Generator[Rows, Labels, T]]) -> None:
        self._searches = list(searches)
        self._values: list[T | None] = [None] * len(self._searches)
        self.owners: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.current = 0

    def search(self) -> Generator[Rows, Labels, list[T | None]]:
        """Run all searches to their end."""
        asking: dict[int, Rows] = {}
        for place in range(len(self._searches)):
            self._advance(place, None, asking)
        while asking:
            sizes = [len(rows) for rows in asking.values()]
            self.owners = np.repeat(list(asking), sizes)
            labels = yield np.concatenate(list(asking.values()))
            parts = np.split(labels, np.cumsum(sizes[:-1]))
            for place, part in zip(list(asking), parts, strict=True):
                del asking[place]
                self._advance(place, part, asking)
        return self._values

    def _advance(self, place: int, labels: Labels | None, asking: dict[int, Rows]) -> None:
        self.current = place
        try:
            rows = advance(self._searches[place], labels)
        except StopIteration as stop:
            self._values[place] = stop.value
        else:
            asking[place] = rows


def advance(search: Generator[Rows, Labels, Any], labels: Labels | None) -> Rows:
    """Take a search to its next question that has rows; raises StopIteration at its end."""
    rows = next(search) if labels is None else search.send(labels)
    while not len(rows):
        rows = search.send(np.empty(0) if labels is None else labels[:0])
    return rows


def run(
    searches: Iterable[Callable[[], Generator[Rows, Labels, T]]],
    blackbox: BlackBox,
    budget: Budget = Budget(),  # noqa: B008 - frozen
    wave: int = 128,
    finished: Callable[[int], None] = lambda count: None,
) -> Iterator[Outcome[T]]:
    """Run searches, a wave of them at a time, and give each one's outcome in their order.

    Searches are given as functions that start one, so that only a wave of them is alive at a time.
    A search that fails costs its own outcome only; `finished` is told how many have ended.
    """
    waiting = iter(searches)
    while starts := list(islice(waiting, wave)):
        running = [_Running(place, start()) for place, start in enumerate(starts)]
        _run_wave(running, blackbox, budget, finished)
        yield from (each.outcome for each in running)


class _Running(Generic[T]):
    """A search under way, with the question it asks now and what it has cost."""

    def __init__(self, place: int, search: Generator[Rows, Labels, T]) -> None:
        self.place = place
        self.search = search
        self.question: Rows | None = None
        self.outcome: Outcome[T] = Outcome()

    def answer(self, labels: Labels | None) -> None:
        """Send labels and take the next question."""
        self._step(lambda: advance(self.search, labels))

    def throw(self, error: Exception) -> None:
        """Send an error instead of labels; the search may answer it with an end, not a question."""
        self._step(lambda: self.search.throw(error))
        if self.question is not None:
            self.search.close()
            self.question, self.outcome.error = None, error

    def _step(self, step: Callable[[], Rows]) -> None:
        self.question = None
        try:
            self.question = step()
        except StopIteration as stop:
            self.outcome.value = stop.value
        except Exception as error:
            self.outcome.error = error


def _run_wave(
    running: list[_Running[T]], blackbox: BlackBox, budget: Budget, finished: Callable[[int], None]
) -> None:
    """Ask the questions of all running searches together, round after round, until all have ended."""
    for each in running:
        each.answer(None)
    left = len(running)
    while True:
        for each in running:
            if each.question is not None:
                _keep_budget(each, budget)
        asking = [each for each in running if each.question is not None]
        finished(left - len(asking))
        left = len(asking)
        if not asking:
            return
        _ask(asking, blackbox)


def _keep_budget(each: _Running[T], budget: Budget) -> None:
    """Tell a search that its budget is used up, if its question goes beyond it."""
    if budget.over():
        each.throw(OutOfBudget("the time limit was reached"))
    elif each.question is not None and not budget.allows(each.outcome.rows + len(each.question)):
        each.throw(OutOfBudget(f"the limit of {budget.rows:,} model rows was reached"))


def _ask(asking: list[_Running[T]], blackbox: BlackBox) -> None:
    """Ask one merged question; if the model fails, find out on whose rows."""
    questions = [each.question for each in asking if each.question is not None]
    sizes = [len(rows) for rows in questions]
    try:
        labels = blackbox.predict(np.concatenate(questions))
    except ModelError as error:
        _ask_one_by_one(asking, blackbox, error)
        return
    for each, part in zip(asking, np.split(labels, np.cumsum(sizes[:-1])), strict=True):
        _hand_back(each, part)


def _ask_one_by_one(asking: list[_Running[T]], blackbox: BlackBox, error: ModelError) -> None:
    """Ask each search's question by itself, so that only those fail whose rows the model fails on."""
    failed = 0
    for each in asking:
        rows = each.question
        if rows is None or failed >= DOWN:
            each.throw(error)
            continue
        try:
            labels = blackbox.predict(rows)
        except ModelError as own_error:
            failed += 1
            culprit = blackbox.first_failing(rows)
            own_error.position = None if culprit is None else culprit[0]
            each.throw(own_error)
        else:
            failed = 0
            _hand_back(each, labels)


def _hand_back(each: _Running[T], labels: Labels) -> None:
    each.outcome.calls += 1
    each.outcome.rows += len(labels)
    each.answer(labels)
