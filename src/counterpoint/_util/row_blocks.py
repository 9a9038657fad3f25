"""Working on many rows in blocks, which keeps temporary arrays small.

The system allocates new memory for a large array, page by page, which takes longer than the arithmetic on
it. The memory of small arrays is reused and stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

# Number of cells per block: half a megabyte of numbers.
CELLS = 65_536


def keep_in_place(rows: NDArray[Scalar], indices: NDArray[np.intp]) -> NDArray[Scalar]:
    """Move rows at rising indices to the front of their own array, and return that part of it.

    Examples
    --------
    >>> keep_in_place(np.array([[4], [5], [6]]), np.array([0, 2]))
    array([[4],
           [6]])
    """
    size = max(1, CELLS // max(1, rows[:1].size))
    for start in range(0, len(indices), size):
        # Rows move to the front only, so those of later blocks are still as they were.
        some = indices[start : start + size]
        rows[start : start + len(some)] = rows[some]
    return rows[: len(indices)]


def merged(parts: Sequence[NDArray[Scalar]], order: NDArray[np.intp]) -> NDArray[Scalar]:
    """Join parts, and put their rows in an order, with one copy of each row.

    Examples
    --------
    >>> merged([np.array([[4.0], [5.0]]), np.array([[6.0]])], np.array([2, 0, 1]))
    array([[6.],
           [4.],
           [5.]])
    """
    result = np.empty((len(order), *parts[0].shape[1:]), dtype=parts[0].dtype)
    size, start = max(1, CELLS // max(1, parts[0][:1].size)), 0
    for part in parts:
        places = np.flatnonzero((order >= start) & (order < start + len(part)))
        for first in range(0, len(places), size):
            some = places[first : first + size]
            result[some] = part[order[some] - start]
        start += len(part)
    return result


def in_blocks(width: int, work: Callable[..., NDArray[Scalar]], *arrays: NDArray[Any]) -> NDArray[Scalar]:
    """Do row-wise work on arrays with the same number of rows, with the same result as on all rows at once.

    Parameters
    ----------
    width
        Number of cells that the work needs per row.
    work
        A function from the arrays, or the same rows of each, to one result per row.

    Examples
    --------
    >>> in_blocks(2, lambda rows: rows.sum(axis=1), np.array([[1, 2], [3, 4]]))
    array([3, 7])
    """
    count, size = len(arrays[0]), max(1, CELLS // max(1, width))
    if count <= size:
        return work(*arrays)
    first = work(*(each[:size] for each in arrays))
    result = np.empty((count, *first.shape[1:]), dtype=first.dtype)
    result[:size] = first
    for start in range(size, count, size):
        result[start : start + size] = work(*(each[start : start + size] for each in arrays))
    return result
