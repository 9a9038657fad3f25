"""What a counterfactual of x may be: the constraints of a schema, seen from x.

`project` moves rows to the nearest admissible ones and is a convenience for searches. `admissible` is the
law: the pool asks the model about no row that it refuses, so no search can break a constraint.

An x outside a range of the user's can be explained, too: every answer lies inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.readonly import make_read_only
from counterpoint.schema import EXACT, Feature, Row, Rows, Schema

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Grid:
    """Which numbers there are: whole multiples of the steps, rounded to what the columns can hold."""

    steps: Row  # NaN for a feature without steps
    tops: Row
    bottoms: Row
    narrow: tuple[tuple[np.dtype[Any], Mask], ...]  # dtypes, and which features have them

    @classmethod
    def of(cls, schema: Schema) -> Grid:
        """Gather the steps and dtypes of all features."""
        steps = [np.nan if f.is_categorical or f.step is None else f.step for f in schema.features]
        tops, bottoms = zip(*(f.fraction for f in schema.features), strict=True) if steps else ((), ())
        narrow: dict[np.dtype[Any], Mask] = {}
        for place in schema.continuous.tolist():
            dtype = schema.form.number_type(place)
            if dtype is not None and dtype.kind == "f" and dtype.itemsize < 8:
                narrow.setdefault(dtype, np.zeros(len(steps), dtype=np.bool_))[place] = True
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
        """Move the values of features to the nearest there are."""
        with np.errstate(over="ignore"):
            settled = self._stepped(values, feature) if self._has_steps else values
            for dtype, places in self.narrow:
                narrowed = settled.astype(dtype).astype(np.float64)
                settled = narrowed if places.all() else np.where(places[feature], narrowed, settled)
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
        """Whether all steps there are are 1, as they mostly are."""
        ones = (self.steps == 1) & (self.tops == self.bottoms)
        return bool((ones | ~self._is_stepped).all())

    def within(self, low: Row, high: Row) -> tuple[Row, Row]:
        """Find the first and last numbers there are within limits."""
        every = np.arange(len(self.steps))
        first, last = self.settle(low, every), self.settle(high, every)
        # Rounding can leave them outside.
        first = np.where(first < low, self._next(first, 1), first)
        return first, np.where(last > high, self._next(last, -1), last)

    def _next(self, numbers: Row, way: int) -> Row:
        stepped = np.where(np.isnan(self.steps), numbers, numbers + way * self.steps)
        after = self.settle(stepped, np.arange(len(self.steps)))
        for dtype, places in self.narrow:
            end = np.array(way * np.inf, dtype=dtype)
            further = np.nextafter(numbers[places].astype(dtype), end)
            after[places] = np.where(np.isnan(self.steps[places]), further, after[places])
        return after


@dataclass(frozen=True)
class Rules:
    """The constraints of a schema as arrays, made once."""

    schema: Schema
    frozen: Mask
    low: Row
    high: Row
    rising: Mask
    falling: Mask
    may_miss: Mask
    missing_code: Row  # the code of the missing category, NaN where there is none
    is_category: Mask
    categories: Categories
    limited: NDArray[np.intp]  # the features that may change and have a range of the user's
    grid: Grid

    def __post_init__(self) -> None:
        make_read_only(self)

    @classmethod
    def of(cls, schema: Schema) -> Rules:
        """Gather the constraints of all features."""
        features = schema.features
        grid = Grid.of(schema)
        limits = np.array([_limits(schema, place) for place in range(len(features))]).reshape(-1, 2)
        low, high = grid.within(limits[:, 0], limits[:, 1])
        codes = [np.nan if f.missing_code is None else f.missing_code for f in features]
        limited = [i for i, f in enumerate(features) if f.range is not None and not f.immutable]
        free = [f.missing and not f.direction and f.range is None for f in features]
        return cls(
            schema=schema,
            frozen=np.array([f.immutable for f in features], dtype=np.bool_),
            low=low,
            high=high,
            rising=np.array([f.direction > 0 for f in features], dtype=np.bool_),
            falling=np.array([f.direction < 0 for f in features], dtype=np.bool_),
            may_miss=np.array(free, dtype=np.bool_),
            missing_code=np.array(codes, dtype=np.float64),
            is_category=np.array([f.is_categorical for f in features], dtype=np.bool_),
            categories=Categories.of(features),
            limited=np.array(limited, dtype=np.intp),
            grid=grid,
        )

    @cached_property
    def has_categories(self) -> bool:
        """Whether any feature is categorical."""
        return bool(self.is_category.any())

    def around(self, x: Rows) -> Bounds:
        """See the constraints from x: one instance, or one per row."""
        outside = self.outside(x)
        if not (self.rising | self.falling).any():
            return Bounds(self, x, self.low, self.high, outside)
        low = np.where(self.rising, np.fmax(self.low, x), self.low)
        high = np.where(self.falling, np.fmin(self.high, x), self.high)
        # What is missing is neither above nor below anything: a one-way feature stays missing.
        stuck = (self.rising | self.falling) & (np.isnan(x) | (x == self.missing_code))
        return Bounds(self, x, np.where(stuck, np.inf, low), np.where(stuck, -np.inf, high), outside)

    def outside(self, x: Rows) -> Mask | None:
        """Tell which cells have to change, as they lie outside the user's own ranges; None if none does.

        What is missing lies in every range.
        """
        if not len(self.limited):
            return None
        values = x[..., self.limited]
        low, high = self._ranges
        outside = (values < low) | (values > high)
        category = self.is_category[self.limited]
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
        """The user's own ranges of the limited features; all of them, where these are categories."""
        every = (-np.inf, np.inf)
        some = [self.schema.features[i] for i in self.limited]
        pairs = [f.range if f.range is not None and not f.is_categorical else every for f in some]
        low, high = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        return low, high


