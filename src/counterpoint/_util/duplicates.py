"""Finding equal rows: by a hash per row, and a comparison of rows with equal hashes."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint._util.narrow import any_of_each
from counterpoint._util.row_blocks import in_blocks

Rows = NDArray[np.float64]
Indices = NDArray[np.intp]


def distinct(rows: Rows, instance: Indices, indices: Indices) -> tuple[Indices, Indices]:
    """Find the first of each set of equal rows of an instance, and which of these each row equals.

    Only the rows at `indices` are compared. The first rows are returned as indices too, in the same order.

    Examples
    --------
    >>> rows, of = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]), np.array([0, 0, 0, 1])
    >>> distinct(rows, of, np.arange(4))
    (array([0, 2, 3]), array([0, 0, 1, 2]))
    """
    same = pd.factorize(in_blocks(rows.shape[1], _hashed, rows, instance)[indices])[0]
    first = indices[_first_indices(same)]
    again = np.flatnonzero(first[same] != indices)
    one, other = indices[again], first[same[again]]
    if in_blocks(rows.shape[1], partial(_unlike, rows, instance), one, other).any():
        # Two different rows with the same hash: very unlikely, but it must not mix up their labels.
        exact = np.column_stack([_bits(rows[indices]), instance[indices].astype(np.uint64)])
        same = pd.MultiIndex.from_arrays(list(exact.T)).factorize()[0]
        first = indices[_first_indices(same)]
    return first, same


def among(rows: Rows, instance: Indices, others: Rows, whose: Indices) -> NDArray[np.bool_]:
    """Tell which rows equal one of some others of the same instance.

    Examples
    --------
    >>> rows, others = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]), np.array([[1.0, 2.0]])
    >>> among(rows, np.array([0, 0, 1]), others, np.array([0]))
    array([ True, False, False])
    """
    width = rows.shape[1]
    found = np.isin(in_blocks(width, _hashed, rows, instance), in_blocks(width, _hashed, others, whose))
    some = np.flatnonzero(found)
    both, of = np.concatenate([rows[some], others]), np.concatenate([instance[some], whose])
    same = distinct(both, of, np.arange(len(of)))[1]
    found[some] = np.isin(same[: len(some)], same[len(some) :])
    return found


def _unlike(rows: Rows, instance: Indices, one: Indices, other: Indices) -> NDArray[np.bool_]:
    """Tell which rows differ; -0.0 may count as different from 0.0."""
    a, b = (np.take(rows, indices, axis=0).view(np.uint64) for indices in (one, other))
    return np.asarray(any_of_each(a != b) | (instance[one] != instance[other]))


def _bits(rows: Rows) -> NDArray[np.uint64]:
    """Return the bits of numbers, which distinguish NaN from NaN; -0.0 becomes 0.0."""
    return np.ascontiguousarray(rows + 0.0).view(np.uint64)


def _first_indices(same: Indices) -> Indices:
    """Find where each number first occurs; numbers count up in the order of their first occurrence."""
    first = np.empty(same.max(initial=-1) + 1, dtype=np.intp)
    first[same[::-1]] = np.arange(len(same))[::-1]
    return first


def _hashed(rows: Rows, instance: Indices) -> NDArray[np.uint64]:
    """Hash the bits of each row, and of its instance, into one number."""
    weights = _weights(rows.shape[1] + 1)
    total = instance.astype(np.uint64) * weights[-1]
    if rows.shape[1] > len(rows):
        return np.asarray(total + (_mixed(rows) * weights[:-1]).sum(axis=1, dtype=np.uint64))
    # Column by column: for the few columns of tables, working on whole rows takes ten times as long.
    for column, weight in zip(rows.T, weights[:-1], strict=True):
        total += _mixed(column) * weight
    return np.asarray(total)


def _mixed(values: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Return the bits of numbers, mixed.

    The bits of small whole numbers differ at the high end only, and products carry nothing downwards.
    """
    bits = _bits(values)
    bits ^= bits >> np.uint64(32)
    return bits


@lru_cache
def _weights(count: int) -> NDArray[np.uint64]:
    """Draw odd numbers, always the same."""
    return np.random.default_rng(0).integers(2**63, size=count, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
