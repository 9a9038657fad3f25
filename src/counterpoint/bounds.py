"""What a counterfactual of x may be: the constraints of a schema, seen from one x.

`project` moves rows to the nearest admissible ones and is a convenience for searches. `admissible` is the
law: the engine's listener asks the model about no row that it refuses, so no search can break a constraint.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint.schema import Feature, Row, Rows, Schema

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Rules:
    """The constraints of a schema as arrays, made once."""

    schema: Schema
    frozen: Mask
    low: Row
    high: Row
    step: Row
    rising: Mask
    falling: Mask
    may_miss: Mask
    categories: Mask

    @classmethod
    def of(cls, schema: Schema) -> Rules:
        """Gather the constraints of all features."""
        features = schema.features
        limits = [_limits(feature) for feature in features]
        width = max((len(f.categories) for f in features), default=0)
        categories = np.zeros((len(features), width + 1), dtype=np.bool_)
        for i, feature in enumerate(features):
            categories[i, : len(feature.categories)] = [feature.allows(c) for c in feature.categories]
        return cls(
            schema=schema,
            frozen=np.array([f.immutable for f in features], dtype=np.bool_),
            low=np.array([low for low, _ in limits]),
            high=np.array([high for _, high in limits]),
            step=np.array([f.step or 0.0 for f in features]),
            rising=np.array([f.direction > 0 for f in features], dtype=np.bool_),
            falling=np.array([f.direction < 0 for f in features], dtype=np.bool_),
            may_miss=np.array([f.missing and not f.direction for f in features], dtype=np.bool_),
            categories=categories,
        )

    def around(self, x: Row) -> Bounds:
        """See the constraints from one x."""
        low, high = np.where(self.rising, np.fmax(self.low, x), self.low), self.high
        high = np.where(self.falling, np.fmin(high, x), high)
        return Bounds(self, x, low, high)

    def check(self, rows: Rows) -> None:
        """Refuse instances that lie outside the user's own ranges."""
        for place, feature in enumerate(self.schema.features):
            if feature.range is None:
                continue
            column = rows[:, place]
            if feature.is_categorical:
                inside = self.categories[place, column.astype(np.intp)]
            else:
                inside = np.isnan(column) | ((column >= feature.range[0]) & (column <= feature.range[1]))
            if not inside.all():
                first = int(np.argmin(inside))
                raise ValueError(
                    f"x (row {first}) has {feature.name!r} = {feature.label(column[first])!r}, outside "
                    f"ranges[{feature.name!r}] = {feature.range!r}. Widen the range, or leave it out."
                )


@dataclass(frozen=True)
class Bounds:
    """The constraints of a schema, seen from one x."""

    rules: Rules
    x: Row
    low: Row
    high: Row

    def project(self, rows: Rows, free: Mask) -> Rows:
        """Move rows to admissible ones: what is not free becomes x's, numbers are clipped and stepped."""
        rules, x = self.rules, self.x
        numbers = np.fmin(np.fmax(rows, self.low), self.high)
        if rules.step.any():
            stepped = np.rint(numbers / np.where(rules.step > 0, rules.step, 1.0)) * rules.step
            numbers = np.where(rules.step > 0, np.fmin(np.fmax(stepped, self.low), self.high), numbers)
        numbers = np.where(np.isnan(rows), rows, numbers)  # fmin and fmax would hide a missing value
        result = np.where(free & ~(rows == x), numbers, x)
        forbidden = ~self._cells(result)
        return np.where(forbidden, x, result) if forbidden.any() else result

    def admissible(self, rows: Rows) -> Mask:
        """Tell which rows keep every constraint exactly."""
        frozen = self.rules.frozen
        # Bit for bit: comparing the integers behind the floats also tells NaN from NaN and 0.0 from -0.0.
        kept = (rows.view(np.int64) == self.x.view(np.int64))[:, frozen].all(axis=1)
        return np.asarray(kept & self._cells(rows).all(axis=1))

    def _cells(self, rows: Rows) -> Mask:
        """Tell which cells hold an admissible value; x's own value always is one."""
        rules, x = self.rules, self.x
        missing = np.isnan(rows)
        inside = (rows >= self.low) & (rows <= self.high)
        if rules.step.any():
            step = np.where(rules.step > 0, rules.step, 1.0)
            inside &= (rules.step == 0) | (np.rint(rows / step) * step == rows)
        categorical = rules.schema.categorical
        if len(categorical):
            codes = np.where(inside, rows, -1)[:, categorical].astype(np.intp)
            known = rules.categories[categorical, codes] & (codes == rows[:, categorical])
            inside[:, categorical] = known & inside[:, categorical]
        return np.asarray(inside | (missing & rules.may_miss) | (rows == x) | (missing & np.isnan(x)))


def _limits(feature: Feature) -> tuple[float, float]:
    """Find the lowest and highest admissible value of a feature, on its grid of steps."""
    if feature.is_categorical:
        return 0.0, len(feature.categories) - 1.0
    low, high = feature.range or feature.seen
    if feature.step is None or not np.isfinite([low, high]).all():
        return float(low), float(high)
    first, last = np.ceil(low / feature.step) * feature.step, np.floor(high / feature.step) * feature.step
    # Rounding can leave the product a hair outside the range the user gave.
    first += feature.step * (first < low)
    last -= feature.step * (last > high)
    return float(first), float(last)
