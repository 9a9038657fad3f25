"""Settling: what is left to do on the few rows that may become answers.

A settled row has no change that can be undone alone without losing the flip, and no number that could be
written with fewer digits at hardly more change. Each round tries all single steps of all rows at once, and
takes the best one of each row that flips, until no step does.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.narrow import count_of_each
from counterpoint._util.row_blocks import in_blocks, keep_in_place
from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.search.grouped import before_each, cheapest_of_each
from counterpoint.search.task import WIDE, Derived, Question, Task

# A rounder value may change a feature by this much more. It may change it by less in any case.
MORE = 0.05

# Smaller numbers, and larger ones than its inverse, are not rounded: powers of ten would overflow.
SMALLEST = 1e-290

# Numbers are rounded to at most this many digits; floats hold 15.
DIGITS = 15

# Several changes that can each be undone alone are undone together, in this many sizes.
SIZES = 8

# Of a row with more changes than this, several are undone at a time.
PARTS = 32

# Most rows need one or two rounds. A row that needs more than it gets is not settled.
ROUNDS = 3


class Steps(NamedTuple):
    """Candidates for the next step of rows.

    `origins` are the rows that they would replace, `feature` is what they undo or round (-1 for several), and
    `worth` says how much they are wanted.
    """

    rows: Rows
    origins: Indices
    feature: Indices
    worth: Row

    def best(self, flips: Mask) -> Indices:
        """Find the most wanted flipping step of each row that has one."""
        found = np.flatnonzero(flips)
        return found[cheapest_of_each(-self.worth[found], self.origins[found], 1)]

    def mask(self, among: Mask, shape: tuple[int, ...]) -> Mask:
        """Tell which cells some of the steps are about."""
        mask = np.zeros(shape, dtype=np.bool_)
        mask[self.origins[among], self.feature[among]] = True
        return mask


def settle(
    task: Task,
    rows: Rows,
    instance: Indices,
    finders: Indices,
    rounds: int = ROUNDS,
    rounds_numbers: bool = True,
) -> Generator[Question, Labels, Question]:
    """Undo needless changes and round numbers; returns the rows that are settled, and their instances.

    `finders` tell whom what is found is credited to, per row; `rounds` is the most that are tried, and
    without `rounds_numbers` numbers stay as they are.
    """
    rows, active = task.acting(rows, instance).copy(), np.arange(len(rows))
    loose, open_ = np.zeros(rows.shape, dtype=np.bool_), np.full(rows.shape, rounds_numbers)
    for _ in range(rounds):
        undo, round_ = undone(task, rows, instance, active), rounder(task, rows, instance, active, open_)
        both = _undone_together(task, rows, instance, loose)
        steps = Steps(*(np.concatenate(parts) for parts in zip(undo, round_, both, strict=True)))
        if not len(steps.rows):
            active = active[:0]
            break
        question = Derived.of(steps.rows, instance[steps.origins], finders[steps.origins])
        flips = task.flips((yield question))
        best, before = steps.best(flips), rows.copy()
        active = steps.origins[best]
        rows[active] = steps.rows[best]
        loose = _undoes(undo, flips[: len(undo.rows)], before) & task.changed(rows, instance)
        # A number is rounded once, and again only after a change was undone.
        rounding = slice(len(undo.rows), len(undo.rows) + len(round_.rows))
        open_ &= round_.mask(flips[rounding], rows.shape)
        is_rounded = (best >= rounding.start) & (best < rounding.stop)
        open_[active[~is_rounded]] = rounds_numbers
        open_[active[is_rounded], steps.feature[best[is_rounded]]] = False
    settled = np.setdiff1d(np.arange(len(rows)), active)
    return Question(rows[settled], instance[settled])


def _undoes(steps: Steps, flips: Mask, rows: Rows) -> Mask:
    """Tell which cells of rows can be undone without losing the flip, by the steps that flip."""
    loose, step = np.zeros(rows.shape, dtype=np.bool_), np.flatnonzero(flips)
    which, feature = np.nonzero(steps.rows[step] != rows[steps.origins[step]])
    loose[steps.origins[step[which]], feature] = True
    return loose


def undone(task: Task, rows: Rows, instance: Indices, active: Indices) -> Steps:
    """Undo each single change of the active rows that have more than they need; expensive ones first.

    If there are very many changes, several are undone at a time, so that the number of steps is bounded.
    """
    differs = task.changed(rows[active], instance[active])
    counts = differs.sum(axis=1)
    row, feature = np.nonzero(differs & (counts > task.least_changes[instance[active]])[:, None])
    part = before_each(row) // -(-counts // PARTS)[row]
    starts = np.flatnonzero(np.diff(row, prepend=-1) | np.diff(part, prepend=-1))
    step = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(row)))
    origin = active[row[starts]]
    price = np.bincount(
        step, task.prices(rows[active], instance[active])[row, feature], minlength=len(starts)
    )
    steps = rows[origin]
    steps[step, feature] = task.home[instance[origin[step]], feature]
    steps = task.repaired(steps, instance[origin])
    # What a link between columns asks for cannot be undone alone.
    undo = np.flatnonzero(task.changed(steps, instance[origin]).sum(axis=1) < counts[row[starts]])
    return Steps(steps[undo], origin[undo], feature[starts[undo]], (DIGITS + 1 + price / (1 + price))[undo])


def _undone_together(task: Task, rows: Rows, instance: Indices, loose: Mask) -> Steps:
    """Undo several changes at once that can each be undone alone: the more, the better."""
    counts = count_of_each(loose)
    several = np.flatnonzero(counts > 1)
    parts = [_sizes(count) for count in counts[several].tolist()]
    which = np.repeat(np.arange(len(several)), [len(part) for part in parts])
    origin, sizes = several[which], np.concatenate([np.empty(0, dtype=np.intp), *parts])
    undo = loose[origin] & (np.cumsum(loose[several], axis=1)[which] <= sizes[:, None])
    steps = np.where(undo, task.home[instance[origin]], rows[origin])
    return Steps(steps, origin, np.full(len(origin), -1), DIGITS + 1.0 + sizes)


@lru_cache
def _sizes(count: int) -> Indices:
    """Choose how many of so many changes are undone at once."""
    return np.unique(np.linspace(2, count, SIZES).astype(np.intp))


def rounder(task: Task, rows: Rows, instance: Indices, active: Indices, open_: Mask) -> Steps:
    """Give changed numbers of the active rows fewer digits: the fewer, the better, then the less change."""
    own = task.home[instance[active]]
    numbers = task.changed(rows[active], instance[active]) & ~task.is_coded & open_[active]
    size = np.abs(rows[active])
    numbers &= (size > SMALLEST) & (size < 1 / SMALLEST) & np.isfinite(own)
    numbers &= (numbers.sum(axis=1) <= WIDE)[:, None]  # among very many changes, round numbers help nobody
    row, feature = np.nonzero(numbers)
    value, home = rows[active[row], feature], own[row, feature]
    found, cell, digits = fewer_digits(value, home)
    origin, feature, each = active[row[cell]], feature[cell], np.arange(len(cell))

    def rounded(origin: Indices, feature: Indices, found: Row) -> Rows:
        steps = rows[origin]
        steps[np.arange(len(origin)), feature] = found
        return task.repaired(task.project(steps, instance[origin]).rows, instance[origin])

    # Where steps, ranges or the column's type do not allow the rounder value, there is none.
    steps = in_blocks(rows.shape[1], rounded, origin, feature, found)
    same = steps[each, feature] == found
    more = np.abs(found - home[cell]) / np.abs(value[cell] - home[cell])
    steps = keep_in_place(steps, np.flatnonzero(same))
    return Steps(steps, origin[same], feature[same], (DIGITS - digits - more / 10)[same])


def fewer_digits(value: Row, home: Row) -> tuple[Row, Indices, Row]:
    """Find the values with fewer digits next to given ones: the values, whose they are, and their digits."""
    least = digits_of(value)
    found, cell, digits = [np.empty(0)], [np.empty(0, dtype=np.intp)], [np.empty(0)]
    size = np.abs(value - home)
    for kept in range(1, int(least.max(initial=1))):
        some = np.flatnonzero(least > kept)
        below, above = neighbours_with_digits(value[some], kept)
        for near in (below, above):
            change = (near - home[some]) * np.sign(value[some] - home[some])
            allowed = (change > 0) & (change <= (1 + MORE) * size[some])
            found.append(near[allowed])
            cell.append(some[allowed])
            digits.append(np.full(int(allowed.sum()), float(kept)))
    return np.concatenate(found), np.concatenate(cell), np.concatenate(digits)


def neighbours_with_digits(value: Row, digits: int) -> tuple[Row, Row]:
    """Find the next values below and above that have at most this many digits.

    Examples
    --------
    >>> neighbours_with_digits(np.array([8075.0, -123.0]), 2)
    (array([8000., -130.]), array([8100., -120.]))
    """
    power = np.floor(np.log10(np.where(value == 0, 1.0, np.abs(value)))) - digits + 1
    scaled = _times_power_of_ten(value, -power)
    nearest = np.rint(scaled)
    # What is a whole number but for rounding is not rounded further.
    whole = np.abs(scaled - nearest) <= 1e-9 * np.maximum(1.0, np.abs(nearest))
    below, above = np.where(whole, nearest, np.floor(scaled)), np.where(whole, nearest, np.ceil(scaled))
    return _times_power_of_ten(below, power), _times_power_of_ten(above, power)


def digits_of(value: Row) -> NDArray[np.intp]:
    """Count the digits of numbers, without zeros at their ends.

    Examples
    --------
    >>> digits_of(np.array([8000.0, 8075.0, 0.25, -2392.33, 0.0]))
    array([1, 4, 2, 6, 1])
    """
    digits = np.full(len(value), DIGITS, dtype=np.intp)
    left = np.flatnonzero(np.isfinite(value))
    for count in range(1, DIGITS):
        below, _ = neighbours_with_digits(value[left], count)
        same = below == value[left]
        digits[left[same]] = count
        left = left[~same]
    return digits


def _times_power_of_ten(value: Row, power: Row) -> Row:
    """Multiply by ten to a power so that decimal fractions come out as they are written."""
    with np.errstate(over="ignore"):
        return np.asarray(
            np.where(power >= 0, value * 10.0 ** np.maximum(power, 0), value / 10.0 ** -np.minimum(power, 0))
        )
