"""Which rows are the same as others: by a number for each row, and a look at those whose numbers agree."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.blocks import in_blocks
from counterpoint.schema import Rows

Places = NDArray[np.intp]


def distinct(rows: Rows, of: Places, places: Places) -> tuple[Places, Places]:
    """Find the first of each set of equal rows of an instance, and which of them each row equals.

    Only the rows at some places are looked at; the first ones are places too, in their order.

    Examples
    --------
    >>> rows, of = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]), np.array([0, 0, 0, 1])
    >>> distinct(rows, of, np.arange(4))
    (array([0, 2, 3]), array([0, 0, 1, 2]))
    """
    same = pd.factorize(in_blocks(rows.shape[1], _hashed, rows, of)[places])[0]
    first = places[_first_places(same)]
    again = np.flatnonzero(first[same] != places)
    one, other = places[again], first[same[again]]
    if in_blocks(rows.shape[1], partial(_unlike, rows, of), one, other).any():
        # Two different rows with one hash: it will hardly ever happen, and must not mix up their labels.
        exact = np.column_stack([_bits(rows[places]), of[places].astype(np.uint64)])
        same = pd.MultiIndex.from_arrays(list(exact.T)).factorize()[0]
        first = places[_first_places(same)]
    return first, same


def _unlike(rows: Rows, of: Places, one: Places, other: Places) -> NDArray[np.bool_]:
    """Tell which rows are not those that they are taken for; -0.0 may seem unlike 0.0."""
    a, b = (np.ascontiguousarray(rows[places]).view(np.uint64) for places in (one, other))
    return np.asarray((a != b).any(axis=1) | (of[one] != of[other]))


def _bits(rows: Rows) -> NDArray[np.uint64]:
    """See the bits behind numbers, which tell NaN from NaN; -0.0 becomes 0.0."""
    return np.ascontiguousarray(rows + 0.0).view(np.uint64)


def _first_places(same: Places) -> Places:
    """Find where each number first occurs; numbers are given out in the order of their first occurrence."""
    first = np.empty(same.max(initial=-1) + 1, dtype=np.intp)
    first[same[::-1]] = np.arange(len(same))[::-1]
    return first


def _hashed(rows: Rows, of: Places) -> NDArray[np.uint64]:
    """Mix the bits of each row, and of its instance, into one number."""
    bits = _bits(rows)
    # The bits of small whole numbers differ at their high end only; products carry nothing downwards.
    bits ^= bits >> np.uint64(32)
    weights = _weights(bits.shape[1] + 1)
    return np.asarray(np.einsum("ij,j->i", bits, weights[:-1]) + of.astype(np.uint64) * weights[-1])


@lru_cache
def _weights(count: int) -> NDArray[np.uint64]:
    """Draw odd numbers, the same ever and again."""
    return np.random.default_rng(0).integers(2**63, size=count, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
