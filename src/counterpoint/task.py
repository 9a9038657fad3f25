"""One question: which rows near x does the black box decide differently?

A `Task` is all that a search may know: x and its decision, what counts as a flip, the known instances X',
the features A' it may change, k, and a random stream. It never holds the model.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from counterpoint.blackbox import Labels
from counterpoint.bounds import Bounds, Mask
from counterpoint.distances import changed
from counterpoint.population import Population
from counterpoint.schema import Row, Rows
from counterpoint.target import Target

T = TypeVar("T")

# Yields rows it wants labelled, is sent their labels, returns the counterfactuals it found.
Search = Generator[Rows, Labels, Rows]
Rule = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Task:
    """What a search is given.

    Attributes
    ----------
    x
        The instance to explain, as a row.
    decision
        What the black box says of it.
    k
        How many counterfactuals are wanted.
    known
        The known instances X' with their labels.
    features
        The places of the features A' that this search may change.
    bounds
        The constraints, seen from x.
    target
        What counts as a flip.
    max_changes
        At most this many features may differ from x in an answer.
    rule
        The user's own test of candidates, from rows to a mask.
    stream
        Names the random stream: the same for every instance, so that similar ones get similar answers.
    """

    x: Row
    decision: Any
    k: int
    known: Population
    features: NDArray[np.intp]
    bounds: Bounds
    target: Target
    max_changes: int | None = None
    rule: Callable[[Rows], Mask] | None = None
    stream: tuple[int, ...] = (0,)

    def narrow(self, known: Population, features: Sequence[int], stream: tuple[int, ...]) -> Task:
        """Give the same question to a search that sees fewer instances and may change fewer features."""
        return replace(self, known=known, features=np.asarray(features, dtype=np.intp), stream=stream)

    def flips(self, labels: Labels) -> Mask:
        """Tell which labels count as a different decision."""
        return self.target.flips(labels, self.decision)

    def project(self, rows: Rows) -> Rows:
        """Move rows to admissible ones that differ from x in this task's features only."""
        return self.bounds.project(rows, self.free)

    def admissible(self, rows: Rows) -> Mask:
        """Tell which rows keep every constraint, the user's rule included, and are not x itself."""
        mask = self.bounds.admissible(rows) & changed(rows, self.x).any(axis=1)
        if self.rule is not None and mask.any():
            mask[mask] = self.rule(rows[mask])
        return mask

    def answers(self, rows: Rows) -> Mask:
        """Tell which flipping rows may be given as an answer: those with few enough changes."""
        if self.max_changes is None:
            return np.ones(len(rows), dtype=np.bool_)
        return np.asarray(changed(rows, self.x).sum(axis=1) <= self.max_changes)

    def distance(self, rows: Rows) -> Row:
        """Measure the distance of rows from x."""
        return self.known.distance.from_x(rows, self.x)

    def prices(self, rows: Rows) -> Rows:
        """Measure the price of each change from x; they sum to the distance."""
        return self.known.distance.prices(rows, self.x)

    def unlike(self) -> Rows:
        """Known instances that are decided differently; all of them if none is."""
        return self.once("unlike", self._find_unlike)

    def nearest_unlike(self, count: int) -> Rows:
        """Known instances that are decided differently, nearest first over this task's features."""
        rows = self.unlike()
        return rows[self.nearest(rows, count)]

    def nearest(self, rows: Rows, count: int) -> NDArray[np.intp]:
        """Find the places of the rows nearest to x over this task's features, nearest first."""
        away = self.known.distance.from_x(rows, self.x, self.features)
        if count < len(rows):
            places = np.argpartition(away, count)[:count]
            return places[np.argsort(away[places], kind="stable")]
        return np.argsort(away, kind="stable")

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """Build a thing once for all instances that pose the same question to the same known instances."""
        return self.known.once((key, self.target.key(self.decision), self.stream), build)

    def rng(self) -> np.random.Generator:
        """Start this task's random stream anew."""
        return np.random.default_rng(self.stream)

    def _find_unlike(self) -> Rows:
        flips = self.flips(self.known.labels)
        return self.known.rows[flips] if flips.any() else self.known.rows

    @cached_property
    def free(self) -> Mask:
        """Which features this task may change, as a mask."""
        free = np.zeros(len(self.x), dtype=np.bool_)
        free[self.features] = True
        return free & ~self.bounds.rules.frozen


def drain(search: Search, label: Callable[[Rows], Labels]) -> Rows:
    """Run one search alone against a function that labels rows.

    Examples
    --------
    >>> def search():
    ...     rows = np.array([[1.0], [2.0], [3.0]])
    ...     labels = yield rows
    ...     return rows[labels]
    >>> drain(search(), lambda rows: rows[:, 0] > 1.5)
    array([[2.],
           [3.]])
    """
    try:
        rows = next(search)
        while True:
            rows = search.send(label(rows))
    except StopIteration as stop:
        return np.asarray(stop.value)