@dataclass(frozen=True)
class Categories:
    """Which categories may be taken, all features one after another."""

    starts: NDArray[np.intp]  # where those of a feature start
    may_take: Mask
    may_keep: Mask  # x's own category can be one that may not be taken: a missing one
    entries: NDArray[np.intp]  # the nearest code that may be taken from each
    forbids: bool  # whether any may not be taken

    @classmethod
    def of(cls, features: Sequence[Feature]) -> Categories:
        """Gather the categories of all features."""
        sizes = [len(feature.categories) for feature in features]
        allowed = np.array([f.allows(c) for f in features for c in f.categories], dtype=np.bool_)
        missing = np.array([c is None for f in features for c in f.categories], dtype=np.bool_)
        one_way = np.repeat([f.direction != 0 for f in features], sizes).astype(np.bool_)
        may_take = allowed & ~(missing & one_way)
        starts = np.cumsum([0, *sizes])[:-1].astype(np.intp)
        entries = [np.arange(size) for size in sizes]
        for place, feature in enumerate(features):
            if feature.is_categorical and feature.range is not None:
                codes = np.flatnonzero(may_take[starts[place] : starts[place] + sizes[place]])
                entries[place] = _nearest(codes, sizes[place], feature.direction)
        none = np.empty(0, dtype=np.intp)
        return cls(starts, may_take, allowed | missing, np.concatenate([none, *entries]), not may_take.all())

    def takes(self, feature: NDArray[np.intp], codes: NDArray[np.intp]) -> Mask:
        """Tell which categories of features may be taken."""
        return np.asarray(self.may_take[self.starts[feature] + codes])

    def entered(self, feature: NDArray[np.intp], codes: Row) -> Row:
        """Move codes to the nearest that may be taken; they stay where there is none."""
        return self.entries[self.starts[feature] + codes.astype(np.intp)].astype(np.float64)

    def keeps(self, feature: NDArray[np.intp], codes: NDArray[np.intp]) -> Mask:
        """Tell which categories of features may be kept."""
        return np.asarray(self.may_keep[self.starts[feature] + codes])


