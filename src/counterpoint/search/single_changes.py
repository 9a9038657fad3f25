"""All variations of x in a single feature, with values binned from instances that are decided differently."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.data.distance import changed
from counterpoint.data.types import Indices, Row, Rows
from counterpoint.search.task import Task


class Singles(NamedTuple):
    """All single changes of the instances of a task: instance × change."""

    values: Rows  # the new value of the changed feature
    prices: Rows  # infinite where nothing changes
    feature: Indices  # the feature that each changes

    @classmethod
    def of(cls, task: Task, bins: int) -> Singles:
        """Vary each x in one feature at a time, over all values of that feature."""
        key = "values", bins, task.rules.may_lose.tobytes()
        return cls._at(task, *task.learned(key, lambda: _values(task, bins)))

    @classmethod
    def spread(cls, task: Task, bins: int) -> Singles:
        """Vary as `of` does, with quantiles of numbers beside evenly spaced values."""
        key = "spread values", bins, task.rules.may_lose.tobytes()
        return cls._at(task, *task.learned(key, lambda: _with_quantiles(task, bins, *_values(task, bins))))

    @classmethod
    def _at(cls, task: Task, feature: Indices, value: Row) -> Singles:
        own = task.home[:, feature]
        values = task.rules.around(task.x).settle(np.broadcast_to(value, own.shape), feature)
        prices = task.measure.prices(values, own, feature)
        prices[~changed(values, own)] = np.inf
        return cls(values, prices, feature)

    def rows(self, task: Task, instance: Indices, single: Indices) -> Rows:
        """Apply single changes to the x of the given instances."""
        rows = task.home[instance]
        rows[np.arange(len(instance)), self.feature[single]] = self.values[instance, single]
        return rows


def _values(task: Task, bins: int) -> tuple[Indices, Row]:
    """Find the values to try for each feature, from instances that are decided differently."""
    unlike = task.known.rows[np.ix_(task.unlike(), task.features)]
    numbers = unlike[:, ~task.is_coded[task.features]]
    low, high = (_over_known(np.fmin, numbers), _over_known(np.fmax, numbers))
    # Computed on halves, because the difference of the largest floats overflows.
    edges = np.linspace(low / 2, high / 2, bins + 1)
    centres = iter((edges[1:] + edges[:-1]).T)
    missing = np.asarray(np.isnan(unlike).any(axis=0))
    values = []
    for index, feature in enumerate(task.features.tolist()):
        if task.is_coded[feature]:
            values.append(np.unique(unlike[:, index]))
        else:
            # np.unique would sort and keep NaN. All centres of a constant or missing feature are equal.
            found = next(centres)
            found = found[:1] if not found[0] < found[-1] else found
            lost = [np.nan] * int(task.rules.may_lose[feature] and missing[index])
            values.append(np.append(found[~np.isnan(found)], lost))
    return np.repeat(task.features, [len(each) for each in values]), np.concatenate([np.empty(0), *values])


def _with_quantiles(task: Task, bins: int, feature: Indices, value: Row) -> tuple[Indices, Row]:
    """Add quantiles of the instances that are decided differently."""
    unlike, features, values = task.unlike(), [feature], [value]
    for number in task.features[~task.is_coded[task.features]].tolist():
        column = task.known.rows[unlike, number]
        column = column[np.isfinite(column)]
        if len(column):
            shares = (np.arange(bins) + 0.5) / bins
            quantiles = np.setdiff1d(np.quantile(column, shares, method="nearest"), value[feature == number])
            features.append(np.full(len(quantiles), number))
            values.append(quantiles)
    feature, value = np.concatenate(features), np.concatenate(values)
    order = np.lexsort([value, feature])
    return feature[order], value[order]


def _over_known(extreme: np.ufunc, columns: Rows) -> Row:
    """Find the smallest or largest number of each column; NaN where all are missing."""
    return np.asarray(extreme.reduce(columns, axis=0)) if columns.size else np.empty(columns.shape[1])
