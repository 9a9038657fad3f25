"""Cost-scaled greedy, and what it weighs: who covers whom, and which changes lie on one way.

Everything here is about several instances with equally many candidates each, and does for all of them at once
what it would do for each: arrays are instance × candidate, or feature × instance × candidate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from counterpoint.bounds import Mask
from counterpoint.schema import Rows
from counterpoint.task import Places


def cost_scaled_greedy(
    covers: Mask,
    cost: Rows,
    k: int,
    fill: bool = False,
    between: Callable[[Places], Rows] | None = None,
) -> Places:
    """Maximise (how many are covered) − (the cost of the chosen) over at most k choices, for each instance.

    Each step takes the choice with the largest gain less twice its cost, and stops when that is not
    positive; with `fill` it goes on until k. `between` tells what a choice adds to the gain of all others.
    The result is instance × choice, −1 where there is none.

    Examples
    --------
    >>> covers = np.array([[[1, 1, 0], [1, 1, 0], [0, 0, 1]]], dtype=bool)
    >>> cost_scaled_greedy(covers, np.array([[0.2, 0.1, 0.3]]), k=2)
    array([[1, 2]])
    """
    each = np.arange(len(cost))
    chosen = np.full((len(cost), min(k, cost.shape[1])), -1, dtype=np.intp)
    # Counts of what is covered are whole numbers, which the smaller type holds as exactly.
    open_, left = covers.astype(np.float32), np.ones((len(cost), covers.shape[2], 1), dtype=np.float32)
    worth, goes_on = -2.0 * cost, np.ones(len(cost), dtype=np.bool_)
    free = np.ones(cost.shape, dtype=np.bool_)
    for step in range(chosen.shape[1]):
        gain = (open_ @ left)[..., 0] + worth
        # What is chosen stays out whatever it is worth, and argmax would prefer what is not a number.
        gain[~free | np.isnan(gain)] = -np.inf
        best = gain.argmax(axis=1)
        goes_on &= gain[each, best] > (-np.inf if fill else 0.0)
        if not goes_on.any():
            break
        chosen[goes_on, step] = best[goes_on]
        left[covers[each, best]] = 0.0
        free[each, best] = False
        if between is not None and step + 1 < k:
            worth += between(best)
    return chosen


def neighbourhoods(away: NDArray[np.float64], h: int) -> Mask:
    """Tell, for each candidate, which ones its h nearest are, itself included.

    Of those that are equally near, the first ones are.
    """
    if h >= away.shape[-1]:
        return np.ones(away.shape, dtype=np.bool_)
    # Itself first, whatever else is at distance 0.
    away = away - np.eye(away.shape[-1])
    last = np.partition(away, h - 1, axis=-1)[..., h - 1, None]
    covers = away <= last
    tied = covers.sum(axis=-1) > h
    room = h - (away[tied] < last[tied]).sum(axis=-1, keepdims=True)
    equal = away[tied] == last[tied]
    covers[tied] &= ~equal | (np.cumsum(equal, axis=-1) <= room)
    return covers


def ways(changes: NDArray[np.float64], is_category: Mask) -> NDArray[np.float64]:
    """Write changes from x as numbers, none of which falls along a way: see `on_one_way`.

    `changes` are feature × instance × candidate: 0 where nothing changes, NaN where a value goes missing.
    A number that rises or falls has one entry for each; of a category, no other is further than itself.
    """
    category = is_category[:, None, None]
    up = np.where(category & (changes == 0), -np.inf, np.where(category, changes, np.fmax(changes, 0.0)))
    down = np.where(category & (changes == 0), -np.inf, np.where(category, -changes, np.fmax(-changes, 0.0)))
    missing = np.isnan(changes)
    return np.concatenate([up, down, missing] if missing.any() else [up, down])


def on_one_way(ways: NDArray[np.float64], chosen: Places) -> Mask:
    """Tell which changes from x lie on the way to a chosen one, or behind it; one choice an instance.

    Examples
    --------
    >>> changes = np.array([[2.0, 5.0, -2.0, 2.0], [0.0, 0.0, 0.0, 1.0]])[:, None]
    >>> on_one_way(ways(changes, np.array([False, False])), np.array([0]))
    array([[ True,  True, False,  True]])
    """
    mine = ways[:, np.arange(len(chosen)), chosen][..., None]
    return np.asarray((ways <= mine).all(axis=0) | (ways >= mine).all(axis=0))
