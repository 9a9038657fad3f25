"""What another decision costs for groups that the user names: by sex, by age band.

A column of categories is its own groups. A column of numbers is counted by its values to two digits, which
add up over parts of any size, and is parted into bands only when it is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import floor, log10
from operator import add
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.report.costs import Costs, Histogram
from counterpoint.sentences import MISSING, number_text

# So many different categories are told apart; those that come later are counted together.
MOST = 50
OTHERS = "all others"
# A column of no more different numbers is shown number by number; else in so many bands.
FEW, BANDS = 6, 5
# Figures of smaller groups than this are marked.
SMALL = 30

Value = float | str


@dataclass(frozen=True)
class Group:
    """One group as it is shown: a category, a number or a band, and what another decision costs there."""

    name: str
    costs: Costs

    @property
    def is_small(self) -> bool:
        """Whether so few asked for another decision that a few more could change its figures much."""
        return self.costs.asking < SMALL


@dataclass(frozen=True)
class Split:
    """All instances, parted by the values of one column: numbers to two digits, or texts.

    Examples
    --------
    >>> young, old = Costs.of([0.5] * 40, [1] * 40), Costs.of([0.9] * 40, [2] * 40)
    >>> split = Split("age", ((20.0, young),)) + Split("age", ((60.0, old),))
    >>> [(group.name, group.costs.instances) for group in split.groups]
    [('20', 40), ('60', 40)]
    """

    name: str
    parts: tuple[tuple[Value, Costs], ...]

    @classmethod
    def of(cls, name: str, values: NDArray[Any], costs: Callable[[NDArray[np.intp]], Costs]) -> Split:
        """Part instances by their values; `costs` counts those at some places."""
        keys = [key_of(value) for value in values.tolist()]
        places: dict[Value, list[int]] = {}
        for place, key in enumerate(keys):
            places.setdefault(key, []).append(place)
        return cls(name, _bounded((key, costs(np.array(each))) for key, each in places.items()))

    def __add__(self, other: Split) -> Split:
        return Split(self.name, _bounded((*self.parts, *other.parts)))

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups to show: bands of numbers from low to high, then texts, the largest group first."""
        numbers = sorted(
            ((v, costs) for v, costs in self.parts if isinstance(v, float)), key=lambda part: part[0]
        )
        texts = [Group(value, costs) for value, costs in self.parts if isinstance(value, str)]
        texts.sort(key=lambda group: (group.name in (OTHERS, MISSING), -group.costs.instances, group.name))
        return (*_banded(numbers), *texts)


def key_of(value: Any) -> Value:
    """Round a number down to two digits, and write anything else as text.

    Examples
    --------
    >>> key_of(1294), key_of(0.0567), key_of(True), key_of(None), key_of("clerk")
    (1200.0, 0.056, 'True', 'missing', 'clerk')
    """
    if value is None or value is pd.NA or value != value:
        return MISSING
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if not value or not np.isfinite(value):
        return float(value)
    digits = 1 - floor(log10(abs(value)))
    # 0.057 * 1000 may be a little less than 57.
    return round(floor(round(value * 10.0**digits, 6)) / 10.0**digits, max(0, digits))


def _bounded(parts: Iterable[tuple[Value, Costs]]) -> tuple[tuple[Value, Costs], ...]:
    """Add up parts of the same value; beyond the first texts, all others are counted together."""
    total: dict[Value, Costs] = {}
    texts = 0
    for value, costs in parts:
        if value not in total and isinstance(value, str) and value not in (OTHERS, MISSING):
            texts += 1
            value = OTHERS if texts > MOST else value
        total[value] = total[value] + costs if value in total else costs
    return tuple(total.items())


def _banded(numbers: Sequence[tuple[float, Costs]]) -> list[Group]:
    """Join values into bands, if there are too many to show one by one."""
    values = [value for value, _ in numbers]
    if len(values) <= FEW:
        return [Group(_text(value), costs) for value, costs in numbers]
    counted = Histogram(tuple((place, costs.instances) for place, (_, costs) in enumerate(numbers)))
    edges = _edges([values[counted.quantile(share / BANDS)] for share in range(1, BANDS)], values)
    bands: dict[int, list[tuple[float, Costs]]] = {}
    for part in numbers:
        bands.setdefault(bisect_right(edges, part[0]), []).append(part)
    whole = all(value.is_integer() and abs(value) < 100 for value in values)
    ends = (-np.inf, *edges, np.inf)
    return [
        Group(
            _band_text([value for value, _ in parts], ends[band], ends[band + 1], whole),
            reduce(add, (costs for _, costs in parts)),
        )
        for band, parts in bands.items()
    ]


def _edges(quantiles: Sequence[float], values: Sequence[float]) -> list[float]:
    """Move the edges of bands to round numbers close to them, each once."""
    step = (quantiles[-1] - quantiles[0]) / len(quantiles)
    if not step:
        # Most have one value: it is a band of its own.
        return [quantiles[0], *(value for value in values if value > quantiles[0])][:2]
    power = 10.0 ** floor(log10(step))
    step = max(times * power for times in (1, 2, 5) if times * power <= step)
    # Values are known to two digits, rounded down, so only such edges part them exactly.
    keys = (key_of(round(quantile / step) * step) for quantile in quantiles)
    return sorted({float(key) for key in keys})


def _band_text(values: Sequence[float], low: float, high: float, whole: bool) -> str:
    """Write a band: "30 to 44" of ages, "0.5 to under 0.7" of other numbers."""
    first = values[0] if np.isinf(low) else low
    if len(values) == 1 and (whole or not values[0]):
        return _text(values[0])
    if np.isinf(high):
        return f"{_text(first)} and over"
    return f"{_text(first)} to {_text(high - 1)}" if whole else f"{_text(first)} to under {_text(high)}"


def _text(value: float) -> str:
    return number_text(value, grouped=abs(value) >= 10_000)


def contrast(groups: Sequence[Group]) -> str:
    """Say for whom another decision is dearest and for whom cheapest, and whether that may be chance.

    Groups that are too small for it are left out; nothing is said of fewer than two.

    Examples
    --------
    >>> near, far = Costs.of([0.5] * 40, [1] * 40), Costs.of([1.0] * 40, [1] * 40)
    >>> contrast([Group("m", near), Group("f", far)])
    "The nearest counterfactual is typically farthest for 'f' (1) and closest for 'm' (0.5): 2 times as ..."
    """
    large = [group for group in groups if not group.is_small and group.costs.found]
    if len(large) < 2:
        return ""
    large.sort(key=lambda group: group.costs.distance(0.5))
    cheap, dear = large[0], large[-1]
    low, high = cheap.costs.distance(0.5), dear.costs.distance(0.5)
    if low == high:
        return "The nearest counterfactual is typically as far for all these groups."
    times = f": {number_text(high / low, digits=2)} times as far" if low else ""
    chance = (
        "The ranges that their medians are known to do not overlap: chance alone would seldom do that."
        if _apart(cheap.costs, dear.costs)
        else "The ranges that their medians are known to overlap, so this may be chance."
    )
    return (
        f"The nearest counterfactual is typically farthest for {dear.name!r} ({number_text(high, digits=2)}) "
        f"and closest for {cheap.name!r} ({number_text(low, digits=2)}){times}. {chance}"
    )


def _apart(cheap: Costs, dear: Costs) -> bool:
    """Tell whether the ranges that two medians are known to do not overlap."""
    low, high = cheap.median_interval, dear.median_interval
    return low is not None and high is not None and low[1] < high[0]
