"""All variations of x in one feature, by values binned on instances decided differently."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.distances import changed
from counterpoint.schema import Row, Rows
from counterpoint.task import Places, Task


class Singles(NamedTuple):
    """All single changes of the instances of a task: instance × change."""

    values: Rows  # what the changed feature becomes
    prices: Rows  # infinite where nothing changes
    feature: Places  # the feature that each changes

    @classmethod
    def of(cls, task: Task, bins: int) -> Singles:
        """Give each x each value of each feature, one feature at a time."""
        feature, value = task.once(("values", bins), lambda: _values(task, bins))
        own = task.home[:, feature]
        values = task.rules.around(task.x).settle(np.broadcast_to(value, own.shape), feature)
        prices = task.known.distance.prices(values, own, feature)
        prices[~changed(values, own)] = np.inf
        return cls(values, prices, feature)

    def rows(self, task: Task, of: Places, single: Places) -> Rows:
        """Make rows of some changes, each of the x of one instance."""
        rows = task.home[of]
        rows[np.arange(len(of)), self.feature[single]] = self.values[of, single]
        return rows


def _values(task: Task, bins: int) -> tuple[Places, Row]:
    """Find the values that each feature is tried with, from instances decided differently."""
    unlike = task.known.rows[np.ix_(task.unlike(), task.features)]
    numbers = unlike[:, ~task.known.distance.is_category[task.features]]
    low, high = (_over_known(np.fmin, numbers), _over_known(np.fmax, numbers))
    # Of halves, because the largest floats lie further apart than a float can say.
    edges = np.linspace(low / 2, high / 2, bins + 1)
    centres = iter((edges[1:] + edges[:-1]).T)
    missing = np.asarray(np.isnan(unlike).any(axis=0))
    values = []
    for place, feature in enumerate(task.features.tolist()):
        if task.known.distance.is_category[feature]:
            values.append(np.unique(unlike[:, place]))
        else:
            # np.unique would sort and keep NaN; of a constant feature, or one that is missing, all are alike.
            found = next(centres)
            found = found[:1] if not found[0] < found[-1] else found
            values.append(np.append(found[~np.isnan(found)], [np.nan] * int(missing[place])))
    return np.repeat(task.features, [len(each) for each in values]), np.concatenate([np.empty(0), *values])


def _over_known(extreme: np.ufunc, columns: Rows) -> Row:
    """Find the smallest or largest number of each column; NaN where all are missing."""
    return np.asarray(extreme.reduce(columns, axis=0)) if columns.size else np.empty(columns.shape[1])
