"""What requests may change of the service's own constraints: they can only add to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.dates import Calendar
from counterpoint.data.feature import Feature
from counterpoint.web.rows import RefusedError


def tightened(constraints: Mapping[str, Any], features: Iterable[Feature]) -> dict[str, Any]:
    """Add the constraints of `fit` to those of a request, which can then only allow less.

    By itself, a constraint given to `Explainer.explain` replaces what `fit` was given under the same name.

    Examples
    --------
    >>> features = [Feature("age", immutable=True), Feature("amount", range=(500, 9000))]
    >>> tightened({"immutable": [], "ranges": {"amount": (0, 1000)}}, features)
    {'immutable': ['age'], 'ranges': {'amount': (500, 1000)}}
    """
    found, every = dict(constraints), list(features)
    if "immutable" in found:
        locked = [each.name for each in every if each.immutable]
        found["immutable"] = list(dict.fromkeys([*found["immutable"], *locked]))
    for name, sign in (("increase", 1), ("decrease", -1)):
        if name in found:
            one_way = [each.name for each in every if each.direction == sign]
            found[name] = list(dict.fromkeys([*found[name], *one_way]))
    if "ranges" in found:
        own = {each.name: each for each in every if each.range is not None}
        found["ranges"] = {name: _values(each) for name, each in own.items()} | {
            name: _both(own[name], given) if name in own else given for name, given in found["ranges"].items()
        }
    for name in ("costs", "max_change"):
        if name in found:
            found[name] = _kept(name, found[name], every)
    return found


def _values(feature: Feature) -> tuple[Any, ...]:
    """Give the range of a feature in the values of its column: inside, dates are numbers."""
    assert feature.range is not None
    if feature.calendar is None:
        return feature.range
    return tuple(feature.label(end) if isfinite(end) else end for end in feature.range)


def _both(feature: Feature, given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Find the values that both a request and the service allow."""
    assert feature.range is not None
    if feature.is_categorical:
        kept = tuple(each for each in given if feature.allows(each))
    else:
        low, high = given if feature.calendar is None else _counted(feature.calendar, given)
        least, most = feature.range
        kept = (given if low >= least else _values(feature))[:1]
        kept += (
            (given if high <= most else _values(feature))[1:] if max(low, least) <= min(high, most) else ()
        )
    if not kept or (len(kept) < 2 and not feature.is_categorical):
        raise RefusedError(f"constraints.ranges.{feature.name} leaves nothing of the service's own range.")
    return kept


def _counted(calendar: Calendar, ends: tuple[Any, ...]) -> list[float]:
    """Count dates as the column does; an open end stays infinite."""
    read = (end if isinstance(end, float) else calendar.numbers(_objects(end)).numbers[0] for end in ends)
    return [float(end) for end in read]


def _objects(value: Any) -> NDArray[np.object_]:
    return np.array([value], dtype=object)


def _kept(name: str, given: Mapping[Any, Any], features: list[Feature]) -> dict[Any, Any]:
    """Keep the costs or the largest changes that the service has of its own."""
    own = {
        each.name: each.cost if name == "costs" else each.max_change
        for each in features
        if (not each.cost.is_plain if name == "costs" else each.max_change is not None)
    }
    taken = [each for each in given if each in own]
    if taken:
        raise RefusedError(f"constraints.{name} of {taken[0]!r} is set by the service; leave it out.")
    return own | dict(given)
