"""What a column is: its kind, its range, its categories, its step, and whether and how it may change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.tables import Column, is_missing

Rows = NDArray[np.float64]
Row = NDArray[np.float64]

# Above this, a float64 no longer holds every whole number, and an immutable id could change unseen.
EXACT = 2**53

# What can stand for a missing value in a column of objects.
MARKS = {"nan": np.nan, "None": None, "NA": pd.NA}

_CHOICES = {"kind": ("continuous", "categorical"), "missing_as": tuple(MARKS), "direction": (-1, 0, 1)}


@dataclass(frozen=True)
class Feature:
    """One column: what it holds and how a counterfactual may change it.

    Parameters
    ----------
    name
        The column's name.
    kind
        ``"continuous"`` or ``"categorical"``.
    seen
        Smallest and largest known value (continuous). Candidates stay within it unless ``range`` is given.
    range
        Admissible values from the user: a pair (continuous) or the allowed categories (categorical). An open
        end, -inf or inf, reaches as far beyond the known values as these are spread.
    step
        Continuous values are whole multiples of it; 1 for integers, None for no step.
    categories
        The known categories in code order; None stands for a missing one.
    ordered
        Whether the categories' order means something, so that they can rise and fall.
    missing
        Whether a number may be missing.
    missing_as
        What stands for a missing value in a column of objects: ``"nan"``, ``"None"`` or ``"NA"``.
    immutable
        A counterfactual keeps x's value.
    direction
        1: may only rise, -1: may only fall, 0: both.

    Examples
    --------
    >>> Feature("age", seen=(18, 90), step=1, direction=1)
    Feature(name='age', kind='continuous', seen=(18, 90), ...direction=1)
    """

    name: Any
    kind: Literal["continuous", "categorical"] = "continuous"
    seen: tuple[float, float] = (-np.inf, np.inf)
    range: tuple[Any, ...] | None = None
    step: float | None = None
    categories: tuple[Any, ...] = ()
    ordered: bool = False
    missing: bool = False
    missing_as: Literal["nan", "None", "NA"] = "nan"
    immutable: bool = False
    direction: int = 0

    def __post_init__(self) -> None:
        for field, allowed in _CHOICES.items():
            value = getattr(self, field)
            if value not in allowed:
                raise ValueError(f"{self.name!r}: {field} must be one of {allowed}, got {value!r}.")
        if self.step is not None and not self.step > 0:
            raise ValueError(f"{self.name!r}: step must be positive, got {self.step}.")
        if self.is_categorical:
            self._check_categories()
        if self.direction and self.immutable:
            raise ValueError(f"{self.name!r} cannot be both immutable and one-way; drop it from one of them.")
        if self.range is not None:
            self._check_range(self.range)

    @property
    def is_categorical(self) -> bool:
        """Whether its values are categories."""
        return self.kind == "categorical"

    def encode(self, values: Column, what: str = "X") -> Row:
        """Turn a column into floats: numbers as they are, categories as codes."""
        return self._encode_categories(values, what) if self.is_categorical else self._numbers(values, what)

    def label(self, value: float) -> Any:
        """Turn one place of a row back into the value a person knows."""
        if self.is_categorical:
            return self.categories[int(value)]
        if np.isnan(value):
            return None
        return int(value) if self.step is not None and float(value).is_integer() else float(value)

    def allows(self, category: Any) -> bool:
        """Whether a category is among the admissible ones."""
        return self.range is None or category in self.range

    @cached_property
    def fraction(self) -> tuple[float, float]:
        """The step as a fraction: 3 * 0.1 is not the float 0.3, but 3 * 1 / 10 is.

        Examples
        --------
        >>> Feature("price", step=0.1).fraction
        (1, 10)
        """
        step = self.step or 1
        near = Fraction(step).limit_denominator(10**6)
        return (near.numerator, near.denominator) if float(near) == step else (step, 1)

    @cached_property
    def _index(self) -> pd.Index:
        return pd.Index([c for c in self.categories if c is not None], dtype=object)

    @cached_property
    def _index_codes(self) -> NDArray[np.int64]:
        return np.array([i for i, c in enumerate(self.categories) if c is not None], dtype=np.int64)

    def _encode_categories(self, values: Column, what: str) -> Row:
        places = self._index.get_indexer(pd.Index(np.asarray(values, dtype=object), dtype=object))
        codes: Row = np.append(self._index_codes, -1)[places].astype(np.float64)
        missing = is_missing(values)
        if missing.any():
            if None not in self.categories:
                raise ValueError(self._never_missing(what) + f" Known: {listed(self.categories)}.")
            codes[missing] = self.categories.index(None)
        if (codes < 0).any():
            value = values[int(np.argmax(codes < 0))]
            raise ValueError(
                f"{what} has the unknown category {said(value)} in {self.name!r}. Give a known one, or fit "
                f"again with known instances that have it. Known: {listed(self.categories)}."
            )
        return codes

    def _numbers(self, values: Column, what: str) -> Row:
        missing = is_missing(values)
        self._refuse_texts(values[~missing], what)
        try:
            numbers = np.where(missing, np.nan, values).astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise self._not_a_number(values[~missing][0], what) from None
        if missing.any() and not self.missing:
            raise ValueError(self._never_missing(what))
        if np.isinf(numbers).any():
            raise ValueError(f"{what} has an infinite value in {self.name!r}; replace it by a number or NaN.")
        whole = self.step is not None or values.dtype.kind in "iu"
        if whole and (np.abs(numbers[~missing]) > EXACT).any():
            raise ValueError(
                f"{what} holds whole numbers beyond 2**53 in {self.name!r}, which are not exact as floats. "
                f"Drop the feature if it is an id, or name it in categorical=."
            )
        return numbers

    def _refuse_texts(self, values: Column, what: str) -> None:
        """Refuse texts and dates, some of which numpy would turn into numbers."""
        if values.dtype.kind in "USmM" and len(values):
            raise self._not_a_number(values[0], what)
        if values.dtype == object:
            for value in values:
                if isinstance(value, str | bytes):
                    raise self._not_a_number(value, what)

    def _not_a_number(self, value: Any, what: str) -> TypeError:
        cure = "If it is a category, name it in categorical=." if what == "X" else "Give a number."
        return TypeError(f"{what} must hold numbers in {self.name!r}, got {said(value)}. {cure}")

    def _never_missing(self, what: str) -> str:
        return (
            f"{what} has a missing value in {self.name!r}, which no known instance has. Fill it in, or fit "
            f"again with known instances that miss it."
        )

    def _check_categories(self) -> None:
        distinct = {(type(category), category) for category in self.categories}
        if not self.categories or len(distinct) < len(self.categories):
            raise ValueError(
                f"{self.name!r} is categorical, so its categories must be given, each once, "
                f"got {list(self.categories)}."
            )
        if self.direction and not self.ordered:
            raise ValueError(
                f"{self.name!r} is one-way, but its categories have no order. Give the column an ordered "
                f"categorical dtype, or a Schema whose feature has ordered=True."
            )

    def _holds_a_step(self, low: float, high: float) -> bool:
        """Whether a whole multiple of the step lies within limits."""
        if np.isinf(low) or np.isinf(high) or self.step is None:
            return True
        near, (top, bottom) = np.rint(low / self.step), self.fraction
        return any(low <= place * top / bottom <= high for place in (near, near + 1))

    def _check_range(self, admissible: tuple[Any, ...]) -> None:
        if self.is_categorical:
            unknown = [c for c in admissible if c not in self.categories]
            if unknown or not admissible:
                raise ValueError(
                    f"ranges[{self.name!r}] must name known categories, got {unknown or 'none'}. "
                    f"Known: {listed(self.categories)}."
                )
            return
        numbers = [isinstance(end, int | float | np.number) for end in admissible]
        if len(numbers) != 2 or not all(numbers) or not admissible[0] <= admissible[1]:
            raise ValueError(
                f"ranges[{self.name!r}] must be a pair of numbers (low, high), got {listed(admissible)}. "
                f"An open end is -inf or inf."
            )
        if not self._holds_a_step(*admissible):
            raise ValueError(
                f"ranges[{self.name!r}] = {admissible!r} holds no whole multiple of its step {self.step}. "
                f"Widen the range."
            )


def said(value: Any) -> str:
    """Write a value as plain Python does."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def listed(values: Sequence[Any], most: int = 20) -> str:
    """List values, but not a thousand of them."""
    listed = ", ".join(said(value) for value in values[:most])
    return f"[{listed}{f', … ({len(values)} in all)' if len(values) > most else ''}]"
