"""A distance that no method searches with: numbers by their ranks among the known instances.

Each number is replaced by the share of known instances below it, half of the equal ones counted. The distance
of two rows is the mean difference of these shares plus the share of categories that differ. It knows no units
and no tails: from the least to the greatest is 1 for every number. The same answers, measured so, tell
whether a ranking depends on the distance that a method's own search uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoint.data.distance import Distance
from counterpoint.data.known import Population
from counterpoint.data.schema import Schema
from counterpoint.data.types import Indices, Row, Rows


@dataclass(frozen=True, eq=False)
class Quantiles:
    """Turns rows into shares, and holds the known instances as such.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [2.0], [100.0]])
    >>> known = Population.of(Schema.infer(X), X, np.array([0, 0, 1, 1]))
    >>> Quantiles.of(known).shares(np.array([[0.0], [2.0], [1e9]])).ravel()
    array([0. , 0.5, 1. ])
    """

    continuous: Indices
    columns: tuple[Row, ...]  # the known numbers of each continuous feature, sorted, without missing ones
    known: Population

    @classmethod
    def of(cls, known: Population) -> Quantiles:
        """Learn the ranks of the known instances."""
        continuous = known.schema.continuous
        columns = tuple(np.sort(column[~np.isnan(column)]) for column in known.rows[:, continuous].T)
        shares = _shares(known.rows, continuous, columns)
        distance = _equal_weights(known.schema)
        return cls(continuous, columns, Population(known.schema, shares, known.labels, distance))

    def shares(self, rows: Rows) -> Rows:
        """Replace numbers by the share of known instances below them; a missing one is in the middle."""
        return _shares(rows, self.continuous, self.columns)


def _shares(rows: Rows, continuous: Indices, columns: tuple[Row, ...]) -> Rows:
    result = np.array(rows, dtype=np.float64)
    for feature, column in zip(continuous.tolist(), columns, strict=True):
        values = rows[:, feature]
        below, upto = (np.searchsorted(column, values, side) for side in ("left", "right"))
        share = (below + upto) / (2 * max(1, len(column)))
        result[:, feature] = np.where(np.isnan(values), 0.5, share)
    return result


def _equal_weights(schema: Schema) -> Distance:
    """Measure all numbers in the same unit, and all categories."""
    width = len(schema.features)
    weight, none = np.zeros(width), np.zeros(width, dtype=np.bool_)
    weight[schema.continuous] = 1 / max(1, len(schema.continuous))
    weight[schema.categorical] = 1 / max(1, len(schema.categorical))
    is_category = none.copy()
    is_category[schema.categorical] = True
    return Distance(
        schema.continuous,
        schema.categorical,
        is_category,
        none,
        np.zeros(width),
        weight,
        np.zeros(width),
        1 / max(1, len(schema.categorical)),
    )
