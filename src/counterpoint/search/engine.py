"""Runs many searches in lockstep and merges their questions into one model call per round.

A model call has a large fixed cost and a small cost per row, so the number of calls must not grow with the
number of instances, explainers or candidates. `Lockstep` merges the questions of several searches into one.
`run` does the same for the pools of several groups of instances, and sends their questions to the black box.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.model.blackbox import BlackBox, ModelError
from counterpoint.model.scores import Scores
from counterpoint.search.grouped import joined
from counterpoint.search.stopping import check_wanted
from counterpoint.search.task import Derived, Question, Scored

AnySearch = Generator[Question, Labels, Any]
Asked = TypeVar("Asked")
Sent = TypeVar("Sent")


def step(search: Generator[Asked, Sent, Any], answer: Sent | None) -> Asked | None:
    """Advance a search to its next question, given the answer to the last one; None at its end.

    Examples
    --------
    >>> def ask():
    ...     answer = yield "What is 6 times 7?"
    ...     print(answer)
    >>> search = ask()
    >>> step(search, None)
    'What is 6 times 7?'
    >>> step(search, 42)
    42
    """
    # A search may step beyond the largest float; projection brings it back to what is admissible.
    with np.errstate(over="ignore"):
        try:
            return next(search) if answer is None else search.send(answer)
        except StopIteration:
            return None


class Lockstep:
    """Several searches as one: each round asks the questions of all together.

    Searches can be added while others are running. `nothing` is an empty array of labels, the answer to an
    empty question. `owners` tells which search each row of the current question belongs to, `credited` whom
    else it is credited to (-1 for nobody else), `scored` whether its score is wanted and not its label, and
    `current` which search is running, in case it raises.

    Examples
    --------
    >>> def ask(row):
    ...     labels = yield Question(np.array([row]), np.array([0]))
    ...     print(labels[0])
    >>> both = Lockstep(np.array([]))
    >>> both.add(ask([1.0]))
    >>> both.add(ask([5.0]))
    >>> both.question().rows
    array([[1.],
           [5.]])
    >>> both.owners
    array([0, 1])
    >>> both.answer(np.array(["low", "high"]))
    low
    high
    >>> both.question() is None
    True
    """

    def __init__(self, nothing: Labels) -> None:
        self._nothing = nothing
        self._searches: list[AnySearch] = []
        self._asking: dict[int, Question] = {}
        self.owners: Indices = np.empty(0, dtype=np.intp)
        self.credited: Indices = np.empty(0, dtype=np.intp)
        self.scored: Mask = np.empty(0, dtype=np.bool_)
        self.current = 0

    @property
    def ended(self) -> bool:
        """Whether no search has a question left."""
        return not self._asking

    def add(self, search: AnySearch) -> None:
        """Start a search; its first question is part of the next round."""
        self._searches.append(search)
        self._advance(len(self._searches) - 1, None)

    def question(self) -> Question | None:
        """Merge the open questions; None if all searches have ended."""
        if not self._asking:
            return None
        questions = self._asking.values()
        sizes = [len(instance) for _, instance in questions]
        self.owners = np.repeat(list(self._asking), sizes)
        self.scored = np.repeat([isinstance(question, Scored) for question in questions], sizes)
        self.credited = np.concatenate([_credited(question) for question in questions])
        return Question(joined([r for r, _ in questions]), joined([instance for _, instance in questions]))

    def answer(self, labels: Labels, leads: Row | None = None) -> None:
        """Send each search the labels of its own rows, or their leads if it asked for scores."""
        asking, self._asking = self._asking, {}
        start = 0
        for index, question in asking.items():
            mine = slice(start, start := start + len(question.instance))
            answers = leads if leads is not None and isinstance(question, Scored) else labels
            self._advance(index, answers[mine])

    def _advance(self, index: int, labels: Labels | None) -> None:
        """Advance a search to its next question that has rows, or to its end."""
        self.current, search = index, self._searches[index]
        question = _checked(step(search, labels))
        while question is not None and not len(question.instance):
            question = _checked(step(search, self._nothing))
        if question is not None:
            self._asking[index] = question


def _checked(question: Any) -> Question | None:
    """Raise an error if a search, such as a user's own, yields something other than a question."""
    if question is not None and not isinstance(question, Question):
        raise TypeError(
            f"A search must yield questions, made by task.question(rows) or task.project(rows, of), "
            f"got {type(question).__name__}."
        )
    return question


@dataclass(frozen=True)
class Reply:
    """Labels for rows, and the instances on whose rows the model failed; ignore the labels of those.

    `scores` are those of the rows whose scores were wanted; None if there were none, or the model gave none.
    """

    labels: Labels
    failed: dict[int, ModelError] = field(default_factory=dict)
    scores: Scores | None = None


class WithScores(Question):
    """A question about labels, and one about scores."""

    scored: Question

    @classmethod
    def of(cls, labelled: Question, scored: Question) -> Question:
        """Ask for the labels of some rows and for the scores of others."""
        question = cls(*labelled)
        question.scored = scored
        return question


@dataclass(frozen=True)
class Budget:
    """The maximum number of model rows per instance, and the deadline on the monotonic clock."""

    rows: int | None = None
    deadline: float | None = None

    def less(self, rows: int) -> Budget:
        """Reserve some rows, if they are a small part of the budget."""
        return self if self.rows is None or self.rows < 10 * rows else replace(self, rows=self.rows - rows)

    def seconds_left(self) -> float:
        """Compute the time left in seconds; negative after the deadline."""
        return np.inf if self.deadline is None else self.deadline - monotonic()


