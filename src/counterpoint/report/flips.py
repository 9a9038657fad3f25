"""Which features flip decisions: how often each changes, and in which direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.distance import changed
from counterpoint.data.schema import Schema
from counterpoint.data.types import Rows
from counterpoint.explanation.explanations import Explanations


@dataclass(frozen=True)
class Flip:
    """How often one feature changes.

    Parameters
    ----------
    name
        The feature.
    counterfactuals
        How many counterfactuals change it.
    instances
        How many instances have a counterfactual that changes it.
    alone
        How many counterfactuals change nothing else.
    up, down
        How many counterfactuals increase and decrease it; 0 if its values have no order.

    Examples
    --------
    >>> Flip("age", 3, 2, 1, 3, 0) + Flip("age", 1, 1, 1, 0, 1)
    Flip(name='age', counterfactuals=4, instances=3, alone=2, up=3, down=1)
    """

    name: str
    counterfactuals: int
    instances: int
    alone: int
    up: int
    down: int

    def __add__(self, other: Flip) -> Flip:
        return Flip(
            self.name,
            self.counterfactuals + other.counterfactuals,
            self.instances + other.instances,
            self.alone + other.alone,
            self.up + other.up,
            self.down + other.down,
        )


def flips(explanations: Explanations) -> tuple[Flip, ...]:
    """Count the changes of each feature of a table; empty for images and series."""
    schema = explanations.schema
    if schema.form.shape:
        return ()
    items = [item for item in explanations if len(item)]
    counts = np.zeros((5, len(schema.features)), dtype=np.intp)
    if items:
        sizes = np.array([len(item) for item in items])
        rows = np.concatenate([item.rows for item in items])
        x = np.repeat([item.row for item in items], sizes, axis=0)
        counts[:] = _counts(schema, rows, x, np.cumsum(sizes) - sizes)
    return tuple(Flip(str(name), *line) for name, line in zip(schema.names, counts.T.tolist(), strict=True))


def _counts(schema: Schema, rows: Rows, x: Rows, starts: NDArray[np.intp]) -> list[Any]:
    """Count, per feature, the rows that change it, their instances, and lone changes, rises and falls."""
    masks = changed(rows, x)
    alone = masks.sum(axis=1) == 1
    # A missing value is neither more nor less than another.
    ranks, own = schema.ranks(rows), schema.ranks(x)
    more, less = (ranks > own) & schema.has_order, (ranks < own) & schema.has_order
    of_instances = np.logical_or.reduceat(masks, starts, axis=0)
    return [each.sum(axis=0) for each in (masks, of_instances, masks[alone], more, less)]
