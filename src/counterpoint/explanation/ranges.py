"""How far the values of an answer can move before the decision changes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.data.schema import Schema
from counterpoint.show import wording


@dataclass(frozen=True)
class Range:
    """The values of one changed feature with which a counterfactual still is one; its other values stay.

    Parameters
    ----------
    counterfactual
        The number of the counterfactual, from 1.
    feature
        The index of the feature.
    low, high
        The ends of the interval, as numbers of a row; infinite where nothing but the constraints, or the
        known values, ends it. Of categories, both are NaN.
    codes
        Of categories, all that hold, as codes.
    points
        At how many values the model was asked.
    is_certain
        Whether every value in the interval holds, and not only those that were asked about: the trees of the
        model tell no others apart, or all categories were asked about.
    """

    counterfactual: int
    feature: int
    low: float
    high: float
    codes: tuple[float, ...] = ()
    points: int = 0
    is_certain: bool = False


@dataclass(frozen=True, eq=False)
class Ranges(Sequence[Range]):
    """The ranges of an answer: for each counterfactual and each feature that it changes, what else holds.

    Each range is about one feature, while all other values are as in the counterfactual.

    Examples
    --------
    >>> people = pd.DataFrame({"hours": [31, 60], "job": ["clerk", "smith"]})
    >>> ranges = Ranges(Schema.infer(people), (Range(1, 0, 45.0, np.inf, points=9, is_certain=True),))
    >>> print(ranges)
    1: hours at least 45 (certain)
    >>> ranges.table
       counterfactual feature low  high categories  points  certain
    0               1   hours  45  None         ()       9     True
    """

    schema: Schema
    items: tuple[Range, ...]

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: Any) -> Any:
        return self.items[index]

    def __iter__(self) -> Iterator[Range]:
        return iter(self.items)

    def __str__(self) -> str:
        return "\n".join(f"{each.counterfactual}: {self.text(each)}" for each in self.items)

    def text(self, item: Range) -> str:
        """Say what a range is, and how sure that is."""
        feature = self.schema.features[item.feature]
        how = "certain" if item.is_certain else f"checked at {item.points:,} points"
        return f"{wording.range_text(feature, item.low, item.high, item.codes)} ({how})"

    def sentences(self) -> list[str]:
        """Describe the ranges of each counterfactual in one sentence."""
        numbers = sorted({each.counterfactual for each in self.items})
        texts = [
            [self.text(each) for each in self.items if each.counterfactual == number] for number in numbers
        ]
        return [
            f"Counterfactual {number} also holds, one change at a time, with {wording.alternatives(each)}."
            for number, each in zip(numbers, texts, strict=True)
        ]

    @property
    def table(self) -> pd.DataFrame:
        """The ranges as a table; an end that only the constraints set is None."""
        lines = [
            {
                "counterfactual": each.counterfactual,
                "feature": self.schema.names[each.feature],
                "low": self._label(each, each.low),
                "high": self._label(each, each.high),
                "categories": tuple(self._label(each, code) for code in each.codes),
                "points": each.points,
                "certain": each.is_certain,
            }
            for each in self.items
        ]
        names = ["counterfactual", "feature", "low", "high", "categories", "points", "certain"]
        return pd.DataFrame(lines, columns=names).astype({"low": object, "high": object})

    def _label(self, item: Range, value: float) -> Any:
        return self.schema.features[item.feature].label(value) if np.isfinite(value) else None


def to_plain(ranges: Ranges) -> list[list[Any]]:
    """Write ranges as plain data; an infinite end is None."""
    plain = []
    for each in ranges:
        number, feature, low, high, codes, points, is_certain = astuple(each)
        ends = [value if np.isfinite(value) else None for value in (low, high)]
        plain.append([number, feature, *ends, list(codes), points, is_certain])
    return plain


def from_plain(plain: list[list[Any]], schema: Schema) -> Ranges:
    """Read ranges from plain data."""
    items = []
    for number, feature, low, high, codes, points, is_certain in plain:
        coded = schema.features[feature].is_categorical
        ends = (
            (np.nan, np.nan) if coded else (-np.inf if low is None else low, np.inf if high is None else high)
        )
        items.append(Range(int(number), int(feature), *ends, tuple(codes), int(points), bool(is_certain)))
    return Ranges(schema, tuple(items))
