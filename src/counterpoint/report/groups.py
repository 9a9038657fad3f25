"""What another decision costs for groups that the user chooses, such as by sex or by age band.

Each category of a column is a group. Numbers are counted by their first two digits, so that counts of parts
add up, and are split into bands only when shown.
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
from counterpoint.show.wording import MISSING, number_text

# At most this many categories are counted separately; later ones are counted together.
MOST = 50
OTHERS = "all others"
# A column with at most this many distinct numbers shows each of them; others are split into bands.
FEW, BANDS = 6, 5
# Groups smaller than this are marked.
SMALL = 30

Value = float | str


@dataclass(frozen=True)
class Group:
    """One group: a category, a number or a band, and what another decision costs in it."""

    name: str
    costs: Costs

    @property
    def is_small(self) -> bool:
        """Whether so few asked for another decision that a few more could change its figures considerably."""
        return self.costs.asking < SMALL


@dataclass(frozen=True)
class Split:
    """All instances, split by the values of one column: numbers to two digits, or strings.

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
        """Split instances by their values; `costs` counts the instances at given indices."""
        keys = [key_of(value) for value in values.tolist()]
        indices: dict[Value, list[int]] = {}
        for index, key in enumerate(keys):
            indices.setdefault(key, []).append(index)
        return cls(name, _bounded((key, costs(np.array(each))) for key, each in indices.items()))

    def __add__(self, other: Split) -> Split:
        return Split(self.name, _bounded((*self.parts, *other.parts)))

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups to show: bands of numbers in ascending order, then strings, the largest group first."""
        numbers = sorted(
            ((v, costs) for v, costs in self.parts if isinstance(v, float)), key=lambda part: part[0]
        )
        texts = [Group(value, costs) for value, costs in self.parts if isinstance(value, str)]
        texts.sort(key=lambda group: (group.name in (OTHERS, MISSING), -group.costs.instances, group.name))
        return (*_banded(numbers), *texts)


def key_of(value: Any) -> Value:
    """Round a number down to two digits, and turn anything else into a string.

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
    """Add up parts with the same value; strings beyond the limit are counted together."""
    total: dict[Value, Costs] = {}
    texts = 0
    for value, costs in parts:
        if value not in total and isinstance(value, str) and value not in (OTHERS, MISSING):
            texts += 1
            value = OTHERS if texts > MOST else value
        total[value] = total[value] + costs if value in total else costs
    return tuple(total.items())


def _banded(numbers: Sequence[tuple[float, Costs]]) -> list[Group]:
    """Join values into bands, if there are too many to show each."""
    values = [value for value, _ in numbers]
    if len(values) <= FEW:
        return [Group(_text(value), costs) for value, costs in numbers]
    counted = Histogram(tuple((index, costs.instances) for index, (_, costs) in enumerate(numbers)))
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
    """Round the edges of bands to nearby round numbers, without duplicates."""
    step = (quantiles[-1] - quantiles[0]) / len(quantiles)
    if not step:
        # Most instances share one value, which becomes its own band.
        return [quantiles[0], *(value for value in values if value > quantiles[0])][:2]
    power = 10.0 ** floor(log10(step))
    step = max(times * power for times in (1, 2, 5) if times * power <= step)
    # Values are rounded down to two digits, so only such edges split them exactly.
    keys = (key_of(round(quantile / step) * step) for quantile in quantiles)
    return sorted({float(key) for key in keys})


def _band_text(values: Sequence[float], low: float, high: float, whole: bool) -> str:
    """Write a band: "30 to 44" for whole numbers, "0.5 to under 0.7" for others."""
    first = values[0] if np.isinf(low) else low
    if len(values) == 1 and (whole or not values[0]):
        return _text(values[0])
    if np.isinf(high):
        return f"{_text(first)} and over"
    return f"{_text(first)} to {_text(high - 1)}" if whole else f"{_text(first)} to under {_text(high)}"


def _text(value: float) -> str:
    return number_text(value, grouped=abs(value) >= 10_000)


def contrast(groups: Sequence[Group]) -> str:
    """Describe for which group another decision is most and least expensive, and whether it may be chance.

    Small groups are left out. The text is empty for fewer than two groups.

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
    near, far = large[0], large[-1]
    low, high = near.costs.distance(0.5), far.costs.distance(0.5)
    if low == high:
        return "The nearest counterfactual is typically at the same distance for all these groups."
    times = f": {number_text(high / low, digits=2)} times as far" if low else ""
    chance = (
        "The 95% intervals of the medians do not overlap; chance is an unlikely explanation."
        if _apart(near.costs, far.costs)
        else "The 95% intervals of the medians overlap, so this may be chance."
    )
    return (
        f"The nearest counterfactual is typically farthest for {far.name!r} ({number_text(high, digits=2)}) "
        f"and closest for {near.name!r} ({number_text(low, digits=2)}){times}. {chance}"
    )


def _apart(near: Costs, far: Costs) -> bool:
    """Tell whether the intervals of two medians do not overlap."""
    low, high = near.median_interval, far.median_interval
    return low is not None and high is not None and low[1] < high[0]