def _credited(question: Question) -> Indices:
    if isinstance(question, Derived):
        return question.finders
    return np.full(len(question.instance), -1)


def run(
    groups: Sequence[Indices],
    start: Callable[[Indices], Generator[Question, Reply, None]],
    blackbox: BlackBox,
) -> dict[int, Exception]:
    """Run a search for each group of instances, all in lockstep; return the errors of instances that failed.

    A group that raises is run again instance by instance, so that only the instance at fault fails.
    """
    running: list[tuple[Indices, Generator[Question, Reply, None], Question]] = []
    failed: dict[int, Exception] = {}

    def advance(group: Indices, search: Generator[Question, Reply, None], reply: Reply | None) -> None:
        try:
            question = step(search, reply)
        except Exception as error:
            if len(group) == 1:
                failed[int(group[0])] = error
            for one in group if len(group) > 1 else ():
                advance(one[None], start(one[None]), None)
        else:
            if question is not None:
                running.append((group, search, question))

    for group in groups:
        advance(group, start(group), None)
    while running:
        check_wanted()
        asking = running[:]
        running.clear()
        # A group counts its own instances from 0; the black box needs their indices in the run.
        questions = [_renumbered(question, group) for group, _, question in asking]
        replies = zip(asking, label(questions, blackbox), score(questions, blackbox), strict=True)
        for (group, search, _), reply, scores in replies:
            errors = {int(np.flatnonzero(group == index)[0]): each for index, each in reply.failed.items()}
            advance(group, search, Reply(reply.labels, errors, scores))
    return failed


def _renumbered(question: Question, group: Indices) -> Question:
    """Let a group's question speak of instances by their indices in the run."""
    labelled = Question(question.rows, group[question.instance])
    if not isinstance(question, WithScores):
        return labelled
    return WithScores.of(labelled, Question(question.scored.rows, group[question.scored.instance]))


def score(questions: Sequence[Question], blackbox: BlackBox) -> list[Scores | None]:
    """Ask for the scores that are wanted, in one model call; None where none are, or the model has none."""
    wanted = {
        index: question.scored for index, question in enumerate(questions) if isinstance(question, WithScores)
    }
    found: list[Scores | None] = [None] * len(questions)
    if not wanted:
        return found
    rows, instance = (np.concatenate(parts) for parts in zip(*wanted.values(), strict=True))
    scores = blackbox.class_scores(rows, instance)
    if scores is None and len(rows) > 1:
        scores = _score_apart(rows, instance, blackbox)
    if scores is not None:
        ends = np.cumsum([len(part.instance) for part in wanted.values()])[:-1]
        for index, numbers in zip(wanted, np.split(scores.numbers, ends), strict=True):
            found[index] = replace(scores, numbers=numbers)
    return found


def _score_apart(rows: Rows, instance: Indices, blackbox: BlackBox) -> Scores | None:
    """Ask about each instance separately, so that one on whose rows the model fails harms no other."""
    parts = {
        one: blackbox.class_scores(rows[instance == one], instance[instance == one])
        for one in np.unique(instance).tolist()
    }
    some = next((part for part in parts.values() if part is not None), None)
    if some is None:
        return None
    numbers = np.full((len(rows), some.numbers.shape[1]), np.nan)
    for one, part in parts.items():
        if part is not None:
            numbers[instance == one] = part.numbers
    return replace(some, numbers=numbers)


def label(questions: Sequence[Question], blackbox: BlackBox) -> list[Reply]:
    """Label the questions of several pools in one model call."""
    sizes = [len(question.instance) for question in questions]
    if not sum(sizes):
        return [Reply(np.empty(0)) for _ in questions]
    try:
        rows, instance = (joined(parts) for parts in zip(*questions, strict=True))
        labels = blackbox.predict(rows, instance)
    except ModelError as error:
        return _label_apart(questions, blackbox, error)
    return [Reply(part) for part in np.split(labels, np.cumsum(sizes[:-1]))]


def _label_apart(questions: Sequence[Question], blackbox: BlackBox, error: ModelError) -> list[Reply]:
    """Ask about each instance separately, so that only instances whose rows the model fails on fail."""
    replies, down = [], error.is_down
    for question in questions:
        labels: dict[int, Labels] = {}
        failed: dict[int, ModelError] = {}
        for instance in np.unique(question.instance).tolist():
            if down:
                failed[instance] = error
                continue
            mine = question.instance == instance
            try:
                labels[instance] = blackbox.predict(question.rows[mine], question.instance[mine])
            except ModelError as own_error:
                failed[instance] = _located(own_error, question, instance, blackbox)
                down = failed[instance].is_down or blackbox.is_down()
        replies.append(Reply(_spread(question.instance, labels), failed))
    return replies


def _located(error: ModelError, question: Question, instance: int, blackbox: BlackBox) -> ModelError:
    """Find the first row of an instance that the model fails on, and note its index in the question."""
    if error.is_down:
        return error
    mine = np.flatnonzero(question.instance == instance)
    culprit = blackbox.first_failing(question.rows[mine], question.instance[mine])
    if culprit is not None:
        index, error = culprit
        error.position = int(mine[index])
    return error


def _spread(instance: Indices, labels: dict[int, Labels]) -> Labels:
    """Put the labels of each instance where its rows are; instances without labels get arbitrary ones."""
    if not labels:
        return np.empty(0)
    some = next(iter(labels.values()))
    result = np.resize(some, (len(instance), *some.shape[1:]))
    for one, part in labels.items():
        result = result.astype(np.result_type(result, part), copy=False)
        result[instance == one] = part
    return result
