"""Many answers as arrays over all of them: the counterfactuals of the first, then of the second, and so on.

Each array is computed on first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels, Rows
from counterpoint.explanation.answer import Answer


class Stack:
    """Answers of one schema, laid one after another.

    Examples
    --------
    >>> schema = Schema.infer(np.array([[1.0], [2.0]]))
    >>> one = Answer(
    ...     schema, row=np.array([1.0]), decision="no", rows=np.array([[2.0], [3.0]]),
    ...     labels=np.array(["yes", "yes"]), found_by=("Tree", "Tree"), k=2, distance=np.array([1.0, 2.0]),
    ... )
    >>> stack = Stack(schema, [one, one])
    >>> stack.indices, stack.numbers
    (array([0, 0, 1, 1]), array([1, 2, 1, 2]))
    """

    def __init__(self, schema: Schema, answers: Sequence[Answer]) -> None:
        self.schema = schema
        self.answers = answers

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """How many counterfactuals each answer holds."""
        return np.array([len(answer) for answer in self.answers], dtype=np.intp)

    @cached_property
    def x(self) -> Rows:
        """The explained instances."""
        return np.array([each.row for each in self.answers]).reshape(
            len(self.answers), len(self.schema.features)
        )

    @cached_property
    def decisions(self) -> Labels:
        """The model's output for the explained instances."""
        return np.array([answer.decision for answer in self.answers])

    @cached_property
    def rows(self) -> Rows:
        """All counterfactuals."""
        none = np.empty((0, len(self.schema.features)))
        return np.concatenate([none, *(answer.rows for answer in self.answers)])

    @cached_property
    def labels(self) -> Labels:
        """The model's output for the counterfactuals."""
        # Labels of an empty answer have an arbitrary dtype and width, which must not affect the others.
        return np.concatenate([each.labels for each in self.answers if len(each)] or [self.decisions[:0]])

    @cached_property
    def distance(self) -> NDArray[np.float64]:
        """The distance of each counterfactual from its instance."""
        return np.concatenate([np.empty(0), *(answer.distance for answer in self.answers)])

    @cached_property
    def cost(self) -> NDArray[np.float64] | None:
        """What each counterfactual costs; None if costs were given for no answer.

        Where they were not given, every change costs its part of the distance.
        """
        if all(answer.cost is None for answer in self.answers):
            return None
        each = (answer.distance if answer.cost is None else answer.cost for answer in self.answers)
        return np.concatenate([np.empty(0), *each])

    @property
    def bound(self) -> NDArray[np.float64] | None:
        """The distance that no counterfactual of the same instance undercuts; None if nothing was proven.

        NaN for instances about which nothing was proven.
        """
        if all(answer.bound is None for answer in self.answers):
            return None
        lower = [np.nan if answer.bound is None else answer.bound.lower for answer in self.answers]
        return np.repeat(np.array(lower, dtype=np.float64), self.counts)

    @property
    def found_by(self) -> list[str]:
        """The name of the explainer that found each counterfactual."""
        return [name for answer in self.answers for name in answer.found_by]

    @property
    def indices(self) -> NDArray[np.intp]:
        """The index of the answer that each counterfactual belongs to."""
        return np.repeat(np.arange(len(self.answers)), self.counts)

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The number of each counterfactual in its answer, from 1."""
        first = np.cumsum(self.counts) - self.counts
        return np.arange(1, len(self.rows) + 1) - np.repeat(first, self.counts)

    @property
    def x_of_rows(self) -> Rows:
        """The instance of each counterfactual."""
        return np.repeat(self.x, self.counts, axis=0)
