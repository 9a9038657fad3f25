"""A question: which rows near x does the black box decide differently.

A `Task` is all that a search may know: some instances x that are decided alike, what counts as a flip, the
known instances X', the features A' it may change, k, and a random stream. It never holds the model.

One task is about many instances at once, so that a search costs each of them little: rows are flat, and `of`
says which instance each row is about. Nothing that a search does with one instance may depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from counterpoint.blackbox import Labels
from counterpoint.blocks import Scalar, in_blocks
from counterpoint.bounds import Mask, Rules
from counterpoint.distances import changed
from counterpoint.distinct import distinct
from counterpoint.population import Population
from counterpoint.readonly import make_read_only
from counterpoint.schema import Row, Rows
from counterpoint.target import Target

T = TypeVar("T")

# Rows of more features than this are dear, and fewer of them are asked about.
WIDE = 25

# So many entries are sorted as quickly as searched.
FEW = 200

Places = NDArray[np.intp]


class Question(NamedTuple):
    """Rows to be labelled, and which instance of the task each is about."""

    rows: Rows
    of: Places


# Yields questions, is sent a label a row. What flips is kept by whoever asks the black box.
Search = Generator[Question, Labels, None]
# A search that other searches use with `yield from`: it returns rows, one for each that it was given.
Refinement = Generator[Question, Labels, Rows]
Rule = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Task:
    """What a search is given. Its arrays are read-only, as all searches share them.

    Attributes
    ----------
    x
        The instances to explain, one a row.
    decisions
        What the black box says of each; unless the target is a function, the same of all.
    k
        How many counterfactuals are wanted of each.
    known
        The known instances X' with their labels.
    features
        The places of the features A' that the search may change.
    rules
        The constraints on what a counterfactual may be.
    target
        What counts as a flip.
    max_changes
        At most this many features may differ from x in an answer.
    stream
        Names the random stream: the same for every instance, so that similar ones get similar answers.
    """

    x: Rows
    decisions: Labels
    k: int
    known: Population
    features: Places
    rules: Rules
    target: Target
    max_changes: int | None = None
    stream: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        make_read_only(self)

    def __len__(self) -> int:
        return len(self.x)

    def narrow(self, known: Population, features: Places, stream: tuple[int, ...]) -> Task:
        """Give the same question to a search that sees fewer instances and may change fewer features."""
        return replace(self, known=known, features=features, stream=stream)

    def only(self, places: Places) -> Task:
        """Ask about some of the instances only."""
        return replace(self, x=self.x[places], decisions=self.decisions[places])

    def question(self, rows: Sequence[Rows]) -> Question:
        """Make a question of the rows for each instance, moved to admissible ones."""
        of = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
        return self.project(np.concatenate([self.x[:0], *rows]), of)

    def project(self, rows: Rows, of: Places) -> Question:
        """Move rows to admissible ones that differ from x in this task's features only."""
        projected = self._with(
            self.x, lambda rows, x: self.rules.around(x).project(rows, self.free), rows, of
        )
        return Question(projected, of)

    def flips(self, labels: Labels) -> Mask:
        """Tell which labels count as a different decision."""
        return self.target.flips(labels, self.decisions[0])

    def distance(self, rows: Rows, of: Places) -> Row:
        """Measure the distance of each row from its home."""
        return self._with(self.home, self.known.distance.from_x, rows, of)

    def prices(self, rows: Rows, of: Places) -> Rows:
        """Measure the price of each change from home; a row's prices sum to its distance."""
        return self._with(self.home, self.known.distance.prices, rows, of)

    def changed(self, rows: Rows, of: Places) -> Mask:
        """Tell which cells differ from home."""
        return self._with(self.home, changed, rows, of)

    def admissible(self, rows: Rows, of: Places) -> Mask:
        """Tell which rows keep every constraint, and are not x itself."""
        return self._with(self.x, lambda rows, x: self.rules.around(x).admissible(rows), rows, of)

    @cached_property
    def home(self) -> Rows:
        """Where the search starts from: each x, moved inside its ranges where it lies outside."""
        return self.rules.around(self.x).home

    def entries(self) -> Search:
        """Ask whether it flips the decision that an x outside a range moves inside."""
        outside = np.flatnonzero(self.forced.any(axis=1))
        if len(outside):
            yield Question(self.home[outside], outside)

    @cached_property
    def forced(self) -> Mask:
        """Which features of each x have to change, as they lie outside a range."""
        outside = self.rules.outside(self.x)
        return np.zeros(self.x.shape, dtype=np.bool_) if outside is None else outside

    def unlike(self) -> Places:
        """Places of the known instances that are decided differently; of all of them if none is."""
        return self.once("unlike", self._find_unlike)

    def nearest_unlike(self, count: int) -> Question:
        """Find the known instances that are decided differently, nearest first over this task's features.

        Of those that are the same in these features, it is the first.
        """
        distance = self.known.distance.over(self.features)
        unlike, known = self.once("unlike here", self._unlike_here), self.known.rows
        embedded = self.once("embedded unlike", lambda: distance.embed(known[unlike]))
        places = nearest(distance.measure(distance.embed(self.x), embedded), count)
        return Question(known[unlike[places.ravel()]], np.repeat(np.arange(len(self)), places.shape[1]))

    def affordable(self, count: int, least: int = 10) -> int:
        """Say how many rows to ask about where `count` would do, as rows of very many features are dear.

        A search need not heed it, but memory and time are spent on cells, not on rows.
        """
        width = int(self.x.shape[1])
        return max(min(count, least), count * WIDE // max(WIDE, width))

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """Build a thing once for all tasks that pose the same question to the same known instances."""
        return self.known.once(
            (key, self.target.key(self.decisions[0]), self.stream, self.features.tobytes()), build
        )

    def rng(self) -> np.random.Generator:
        """Start this task's random stream anew."""
        return np.random.default_rng(self.stream)

    @cached_property
    def free(self) -> Mask:
        """Which features this task may change, as a mask."""
        free = np.zeros(self.x.shape[1], dtype=np.bool_)
        free[self.features] = True
        return free & ~self.rules.frozen

    def _with(
        self, x: Rows, work: Callable[[Rows, Rows], NDArray[Scalar]], rows: Rows, of: Places
    ) -> NDArray[Scalar]:
        """Do row-wise work on rows and the x, or its home, that each is about."""
        return in_blocks(x.shape[1], lambda rows, of: work(rows, x[of]), rows, of)

    def _find_unlike(self) -> Places:
        flips = self.flips(self.known.labels)
        return np.flatnonzero(flips if flips.any() else np.ones(len(flips)))

    def _unlike_here(self) -> Places:
        unlike = self.unlike()
        here = self.known.rows[np.ix_(unlike, self.features)]
        return unlike[distinct(here, np.zeros(len(here), dtype=np.intp), np.arange(len(here)))[0]]


def nearest(away: Rows, count: int) -> Places:
    """Find the places of the smallest entries of each row, smallest first."""
    if count >= away.shape[1] or away.shape[1] <= FEW:
        return np.argsort(away, axis=1, kind="stable")[:, :count]
    places = np.sort(np.argpartition(away, count, axis=1)[:, :count], axis=1)
    order = np.argsort(np.take_along_axis(away, places, 1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(places, order, 1))


def first_of_each(of: Places, count: int) -> Places:
    """Find the places of the first rows of each instance, in order.

    Examples
    --------
    >>> first_of_each(np.array([0, 1, 0, 0, 1]), 2)
    array([0, 1, 2, 4])
    """
    return np.flatnonzero(before_each(of) < count)


def cheapest_of_each(price: Row, of: Places, count: int) -> Places:
    """Find the places of the cheapest rows of each instance, instance after instance, cheapest first."""
    order = np.lexsort([price, of])
    return np.asarray(order[_before(of[order]) < count])


def before_each(of: Places) -> Places:
    """Count, for each row, the rows of the same instance that come before it."""
    order = np.argsort(of, kind="stable")
    before = np.empty(len(of), dtype=np.intp)
    before[order] = _before(of[order])
    return before


def _before(of: Places) -> Places:
    """Count as `before_each` does, where the rows of each instance follow one another."""
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    return np.arange(len(of)) - np.repeat(starts, np.diff(starts, append=len(of)))
