"""What a counterfactual may change, as flags and a file of constraints say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pandas as pd

from counterpoint.data.schema import Schema


@dataclass(frozen=True)
class Limits:
    """The constraints of a run: each is the argument of `fit` of the same name, or of a `Schema`.

    Examples
    --------
    >>> both = Limits(immutable=("age",)) + Limits(immutable=("sex",), ranges={"amount": (500, 9000)})
    >>> both.immutable, both.ranges
    (('age', 'sex'), {'amount': (500, 9000)})
    """

    categorical: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    increase: tuple[str, ...] = ()
    decrease: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    order: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    onehot: Mapping[str, tuple[str, ...]] | bool | None = None  # None: they are detected
    steps: Mapping[str, Any] = field(default_factory=dict)
    costs: Mapping[str, Any] = field(default_factory=dict)
    max_change: Mapping[str, float | str] = field(default_factory=dict)
    links: tuple[Any, ...] = ()
    missing: str | None = None
    max_changes: int | None = None

    def __add__(self, other: Limits) -> Limits:
        both = {f.name: _both(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)}
        return Limits(**both)

    def typed(self, known: pd.DataFrame) -> Limits:
        """Turn categories that a flag gave as texts into what the column holds."""
        return replace(self, ranges=_typed(self.ranges, known), order=_typed(self.order, known))

    def fit_options(self, known: pd.DataFrame) -> dict[str, Any]:
        """Give the arguments of `fit` that stand for these constraints."""
        limits = self.typed(known)
        options: dict[str, Any] = {
            "immutable": limits.immutable,
            "increase": limits.increase,
            "decrease": limits.decrease,
            "ranges": limits.ranges,
            "costs": limits.costs,
            "max_change": limits.max_change,
            "links": limits.links,
            "missing": limits.missing or "keep",
        }
        kinds = {"categorical": limits.categorical, "order": limits.order, "onehot": limits.onehot}
        if not limits.steps:
            return options | kinds
        schema = Schema.infer(known, immutable=limits.immutable, **kinds)  # type: ignore[arg-type]
        for name, step in limits.steps.items():
            schema = schema.replace(name, step=step)
        return options | {"schema": schema}


def _both(one: Any, other: Any) -> Any:
    """Join what two sources say: names and values of both; of a single value, the last word counts."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **other}
    if isinstance(one, tuple) and isinstance(other, tuple):
        return (*one, *(each for each in other if each not in one))
    return one if other is None else other


def _typed(given: Mapping[str, tuple[Any, ...]], known: pd.DataFrame) -> dict[str, tuple[Any, ...]]:
    typed = {}
    for name, values in given.items():
        texts = [value for value in values if isinstance(value, str)]
        held = known[name].unique() if texts and name in known else ()
        by_text = {str(value): value for value in held}
        typed[name] = tuple(by_text.get(value, value) if value in texts else value for value in values)
    return typed
