"""Where x and its counterfactuals lie among the known instances: a map in two dimensions.

The horizontal axis is the linear direction that best separates the wanted decisions from the others. The
vertical axis is the direction of the largest remaining variation. Features are weighted as in the distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.distance import Distance
from counterpoint.data.known import Population
from counterpoint.data.types import Labels, Row, Rows
from counterpoint.metrics.measures import Flips

# The directions are learned from at most this many known instances, and at most this many are drawn.
LEARNED, DRAWN = 4_000, 500
# Numbers are clipped to these quantiles: otherwise a few extreme values would dominate the map.
LOW, HIGH = 0.01, 0.99
# The number of categories with a dimension of their own; rarer ones share the origin.
CATEGORIES = 30

Points = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Landscape:
    """A map: points of x, its counterfactuals and known instances, and which of these have a wanted decision.

    Parameters
    ----------
    known
        Points of some known instances.
    wanted
        Which of them have a decision that was asked for.
    x
        The point of x.
    found
        The points of the counterfactuals.
    known_in_all
        How many known instances there are, drawn or not.
    shown
        The share of the variation of the known instances that the two directions explain.
    rows, labels
        The known instances that `known` are the points of, and what the model says of them.
    """

    known: Points
    wanted: NDArray[np.bool_]
    x: Points
    found: Points
    known_in_all: int
    shown: float
    rows: Rows
    labels: Labels

    @classmethod
    def of(cls, known: Population, x: Row, rows: Rows, flips: Flips, decision: object) -> Landscape:
        """Learn the two directions from known instances, and project everything onto them."""
        some = known.sample(np.random.default_rng(0), LEARNED)
        wanted = np.asarray(flips(some.labels, decision), dtype=np.bool_)
        coordinates = _Coordinates(known.distance, some.rows)
        table = coordinates.of(some.rows)
        axes = _axes(table, wanted)
        total = float(np.square(table).sum())
        shown = float(np.square(table @ axes).sum()) / total if total else 1.0
        drawn = np.sort(np.random.default_rng(1).permutation(len(table))[:DRAWN])
        return cls(
            table[drawn] @ axes,
            wanted[drawn],
            (coordinates.of(x[None]) @ axes)[0],
            coordinates.of(rows) @ axes,
            len(known.rows),
            shown,
            some.rows[drawn],
            some.labels[drawn],
        )


class _Coordinates:
    """Rows as points: numbers in the units of the distance, and one dimension per frequent category."""

    def __init__(self, distance: Distance, rows: Rows) -> None:
        self._distance = distance
        numbers = distance.embed(rows).numbers
        self._low, self._high = np.quantile(numbers, [LOW, HIGH], axis=0)
        self._categories = [_frequent(rows[:, place]) for place in distance.categorical]
        self._middle = np.zeros(1)
        self._middle = self.of(rows).mean(axis=0)

    def of(self, rows: Rows) -> Points:
        """Compute the coordinates of rows."""
        embedded = self._distance.embed(rows)
        numbers = np.clip(embedded.numbers, self._low, self._high)
        # The distance of two different categories equals the price of changing the category.
        half = self._distance.per_category / 2
        codes = [
            (embedded.codes[:, [i]] == categories) * half for i, categories in enumerate(self._categories)
        ]
        return np.hstack([numbers, *codes]) - self._middle


def _frequent(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find the most frequent categories."""
    values, counts = np.unique(codes, return_counts=True)
    return np.asarray(values[np.argsort(-counts, kind="stable")[:CATEGORIES]])


def _axes(table: Points, wanted: NDArray[np.bool_]) -> Points:
    """Find the direction towards the wanted decisions, and the main direction orthogonal to it."""
    width = table.shape[1]
    spread = table.T @ table / len(table)
    ridge = 0.1 * np.trace(spread) / width + 1e-12
    apart = table.T @ (wanted - wanted.mean()) / len(table)
    across = np.linalg.solve(spread + ridge * np.eye(width), apart)
    length = float(np.linalg.norm(across))
    across = across / length if length else np.eye(width)[0]
    rest = table - np.outer(table @ across, across)
    up = np.linalg.eigh(rest.T @ rest)[1][:, -1]
    up = up - (up @ across) * across
    size = float(np.linalg.norm(up))
    up = up / size if width > 1 and size > 1e-9 else np.zeros(width)
    # The sign of a direction is arbitrary: its largest component is made positive.
    return np.column_stack([across, up * np.sign(up[np.argmax(np.abs(up))] or 1.0)])
