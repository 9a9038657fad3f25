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
        own = task.x[:, feature]
        values = task.rules.around(task.x).settle(np.broadcast_to(value, own.shape), feature)
        prices = task.known.distance.prices(values, own, feature)
        prices[~changed(values, own)] = np.inf
        return cls(values, prices, feature)

    def rows(self, task: Task, of: Places, single: Places) -> Rows:
        """Make rows of some changes, each of the x of one instance."""
        rows = task.x[of]
        rows[np.arange(len(of)), self.feature[single]] = self.values[of, single]
        return rows


def _values(task: Task, bins: int) -> tuple[Places, Row]:
    """Find the values that each feature is tried with, from instances decided differently."""
    unlike = task.unlike()
    values = [_feature_values(task, unlike[:, feature], int(feature), bins) for feature in task.features]
    return np.repeat(task.features, [len(each) for each in values]), np.concatenate([np.empty(0), *values])


def _feature_values(task: Task, column: Row, feature: int, bins: int) -> Row:
    """Take the observed categories, or the centres of equal-width bins."""
    if task.known.schema.features[feature].is_categorical:
        return np.unique(column)
    numbers, missing = column[~np.isnan(column)], column[np.isnan(column)][:1]
    if not len(numbers):
        return np.asarray(missing)
    edges = np.linspace(numbers.min(), numbers.max(), bins + 1)
    return np.concatenate([np.unique((edges[1:] + edges[:-1]) / 2), missing])
