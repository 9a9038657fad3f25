"""A question: which rows near x does the black box decide differently.

A `Task` is all that a search may know: some instances x that are decided alike, what counts as a flip, the
known instances X', the features A' it may change, k, and a random stream. It never holds the model.

One task is about many instances at once, which keeps the cost per instance low: rows are flat, and `instance`
holds the instance of each row. What a search does for one instance must not depend on the others.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.duplicates import distinct
from counterpoint._util.read_only import make_read_only
from counterpoint._util.row_blocks import Scalar, in_blocks
from counterpoint.data.constraints import Rules
from counterpoint.data.costs import Costs
from counterpoint.data.distance import Distance, changed
from counterpoint.data.known import Population
from counterpoint.data.repairs import repaired
from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.data.weighed import Weighed
from counterpoint.model.target import Target
from counterpoint.model.trees import Structure, UnreadableError
from counterpoint.search.grouped import nearest

T = TypeVar("T")

# Rows with more features than this are expensive, so fewer are tried.
WIDE = 25


class Question(NamedTuple):
    """Rows to be labelled, and the index of the instance that each belongs to."""

    rows: Rows
    instance: Indices


class Derived(Question):
    """A question about rows that were made from earlier finds.

    `finders` are the indices, in the pool, of the names that the rows are credited to: see `Pool.derived`.

    Examples
    --------
    >>> rows, instance = Derived.of(np.array([[1.0]]), np.array([0]), np.array([3]))
    >>> rows
    array([[1.]])
    """

    finders: Indices

    @classmethod
    def of(cls, rows: Rows, instance: Indices, finders: Indices | None) -> Question:
        """Make a question that credits its rows to others; a plain one if there are none."""
        if finders is None:
            return Question(rows, instance)
        question = cls(rows, instance)
        question.finders = finders
        return question


class Scored(Question):
    """A question about the model's scores: a search is sent the lead of each row instead of its label.

    The lead is by how much a wanted class leads, in log-odds: positive where the model most likely flips, NaN
    where it gives no score. It only guides: whether a row flips is decided by its label. Only a task that
    `has_scores` allows such a question, and x itself may be part of it.

    Examples
    --------
    >>> isinstance(Scored(np.array([[1.0]]), np.array([0])), Question)
    True
    """


# Yields questions and is sent one label per row. The pool keeps what flips.
Search = Generator[Question, Labels, None]
# A search that other searches use with `yield from`: it returns one row for each row it was given.
Refinement = Generator[Question, Labels, Rows]
Rule = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Task:
    """What a search is given. Its arrays are read-only, because all searches share them.

    Attributes
    ----------
    x
        The instances to explain, one per row.
    decisions
        The decision of the black box for each; all equal unless the target is a function.
    k
        How many counterfactuals are wanted per instance.
    known
        The known instances X' with their labels.
    features
        The indices of the features A' that the search may change.
    rules
        The constraints on what a counterfactual may be.
    target
        What counts as a flip.
    max_changes
        At most this many features may differ from x in an answer.
    stream
        Seeds the random stream: the same for every instance, so that similar instances get similar answers.
    costs
        What changes cost; None if all cost what they cost by default.
    has_scores
        Whether the model gives scores that do not depend on the batch: see `Scored`.
    read_trees
        Reads the trees of the model, if it is made of some; see `structure`.
    """

    x: Rows
    decisions: Labels
    k: int
    known: Population
    features: Indices
    rules: Rules
    target: Target
    max_changes: int | None = None
    stream: tuple[int, ...] = (0,)
    costs: Costs | None = None
    has_scores: bool = False
    read_trees: Callable[[], Structure] | None = None
    _built: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_read_only(self)

    def __len__(self) -> int:
        return len(self.x)

    def narrow(self, known: Population, features: Indices, stream: tuple[int, ...]) -> Task:
        """Ask the same question with fewer known instances and fewer features to change."""
        return replace(self, known=known, features=features, stream=stream)

    def only(self, indices: Indices) -> Task:
        """Restrict the task to some of its instances."""
        return replace(self, x=self.x[indices], decisions=self.decisions[indices])

    def question(self, rows: Sequence[Rows]) -> Question:
        """Make a question from the rows for each instance, moved to admissible values."""
        instance = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
        return self.project(np.concatenate([self.x[:0], *rows]), instance)

    def project(self, rows: Rows, instance: Indices) -> Question:
        """Move rows to admissible ones that differ from x in this task's features, and as links require."""
        projected = self._with(
            self.x, lambda rows, x: self.rules.around(x).project(rows, self.free), rows, instance
        )
        return Question(self.repaired(projected, instance), instance)

    def repaired(self, rows: Rows, instance: Indices) -> Rows:
        """Repair rows that break a link between features."""
        if not self.rules.repairable:
            return rows
        return self._with(self.x, lambda rows, x: repaired(self.rules, rows, x), rows, instance)

    def linked(self, rows: Rows) -> Mask:
        """Tell which rows keep every link between features."""
        kept = np.ones(len(rows), dtype=np.bool_)
        for link in self.rules.links:
            kept &= link.holds(rows)
        return kept

    def with_own(self, rows: Rows, instance: Indices) -> Question:
        """Replace each value that equals x's by x's own, bit for bit."""
        return Question(self._with(self.x, self.rules.with_own, rows, instance), instance)

    def flips(self, labels: Labels) -> Mask:
        """Tell which labels count as a different decision."""
        return self.target.flips(labels, self.decisions[0])

    def distance(self, rows: Rows, instance: Indices) -> Row:
        """Measure the distance of each row from its home, weighed by the costs."""
        return self._with(self.home, self.measure.from_x, self.acting(rows, instance), instance)

    def prices(self, rows: Rows, instance: Indices) -> Rows:
        """Measure the price of each change from home; a row's prices sum to its distance."""
        return self._with(self.home, self.measure.prices, self.acting(rows, instance), instance)

    @cached_property
    def measure(self) -> Distance:
        """The distance, weighed by the costs."""
        distance = self.known.distance
        return distance if self.costs is None else Weighed.of(distance, self.costs)

    @property
    def costs_key(self) -> Hashable:
        """Equal for equal costs: for the key of what is `learned` with this task's `measure`."""
        return None if self.costs is None else self.costs.key

    def changed(self, rows: Rows, instance: Indices) -> Mask:
        """Tell which cells differ from home; those that follow others are no changes of their own."""
        return self._with(self.home, changed, self.acting(rows, instance), instance)

    def count_changes(self, rows: Rows, instance: Indices) -> Indices:
        """Count the cells of each row that differ from home."""
        return self._with(
            self.home, lambda rows, x: changed(rows, x).sum(axis=1), self.acting(rows, instance), instance
        )

    def acting(self, rows: Rows, instance: Indices) -> Rows:
        """Leave out what follows from other changes: these cells become x's."""
        if not self.rules.has_follows:
            return rows
        return np.where(self.rules.follows, self.home[instance], rows)

    def admissible(self, rows: Rows, instance: Indices) -> Mask:
        """Tell which rows keep every constraint, and are not x itself."""
        return self._with(self.x, lambda rows, x: self.rules.around(x).admissible(rows), rows, instance)

    @cached_property
    def home(self) -> Rows:
        """Where the search starts: each x, moved inside its ranges if it lies outside."""
        return self.rules.around(self.x).home

    def entries(self) -> Search:
        """Ask whether moving an x that lies outside a range inside it flips the decision."""
        outside = np.flatnonzero(self.forced.any(axis=1))
        if len(outside):
            yield Question(self.home[outside], outside)

    @cached_property
    def forced(self) -> Mask:
        """Which features of each x have to change because they lie outside a range."""
        outside = self.rules.outside(self.x)
        return np.zeros(self.x.shape, dtype=np.bool_) if outside is None else outside

    @cached_property
    def least_changes(self) -> Indices:
        """How many changes from home each x needs at least: none, if it has to leave its place anyway."""
        return np.where(self.forced.any(axis=1), 0, 1)

    def unlike(self) -> Indices:
        """Find the known instances that are decided differently; all of them if none is."""
        return self.learned("unlike", self._find_unlike)

    def nearest_unlike(self, count: int) -> Question:
        """Find the known instances that are decided differently, nearest first over this task's features.

        Of instances that are equal in these features, only the first is used.
        """
        distance = self.measure.over(self.features)
        unlike, known = self.learned("unlike here", self._unlike_here), self.known.rows
        embedded = self.learned(("embedded unlike", self.costs_key), lambda: distance.embed(known[unlike]))
        indices = nearest(distance.measure(distance.embed(self.x), embedded), count)
        return Question(known[unlike[indices.ravel()]], np.repeat(np.arange(len(self)), indices.shape[1]))

    def affordable(self, count: int, least: int = 10) -> int:
        """Reduce `count`, the number of rows to try, where rows have very many features and are expensive.

        A search may ignore this, but memory and time depend on the number of cells, not of rows.
        """
        width = int(self.x.shape[1])
        return max(min(count, least), count * WIDE // max(WIDE, width))

    def worth_trying(self, feature: int) -> Row | None:
        """List the values of a number that are worth trying, sorted; None if that is not known.

        It is known for models made of trees: they decide alike about all values between two thresholds, so
        the values next to their thresholds are enough. Each is possible in the column, but perhaps not
        admissible for x: `project` moves it.
        """
        try:
            return self.structure.worth_trying(feature)
        except UnreadableError:
            return None

    @property
    def structure(self) -> Structure:
        """The trees of the model, read when first asked for; `UnreadableError` if it is not made of trees."""
        if self.read_trees is None:
            raise UnreadableError("its trees are not known here")
        return self.read_trees()

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """Build something once, then cache it for all tasks that pose the same question under the same rules.

        They have the same known instances. The result must not depend on x.
        """
        return self.learned((key, self.rules.key, self.costs_key), build)

    def learned(self, key: Hashable, build: Callable[[], T]) -> T:
        """Cache as `once` does, for all tasks that may change the same features, whatever their other rules.

        So what is learned about the model serves people with different constraints.
        """
        return self.known.once(
            (key, self.target.key(self.decisions[0]), self.stream, self.features.tobytes()), build
        )

    def here(self, key: Hashable, build: Callable[[], T]) -> T:
        """Build something once for this task; unlike what is `learned`, it may depend on x."""
        if key not in self._built:
            self._built[key] = build()
        return cast("T", self._built[key])

    def rng(self) -> np.random.Generator:
        """Start this task's random stream from the beginning."""
        return np.random.default_rng(self.stream)

    @property
    def is_category(self) -> Mask:
        """Which features are categories without an order, as a mask: no value lies between two of them."""
        return self.rules.is_category

    @property
    def is_coded(self) -> Mask:
        """Which features are categories, with or without an order, as a mask: rows hold their codes."""
        return self.rules.is_coded

    @cached_property
    def free(self) -> Mask:
        """Which features this task may change, as a mask."""
        free = np.zeros(self.x.shape[1], dtype=np.bool_)
        free[self.features] = True
        return free & ~self.rules.frozen

    def _with(
        self, x: Rows, work: Callable[[Rows, Rows], NDArray[Scalar]], rows: Rows, instance: Indices
    ) -> NDArray[Scalar]:
        """Apply a row-wise function to rows and the x, or home, of each."""

        def with_x(rows: Rows, instance: Indices) -> NDArray[Scalar]:
            return work(rows, np.take(x, instance, axis=0))  # x[instance] takes far longer

        return in_blocks(x.shape[1], with_x, rows, instance)

    def _find_unlike(self) -> Indices:
        flips = self.flips(self.known.labels)
        return np.flatnonzero(flips if flips.any() else np.ones(len(flips)))

    def _unlike_here(self) -> Indices:
        unlike = self.unlike()
        here = self.known.rows[np.ix_(unlike, self.features)]
        return unlike[distinct(here, np.zeros(len(here), dtype=np.intp), np.arange(len(here)))[0]]
