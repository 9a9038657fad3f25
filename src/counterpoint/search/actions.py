"""Actions: which features a row changes, and which way.

Two answers that raise the income are one action with two values. A person who reads them wants other actions
first, so candidates are compared by action before they are compared by value.
"""

from __future__ import annotations

import numpy as np

from counterpoint._util.duplicates import distinct
from counterpoint._util.narrow import all_of_each, any_of_each, count_of_each
from counterpoint._util.row_blocks import in_blocks
from counterpoint.data.distance import changed
from counterpoint.data.types import Indices, Mask, Row, Rows
from counterpoint.search.grouped import before_each, stable_order
from counterpoint.search.task import Task

# How a feature changes, beside up (1) and down (-1).
OTHER_CATEGORY = 2.0
GOES_MISSING = 3.0
NO_LONGER_MISSING = 4.0

# Floats hold whole numbers with this many digits of base 8.
DIGITS = 17

# The names of the ways in which a feature changes, as `Explanation.actions` gives them.
WAYS = {"up": 1.0, "down": -1.0, "other": OTHER_CATEGORY, "missing": GOES_MISSING, "known": NO_LONGER_MISSING}


def directions(rows: Rows, x: Rows, is_category: Mask) -> Rows:
    """Tell for each cell how it changes: 0 for not at all, 1 and -1 for up and down, 2 for another category.

    Examples
    --------
    >>> directions(np.array([[3.0, 1.0], [1.0, 0.0]]), np.array([2.0, 0.0]), np.array([False, True]))
    array([[ 1.,  2.],
           [-1.,  0.]])
    """
    with np.errstate(invalid="ignore"):  # an immutable number can be infinite
        ways = np.where(changed(rows, x), np.where(is_category, OTHER_CATEGORY, np.sign(rows - x)), 0.0)
    missing = np.isnan(ways)
    if missing.any():
        ways[missing] = np.where(np.isnan(rows), GOES_MISSING, NO_LONGER_MISSING)[missing]
    return ways


def packed(ways: Rows) -> Rows:
    """Write the directions of several features as one whole number, which is different for different ones.

    Each is a digit of base 8. So wide rows take little room.

    Examples
    --------
    >>> packed(np.array([[1.0, 2.0], [1.0, 0.0]]))
    array([[26.],
           [10.]])
    """
    count, width = ways.shape
    numbers = -(-width // DIGITS)
    digits = np.zeros((count, numbers * DIGITS))
    np.add(ways, 1.0, out=digits[:, :width])
    return np.asarray(digits.reshape(count, numbers, DIGITS) @ 8.0 ** np.arange(DIGITS))


def is_minimal(ways: Rows) -> Mask:
    """Tell which of some candidates have an action that holds no other candidate's action and more.

    `ways` are directions of several instances: instance × candidate × feature.

    Examples
    --------
    >>> is_minimal(np.array([[[1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]]]))
    array([[ True, False,  True]])
    """
    kinds = [changes for value in WAYS.values() if (changes := ways == value).any()]
    parts = np.concatenate(kinds or [ways != 0], axis=2).astype(np.float32)
    counts = parts.sum(axis=2)
    holds = (parts @ parts.swapaxes(1, 2) == counts[:, None]) & (counts[:, :, None] > counts[:, None])
    return ~any_of_each(holds)


def action_ids(task: Task, rows: Rows, instance: Indices) -> Indices:
    """Give each action of an instance a number, and return those of the rows."""
    free = np.flatnonzero(task.free)
    home, is_category = task.rules.ranks(task.home)[:, free], task.is_category[free]

    def taken(rows: Rows, instance: Indices) -> Rows:
        ranks = task.rules.ranks(rows).take(free, axis=1)
        return packed(directions(ranks, home.take(instance, axis=0), is_category))

    ways = in_blocks(rows.shape[1], taken, rows, instance)
    return distinct(ways, instance, np.arange(len(rows)))[1]


def cheapest_actions(price: Row, action: Indices, instance: Indices, count: int) -> Indices:
    """Find the indices of the cheapest rows of each instance, of as many different actions as there are.

    The cheapest row of each action comes first, then the second of each, and so on.

    Examples
    --------
    >>> cheapest_actions(np.array([1.0, 2.0, 9.0]), np.array([0, 0, 1]), np.array([0, 0, 0]), 2)
    array([0, 2])
    """
    by_price = np.argsort(price, kind="stable")
    turn = before_each(action[by_price])
    order = by_price[stable_order(turn)]
    order = order[stable_order(instance[order])]
    return np.asarray(order[before_each(instance[order]) < count])


def holds_another(task: Task, rows: Rows, instance: Indices) -> Mask:
    """Tell which rows hold all changes of another row of their instance, value for value, and more."""
    differs = task.changed(rows, instance)
    counts = count_of_each(differs)
    one, other = _pairs(np.flatnonzero(counts > task.least_changes[instance]), instance)
    fewer = counts[other] < counts[one]
    one, other = one[fewer], other[fewer]

    def hold(one: Indices, other: Indices) -> Mask:
        same = ~changed(rows.take(one, axis=0), rows.take(other, axis=0))
        return all_of_each(same | ~differs.take(other, axis=0))

    holds = np.zeros(len(rows), dtype=np.bool_)
    holds[one[in_blocks(rows.shape[1], hold, one, other)]] = True
    return holds


def _pairs(some: Indices, instance: Indices) -> tuple[Indices, Indices]:
    """Pair some rows with all rows of their instance; the instances are sorted."""
    starts = np.searchsorted(instance, instance[some])
    sizes = np.searchsorted(instance, instance[some], side="right") - starts
    one = np.repeat(some, sizes)
    return one, before_each(one) + np.repeat(starts, sizes)
