"""The constraints of a schema, seen from x: what a counterfactual of x may be.

`project` moves rows to the nearest admissible ones, for the convenience of searches. `admissible` decides:
the pool asks the model only about rows that pass it, so no search can break a constraint.

An x outside a range given by the user can be explained too. Every counterfactual lies inside the range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.narrow import any_of_each
from counterpoint._util.read_only import make_read_only
from counterpoint.data.costs import table
from counterpoint.data.marks import NANS
from counterpoint.data.repairs import Comparison, Implication, compiled
from counterpoint.data.schema import EXACT, Feature, Schema
from counterpoint.data.types import Mask, Row, Rows


@dataclass(frozen=True)
class Grid:
    """The possible numbers: whole multiples of the steps, rounded to what the columns can hold."""

    steps: Row  # NaN for a feature without steps
    tops: Row
    bottoms: Row
    narrow: tuple[tuple[np.dtype[Any], Mask], ...]  # dtypes, and which features have them

    @classmethod
    def of(cls, schema: Schema) -> Grid:
        """Gather the steps and dtypes of all features."""
        steps = [_step(feature) for feature in schema.features]
        tops, bottoms = zip(*(f.fraction for f in schema.features), strict=True) if steps else ((), ())
        narrow: dict[np.dtype[Any], Mask] = {}
        for index in schema.continuous.tolist():
            dtype = schema.form.number_type(index)
            if dtype is not None and dtype.kind == "f" and dtype.itemsize < 8:
                narrow.setdefault(dtype, np.zeros(len(steps), dtype=np.bool_))[index] = True
        return cls(
            np.array(steps, dtype=np.float64),
            np.array(tops, dtype=np.float64),
            np.array(bottoms, dtype=np.float64),
            tuple(narrow.items()),
        )

    def __bool__(self) -> bool:
        return bool(self.narrow) or self._has_steps

    @cached_property
    def _has_steps(self) -> bool:
        return bool(self._is_stepped.any())

    def settle(self, values: Row, feature: NDArray[np.intp]) -> Row:
        """Move the values of features to the nearest possible numbers."""
        with np.errstate(over="ignore"):
            settled = self._stepped(values, feature) if self._has_steps else values
            for dtype, mask in self.narrow:
                narrowed = settled.astype(dtype).astype(np.float64)
                settled = narrowed if mask.all() else np.where(mask[feature], narrowed, settled)
        return settled

    def _stepped(self, values: Row, feature: NDArray[np.intp]) -> Row:
        if self._whole:
            return np.where(self._is_stepped[feature], np.rint(values), values)
        steps = self.steps[feature]
        stepped = np.rint(values / steps) * self.tops[feature] / self.bottoms[feature]
        return np.where(np.isnan(steps), values, stepped)

    @cached_property
    def _is_stepped(self) -> Mask:
        return ~np.isnan(self.steps)

    @cached_property
    def _whole(self) -> bool:
        """Whether every step is 1, the common case."""
        ones = (self.steps == 1) & (self.tops == self.bottoms)
        return bool((ones | ~self._is_stepped).all())

    def within(self, low: Rows, high: Rows) -> tuple[Rows, Rows]:
        """Find the first and last possible numbers within limits, one per feature or one per cell."""
        every = np.arange(len(self.steps))
        first, last = self.settle(low, every), self.settle(high, every)
        # Rounding can move them outside.
        first = np.where(first < low, self._next(first, 1), first)
        return first, np.where(last > high, self._next(last, -1), last)

    def _next(self, numbers: Rows, way: int) -> Rows:
        stepped = np.where(np.isnan(self.steps), numbers, numbers + way * self.steps)
        after = self.settle(stepped, np.arange(len(self.steps)))
        for dtype, mask in self.narrow:
            end = np.array(way * np.inf, dtype=dtype)
            further = np.nextafter(numbers[..., mask].astype(dtype), end)
            after[..., mask] = np.where(np.isnan(self.steps[mask]), further, after[..., mask])
        return after


def _step(feature: Feature) -> float:
    """Find the step of a feature; NaN if it has none. Ordered categories have whole ranks."""
    if feature.is_categorical:
        return 1.0 if feature.is_ranked else np.nan
    return np.nan if feature.step is None else feature.step


@dataclass(frozen=True)
class Rules:
    """The constraints of a schema as arrays, built once."""

    schema: Schema
    frozen: Mask
    low: Row
    high: Row
    rising: Mask
    falling: Mask
    has_gaps: bool  # whether a number can be missing at all
    may_lose: Mask  # numbers that may go missing
    nan: Row  # the NaN that stands for a number that goes missing
    is_coded: Mask  # categories, which are held as codes
    is_category: Mask  # categories without an order, between which no value lies
    first_gap: Row  # the first code of an ordered category that stands for a missing one
    categories: Categories
    limited: NDArray[np.intp]  # the features that may change and have a range from the user
    grid: Grid
    reach: Row  # the most that a value may change; inf for no limit
    reach_of_x: Row  # the same as a share of x's value
    barred: tuple[tuple[int, Mask], ...]  # changes between categories that may not happen: old × new
    links: tuple[Implication | Comparison, ...]  # constraints between features
    follows: Mask  # features that are computed from others, once these are known

    def __post_init__(self) -> None:
        make_read_only(self)

    @classmethod
    def of(cls, schema: Schema, known: Rows | None = None) -> Rules:
        """Gather the constraints of all features; known instances help to repair rows that break links."""
        features = schema.features
        grid = Grid.of(schema)
        limits = np.array([_limits(schema, index) for index in range(len(features))]).reshape(-1, 2)
        low, high = grid.within(limits[:, 0], limits[:, 1])
        limited = [i for i, f in enumerate(features) if f.range is not None and f.may_change]
        return cls(
            schema=schema,
            frozen=np.array([not f.may_change for f in features], dtype=np.bool_),
            low=low,
            high=high,
            rising=np.array([f.never_falls and f.may_change for f in features], dtype=np.bool_),
            falling=np.array([f.never_rises and f.may_change for f in features], dtype=np.bool_),
            has_gaps=any(f.missing for f in features),
            may_lose=np.array([f.may_lose and not f.is_categorical for f in features], dtype=np.bool_),
            nan=np.array([NANS[f.missing_as[0]] for f in features], dtype=np.float64),
            is_coded=np.array([f.is_categorical for f in features], dtype=np.bool_),
            is_category=np.array([f.is_categorical and not f.is_ranked for f in features], dtype=np.bool_),
            first_gap=np.array([f.first_gap if f.is_ranked else np.inf for f in features], dtype=np.float64),
            categories=Categories.of(features),
            limited=np.array(limited, dtype=np.intp),
            grid=grid,
            reach=np.array([f.reach[0] for f in features], dtype=np.float64),
            reach_of_x=np.array([f.reach[1] for f in features], dtype=np.float64),
            barred=tuple(
                (i, np.isinf(table(f.cost, f.categories)))
                for i, f in enumerate(features)
                if f.cost.has_table and f.may_change
            ),
            links=compiled(schema, grid, known),
            follows=np.array([f.follows for f in features], dtype=np.bool_),
        )

    @cached_property
    def has_follows(self) -> bool:
        """Whether any feature is computed from others."""
        return bool(self.follows.any())

    @cached_property
    def repairable(self) -> tuple[Implication | Comparison, ...]:
        """The links that can be repaired: they are about no feature that is computed later."""
        return tuple(link for link in self.links if not self.follows[link.features].any())

    @cached_property
    def key(self) -> bytes:
        """Equal for equal constraints."""
        parts = (self.frozen, self.low, self.high, self.rising, self.falling, self.may_lose, self.reach)
        barred = (mask for _, mask in self.barred)
        more = self.reach_of_x, self.limited, self.categories.may_take, *barred
        return b"".join(each.tobytes() for each in (*parts, *more))

    @cached_property
    def has_categories(self) -> bool:
        """Whether any feature is categorical."""
        return bool(self.is_coded.any())

    @cached_property
    def has_ranked_ranges(self) -> bool:
        """Whether some, but not all, categories of an ordered feature are admissible."""
        ranked = self.is_coded & ~self.is_category
        return bool(ranked[self.limited].any())

    @cached_property
    def _has_ranked_gaps(self) -> bool:
        return bool(np.isfinite(self.first_gap).any())

    def ranks(self, rows: Rows) -> Rows:
        """Return rows in which a missing ordered category is NaN, as a missing number is."""
        return np.where(rows >= self.first_gap, np.nan, rows) if self._has_ranked_gaps else rows

    def around(self, x: Rows) -> Bounds:
        """See the constraints from x: one instance, or one per row."""
        outside = self.outside(x)
        if not self._is_relative.any():
            return Bounds(self, x, self.low, self.high, outside)
        low = np.where(self.rising, np.fmax(self.low, x), self.low)
        high = np.where(self.falling, np.fmin(self.high, x), self.high)
        if self._has_reach.any():
            low, high = self._within_reach(x, low, high)
        # A missing value is neither above nor below any value, nor near one, so it stays missing.
        stuck = self._is_relative & self.is_missing(x, np.arange(len(self.low)))
        return Bounds(self, x, np.where(stuck, np.inf, low), np.where(stuck, -np.inf, high), outside)

    @cached_property
    def _has_reach(self) -> Mask:
        return np.isfinite(self.reach) | np.isfinite(self.reach_of_x)

    @cached_property
    def _is_relative(self) -> Mask:
        """Which features have limits that depend on x."""
        return self.rising | self.falling | self._has_reach

    def _within_reach(self, x: Rows, low: Row, high: Row) -> tuple[Rows, Rows]:
        """Limit values to those that are near enough to x, exactly as floats subtract."""
        some = np.flatnonzero(self._has_reach)
        own = x[..., some]
        with np.errstate(invalid="ignore", over="ignore"):
            share = np.where(np.isfinite(self.reach_of_x[some]), self.reach_of_x[some] * np.abs(own), np.inf)
            most = np.minimum(self.reach[some], share)
            least, furthest = own - most, own + most
            least = np.where(own - least > most, np.nextafter(least, np.inf), least)
            furthest = np.where(furthest - own > most, np.nextafter(furthest, -np.inf), furthest)
        lows, highs = np.broadcast_to(low, x.shape).copy(), np.broadcast_to(high, x.shape).copy()
        lows[..., some] = np.fmax(lows[..., some], least)
        highs[..., some] = np.fmin(highs[..., some], furthest)
        return self.grid.within(lows, highs) if self.grid else (lows, highs)

    def is_missing(self, values: Rows, feature: NDArray[np.intp]) -> Mask:
        """Tell which values are missing: NaN, and missing categories of features that may change."""
        missing = np.isnan(values)
        # The category of an immutable feature can have a code that is unknown here.
        category = np.broadcast_to((self.is_coded & ~self.frozen)[feature], values.shape)
        indices = np.broadcast_to(feature, values.shape)[category]
        missing[category] = self.categories.gaps[
            self.categories.starts[indices] + values[category].astype(np.intp)
        ]
        return np.asarray(missing)

    def with_own(self, rows: Rows, x: Rows) -> Rows:
        """Write each value that equals x's exactly as x has it, bit for bit: 0.0 or -0.0, NaN or None."""
        own = rows == x
        if self.has_gaps:
            missing = np.isnan(rows)
            own |= missing & np.isnan(x)
            rows = np.where(missing, self.nan, rows)
        return np.where(own, x, rows)

    def outside(self, x: Rows) -> Mask | None:
        """Tell which cells must change because they lie outside the user's ranges; None if there are none.

        A missing value lies inside every range.
        """
        if not len(self.limited):
            return None
        values = x[..., self.limited]
        low, high = self._ranges
        outside = (values < low) | (values > high)
        category = self.is_coded[self.limited]
        if category.any():
            codes = values[..., category].astype(np.intp)
            kept = self.categories.keeps(self.limited[category], codes)
            outside[..., category] = ~kept
        if not outside.any():
            return None
        result = np.zeros(x.shape, dtype=np.bool_)
        result[..., self.limited] = outside
        return result

    @cached_property
    def _ranges(self) -> tuple[Row, Row]:
        """The user's ranges of the limited features; (-inf, inf) for categories."""
        every = (-np.inf, np.inf)
        some = [self.schema.features[i] for i in self.limited]
        pairs = [f.range if f.range is not None and not f.is_categorical else every for f in some]
        low, high = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        return low, high


