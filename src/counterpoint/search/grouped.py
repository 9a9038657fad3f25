"""Working on the rows of many instances at once: the nearest, the cheapest and the first of each instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Indices, Row, Rows

Values = TypeVar("Values", bound=np.generic)

# Sorting this many entries takes no longer than a partial search.
FEW = 200


def joined(parts: Sequence[NDArray[Values]]) -> NDArray[Values]:
    """Join arrays; a single one is not copied, as wide rows take longer to copy than to look at.

    Examples
    --------
    >>> joined([np.array([1, 2]), np.array([3])])
    array([1, 2, 3])
    """
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def nearest(away: Rows, count: int) -> Indices:
    """Find the indices of the smallest entries of each row, smallest first; of equal ones, the first.

    Examples
    --------
    >>> nearest(np.array([[2.0, 1.0, 2.0, 2.0]]), 2)
    array([[1, 0]])
    """
    if count >= away.shape[1] or away.shape[1] <= FEW:
        return np.argsort(away, axis=1, kind="stable")[:, :count]
    indices = smallest(away, count)
    order = np.argsort(np.take_along_axis(away, indices, 1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(indices, order, 1))


def smallest(values: Rows, count: int) -> Indices:
    """Find the indices of the smallest entries of each row, in order of index; of equal ones, the first.

    `np.argpartition` is faster, but which of equal entries it takes depends on the processor.
    """
    values = np.nan_to_num(values, nan=np.inf, posinf=np.inf, neginf=-np.inf)
    largest = np.partition(values, count - 1, axis=1)[:, count - 1, None]
    below, equal = values < largest, values == largest
    room = count - below.sum(axis=1, keepdims=True)
    below |= equal & (np.cumsum(equal, axis=1) <= room)
    return np.nonzero(below)[1].reshape(len(values), count)


def first_of_each(instance: Indices, count: int) -> Indices:
    """Find the indices of the first rows of each instance, in order.

    Examples
    --------
    >>> first_of_each(np.array([0, 1, 0, 0, 1]), 2)
    array([0, 1, 2, 4])
    """
    return np.flatnonzero(before_each(instance) < count)


def cheapest_of_each(price: Row, instance: Indices, count: int) -> Indices:
    """Find the indices of the cheapest rows of each instance, instance by instance, cheapest first.

    Examples
    --------
    >>> cheapest_of_each(np.array([3.0, 1.0, 2.0, 5.0]), np.array([0, 1, 0, 0]), 2)
    array([2, 0, 1])
    """
    if count == 1 and len(price) and not np.isnan(price).any():
        return _cheapest(price, instance)
    by_price = np.argsort(price, kind="stable")
    order = by_price[stable_order(instance[by_price])]
    return np.asarray(order[_before(instance[order]) < count])


def _cheapest(price: Row, instance: Indices) -> Indices:
    """Find the cheapest row of each instance, the first of equal ones, without sorting prices."""
    order = stable_order(instance)
    price, instance = price[order], instance[order]
    starts = np.flatnonzero(np.diff(instance, prepend=-1))
    sizes = np.diff(starts, append=len(instance))
    least = np.flatnonzero(price == np.repeat(np.minimum.reduceat(price, starts), sizes))
    return np.asarray(order[least[np.flatnonzero(np.diff(instance[least], prepend=-1))]])


def before_each(instance: Indices) -> Indices:
    """Count, for each row, the earlier rows of the same instance.

    Examples
    --------
    >>> before_each(np.array([0, 1, 0, 0, 1]))
    array([0, 0, 1, 2, 1])
    """
    order = stable_order(instance)
    before = np.empty(len(instance), dtype=np.intp)
    before[order] = _before(instance[order])
    return before


def stable_order(numbers: Indices) -> Indices:
    """Sort whole numbers that are not negative; equal ones stay in order.

    numpy sorts numbers of 16 bits by their digits, which takes a thirtieth of the time of comparing them.

    Examples
    --------
    >>> stable_order(np.array([2, 0, 2, 1]))
    array([1, 3, 0, 2])
    """
    small = numbers.max(initial=0) <= np.iinfo(np.uint16).max
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")


def _before(instance: Indices) -> Indices:
    """Count as `before_each` does, where the rows of each instance are contiguous."""
    starts = np.flatnonzero(np.diff(instance, prepend=-1))
    return np.arange(len(instance)) - np.repeat(starts, np.diff(starts, append=len(instance)))
