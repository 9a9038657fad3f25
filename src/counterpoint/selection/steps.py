"""Of finds that differ only in how far an ordered category moves, the one with the fewest steps."""

from __future__ import annotations

import numpy as np

from counterpoint._util.duplicates import distinct
from counterpoint.data.types import Indices
from counterpoint.search.pool import Finds
from counterpoint.search.task import Task


def shortest_steps(task: Task, finds: Finds) -> Indices:
    """Leave out finds that move an ordered category further than another find that is equal otherwise.

    All finds of an instance are kept if fewer than k would be left. The result is sorted.
    """
    kept = np.ones(len(finds.rows), dtype=np.bool_)
    home = task.rules.ranks(task.home)[finds.instance]
    for feature in np.flatnonzero(task.is_coded & ~task.is_category & task.free).tolist():
        steps = task.rules.ranks(finds.rows)[:, feature] - home[:, feature]
        ways = finds.rows.copy()
        ways[:, feature] = np.sign(steps)  # NaN if the category is missing in x or in the find
        shortest, _ = distinct(ways, finds.instance, np.argsort(np.abs(steps), kind="stable"))
        mine = np.zeros(len(kept), dtype=np.bool_)
        mine[shortest] = True
        kept &= mine | np.isnan(steps)
    left = np.bincount(finds.instance[kept], minlength=len(task))
    return np.flatnonzero(kept | (left < task.k)[finds.instance])