@dataclass(frozen=True)
class Categories:
    """Which categories may be taken, with all features concatenated."""

    starts: NDArray[np.intp]  # where the categories of a feature start
    gaps: Mask  # the missing ones
    may_take: Mask
    may_keep: Mask  # x may keep a missing category, even where none may be taken
    entries: NDArray[np.intp]  # for each code, the nearest code that may be taken
    forbids: bool  # whether there is a category that may not be taken
    has_marks: bool  # whether a feature has several missing categories, such as None and NaN

    @classmethod
    def of(cls, features: Sequence[Feature]) -> Categories:
        """Gather the categories of all features."""
        sizes = [len(feature.categories) for feature in features]
        allowed = np.array([f.allows(c) for f in features for c in f.categories], dtype=np.bool_)
        gaps = np.array([c is None for f in features for c in f.categories], dtype=np.bool_)
        may_take = allowed & ~gaps
        starts = np.cumsum([0, *sizes])[:-1].astype(np.intp)
        for start, feature in zip(starts, features, strict=True):
            if feature.may_lose and feature.gaps:
                may_take[start + min(feature.gaps.values())] = True
        entries = [np.arange(size) for size in sizes]
        for index, feature in enumerate(features):
            if feature.is_categorical and feature.range is not None:
                mine = slice(starts[index], starts[index] + sizes[index])
                known = np.flatnonzero(may_take[mine] & ~gaps[mine])
                codes = known if len(known) else np.flatnonzero(may_take[mine])
                entries[index] = _nearest(codes, sizes[index], feature.direction)
        none = np.empty(0, dtype=np.intp)
        return cls(
            starts,
            gaps,
            may_take,
            allowed | gaps,
            np.concatenate([none, *entries]),
            not may_take.all(),
            any(len(feature.gaps) > 1 for feature in features),
        )

    def takes(self, feature: NDArray[np.intp], codes: NDArray[np.intp]) -> Mask:
        """Tell which categories of features may be taken."""
        return np.asarray(self.may_take[self.starts[feature] + codes])

    def entered(self, feature: NDArray[np.intp], codes: Row) -> Row:
        """Move codes to the nearest ones that may be taken; a code stays if there is none."""
        return self.entries[self.starts[feature] + codes.astype(np.intp)].astype(np.float64)

    def keeps(self, feature: NDArray[np.intp], codes: NDArray[np.intp]) -> Mask:
        """Tell which categories of features may be kept."""
        return np.asarray(self.may_keep[self.starts[feature] + codes])


