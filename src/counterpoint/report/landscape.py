"""Where x and its counterfactuals lie among the known instances: a map in two dimensions.

Across is the direction that best tells the wanted decisions from the others, as a straight line can; up is
the direction in which the known instances differ most besides. Features count as they do in the distance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint.distances import Distance
from counterpoint.metrics import Flips
from counterpoint.population import Population
from counterpoint.schema import Row, Rows

# The directions are learned from so many known instances at most, and so many of them are drawn.
LEARNED, DRAWN = 4_000, 500
# Numbers beyond these shares of the known ones are drawn in: a few very large ones would fill the map.
LOW, HIGH = 0.01, 0.99
# Categories that are worth a direction of their own; rarer ones stay where the others are.
CATEGORIES = 30

Points = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Landscape:
    """A map: points of known instances, which of them have a wanted decision, of x and its counterfactuals.

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
        The share of how the known instances differ that the two directions show.
    """

    known: Points
    wanted: NDArray[np.bool_]
    x: Points
    found: Points
    known_in_all: int
    shown: float

    @classmethod
    def of(cls, known: Population, x: Row, rows: Rows, flips: Flips, decision: object) -> Landscape:
        """Learn the two directions from known instances, and put all on the map."""
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
        )


class _Coordinates:
    """Rows as points: numbers in the units of the distance, and a place for each frequent category."""

    def __init__(self, distance: Distance, rows: Rows) -> None:
        self._distance = distance
        numbers = distance.embed(rows).numbers
        self._low, self._high = np.quantile(numbers, [LOW, HIGH], axis=0)
        self._categories = [_frequent(rows[:, place]) for place in distance.categorical]
        self._middle = np.zeros(1)
        self._middle = self.of(rows).mean(axis=0)

    def of(self, rows: Rows) -> Points:
        """Give the coordinates of rows."""
        embedded = self._distance.embed(rows)
        numbers = np.clip(embedded.numbers, self._low, self._high)
        # Two different categories are as far apart as a change of category is dear.
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
    """Find the direction towards the wanted decisions, and the main one at right angles to it."""
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
    # The sign of a direction is arbitrary: the largest part of it points up.
    return np.column_stack([across, up * np.sign(up[np.argmax(np.abs(up))] or 1.0)])
