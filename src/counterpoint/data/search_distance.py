"""The distance that a search uses, where it is not the one that answers are judged with.

The paper searches with "a mixed distance weighting Euclidean distance for continuous features and the Jaccard
dissimilarity for categorical ones", and judges with the MAD distance of `data.distance`. Counterpoint's own
explainers use the judge's distance for both; `Ensemble.paper` uses `Mixed`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from counterpoint.data.distance import MOST, Distance, Embedded, Euclidean, units
from counterpoint.data.known import Population
from counterpoint.data.schema import Schema
from counterpoint.data.types import Row, Rows


class SearchDistance(Protocol):
    """Makes the distance that a search uses, from the known instances."""

    def of(self, known: Population) -> Distance:
        """Learn the distance."""
        ...


@dataclass(frozen=True)
class Mixed:
    """The paper's search distance: Euclidean over numbers, Jaccard over categories, weighted by their shares.

    Numbers are standardised. The Jaccard dissimilarity of two rows that differ in d of n categories is
    2d / (n + d): that of the sets of their values. Each part weighs as much as the share of features that it
    is about, as in the authors' release; the paper gives no weights. Images and series keep the Euclidean
    distance.

    Examples
    --------
    >>> Mixed()
    Mixed()
    """

    def of(self, known: Population) -> Distance:
        """Learn the distance."""
        if isinstance(known.distance, Euclidean):
            return known.distance
        return EuclidJaccard.fit(known.schema, known.rows)


@dataclass(frozen=True)
class Judge:
    """The distance that answers are judged with: the mixed MAD distance of tables, Euclidean on signals.

    Examples
    --------
    >>> Judge()
    Judge()
    """

    def of(self, known: Population) -> Distance:
        """Take the distance that the known instances have."""
        return known.distance


class EuclidJaccard(Distance):
    """Euclidean distance of standardised numbers plus Jaccard dissimilarity of categories.

    It is not a sum over features: `prices` are the distances of single changes, and rank those exactly.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20.0, 40.0], "job": ["a", "b"]})
    >>> schema = Schema.infer(people)
    >>> rows = schema.encode(people)
    >>> EuclidJaccard.fit(schema, rows).between(rows, rows)
    array([[0. , 1.5],
           [1.5, 0. ]])
    """

    @classmethod
    def fit(cls, schema: Schema, rows: Rows) -> EuclidJaccard:
        """Learn the standard deviation of each continuous feature."""
        scaled = Distance.fit(schema, rows)
        continuous, width = schema.continuous, rows.shape[1]
        share = len(continuous) / width
        weight, lost = np.zeros(width), np.zeros(width)
        if len(continuous):
            weight[continuous] = share / _spreads(rows[:, continuous])
            lost[continuous] = share
        # The price of a single other category; weights of categories are for `prices` only.
        apart = 2 * (1 - share) / (1 + max(1, width - len(continuous)))
        weight[schema.categorical] = apart
        return cls(
            continuous,
            schema.categorical,
            scaled.is_category,
            scaled.may_miss,
            scaled.median,
            weight,
            lost,
            1 - share,
            scaled.fixed,
        )

    def measure(self, a: Embedded, b: Embedded) -> Rows:
        """Measure the distance of every row of a from every row of b, both embedded."""
        total = np.zeros((len(a.codes), len(b.codes)))
        if len(self.continuous):
            total += cdist(a.numbers, b.numbers, "euclidean")
        if len(self.categorical):
            total += self._jaccard(cdist(a.codes, b.codes, "hamming") * len(self.categorical))
        return total

    def from_x(self, rows: Rows, x: Rows) -> Row:
        """Measure the distance of each row from x, one for all or one per row."""
        a, b = self.embed(rows), self.embed(np.broadcast_to(x, rows.shape))
        differing = (a.codes != b.codes).sum(axis=1)
        return np.asarray(np.sqrt(np.square(a.numbers - b.numbers).sum(axis=1)) + self._jaccard(differing))

    def joined(self, over_some: Rows, over_others: Rows) -> Rows:
        """Refuse: the distance over all features is not known from distances over parts of them."""
        raise NotImplementedError(
            "The paper's search distance cannot be put together from parts. Use the judge's distance for "
            "measures of plausibility."
        )

    def _jaccard(self, differing: NDArray[Any]) -> Rows:
        """Turn numbers of differing categories into dissimilarities, weighted by the share of categories."""
        every = max(1, int(self.is_category.sum()))
        return np.asarray(self.per_category * 2 * differing / (every + differing))


def _spreads(numbers: Rows) -> Row:
    """Learn the standard deviation of each column; 1 where all values are equal."""
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    empty = np.isnan(numbers).all(axis=0)
    numbers[:, empty] = 0.0
    unit = units(np.nan_to_num(numbers))
    spread = np.nanstd(numbers / unit, axis=0)
    return np.maximum(np.where(spread > 0, spread, 1.0) * unit, 1 / MOST)