def _nearest(codes: NDArray[np.intp], size: int, direction: int) -> NDArray[np.intp]:
    """Find the nearest of some codes for every code; the code itself, if there is none in that direction.

    Examples
    --------
    >>> _nearest(np.array([1, 4]), 6, direction=0)
    array([1, 1, 1, 4, 4, 4])
    >>> _nearest(np.array([1, 4]), 6, direction=1)
    array([1, 1, 4, 4, 4, 5])
    """
    every = np.arange(size)
    if not len(codes):
        return every
    above, below = np.searchsorted(codes, every), np.searchsorted(codes, every, side="right") - 1
    up, down = codes[np.minimum(above, len(codes) - 1)], codes[np.maximum(below, 0)]
    far = size + 1
    to_up = np.where((above < len(codes)) & (direction >= 0), up - every, far)
    to_down = np.where((below >= 0) & (direction <= 0), every - down, far)
    nearest = np.where(to_down <= to_up, down, up)
    return np.where(np.minimum(to_up, to_down) < far, nearest, every)


@dataclass(frozen=True)
class Bounds:
    """The constraints of a schema, seen from x: one instance for all rows, or one per row."""

    rules: Rules
    x: Rows
    low: Rows
    high: Rows
    outside: Mask | None = None  # cells of x that must change

    @cached_property
    def home(self) -> Rows:
        """X itself, with each cell that lies outside a range moved to the nearest admissible value."""
        if self.outside is None:
            return self.x
        home = np.array(self.x)
        cells = self._cells(np.atleast_2d(self.x), np.atleast_2d(self.outside))
        category = self.rules.is_coded[cells.feature]
        settled = self._settled(cells)
        settled[category] = self.rules.categories.entered(cells.feature[category], cells.own[category])
        np.atleast_2d(home)[cells.row, cells.feature] = settled
        return home

    def project(self, rows: Rows, free: Mask) -> Rows:
        """Move rows to admissible ones: cells that are not free become x's, numbers are clipped and stepped.

        Where x lies outside a range, the nearest admissible value is used instead of x's.
        """
        moved = (rows != self.home) & (free & ~self.rules.frozen)
        result = np.where(moved, rows, self.home)
        cells = self._cells(result, moved, self.home)
        result[cells.row, cells.feature] = self._settled(cells)
        return result

    def settle(self, values: Rows, feature: NDArray[np.intp]) -> Rows:
        """Move single values of features to admissible ones: one row per x, one column per value."""
        own, low, high = (
            np.broadcast_to(each[..., feature], values.shape).ravel()
            for each in (self.home, self.low, self.high)
        )
        indices = np.broadcast_to(feature, values.shape).ravel()
        settled = self._settled(_Cells(indices, indices, values.ravel(), own, (low, high)))
        return np.where(self.rules.frozen[indices], own, settled).reshape(values.shape)

    def _settled(self, cells: _Cells) -> Row:
        """Clip and step the values of cells; where the result is not admissible, keep x's value."""
        low, high = cells.limits
        settled = np.fmin(np.fmax(cells.values, low), high)
        if self.rules.grid:
            settled = np.fmin(np.fmax(self.rules.grid.settle(settled, cells.feature), low), high)
        if self.rules.has_ranked_ranges:
            settled = self._admitted(settled, cells.feature)
        # Adding 0.0 turns -0.0 into 0.0; fmax may return either, depending on the length of the array.
        settled += 0.0
        missing = np.isnan(cells.values)
        if missing.any():  # fmin and fmax hide NaN
            own, nan = cells.own[missing], self.rules.nan[cells.feature[missing]]
            settled[missing] = np.where(np.isnan(own), own, nan)
        changes = self._within(replace(cells, values=settled)) & (settled != cells.own)
        return np.where(changes, settled, cells.own)

    def _admitted(self, values: Row, feature: NDArray[np.intp]) -> Row:
        """Move ranks to the nearest ones in the user's ranges."""
        rules = self.rules
        ranked = np.flatnonzero((rules.is_coded & ~rules.is_category)[feature] & np.isfinite(values))
        wrong = ranked[~rules.categories.takes(feature[ranked], values[ranked].astype(np.intp))]
        values[wrong] = rules.categories.entered(feature[wrong], values[wrong])
        return values

    def admissible(self, rows: Rows) -> Mask:
        """Tell which rows satisfy every constraint exactly and differ from x."""
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        # Bit for bit: comparing the floats as integers also distinguishes NaN from NaN and 0.0 from -0.0.
        cells = self._cells(rows, rows.view(np.int64) != np.ascontiguousarray(self.x).view(np.int64))
        kept, differs = np.ones(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
        allowed = self._within(cells) & ~self.rules.frozen[cells.feature]
        if self.rules.grid:
            settled = self.rules.grid.settle(cells.values, cells.feature)
            allowed &= (settled == cells.values) | np.isnan(cells.values)
        kept[cells.row[~allowed]] = False
        if self.outside is not None:
            kept &= ~any_of_each((rows == self.x) & self.outside)
        missing = np.isnan(cells.values) & np.isnan(cells.own)
        differs[cells.row[(cells.values != cells.own) & ~missing]] = True
        return np.asarray(kept & differs)

    def takes(self, values: Row, feature: int) -> Mask:
        """Tell which of its rows may have a value in a feature: x's own, or an admissible other."""
        own, indices = self.x[:, feature], np.full(len(values), feature, dtype=np.intp)
        low, high = (np.broadcast_to(each, self.x.shape)[:, feature] for each in (self.low, self.high))
        allowed = self._within(_Cells(indices, indices, values, own, (low, high)))
        allowed &= ~self.rules.frozen[feature]
        if self.rules.grid:
            allowed &= self.rules.grid.settle(values, indices) == values
        keeps = values == own if self.outside is None else (values == own) & ~self.outside[:, feature]
        return np.asarray(keeps | allowed)

    def _cells(self, rows: Rows, where: Mask, own: Rows | None = None) -> _Cells:
        """Collect the cells that differ from x: they are few, and all others are admissible."""
        index = np.flatnonzero(where)
        row = index // max(1, rows.shape[1])
        feature = index - row * rows.shape[1]
        own_values, low, high = (
            each.take(index if each.ndim == 2 else feature)
            for each in (self.x if own is None else own, self.low, self.high)
        )
        return _Cells(row, feature, rows.take(index), own_values, (low, high))

    def _within(self, cells: _Cells) -> Mask:
        """Tell which cells hold an admissible value, ignoring steps."""
        rules, values, feature = self.rules, cells.values, cells.feature
        inside = (values >= cells.limits[0]) & (values <= cells.limits[1])
        if rules.has_categories:
            inside &= (np.rint(values) == values) | ~rules.is_coded[feature]
        if rules.categories.forbids:
            category = np.flatnonzero(inside & rules.is_coded[feature])
            inside[category] = rules.categories.takes(feature[category], values[category].astype(np.intp))
            if rules.categories.has_marks:  # None to NaN is no change
                some = feature[category]
                mark = rules.is_missing(values[category], some) & rules.is_missing(cells.own[category], some)
                inside[category] &= ~mark
        for one, barred in rules.barred:
            mine = np.flatnonzero(inside & (feature == one))
            old, new = cells.own[mine].astype(np.intp), values[mine].astype(np.intp)
            inside[mine] = ~barred[old, new]
        missing = np.isnan(values)
        if missing.any():
            inside |= missing & (rules.may_lose[feature] | np.isnan(cells.own))
        return np.asarray(inside)


@dataclass(frozen=True)
class _Cells:
    """Some cells of a table: their positions, their values, x's values there, and their limits."""

    row: NDArray[np.intp]
    feature: NDArray[np.intp]
    values: Row
    own: Row
    limits: tuple[Row, Row]


def _limits(schema: Schema, index: int) -> tuple[float, float]:
    """Find the lowest and highest value that a feature may take, ignoring steps."""
    feature, dtype = schema.features[index], schema.form.number_type(index)
    if feature.is_categorical:
        known = len(feature.index) if feature.is_ranked and not feature.may_lose else len(feature.categories)
        return 0.0, known - 1.0
    low, high = _closed(feature)
    if feature.calendar is not None:
        first, last = feature.calendar.limits
        return max(low, first), min(high, last)
    if dtype is not None and dtype.kind in "iu":
        return max(low, np.iinfo(dtype).min, -EXACT), min(high, np.iinfo(dtype).max, EXACT)
    # No number may be infinite, and steps must stay countable.
    countable = np.inf if feature.step is None else EXACT * feature.step
    most = min(float(np.finfo(dtype or np.float64).max), countable)
    return max(low, -most), min(high, most)


def _closed(feature: Feature) -> tuple[float, float]:
    """Find the ends of a range; an open end lies beyond the known values by their full spread.

    Examples
    --------
    >>> _closed(Feature("income", seen=(20.0, 80.0), range=(0, np.inf)))
    (0, 140.0)
    """
    (low, high), (least, most) = feature.range or feature.seen, feature.seen
    spread = (most - least) or abs(most) or 1.0
    if np.isinf(low):
        low = min(least, high) - spread
    if np.isinf(high):
        high = max(most, low) + spread
    return low, high