def _nearest(codes: NDArray[np.intp], size: int, direction: int) -> NDArray[np.intp]:
    """Find the nearest of some codes from each there is; itself, if there is none that way.

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
    outside: Mask | None = None  # cells of x that have to change

    @cached_property
    def home(self) -> Rows:
        """X itself, or what is nearest to it, where it lies outside a range and has to change."""
        if self.outside is None:
            return self.x
        home = np.array(self.x)
        cells = self._cells(np.atleast_2d(self.x), np.atleast_2d(self.outside))
        category = self.rules.is_category[cells.feature]
        settled = self._settled(cells)
        settled[category] = self.rules.categories.entered(cells.feature[category], cells.own[category])
        np.atleast_2d(home)[cells.row, cells.feature] = settled
        return home

    def project(self, rows: Rows, free: Mask) -> Rows:
        """Move rows to admissible ones: what is not free becomes x's, numbers are clipped and stepped.

        Where x lies outside a range, what is nearest to it stands in for it.
        """
        result = np.where(free & ~self.rules.frozen, rows, self.home)
        cells = self._cells(result, result != self.home, self.home)
        result[cells.row, cells.feature] = self._settled(cells)
        return result

    def settle(self, values: Rows, feature: NDArray[np.intp]) -> Rows:
        """Move single values of features to admissible ones: one row an x, one column a value."""
        own, low, high = (
            np.broadcast_to(each[..., feature], values.shape).ravel()
            for each in (self.home, self.low, self.high)
        )
        places = np.broadcast_to(feature, values.shape).ravel()
        settled = self._settled(_Cells(places, places, values.ravel(), own, (low, high)))
        return np.where(self.rules.frozen[places], own, settled).reshape(values.shape)

    def _settled(self, cells: _Cells) -> Row:
        """Clip and step the values of cells; where that is not admissible, x's own value stays."""
        low, high = cells.limits
        settled = np.fmin(np.fmax(cells.values, low), high)
        if self.rules.grid:
            settled = np.fmin(np.fmax(self.rules.grid.settle(settled, cells.feature), low), high)
        settled = np.where(np.isnan(cells.values), cells.values, settled)  # fmin and fmax hide NaN
        allowed = self._within(replace(cells, values=settled))
        # Adding 0.0 makes -0.0 into 0.0, of which fmax may return either, depending on how many there are.
        return np.where(allowed, settled + 0.0, cells.own)

    def admissible(self, rows: Rows) -> Mask:
        """Tell which rows keep every constraint exactly, and are not x itself."""
        rows = np.ascontiguousarray(rows, dtype=np.float64)
        # Bit for bit: comparing the integers behind the floats also tells NaN from NaN and 0.0 from -0.0.
        cells = self._cells(rows, rows.view(np.int64) != np.ascontiguousarray(self.x).view(np.int64))
        kept, differs = np.ones(len(rows), dtype=np.bool_), np.zeros(len(rows), dtype=np.bool_)
        allowed = self._within(cells) & ~self.rules.frozen[cells.feature]
        if self.rules.grid:
            settled = self.rules.grid.settle(cells.values, cells.feature)
            allowed &= (settled == cells.values) | np.isnan(cells.values)
        kept[cells.row[~allowed]] = False
        if self.outside is not None:
            kept &= ~((rows == self.x) & self.outside).any(axis=1)
        missing = np.isnan(cells.values) & np.isnan(cells.own)
        differs[cells.row[(cells.values != cells.own) & ~missing]] = True
        return np.asarray(kept & differs)

    def _cells(self, rows: Rows, where: Mask, own: Rows | None = None) -> _Cells:
        """Look at the cells that differ from x: they are few, and all others are admissible."""
        place = np.flatnonzero(where)
        row = place // max(1, rows.shape[1])
        feature = place - row * rows.shape[1]
        own_values, low, high = (
            each.take(place if each.ndim == 2 else feature)
            for each in (self.x if own is None else own, self.low, self.high)
        )
        return _Cells(row, feature, rows.take(place), own_values, (low, high))

    def _within(self, cells: _Cells) -> Mask:
        """Tell which cells hold an admissible value, steps aside."""
        rules, values, feature = self.rules, cells.values, cells.feature
        missing = np.isnan(values)
        inside = (values >= cells.limits[0]) & (values <= cells.limits[1])
        if rules.has_categories:
            inside &= (np.rint(values) == values) | ~rules.is_category[feature]
        if rules.categories.forbids:
            category = np.flatnonzero(inside & rules.is_category[feature])
            inside[category] = rules.categories.takes(feature[category], values[category].astype(np.intp))
        if missing.any():
            inside |= missing & (rules.may_miss[feature] | np.isnan(cells.own))
        return np.asarray(inside)


@dataclass(frozen=True)
class _Cells:
    """Some cells of a table: where they are, what they hold, what x holds there, and their limits."""

    row: NDArray[np.intp]
    feature: NDArray[np.intp]
    values: Row
    own: Row
    limits: tuple[Row, Row]


def _limits(schema: Schema, place: int) -> tuple[float, float]:
    """Find the lowest and highest value that a feature may take, steps aside."""
    feature, dtype = schema.features[place], schema.form.number_type(place)
    if feature.is_categorical:
        return 0.0, len(feature.categories) - 1.0
    low, high = _closed(feature)
    if dtype is not None and dtype.kind in "iu":
        return max(low, np.iinfo(dtype).min, -EXACT), min(high, np.iinfo(dtype).max, EXACT)
    # No number may be infinite, and steps must stay countable.
    countable = np.inf if feature.step is None else EXACT * feature.step
    most = min(float(np.finfo(dtype or np.float64).max), countable)
    return max(low, -most), min(high, most)


def _closed(feature: Feature) -> tuple[float, float]:
    """Find where a range ends; an open end reaches as far beyond the known values as these are spread.

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
