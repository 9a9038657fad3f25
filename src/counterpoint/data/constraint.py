"""Single constraints of a schema, as things that can be listed and released one by one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from counterpoint.data.costs import Cost
from counterpoint.data.feature import Feature
from counterpoint.data.limits import Limits
from counterpoint.data.schema import Schema


class ConstraintKind(StrEnum):
    """What a constraint does; named as the argument of `fit` or `explain` that gives it."""

    IMMUTABLE = "immutable"
    RANGE = "ranges"
    INCREASE = "increase"
    DECREASE = "decrease"
    COST = "costs"  # a cost of inf
    MAX_CHANGE = "max_change"
    MAX_CHANGES = "max_changes"


@dataclass(frozen=True)
class Constraint:
    """One constraint: its kind, the feature that it is about, and its value.

    Parameters
    ----------
    kind
        What it does, by the name of the argument that gives it.
    feature
        The feature that it is about; None for `max_changes`, which is about all of them.
    value
        The range, the cost, the limit or the number of changes; None where there is nothing to add.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "hours": [20, 40]}), immutable=["age"])
    >>> constraints_of(schema, max_changes=1)
    [Constraint(kind='immutable', feature='age', value=None),
     Constraint(kind='max_changes', feature=None, value=1)]
    """

    kind: ConstraintKind
    feature: Any = None
    value: Any = None

    def __repr__(self) -> str:
        return f"Constraint(kind={str(self.kind)!r}, feature={self.feature!r}, value={self.value!r})"


def constraints_of(schema: Schema, max_changes: int | None = None) -> list[Constraint]:
    """List the constraints of a schema that could be released, feature by feature."""
    found = [constraint for feature in schema.features for constraint in _constraints(feature)]
    if max_changes is not None and max_changes < len(schema.features):
        found.append(Constraint(ConstraintKind.MAX_CHANGES, None, max_changes))
    return found


def _constraints(feature: Feature) -> list[Constraint]:
    kind, name = ConstraintKind, feature.name
    found = [Constraint(kind.IMMUTABLE, name)] if feature.immutable else []
    if feature.range is not None:
        found.append(Constraint(kind.RANGE, name, feature.range))
    if feature.direction:
        found.append(Constraint(kind.INCREASE if feature.direction > 0 else kind.DECREASE, name))
    if _has_never(feature.cost):
        found.append(Constraint(kind.COST, name, feature.cost))
    if feature.max_change is not None:
        found.append(Constraint(kind.MAX_CHANGE, name, feature.max_change))
    return found


def _has_never(cost: Cost) -> bool:
    """Tell whether a cost rules out some change."""
    other = [] if cost.otherwise is None else [cost.otherwise]
    return bool(np.isinf([cost.up, cost.down, *other, *(price for _, price in cost.changes)]).any())


def without(schema: Schema, released: Collection[Constraint]) -> Limits:
    """Give the constraints of a schema without some of them, as those of one question.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "hours": [20, 40]}), immutable=["age", "hours"])
    >>> without(schema, constraints_of(schema)[:1]).immutable
    ('hours',)
    """
    kind = ConstraintKind
    gone = {(each.kind, each.feature) for each in released}
    kept = {each: [f for f in schema.features if (each, f.name) not in gone] for each in kind}
    return Limits(
        immutable=tuple(f.name for f in kept[kind.IMMUTABLE] if f.immutable),
        ranges=tuple((f.name, f.range) for f in kept[kind.RANGE] if f.range is not None),
        increase=tuple(f.name for f in kept[kind.INCREASE] if f.direction > 0),
        decrease=tuple(f.name for f in kept[kind.DECREASE] if f.direction < 0),
        costs=tuple((f.name, f.cost) for f in kept[kind.COST] if not f.cost.is_plain),
        max_change=tuple((f.name, f.max_change) for f in kept[kind.MAX_CHANGE] if f.max_change is not None),
    )
