"""All variations of x in a single feature, with values binned from instances that are decided differently."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoint.data.distance import changed
from counterpoint.data.types import Indices, Row, Rows
from counterpoint.search.task import Task

# Of the values around x's own, the next is tried and those 2, 4, … places further: so many on each side.
PLACES = 5


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
        """Vary as `of` does; numbers also take the values next to x's own, and some further away.

        Of a model made of trees these are values that it tells apart, otherwise those of known instances.
        """
        key = "values", bins, task.rules.may_lose.tobytes()
        feature, value = task.learned(key, lambda: _values(task, bins))
        numbers = task.features[~task.is_coded[task.features]]
        near = [_near(task, number) for number in numbers.tolist()]
        values = np.concatenate([np.broadcast_to(value, (len(task), len(value))), *near], axis=1)
        feature = np.concatenate(
            [feature, *(np.full(part.shape[1], n) for part, n in zip(near, numbers, strict=True))]
        )
        order = np.argsort(feature, kind="stable")
        return cls._at(task, feature[order], values[:, order])

    @classmethod
    def _at(cls, task: Task, feature: Indices, value: Rows) -> Singles:
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


def _near(task: Task, number: int) -> Rows:
    """Find the values of a number next to each x's own, and those that are 2, 4, 8 and 16 places further."""
    known = task.learned(("near", number), lambda: _told_apart(task, number))
    if not len(known):
        return np.empty((len(task), 0))
    own = np.nan_to_num(task.home[:, number])[:, None]
    steps = 2 ** np.arange(PLACES)
    below, above = np.searchsorted(known, own), np.searchsorted(known, own, side="right") - 1
    places = np.concatenate([below - steps, above + steps], axis=1)
    return np.asarray(known[np.clip(places, 0, len(known) - 1)])


def _told_apart(task: Task, number: int) -> Row:
    """List the values that trees tell apart, or those of known instances that are decided differently."""
    values = task.worth_trying(number)
    if values is None:
        values = np.unique(task.known.rows[task.unlike(), number])
    return np.asarray(values[np.isfinite(values)])


def _over_known(extreme: np.ufunc, columns: Rows) -> Row:
    """Find the smallest or largest number of each column; NaN where all are missing."""
    return np.asarray(extreme.reduce(columns, axis=0)) if columns.size else np.empty(columns.shape[1])
