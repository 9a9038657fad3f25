"""Actions that no answer may hold: what a person has said no to."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoint.data.schema import Schema, resolve
from counterpoint.data.types import Mask, Row, Rows
from counterpoint.search.actions import WAYS, directions


@dataclass(frozen=True, eq=False)
class Excluded:
    """Actions that no answer may hold, not even with further changes.

    Parameters
    ----------
    ways
        One action per row: how each feature changes, 0 for features that are not part of the action.
    has_no_order
        Which features are categories without an order, as a mask.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]}))
    >>> excluded = Excluded.of(schema, [{("age", "up")}])
    >>> excluded.holds(np.array([[45.0, 1.0], [31.0, 1.0], [20.0, 1.0]]), np.array([31.0, 0.0]))
    array([ True, False, False])
    """

    ways: Rows
    has_no_order: Mask

    @classmethod
    def of(cls, schema: Schema, actions: Iterable[Any]) -> Excluded | None:
        """Read actions as `Explanation.actions` gives them; None if there are none."""
        given = list(actions)
        if not given:
            return None
        if schema.form.shape:
            raise ValueError("exclude is for tables; images and series have no actions. Leave it out.")
        return cls(np.stack([_ways(schema, action) for action in given]), schema.has_no_order)

    def holds(self, rows: Rows, x: Rows) -> Mask:
        """Tell which rows hold one of the actions."""
        held = np.zeros(len(rows), dtype=np.bool_)
        every = np.broadcast_to(x, rows.shape)
        for action in self.ways:
            part = np.flatnonzero(action)
            ways = directions(rows[:, part], every[:, part], self.has_no_order[part])
            held |= (ways == action[part]).all(axis=1)
        return held


def _ways(schema: Schema, action: Any) -> Row:
    """Read one action: pairs of a feature and the way it goes."""
    pairs = list(action) if isinstance(action, Collection) and not isinstance(action, str) else []
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise TypeError(
            f"exclude must list actions as explanation.actions gives them, such as {{('age', 'up')}}, got "
            f"{action!r}."
        )
    ways = np.zeros(len(schema.features))
    for name, way in zip(resolve([pair[0] for pair in pairs], schema.form, "exclude"), pairs, strict=True):
        if way[1] not in WAYS:
            raise ValueError(f"exclude: the way of {name!r} must be one of {list(WAYS)}, got {way[1]!r}.")
        ways[schema.names.index(name)] = WAYS[way[1]]
    return ways
