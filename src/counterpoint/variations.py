"""All variations of x in one feature, by values binned on instances decided differently."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.schema import Row, Rows
from counterpoint.task import Places, Task


class Singles(NamedTuple):
    """All single changes of the instances of a task: instance × change."""

    rows: Rows  # instance × change × feature
    prices: Rows  # infinite where nothing changes
    feature: Places  # the feature that each changes

    @classmethod
    def of(cls, task: Task, bins: int) -> Singles:
        """Give each x each value of each feature, one feature at a time."""
        feature, value = task.once(("values", bins), lambda: _values(task, bins))
        changes = np.arange(len(feature))
        rows = np.repeat(task.x[:, None], len(feature), axis=1)
        rows[:, changes, feature] = value
        of = np.repeat(np.arange(len(task)), len(feature))
        flat = task.project(rows.reshape(-1, task.x.shape[1]), of).rows
        prices = task.distance(flat, of)
        prices[~task.changed(flat, of).any(axis=1)] = np.inf
        return cls(flat.reshape(rows.shape), prices.reshape(rows.shape[:2]), feature)


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
        return missing
    edges = np.linspace(numbers.min(), numbers.max(), bins + 1)
    return np.concatenate([np.unique((edges[1:] + edges[:-1]) / 2), missing])
