"""Working on many rows a block at a time: what is only needed on the way then stays small.

A large array is given fresh memory by the system, page by page, which takes longer than the arithmetic done
on it. The memory of small ones is used again, and stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

# So many cells make a block: half a megabyte of numbers.
CELLS = 65_536


def in_blocks(width: int, work: Callable[..., NDArray[Scalar]], *arrays: NDArray[Any]) -> NDArray[Scalar]:
    """Do row-wise work on arrays of equally many rows, as if on all at once.

    Parameters
    ----------
    width
        How many cells the work takes for a row.
    work
        A function from the arrays, or as many rows of each, to a result for each of these rows.

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
