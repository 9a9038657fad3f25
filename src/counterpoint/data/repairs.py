"""Links between columns, as searches use them: which rows keep them, and how a row that does not is repaired.

A repair keeps what a row changes where it can, and changes what this requires: so a search that knows nothing
of links finds rows that keep them. Rows that cannot be repaired are left as they are, and rejected.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import eq, le, lt
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.data.links import Compares, Implies, Link
from counterpoint.data.schema import Schema
from counterpoint.data.types import Mask, Row, Rows

if TYPE_CHECKING:
    from counterpoint.data.constraints import Bounds, Grid, Rules

# Repairing one link may break another, so all are gone through a few times.
PASSES = 3


def repaired(rules: Rules, rows: Rows, x: Rows) -> Rows:
    """Repair the rows that break a link; x has one row per row."""
    rows = np.array(rows)
    for _ in range(PASSES):
        whole = True
        for link in rules.repairable:
            broken = np.flatnonzero(~link.holds(rows))
            if len(broken):
                rows[broken] = link.repaired(rules.around(x[broken]), rows[broken])
                whole = False
        if whole:
            break
    return rows


def compiled(schema: Schema, grid: Grid, known: Rows | None) -> tuple[Implication | Comparison, ...]:
    """Prepare the links of a schema; known instances tell what else is common."""
    return tuple(_compiled(link, schema, grid, known) for link in schema.links)


def _compiled(link: Link, schema: Schema, grid: Grid, known: Rows | None) -> Implication | Comparison:
    if isinstance(link, Compares):
        return Comparison.of(link, schema, grid)
    return Implication.of(link, schema, grid, known)


@dataclass(frozen=True)
class Condition:
    """The values that a feature may have."""

    feature: int
    codes: tuple[int, ...]  # of categories; empty for numbers
    size: int
    low: float
    high: float

    @classmethod
    def of(cls, schema: Schema, grid: Grid, name: Any, values: tuple[Any, ...]) -> Condition:
        """Look up the values; an interval has its first and last possible number as ends."""
        index = schema.names.index(name)
        feature = schema.features[index]
        if feature.is_categorical:
            return cls(index, feature.codes_of(values), len(feature.categories), -np.inf, np.inf)
        ends = np.zeros((2, len(schema.features)))
        ends[:, index] = values[0], values[-1]
        low, high = grid.within(ends[0], ends[1])
        return cls(index, (), 0, float(low[index]), float(high[index]))

    def holds(self, rows: Rows) -> Mask:
        """Tell which rows have one of the values."""
        values = rows[:, self.feature]
        if not self.size:
            return np.asarray((values >= self.low) & (values <= self.high))
        allowed = np.zeros(self.size + 1, dtype=np.bool_)  # the last is for categories that are new in x
        allowed[list(self.codes)] = True
        return np.asarray(allowed[np.minimum(values, self.size).astype(np.intp)])

    def entered(self, bounds: Bounds, values: Row) -> tuple[Row, Mask]:
        """Move values of the feature to ones that it may have, and tell where that is possible."""
        own = bounds.home[:, self.feature]
        if not self.size:
            low, high = (
                np.broadcast_to(each, bounds.x.shape)[:, self.feature] for each in (bounds.low, bounds.high)
            )
            known = np.where(np.isnan(values), own, values)
            moved = np.clip(np.clip(known, self.low, self.high), low, high) + 0.0
            inside = (moved >= self.low) & (moved <= self.high)
            return moved, inside & bounds.takes(moved, self.feature)
        moved, done = np.array(values), np.zeros(len(values), dtype=np.bool_)
        for code in (*self.codes,):
            target = np.full(len(values), float(code))
            # What x has comes first.
            fits = bounds.takes(target, self.feature) & (~done | (own == code))
            moved[fits], done = code, done | fits
        return moved, done


def _all(conditions: tuple[Condition, ...], rows: Rows) -> Mask:
    return np.asarray(np.logical_and.reduce([condition.holds(rows) for condition in conditions]))


@dataclass(frozen=True)
class Implication:
    """An implication between values of features."""

    when: tuple[Condition, ...]
    then: tuple[Condition, ...]
    other: tuple[int, float] | None  # a feature of the condition, and its most common value if `then` fails

    @classmethod
    def of(cls, link: Implies, schema: Schema, grid: Grid, known: Rows | None) -> Implication:
        """Look up the values, and what is common where `then` does not hold."""
        when, then = (
            tuple(Condition.of(schema, grid, name, values) for name, values in part)
            for part in (link.when, link.then)
        )
        return cls(when, then, None if known is None else _common(when, then, known))

    @property
    def features(self) -> list[int]:
        """The features it is about."""
        return [condition.feature for condition in (*self.when, *self.then)]

    def holds(self, rows: Rows) -> Mask:
        """Tell which rows keep it."""
        return np.asarray(~_all(self.when, rows) | _all(self.then, rows))

    def repaired(self, bounds: Bounds, rows: Rows) -> Rows:
        """Take what the condition requires; or undo the condition; or, if x meets it, leave it.

        If x meets condition and consequence, the row means to change the consequence, so it leaves the
        condition.
        """
        (taken, can_take), (undone, can_undo), (left, can_leave) = (
            self._taking(bounds, rows),
            self._undoing(bounds, rows),
            self._leaving(bounds, rows),
        )
        leaves = _all(self.when, bounds.x) & _all(self.then, bounds.x) & can_leave
        choices = [(leaves, left), (can_take, taken), (can_undo, undone), (can_leave, left)]
        return np.select([mask[:, None] for mask, _ in choices], [each for _, each in choices], rows)

    def _taking(self, bounds: Bounds, rows: Rows) -> tuple[Rows, Mask]:
        result, possible = rows.copy(), np.ones(len(rows), dtype=np.bool_)
        for condition in self.then:
            fails = ~condition.holds(rows)
            moved, fits = condition.entered(bounds, rows[:, condition.feature])
            result[:, condition.feature] = np.where(fails & fits, moved, rows[:, condition.feature])
            possible &= ~fails | fits
        return result, possible

    def _undoing(self, bounds: Bounds, rows: Rows) -> tuple[Rows, Mask]:
        features = [condition.feature for condition in self.when]
        result = rows.copy()
        result[:, features] = bounds.home[:, features]
        return result, ~_all(self.when, result)

    def _leaving(self, bounds: Bounds, rows: Rows) -> tuple[Rows, Mask]:
        if self.other is None:
            return rows, np.zeros(len(rows), dtype=np.bool_)
        feature, code = self.other
        result = rows.copy()
        result[:, feature] = code
        return result, bounds.takes(result[:, feature], feature)


def _common(
    when: tuple[Condition, ...], then: tuple[Condition, ...], known: Rows
) -> tuple[int, float] | None:
    """Find the most common category outside a condition, where its consequence does not hold."""
    without = known[~_all(then, known)]
    for condition in when:
        if condition.size:
            codes = without[~condition.holds(without), condition.feature].astype(np.intp)
            if len(codes):
                return condition.feature, float(np.bincount(codes).argmax())
    return None


@dataclass(frozen=True)
class Comparison:
    """A comparison of two numbers: less than, at most, or equal to."""

    low: int  # the feature that is less
    high: int
    operator: str
    grid: Grid
    spread: tuple[float, float]

    @classmethod
    def of(cls, link: Compares, schema: Schema, grid: Grid) -> Comparison:
        """Look up the features."""
        left, right = (schema.names.index(name) for name in link.names)
        if link.operator.startswith(">"):
            left, right = right, left
        ends = [schema.features[index].seen for index in (left, right)]
        spread = tuple(float(high - low) or 1.0 for low, high in ends)
        return cls(left, right, link.operator.replace(">", "<"), grid, (spread[0], spread[1]))

    @property
    def features(self) -> list[int]:
        """The features it is about."""
        return [self.low, self.high]

    def holds(self, rows: Rows) -> Mask:
        """Tell which rows keep it; a missing number breaks nothing."""
        low, high = rows[:, self.low], rows[:, self.high]
        compare = {"<": lt, "<=": le, "==": eq}[self.operator]
        return np.asarray(compare(low, high) | np.isnan(low) | np.isnan(high))

    def repaired(self, bounds: Bounds, rows: Rows) -> Rows:
        """Move the number that the row does not change; if it cannot move, the other one."""
        lower, can_lower = self._moved(bounds, rows, self.low, self.high)
        higher, can_raise = self._moved(bounds, rows, self.high, self.low)
        low_changed, high_changed = (rows[:, i] != bounds.home[:, i] for i in (self.low, self.high))
        shorter = abs(lower[:, self.low] - rows[:, self.low]) / self.spread[0] <= (
            abs(higher[:, self.high] - rows[:, self.high]) / self.spread[1]
        )
        first = np.where(low_changed == high_changed, shorter, high_changed)
        lowers = can_lower & (first | ~can_raise)
        return np.select([lowers[:, None], can_raise[:, None]], [lower, higher], rows)

    def _moved(self, bounds: Bounds, rows: Rows, feature: int, other: int) -> tuple[Rows, Mask]:
        """Move one number just so far that the comparison holds, and tell where that is possible."""
        ends, way = np.zeros(rows.shape), np.inf if feature == self.high else -np.inf
        limit = rows[:, other]
        ends[:, feature] = np.nextafter(limit, way) if self.operator == "<" else limit
        first, last = self.grid.within(ends, ends) if self.grid else (ends, ends)
        result = rows.copy()
        result[:, feature] = (first if feature == self.high else last)[:, feature] + 0.0
        return result, self.holds(result) & bounds.takes(result[:, feature], feature)
