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

from counterpoint.marks import MARKS
from counterpoint.problems import listed
from counterpoint.written import WRITTEN, write

Rows = NDArray[np.float64]
Row = NDArray[np.float64]
Mask = NDArray[np.bool_]

_CHOICES = {"kind": ("continuous", "categorical"), "direction": (-1, 0, 1), "written": ("", *WRITTEN)}

_GAP = type(None)


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
        The known categories in code order; None stands for a missing one, once for each of its marks.
    ordered
        Whether the categories' order means something, so that they can rise and fall.
    missing
        Whether some known instances miss the number.
    missing_as
        What stands for a missing value, the first found first: ``"nan"``, ``"None"``, ``"NA"`` (also null).
    written
        How the numbers of a column of objects are written: ``"int"``, ``"float"``, ``"int or float"`` or
        ``"Decimal"``; as ints if there is a step, else as floats, if it is not said.
    may_go_missing
        Whether a counterfactual may lose a value that x has, where known instances miss it.
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
    missing_as: tuple[str, ...] = ("nan",)
    written: str = ""
    may_go_missing: bool = False
    immutable: bool = False
    direction: int = 0

    def __post_init__(self) -> None:
        for field, allowed in _CHOICES.items():
            value = getattr(self, field)
            if value not in allowed:
                raise ValueError(f"{self.name!r}: {field} must be one of {allowed}, got {value!r}.")
        if not self.missing_as or not set(self.missing_as) <= set(MARKS):
            raise ValueError(
                f"{self.name!r}: missing_as must list some of {tuple(MARKS)}, got {self.missing_as!r}."
            )
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

    def write(self, number: float) -> Any:
        """Write a number as a column of objects holds it."""
        return write(number, self.written or ("float" if self.step is None else "int"), self.step)

    def allows(self, category: Any) -> bool:
        """Whether a category is among the admissible ones."""
        return self.range is None or category_key(category) in self._allowed

    @property
    def may_lose(self) -> bool:
        """Whether a counterfactual may lose a value that x has: if asked for, or if the range lists None."""
        if self.direction or self.range is not None:
            return not self.direction and None in (self.range or ())
        return self.may_go_missing and (self.missing or None in self.categories)

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
    def gaps(self) -> dict[str, int]:
        """The code of the missing category of each mark."""
        codes = [code for code, category in enumerate(self.categories) if category is None]
        return dict(zip(self.missing_as, codes, strict=False))

    @cached_property
    def by_type(self) -> dict[type, tuple[pd.Index, NDArray[np.int64]]]:
        """The same for the categories of each type: True, 1 and 1.0 are equal, but not the same."""
        kinds = [type(category) for category in self.categories]
        return {
            kind: (self._some(codes), np.array(codes, dtype=np.int64))
            for kind in dict.fromkeys(kinds)
            if (codes := [code for code, each in enumerate(kinds) if each is kind and kind is not _GAP])
        }

    def _some(self, codes: list[int]) -> pd.Index:
        return pd.Index([self.categories[code] for code in codes], dtype=object, tupleize_cols=False)

    @cached_property
    def _allowed(self) -> frozenset[Hashable]:
        return frozenset(map(self._meant, self.range or ()))

    @cached_property
    def _keys(self) -> frozenset[Hashable]:
        return frozenset(map(category_key, self.categories))

    @cached_property
    def _equal(self) -> dict[Any, Any]:
        return {category: category for category in reversed(self.categories)}

    def _meant(self, category: Any) -> Hashable:
        """Give the key of the category that is meant: one of the same type, or else one that is equal."""
        key = category_key(category)
        return key if key in self._keys else category_key(self._equal.get(category, category))

    def _check_categories(self) -> None:
        known = [category_key(category) for category in self.categories if category is not None]
        if not self.categories or len(set(known)) < len(known) or not self._has_marks:
            raise ValueError(
                f"{self.name!r} is categorical, so its categories must be given, each once (None once for "
                f"each mark in missing_as), got {listed(self.categories)}."
            )
        if self.direction and not self.ordered:
            raise ValueError(
                f"{self.name!r} is one-way, but its categories have no order. Give the column an ordered "
                f"categorical dtype, or a Schema whose feature has ordered=True."
            )

    @property
    def _has_marks(self) -> bool:
        """Whether there is one mark for each missing category; of none or one, it need not be said."""
        gaps = sum(category is None for category in self.categories)
        return gaps <= 1 or gaps == len(set(self.missing_as)) == len(self.missing_as)

    def _holds_a_step(self, low: float, high: float) -> bool:
        """Whether a whole multiple of the step lies within limits."""
        if np.isinf(low) or np.isinf(high) or self.step is None:
            return True
        near, (top, bottom) = np.rint(low / self.step), self.fraction
        return any(low <= place * top / bottom <= high for place in (near, near + 1))

    def _knows(self, category: Any) -> bool:
        try:
            return self._meant(category) in self._keys
        except TypeError:  # it cannot be looked up, so it is not there
            return False

    def _check_range(self, admissible: tuple[Any, ...]) -> None:
        if self.is_categorical:
            unknown = [c for c in admissible if not self._knows(c)]
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


def category_key(category: Any) -> Hashable:
    """Give what two categories share if they are the same one: True, 1 and 1.0 are three.

    Examples
    --------
    >>> category_key(1) == category_key(np.int64(1)), category_key(1) == category_key(True)
    (True, False)
    """
    plain = category.item() if isinstance(category, np.generic) else category
    return type(plain), plain
