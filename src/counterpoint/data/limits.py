"""What one person may change: constraints given with a question, instead of those given to `fit`.

Each replaces what `fit` was given under the same name; None leaves it as fitted. So a page can lock a feature
for one person and unlock another, without fitting again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from counterpoint.data.costs import PLAIN, Cost
from counterpoint.data.feature import Feature, category_key
from counterpoint.data.schema import Schema, resolve, resolve_costs, resolve_pairs, resolve_ranges

# Names of features, and what is said of each.
Names = tuple[Any, ...]
Pairs = tuple[tuple[Any, Any], ...]


@dataclass(frozen=True)
class Limits:
    """The constraints of one person; see `Explainer.explain`. None leaves what `fit` was given.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "hours": [20, 40]}), immutable=["age"])
    >>> limits = Limits.of(schema, immutable=["hours"], ranges={"age": (18, 50)})
    >>> limits
    Limits(immutable=('hours',), ranges=(('age', (18, 50)),), increase=None, ...)
    >>> limits.applied(schema).actionable
    (0,)
    """

    immutable: Names | None = None
    ranges: Pairs | None = None
    increase: Names | None = None
    decrease: Names | None = None
    costs: Pairs | None = None
    max_change: Pairs | None = None

    @classmethod
    def of(
        cls,
        schema: Schema,
        immutable: Iterable[Any] | None = None,
        ranges: Mapping[Any, Sequence[Any]] | None = None,
        increase: Iterable[Any] | None = None,
        decrease: Iterable[Any] | None = None,
        costs: Mapping[Any, Any] | None = None,
        max_change: Mapping[Any, float | str] | None = None,
    ) -> Limits:
        """Check what was given, by applying it."""
        limits = cls(
            immutable=_names(immutable, schema, "immutable"),
            ranges=None if ranges is None else tuple(resolve_ranges(ranges, schema).items()),
            increase=_names(increase, schema, "increase"),
            decrease=_names(decrease, schema, "decrease"),
            costs=None if costs is None else tuple(resolve_costs(costs, schema).items()),
            max_change=(
                None if max_change is None else tuple(resolve_pairs(max_change, schema, "max_change").items())
            ),
        )
        limits.applied(schema)
        return limits

    @cached_property
    def key(self) -> Hashable:
        """Equal for the same constraints only: True, 1 and 1.0 can be three categories."""
        return tuple(_key(getattr(self, field.name)) for field in fields(self))

    @property
    def is_empty(self) -> bool:
        """Whether all is left as fitted."""
        return all(getattr(self, field.name) is None for field in fields(self))

    def applied(self, schema: Schema) -> Schema:
        """Replace the constraints of a schema."""
        if self.is_empty:
            return schema
        return replace(schema, features=tuple(self._applied(feature) for feature in schema.features))

    def _applied(self, feature: Feature) -> Feature:
        name = feature.name
        immutable = feature.immutable if self.immutable is None else name in self.immutable
        limits = feature.range if self.ranges is None else dict(self.ranges).get(name)
        up = feature.direction > 0 if self.increase is None else name in self.increase
        down = feature.direction < 0 if self.decrease is None else name in self.decrease
        if up and down:
            raise ValueError(
                f"{name!r} may only rise and may only fall, so it could never change. What is given here "
                f"replaces what fit was given under the same name: remove {name!r} from increase or "
                f"decrease, or give the other one too, without it."
            )
        return replace(
            feature,
            immutable=immutable,
            range=limits,
            direction=0 if immutable else up - down,  # what may not change has no direction
            cost=feature.cost if self.costs is None else dict(self.costs).get(name, PLAIN),
            max_change=feature.max_change if self.max_change is None else dict(self.max_change).get(name),
        )


AS_FITTED = Limits()


def _names(names: Any, schema: Schema, argument: str) -> Names | None:
    return None if names is None else tuple(resolve(names, schema.form, argument))


def _key(value: Any) -> Hashable:
    """Make a key of nested tuples that tells types apart."""
    if isinstance(value, Cost):
        value = value.up, value.down, value.changes, value.otherwise
    return tuple(map(_key, value)) if isinstance(value, tuple) else category_key(value)


def each_limits(schema: Schema, count: int, **given: Any) -> list[Limits]:
    """Read the constraints of many persons: each is one for all of them, or a list with one per instance.

    Examples
    --------
    >>> schema = Schema.infer(np.zeros((2, 2)))
    >>> [each.immutable for each in each_limits(schema, 2, immutable=[["x0"], None])]
    [('x0',), None]
    >>> [each.immutable for each in each_limits(schema, 2, immutable=["x0"])]
    [('x0',), ('x0',)]
    """
    each = {name: _per_instance(name, value, schema, count) for name, value in given.items()}
    lists = {name: values for name, values in each.items() if values is not None}
    shared = {name: value for name, value in given.items() if name not in lists}
    if not lists:
        return [Limits.of(schema, **shared)] * count
    seen: dict[tuple[int, ...], Limits] = {}
    found = []
    for index in range(count):
        own = {name: values[index] for name, values in lists.items()}
        # Callers often repeat the same object, which is then read once.
        key = tuple(map(id, own.values()))
        if key not in seen:
            try:
                seen[key] = Limits.of(schema, **shared, **own)
            except (TypeError, ValueError) as error:
                error.add_note(f"It was given for X[{index}].")
                raise
        found.append(seen[key])
    return found


def _per_instance(name: str, value: Any, schema: Schema, count: int) -> list[Any] | None:
    """List what is given per instance; None if it is given for all."""
    if value is None or isinstance(value, Mapping | str) or not isinstance(value, Iterable):
        return None
    entries, known = list(value), set(schema.names)
    if not entries or not all(_is_entry(entry, known) for entry in entries):
        return None
    if len(entries) != count:
        raise ValueError(
            f"{name} must have one entry per instance, or be one for all: {count} instances, "
            f"got {len(entries)} entries."
        )
    return entries


def _is_entry(entry: Any, known: set[Any]) -> bool:
    """Tell what is said of one instance from the name of a feature, which can be a tuple."""
    if isinstance(entry, tuple):
        return entry not in known
    return entry is None or isinstance(entry, Mapping | list | set | frozenset | np.ndarray)
