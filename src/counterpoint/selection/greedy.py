"""Cost-scaled greedy selection, and its inputs: which candidates cover which, and which are redundant.

All functions work on several instances with the same number of candidates at once: arrays are
instance × candidate, or feature × instance × candidate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.narrow import count_of_each
from counterpoint.data.types import Indices, Mask, Rows

# What a repeated action loses: more than any gain.
REPEATED = 1e8


def cost_scaled_greedy(
    covers: Mask,
    cost: Rows,
    k: int,
    fill: bool = False,
    between: Callable[[Indices], Rows] | None = None,
    action: Indices | None = None,
) -> Indices:
    """Maximise (how many are covered) − (the cost of the chosen) over at most k choices, for each instance.

    Each step takes the choice with the largest gain minus twice its cost, and stops when that is not
    positive; with `fill` it continues until k. `between` returns what a choice adds to the gain of all
    others. With `action`, the number of each candidate's action, a candidate whose action was chosen already
    is chosen only when there is no other. The result is instance × choice, −1 where there is none.

    Without `between`, the value of the choice is at least that of any other after halving what the latter
    covers: any other of at most k or, with `fill`, any other of as many. With `between` there is no bound.

    Examples
    --------
    >>> covers = np.array([[[1, 1, 0], [1, 1, 0], [0, 0, 1]]], dtype=bool)
    >>> cost_scaled_greedy(covers, np.array([[0.2, 0.1, 0.3]]), k=2)
    array([[1, 2]])
    """
    each = np.arange(len(cost))
    chosen = np.full((len(cost), min(k, cost.shape[1])), -1, dtype=np.intp)
    # Counts of what is covered are whole numbers, so float32 is exact.
    open_, left = covers.astype(np.float32), np.ones((len(cost), covers.shape[2], 1), dtype=np.float32)
    worth, running = -2.0 * cost, np.ones(len(cost), dtype=np.bool_)
    worth[np.isnan(worth)] = -np.inf  # argmax would prefer NaN
    for step in range(chosen.shape[1]):
        gain = (open_ @ left)[..., 0] + worth
        best = gain.argmax(axis=1)
        running &= gain[each, best] > (-np.inf if fill else 0.0)
        if not running.any():
            break
        chosen[running, step] = best[running]
        left[covers[each, best]] = 0.0
        if action is not None:
            np.subtract(worth, REPEATED, out=worth, where=action == action[each, best][:, None])
        if between is not None and step + 1 < k:
            worth += between(best)
            worth[np.isnan(worth)] = -np.inf
        worth[each, best] = -np.inf  # chosen candidates stay out
    return chosen


def neighbourhoods(away: NDArray[np.float64], h: int) -> Mask:
    """Find the h nearest candidates of each candidate, itself included; the first ones win ties."""
    if h >= away.shape[-1]:
        return np.ones(away.shape, dtype=np.bool_)
    # The candidate itself comes first, even if others are at distance 0.
    away = away - np.eye(away.shape[-1])
    last = np.partition(away, h - 1, axis=-1)[..., h - 1, None]
    covers = away <= last
    tied = count_of_each(covers) > h
    room = h - count_of_each(away[tied] < last[tied])[..., None]
    equal = away[tied] == last[tied]
    covers[tied] &= ~equal | (np.cumsum(equal, axis=-1) <= room)
    return covers


def ways(changes: NDArray[np.float64], is_category: Mask) -> NDArray[np.float64]:
    """Encode changes from x so that entries never decrease as changes are taken further; see `on_one_way`.

    `changes` is feature × instance × candidate: 0 where nothing changes, NaN where a value becomes missing.
    A number has one entry for rising and one for falling. No category is further than another.
    """
    category = is_category[:, None, None]
    up = np.where(category & (changes == 0), -np.inf, np.where(category, changes, np.fmax(changes, 0.0)))
    down = np.where(category & (changes == 0), -np.inf, np.where(category, -changes, np.fmax(-changes, 0.0)))
    missing = np.isnan(changes)
    return np.concatenate([up, down, missing] if missing.any() else [up, down])


def on_one_way(ways: NDArray[np.float64], chosen: Indices) -> Mask:
    """Tell which changes from x lie on the way to a chosen one, or beyond it; one choice per instance.

    Examples
    --------
    >>> changes = np.array([[2.0, 5.0, -2.0, 2.0], [0.0, 0.0, 0.0, 1.0]])[:, None]
    >>> on_one_way(ways(changes, np.array([False, False])), np.array([0]))
    array([[ True,  True, False,  True]])
    """
    mine = ways[:, np.arange(len(chosen)), chosen][..., None]
    return np.asarray((ways <= mine).all(axis=0) | (ways >= mine).all(axis=0))
