"""What a column is: its kind, its range, its categories, its step, and whether and how it may change."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.problems import listed

Rows = NDArray[np.float64]
Row = NDArray[np.float64]
Mask = NDArray[np.bool_]

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

    def label(self, value: float) -> Any:
        """Turn one place of a row back into the value a person knows."""
        if self.is_categorical:
            return self.categories[int(value)]
        if np.isnan(value):
            return None
        return int(value) if self.step is not None and float(value).is_integer() else float(value)

    def allows(self, category: Any) -> bool:
        """Whether a category is among the admissible ones."""
        return self.range is None or category_key(category) in self._allowed

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
    def index(self) -> pd.Index:
        """The categories that are not missing, to look up values in."""
        return pd.Index([c for c in self.categories if c is not None], dtype=object)

    @cached_property
    def index_codes(self) -> NDArray[np.int64]:
        """The codes of the categories in `index`."""
        return np.array([i for i, c in enumerate(self.categories) if c is not None], dtype=np.int64)

    @cached_property
    def missing_code(self) -> int | None:
        """The code of the missing category, if there is one."""
        return next((code for code, category in enumerate(self.categories) if category is None), None)

    @cached_property
    def _allowed(self) -> frozenset[Hashable]:
        return frozenset(map(category_key, self.range or ()))

    def _check_categories(self) -> None:
        distinct = {(type(category), category) for category in self.categories}
        if not self.categories or len(distinct) < len(self.categories):
            raise ValueError(
                f"{self.name!r} is categorical, so its categories must be given, each once, "
                f"got {listed(self.categories)}."
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
            known = set(map(category_key, self.categories))
            unknown = [c for c in admissible if not _is_in(c, known)]
            if unknown or not admissible:
                got = listed(unknown) if unknown else "none"
                raise ValueError(
                    f"ranges[{self.name!r}] must name known categories, got {got}. "
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


def _is_in(category: Any, known: set[Hashable]) -> bool:
    try:
        return category_key(category) in known
    except TypeError:  # it cannot be looked up, so it is not there
        return False


def category_key(category: Any) -> Hashable:
    """Give what two categories share if they are the same one."""
    key: Hashable = category
    return key
