"""The known instances X: their rows, the model's label for each, and the distance to any other row."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.read_only import make_read_only
from counterpoint.data.combinations import Combinations
from counterpoint.data.distance import Distance, Embedded
from counterpoint.data.outputs import is_continuous
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels, Rows

T = TypeVar("T")

# Nearest-neighbour searches look at this many known instances at most, so a search over a million known
# instances takes no longer than one over 50,000.
MOST = 50_000

_NOT_BUILT = object()


@dataclass(frozen=True)
class Population:
    """Known instances with their labels.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20, 30, 40]})
    >>> known = Population.of(Schema.infer(people), np.array([[20.0], [30.0], [40.0]]), np.array([0, 0, 1]))
    >>> known.sample(np.random.default_rng(0), 2).rows.shape
    (2, 1)
    """

    schema: Schema
    rows: Rows
    labels: Labels
    distance: Distance
    _memo: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        make_read_only(self)

    @classmethod
    def of(cls, schema: Schema, rows: Rows, labels: Labels) -> Population:
        """Collect the known instances of a table and learn their scales."""
        return cls(schema, rows, labels, Distance.fit(schema, rows))

    def sample(self, rng: np.random.Generator, size: int) -> Population:
        """Draw instances without replacement, the paper's I(X), stratified by label."""
        if size >= len(self.rows):
            return self.take(np.arange(len(self.rows)))
        return self.take(np.sort(_stratified(rng, self.labels, size)))

    def take(self, indices: NDArray[np.intp]) -> Population:
        """Keep some instances, with the scales of all."""
        return Population(self.schema, self.rows[indices], self.labels[indices], self.distance)

    @cached_property
    def measured(self) -> Population:
        """The same instances with the distance of the metrics, which is the paper's."""
        distance = self.distance.without_order()
        return self if distance is self.distance else replace(self, distance=distance, _memo={})

    @cached_property
    def embedded(self) -> Embedded:
        """The rows prepared for measuring."""
        return self.distance.embed(self.rows)

    @cached_property
    def combinations(self) -> Combinations:
        """Which pairs of categories occur."""
        return Combinations.of(self.schema, self.rows)

    def once(self, key: Hashable, build: Callable[[], T]) -> T:
        """Build once, then cache."""
        found = self._memo.get(key, _NOT_BUILT)
        if found is _NOT_BUILT:
            found = build()
            if len(self._memo) > 256:  # targets that are new functions on every call would accumulate
                self._memo.clear()  # another thread may do so at any time, so nothing is read back
            self._memo[key] = found
        return cast(T, found)


def _stratified(rng: np.random.Generator, labels: Labels, size: int) -> NDArray[np.intp]:
    """Draw indices so that every label keeps its share and at least a few instances."""
    order = rng.permutation(len(labels))
    if is_continuous(labels):
        return order[:size]
    groups, codes = np.unique(labels[order], return_inverse=True)
    rank = np.empty(len(order))
    for group in range(len(groups)):
        members = np.flatnonzero(codes == group)
        # Evenly spread ranks keep the shares; the first few instances of each label come first.
        rank[members] = np.where(np.arange(len(members)) < 5, -1.0, np.arange(len(members)) / len(members))
    return order[np.argsort(rank, kind="stable")[:size]]
