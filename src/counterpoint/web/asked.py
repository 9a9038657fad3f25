"""What a request asks for, in the words of `Explainer.explain`: target, setting and constraints.

All are checked before any work is done, and what is wrong is said with its name, the rule and the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from counterpoint._util.short_text import short
from counterpoint.data.costs import Cost
from counterpoint.data.feature import Feature
from counterpoint.data.limits import Limits
from counterpoint.data.outputs import is_continuous
from counterpoint.explainers import Explainer
from counterpoint.explainers.ensemble import Ensemble
from counterpoint.model.target import Between, Probability
from counterpoint.selection.selection import NAMED
from counterpoint.web.rows import RefusedError, RowReader, Table, by_wire, key_of
from counterpoint.web.wire import MOST, TAKEN, kind_of, plain

# The constraints of a request, by what is given for each: names of features, or something per feature.
NAMES = ("immutable", "increase", "decrease")
PAIRS = ("ranges", "costs", "max_change")
CONSTRAINTS = (*NAMES, *PAIRS, "max_changes")

# How the cost "never" is written, which JSON has no number for.
NEVER = "never"
# Distances are multiplied by costs, which must not lead beyond what floats can hold.
CHEAPEST, DEAREST = 1e-6, 1e6
COST_KEYS = ("up", "down", "otherwise", "changes")
TARGET_KEYS = (("low", "high"), ("class", "at_least", "at_most"))


@dataclass(frozen=True)
class Reader:
    """Reads what a request says, in the terms of a fitted explainer for tables.

    Examples
    --------
    >>> import counterpoint as cp
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50], "job": ["clerk", "smith"] * 2})
    >>> reader = Reader(cp.Ensemble().fit(lambda X: X["age"] > 35, X))
    >>> reader.constraints({"immutable": ["job"], "ranges": {"age": [18, None]}, "max_changes": 1})
    {'immutable': ['job'], 'ranges': {'age': (18, inf)}, 'max_changes': 1}
    >>> reader.target(True)
    [True]
    >>> reader.explainer_for("close").selection == cp.CLOSE
    True
    """

    explainer: Explainer

    def __post_init__(self) -> None:
        if self.explainer._fitted().schema.form.shape:
            raise TypeError("The service is for tables; images and series are explained in Python.")

    @cached_property
    def table(self) -> RowReader:
        """Reads rows."""
        return RowReader(self.explainer._fitted().schema)

    def rows(self, rows: Any, what: str = "rows") -> Table:
        """Read rows: a list of objects by the names of columns."""
        return self.table.read(rows, what)

    def constraints(self, given: Any) -> dict[str, Any]:
        """Read constraints, as the arguments of `Explainer.explain` that they stand for."""
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            raise RefusedError(f"constraints must be an object, got {short(given)}.")
        _check_keys("constraints", given, CONSTRAINTS)
        found = {name: self._read(name, value) for name, value in given.items() if value is not None}
        self.check(found)
        return found

    def check(self, constraints: Mapping[str, Any]) -> None:
        """Refuse constraints that contradict each other, or that no value can keep."""
        limits = {name: value for name, value in constraints.items() if name != "max_changes"}
        try:
            Limits.of(self.explainer._fitted().schema, **limits)
        except (ValueError, TypeError, OverflowError) as error:
            raise RefusedError(f"constraints cannot be kept: {error}") from error

    def target(self, given: Any) -> Any:
        """Read the decision that is wanted: null, a class or several, a probability, or an interval."""
        fitted = self.explainer._fitted()
        if self.is_continuous:
            return _interval(given)
        if given is None:
            return None
        if not isinstance(given, Mapping):
            return self._classes(given, "target")
        _check_keys("target", given, TARGET_KEYS[1])
        ends = {name: given[name] for name in TARGET_KEYS[1][1:] if given.get(name) is not None}
        try:
            target = Probability(self._classes(given.get("class"), "target.class"), **ends)
            fitted.blackbox.giving_probability(target.classes)  # without asking the model, as a run will
        except (ValueError, TypeError) as error:
            raise RefusedError(f"target cannot be met: {error}") from error
        return target

    def explainer_for(self, setting: Any) -> Explainer:
        """Give the explainer with a named setting; nothing is learned again."""
        if setting is None:
            return self.explainer
        if not isinstance(self.explainer, Ensemble):
            raise RefusedError("setting is for the ensemble, which this explainer is not; leave it out.")
        if not isinstance(setting, str) or setting not in NAMED:
            raise RefusedError(f"setting must be one of {list(NAMED)}, got {short(setting)}.")
        explainer = copy(self.explainer)
        explainer.selection = NAMED[setting]
        return explainer

    @cached_property
    def is_continuous(self) -> bool:
        """Whether the model's outputs are numbers, not decisions."""
        fitted = self.explainer._fitted()
        return is_continuous(fitted.known.labels, fitted.blackbox.model)

    @property
    def settings(self) -> tuple[str, ...]:
        """The names of the settings; none if the explainer is no ensemble."""
        return tuple(NAMED) if isinstance(self.explainer, Ensemble) else ()

    @cached_property
    def decisions(self) -> dict[Any, Any]:
        """The decisions of the model, by what they are in JSON; none if its outputs are numbers."""
        fitted = self.explainer._fitted()
        if self.is_continuous:
            return {}
        return by_wire([*np.unique(fitted.known.labels).tolist(), *fitted.blackbox.classes()])

    def _classes(self, given: Any, what: str) -> list[Any]:
        asked = given if isinstance(given, list) else [given]
        unknown = [each for each in asked if key_of(each) not in self.decisions]
        if unknown or not asked:
            known = [plain(each) for each in self.decisions.values()]
            raise RefusedError(
                f"{what} must be among the model's decisions {short(known)}, got {short(given)}."
            )
        return [self.decisions[key_of(each)] for each in asked]

    def _read(self, name: str, value: Any) -> Any:
        where = f"constraints.{name}"
        if name == "max_changes":
            return whole(where, value, 1, None)
        if name in NAMES:
            if not isinstance(value, list):
                raise RefusedError(f"{where} must be a list of columns, got {short(value)}.")
            return [self._feature(where, each).name for each in value]
        if not isinstance(value, Mapping):
            raise RefusedError(f"{where} must be an object by columns, got {short(value)}.")
        read = {"ranges": self._range, "costs": self._cost, "max_change": _amount}[name]
        features = ((self._feature(where, each), each, said) for each, said in value.items())
        return {feature.name: read(f"{where}.{each}", feature, said) for feature, each, said in features}

    def _feature(self, where: str, name: Any) -> Feature:
        features = self.table.features
        if not isinstance(name, str) or name not in features:
            raise RefusedError(
                f"{where} must name columns, got {short(name)}. Known: {short(list(features))}."
            )
        return features[name]

    def _range(self, where: str, feature: Feature, given: Any) -> tuple[Any, ...]:
        if feature.is_categorical:
            if not isinstance(given, list) or not given:
                raise RefusedError(f"{where} must be a list of categories, got {short(given)}.")
            return tuple(self._category(where, feature, each) for each in given)
        dated = kind_of(feature) == "date"
        what = "dates" if dated else "numbers"
        if not isinstance(given, list) or len(given) != 2:
            raise RefusedError(
                f"{where} must be two {what} [low, high], null for no limit, got {short(given)}."
            )
        if not all(end is None or (isinstance(end, str) if dated else is_number(end)) for end in given):
            raise RefusedError(
                f"{where} must be two {what} [low, high], null for no limit, got {short(given)}."
            )
        low, high = given
        return (-inf if low is None else low, inf if high is None else high)

    def _category(self, where: str, feature: Feature, given: Any) -> Any:
        known = self.table.categories[str(feature.name)]
        if key_of(given) not in known:
            raise RefusedError(f"{where} must list categories of the column, got {short(given)}.")
        return known[key_of(given)]

    def _cost(self, where: str, feature: Feature, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return _price(where, given)
        _check_keys(where, given, COST_KEYS)
        prices = {name: _price(f"{where}.{name}", given[name]) for name in COST_KEYS[:3] if name in given}
        changes = given.get("changes", [])
        if not isinstance(changes, list) or not all(isinstance(c, list) and len(c) == 3 for c in changes):
            raise RefusedError(f"{where}.changes must list [old, new, cost], got {short(changes)}.")
        if changes and not feature.is_categorical:
            raise RefusedError(f"{where}.changes is for categories, and {feature.name!r} is none.")
        table = {
            (self._category(where, feature, old), self._category(where, feature, new)): _price(where, price)
            for old, new, price in changes
        }
        return Cost(**prices, changes=table)


def whole(where: str, value: Any, least: int, most: int | None) -> int:
    """Read a whole number.

    Examples
    --------
    >>> whole("k", 3, 1, 10)
    3
    """
    rule = f"of at least {least}" if most is None else f"from {least} to {most:,}"
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # to JSON, 3.0 is 3
    if isinstance(value, bool) or not isinstance(value, int) or value < least or value > (most or inf):
        raise RefusedError(f"{where} must be a whole number {rule}, got {short(value)}.")
    return value


def is_number(value: Any) -> bool:
    """Tell whether JSON gave a number that is not too large to be computed with."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= TAKEN * MOST


def _amount(where: str, _: Feature, given: Any) -> float | str:
    """Read the most that a number may change: an amount, or a share such as "20%"."""
    if is_number(given) and given > 0:
        return float(given)
    if isinstance(given, str) and given.endswith("%"):
        return given
    raise RefusedError(f'{where} must be a positive number, or a share such as "20%", got {short(given)}.')


def _price(where: str, given: Any) -> float:
    if given == NEVER:
        return inf
    if not is_number(given) or not CHEAPEST <= given <= DEAREST:
        rule = f'a number from {CHEAPEST:g} to {DEAREST:g}, or "{NEVER}"'
        raise RefusedError(f"{where} must be {rule}, got {short(given)}.")
    return float(given)


def _interval(given: Any) -> Between:
    """Read the numbers that are wanted of a model whose outputs are numbers."""
    rule = 'The model\'s outputs are numbers: give target as {"low": …, "high": …}, one or both of them'
    if not isinstance(given, Mapping) or not given:
        raise RefusedError(f"{rule}, got {short(given)}.")
    _check_keys("target", given, TARGET_KEYS[0])
    ends = {name: end for name, end in given.items() if end is not None}
    if not all(map(is_number, ends.values())) or not ends:
        raise RefusedError(f"{rule}, got {short(given)}.")
    try:
        return Between(**ends)
    except ValueError as error:
        raise RefusedError(f"target: {error}") from error


def _check_keys(where: str, given: Mapping[str, Any], known: Iterable[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise RefusedError(f"{where} has the unknown keys {short(unknown)}. Known: {list(known)}.")
