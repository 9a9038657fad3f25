"""The distance between rows.

It is the paper's mixed distance: the mean over continuous features of the absolute difference in units of the
median absolute deviation (MAD), plus the share of categorical features that differ. It is a sum over
features, so the price of each single change is known exactly. Ranking, restoring and selecting rely on this.

Of ordered categories, searches measure the steps of rank instead, in units of the mean difference of two
known values that differ: an average change costs as much as one of an unordered category. The metrics are the
paper's, without order (`Distance.without_order`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from counterpoint._util.blas import one_thread_of_blas
from counterpoint._util.read_only import make_read_only
from counterpoint.data.schema import Schema
from counterpoint.data.types import Row, Rows

EVERY = slice(None)

# Upper limit for the price of a single change and for a unit, so that sums and squares of prices stay finite.
MOST = 1e150

# Of rows with more cells than this, those that differ from x in less than one of so many are measured by
# their changes alone.
NARROW = 100
FEW_OF = 8


class Embedded(NamedTuple):
    """Rows prepared for measuring: scaled numbers, and codes."""

    numbers: Rows
    codes: Rows

    def take(self, indices: NDArray[np.intp]) -> Embedded:
        """Keep some of the rows."""
        return Embedded(self.numbers.take(indices, axis=0), self.codes.take(indices, axis=0))

    def part(self, rows: slice) -> Embedded:
        """Keep rows that follow each other, without a copy."""
        return Embedded(self.numbers[rows], self.codes[rows])

    @property
    def width(self) -> int:
        """How many cells a row has."""
        return int(self.numbers.shape[1] + self.codes.shape[1])


# Measures from rows that were given before to other rows.
Measuring = Callable[[Embedded], Rows]


@dataclass(frozen=True)
class Distance:
    """The paper's mixed MAD distance, scaled on known instances.

    Where the MAD is 0, the standard deviation is used instead, and 1 where that is 0 too. (With 1 alone, a
    feature such as capital gain, which is mostly 0, would be measured in dollars.) A missing number is one
    MAD from the median, and at distance 0 from another missing number. An immutable number may be anything:
    one that is not finite, although the known ones are, adds nothing to the distance. A missing ordered
    category is an average change from the median.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [20, 30, 40], "job": ["a", "b", "b"]}))
    >>> rows = schema.encode(pd.DataFrame({"age": [20, 30, 40], "job": ["a", "b", "b"]}))
    >>> Distance.fit(schema, rows).between(rows, rows)
    array([[0., 2., 3.],
           [2., 0., 1.],
           [3., 1., 0.]])
    """

    continuous: NDArray[np.intp]
    categorical: NDArray[np.intp]
    is_category: NDArray[np.bool_]  # without an order
    may_miss: NDArray[np.bool_]
    median: Row
    weight: Row  # price per unit (continuous) or per change (categorical)
    lost: Row  # additional price of a number that is missing on one side only
    per_category: float
    fixed: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    ranked: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    first_gap: Row = field(default_factory=lambda: np.empty(0))  # of ranked features: see `Feature.first_gap`

    def __post_init__(self) -> None:
        make_read_only(self)

    @classmethod
    def fit(cls, schema: Schema, rows: Rows) -> Distance:
        """Learn the median and the MAD of each continuous feature."""
        continuous, coded = schema.continuous, schema.categorical
        is_ranked = np.array([f.is_ranked for f in schema.features], dtype=np.bool_)
        first_gap = np.array([f.first_gap for f in schema.features], dtype=np.float64)[is_ranked]
        median, weight, lost = np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
        fixed = np.array([i for i in continuous.tolist() if schema.features[i].immutable], dtype=np.intp)
        if len(continuous):
            numbers = rows[:, continuous]
            if len(fixed):  # only immutable features can be infinite
                numbers = np.where(np.isinf(numbers), np.nan, numbers)
            median[continuous], mad = _scales(numbers)
            weight[continuous] = 1 / mad / len(continuous)
            lost[continuous] = 1 / len(continuous)
        weight[coded] = 1 / max(1, len(coded))
        if is_ranked.any():
            ranks = np.where(rows[:, is_ranked] >= first_gap, np.nan, rows[:, is_ranked])
            median[is_ranked], apart = _rank_scales(ranks)
            lost[is_ranked] = weight[is_ranked]
            weight[is_ranked] /= apart
        missing = np.array([f.missing and not f.is_categorical for f in schema.features], dtype=np.bool_)
        missing[is_ranked] = np.isfinite(first_gap)
        return cls(
            continuous,
            coded[~is_ranked[coded]],
            np.array([f.is_categorical for f in schema.features], dtype=np.bool_) & ~is_ranked,
            missing,
            median,
            weight,
            lost,
            1 / max(1, len(coded)),
            fixed,
            np.flatnonzero(is_ranked),
            first_gap,
        )

    @classmethod
    def weighted(cls, weight: Row, median: Row) -> Self:
        """Give each continuous feature its own price per unit.

        Examples
        --------
        >>> Distance.weighted(np.array([1.0, 0.5]), np.zeros(2)).from_x(np.array([[2.0, 2.0]]), np.zeros(2))
        array([3.])
        """
        none = np.zeros(len(weight), dtype=np.bool_)
        indices = np.arange(len(weight))
        return cls(indices, indices[:0], none, none, median, weight, np.zeros(len(weight)), 1.0)

    def over(self, features: NDArray[np.intp]) -> Distance:
        """Measure over some features only; each keeps its price."""
        some = np.zeros(len(self.weight), dtype=np.bool_)
        some[features] = True
        return replace(
            self,
            continuous=self.continuous[some[self.continuous]],
            categorical=self.categorical[some[self.categorical]],
            may_miss=self.may_miss & some,
            ranked=self.ranked[some[self.ranked]],
            first_gap=self.first_gap[some[self.ranked]],
        )

    def without_order(self) -> Distance:
        """Measure ordered categories as all others, as the paper does.

        Examples
        --------
        >>> import pandas as pd
        >>> levels = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
        >>> people = pd.DataFrame({"risk": pd.Series(["low", "mid", "high"], dtype=levels)})
        >>> schema = Schema.infer(people)
        >>> distance = Distance.fit(schema, schema.encode(people))
        >>> distance.between(np.array([[0.0]]), np.array([[1.0], [2.0]]))
        array([[0.75, 1.5 ]])
        >>> distance.without_order().between(np.array([[0.0]]), np.array([[1.0], [2.0]]))
        array([[1., 1.]])
        """
        if not len(self.ranked):
            return self
        arrays = {name: getattr(self, name).copy() for name in ("is_category", "may_miss", "weight", "lost")}
        values = {"is_category": True, "may_miss": False, "weight": self.per_category, "lost": 0.0}
        for name, array in arrays.items():
            array[self.ranked] = values[name]
        none = self.ranked[:0]
        categorical = np.sort(np.concatenate([self.categorical, self.ranked]))
        return replace(self, categorical=categorical, ranked=none, first_gap=self.first_gap[:0], **arrays)

    def between(self, a: Rows, b: Rows) -> Rows:
        """Measure the distance of every row of a from every row of b."""
        return self.measure(self.embed(a), self.embed(b))

    def embed(self, rows: Rows) -> Embedded:
        """Scale rows once, to measure them many times."""
        return Embedded(self._scaled(rows), np.ascontiguousarray(rows[:, self.categorical]))

    def measure(self, a: Embedded, b: Embedded) -> Rows:
        """Measure the distance of every row of a from every row of b, both embedded."""
        if not len(self.categorical) and not len(self._scaled_features):
            return np.zeros((len(a.codes), len(b.codes)))
        if not len(self.categorical):
            return np.asarray(cdist(a.numbers, b.numbers, "cityblock"))
        total: Rows = cdist(a.codes, b.codes, "hamming")
        total *= len(self.categorical) * self.per_category
        if len(self._scaled_features):
            total += cdist(a.numbers, b.numbers, "cityblock")
        return total

    def roughly(self, a: Embedded, b: Embedded) -> Rows:
        """Measure as `measure` does, as fast as possible: exact except for rounding."""
        return self.measure(a, b)

    def near(self, a: Embedded, x: Embedded) -> Measuring:
        """Prepare to measure as `roughly` does, from rows of a to rows that are made from x.

        Of very many cells, such a row may change few. It is then as far from each row of a as x is, but for
        what its changes add or take away.
        """
        if a.width <= NARROW:
            return partial(self.roughly, a)
        from_x, weight = self.measure(a, x)[:, 0], self.weight[self.categorical, None]
        numbers, codes = np.ascontiguousarray(a.numbers.T), np.ascontiguousarray(a.codes.T)
        apart, unlike = np.abs(numbers - x.numbers.T), weight * (codes != x.codes.T)

        def measured(b: Embedded) -> Rows:
            moved, swapped = b.numbers != x.numbers, b.codes != x.codes
            few = (moved.sum(axis=1) + swapped.sum(axis=1)) * FEW_OF < b.width
            row, cell = np.nonzero(moved & few[:, None])
            added = _sums(np.abs(numbers[cell] - b.numbers[row, cell, None]) - apart[cell], row, len(few))
            row, cell = np.nonzero(swapped & few[:, None])
            changes = weight[cell] * (codes[cell] != b.codes[row, cell, None]) - unlike[cell]
            result = np.maximum(from_x + added + _sums(changes, row, len(few)), 0.0).T
            result[:, ~few] = self.roughly(a, b.take(np.flatnonzero(~few)))
            return result

        return measured

    def joined(self, over_some: Rows, over_others: Rows) -> Rows:
        """Combine the distances over some features and over the others into distances over all features."""
        return np.asarray(over_some + over_others)

    def prices(self, rows: Rows, x: Rows, features: NDArray[np.intp] | slice = EVERY) -> Rows:
        """Measure the price of each single change from x; a row's prices sum to its distance from x.

        With `features`, the columns of `rows` and `x` are the values of these features only.
        """
        if self._has_gaps:
            rows, x = self._ranks(rows, features), self._ranks(x, features)
        with np.errstate(over="ignore", invalid="ignore"):  # an immutable number can be infinite
            apart = np.abs(rows - x)
            np.minimum(apart, self._most[features], out=apart)
            apart *= self.weight[features]
        prices = self._missing_prices(rows, x, apart, features) if self.may_miss.any() else apart
        return _finite(prices, self.fixed) if features is EVERY else prices

    def from_x(self, rows: Rows, x: Rows) -> Row:
        """Measure the distance of each row from x, one for all or one a row."""
        return np.asarray(self.prices(rows, x).sum(axis=-1))

    @cached_property
    def _most(self) -> Row:
        """The largest difference that counts: the codes of two categories are one unit apart."""
        with np.errstate(over="ignore", divide="ignore"):
            furthest = np.minimum(MOST / self.weight, np.finfo(np.float64).max)
        return np.where(self.is_category, 1.0, furthest)

    def _scaled(self, rows: Rows) -> Rows:
        """Scale the numbers so that city-block distance is the mean over features of MAD units."""
        every = len(self.continuous) == rows.shape[1]
        some = EVERY if every else self._scaled_features
        if self._has_gaps:
            rows = self._ranks(rows, EVERY)
        with np.errstate(over="ignore"):
            numbers = _finite(rows[:, some] - self.median[some], self._fixed_numbers)
        furthest = self._most[some]
        np.clip(numbers, -furthest, furthest, out=numbers)
        numbers *= self.weight[some]
        if self.may_miss.any():
            missing = np.isnan(rows[:, self.may_miss]) * self.lost[self.may_miss]
            numbers = np.hstack([np.nan_to_num(numbers), missing])
        return np.ascontiguousarray(numbers)

    @cached_property
    def _scaled_features(self) -> NDArray[np.intp]:
        """The features that are measured by differences: numbers, and categories with an order."""
        return np.concatenate([self.continuous, self.ranked]) if len(self.ranked) else self.continuous

    @cached_property
    def _has_gaps(self) -> bool:
        return bool(np.isfinite(self.first_gap).any())

    def _ranks(self, rows: Rows, features: NDArray[np.intp] | slice) -> Rows:
        """Return rows in which a missing ordered category is NaN, as a missing number is."""
        first_gap = np.full(len(self.weight), np.inf)
        first_gap[self.ranked] = self.first_gap
        return np.where(rows >= first_gap[features], np.nan, rows)

    @cached_property
    def _fixed_numbers(self) -> NDArray[np.intp]:
        """The indices of the immutable features among the scaled ones."""
        return np.flatnonzero(np.isin(self._scaled_features, self.fixed))

    def _missing_prices(self, a: Rows, b: Rows, apart: Rows, features: NDArray[np.intp] | slice) -> Rows:
        """Correct the prices where values are missing: the median is used, at an additional price."""
        gone_a, gone_b = np.isnan(a), np.isnan(b)
        known = np.where(gone_a, b, a)
        with np.errstate(over="ignore"):
            beyond = np.minimum(np.abs(known - self.median[features]), self._most[features])
        beyond = beyond * self.weight[features] + self.lost[features]
        return np.where(gone_a & gone_b, 0.0, np.where(gone_a | gone_b, beyond, apart))


class Euclidean(Distance):
    """The Euclidean distance over features, the paper's for images and series.

    The prices of changes sum to the square of the distance, so they rank changes the same way.

    Examples
    --------
    >>> Euclidean.of(2).between(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[5., 1.]])
    >>> Euclidean.of(2).prices(np.array([[3.0, 4.0]]), np.array([0.0, 0.0]))
    array([[ 9., 16.]])
    """

    @classmethod
    def of(cls, width: int) -> Euclidean:
        """Measure rows with this many features, all in the same unit."""
        return cls.weighted(np.ones(width), np.zeros(width))

    def embed(self, rows: Rows) -> Embedded:
        """Scale rows once, to measure them many times; if all weights are 1, there is nothing to scale."""
        whole = len(self.continuous) == rows.shape[1] and self._is_unit
        return Embedded(np.ascontiguousarray(rows), rows[:, :0]) if whole else super().embed(rows)

    @cached_property
    def _is_unit(self) -> bool:
        return bool((self.weight == 1).all())

    def measure(self, a: Embedded, b: Embedded) -> Rows:
        """Measure the distance of every row of a from every row of b, both embedded."""
        return np.asarray(cdist(a.numbers, b.numbers, "euclidean"))

    def roughly(self, a: Embedded, b: Embedded) -> Rows:
        """Measure by a matrix product, which is many times faster for rows as wide as images."""
        squares = [np.einsum("ij,ij->i", each.numbers, each.numbers) for each in (a, b)]
        with one_thread_of_blas():
            product = a.numbers @ b.numbers.T
        squared = squares[0][:, None] + squares[1] - 2 * product
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))

    def near(self, a: Embedded, x: Embedded) -> Measuring:
        """Prepare to measure as `roughly` does: a matrix product is fast, however many cells change."""
        return partial(self.roughly, a)

    def joined(self, over_some: Rows, over_others: Rows) -> Rows:
        """Combine the distances over some features and over the others into distances over all features."""
        return np.asarray(np.hypot(over_some, over_others))

    def prices(self, rows: Rows, x: Rows, features: NDArray[np.intp] | slice = EVERY) -> Rows:
        """Measure the price of each single change from x."""
        return np.square(super().prices(rows, x, features))

    def from_x(self, rows: Rows, x: Rows) -> Row:
        """Measure the distance of each row from x, one for all or one a row."""
        return np.asarray(np.sqrt(self.prices(rows, x).sum(axis=-1)))


def _sums(values: Rows, row: NDArray[np.intp], count: int) -> Rows:
    """Sum the values of each row; `row` tells whose they are, and rises.

    Examples
    --------
    >>> _sums(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([0, 0, 2]), 3)
    array([[4., 6.],
           [0., 0.],
           [5., 6.]])
    """
    sums, starts = np.zeros((count, values.shape[1])), np.flatnonzero(np.diff(row, prepend=-1))
    if len(starts):
        sums[row[starts]] = np.add.reduceat(values, starts, axis=0)
    return sums


def _scales(numbers: Rows) -> tuple[Row, Row]:
    """Learn the median of each column, and its MAD or the substitute for it."""
    unit = units(numbers)
    numbers = numbers / unit if (unit > 1).any() else numbers
    median = np.nanmedian(numbers, axis=0)
    mad, spread = np.nanmedian(np.abs(numbers - median), axis=0), np.nanstd(numbers, axis=0)
    mad = np.where(mad > 0, mad, np.where(spread > 0, spread, 1.0))
    return median * unit, np.maximum(mad * unit, 1 / MOST)


def _rank_scales(ranks: Rows) -> tuple[Row, Row]:
    """Learn the median of each column of ranks, and how far two values that differ lie apart on average.

    Examples
    --------
    >>> _rank_scales(np.array([[0.0], [0.0], [1.0], [3.0]]))
    (array([0.5]), array([2.]))
    """
    median, apart = np.zeros(ranks.shape[1]), np.ones(ranks.shape[1])
    for column, values in enumerate(ranks.T):
        values, counts = np.unique(values[~np.isnan(values)], return_counts=True)
        if len(values):
            median[column] = np.median(np.repeat(values, counts))
        pairs = np.outer(counts, counts)[~np.eye(len(values), dtype=np.bool_)]
        if len(pairs):
            steps = np.abs(np.subtract.outer(values, values))[~np.eye(len(values), dtype=np.bool_)]
            apart[column] = (pairs * steps).sum() / pairs.sum()
    return median, apart


def units(numbers: Rows) -> Row:
    """Find the unit of each column that keeps squares and sums finite: 1, unless its values are very large.

    Examples
    --------
    >>> units(np.array([[1e3, -1e300], [5.0, 0.0]]))
    array([1.e+000, 1.e+300])
    """
    largest = np.fmax.reduce(np.abs(numbers), axis=0, initial=0.0)
    return np.where(largest > MOST, largest, 1.0)


def _finite(values: Rows, columns: NDArray[np.intp]) -> Rows:
    """Replace values that are not finite by 0 in some columns, in place."""
    if len(columns):
        some = values[..., columns]
        values[..., columns] = np.where(np.isfinite(some), some, 0.0)
    return values


def changed(rows: Rows, x: Rows) -> NDArray[np.bool_]:
    """Tell which cells differ from x (one x for all rows, or one per row); missing equals missing.

    Examples
    --------
    >>> changed(np.array([[1.0, np.nan]]), np.array([2.0, np.nan]))
    array([[ True, False]])
    """
    differs = np.asarray(rows != x)
    gone = np.isnan(x)
    if gone.any():  # most tables have no gaps, and need no further passes over all rows
        differs &= ~(gone & np.isnan(rows))
    return differs
