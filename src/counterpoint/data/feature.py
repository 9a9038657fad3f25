"""What a column is: its kind, its range, its categories, its step, and whether and how it may change."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.costs import PLAIN, Cost
from counterpoint.data.dates import Calendar
from counterpoint.data.marks import MARKS
from counterpoint.data.problems import listed
from counterpoint.data.written import WRITTEN, write

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
        Smallest and largest known value (continuous). Candidates stay within them unless ``range`` is given.
    range
        The user's admissible values: a pair (continuous) or the allowed categories (categorical). An open
        end, -inf or inf, lies beyond the known values by their full spread.
    step
        Continuous values are whole multiples of the step; 1 for integers, None for no step.
    categories
        The known categories in code order. None is a missing category, once per mark in ``missing_as``.
    ordered
        Whether the order of the categories has a meaning: they can rise and fall, and a step to the next
        category is a smaller change than one to the last. A missing category comes last.
    moment
        For a column of dates, how they are counted: ``"date"`` for days, or a name such as
        ``"datetime64[us, UTC]"`` or ``"datetime[us]"``. All numbers of the feature are then such counts since
        the start of 1970. The range may be given as dates and the step as a timedelta; it is a day if not
        given.
    missing
        Whether the number is missing in some known instances.
    missing_as
        The marks for missing values, in order of appearance: ``"nan"``, ``"None"``, ``"NA"`` (also null).
    written
        How the numbers of an object column are written: ``"int"``, ``"float"``, ``"int or float"`` or
        ``"Decimal"``. By default ints if there is a step, else floats.
    may_go_missing
        Whether a counterfactual may lose a value that x has, if it is missing in known instances.
    immutable
        A counterfactual keeps x's value.
    direction
        1: may only rise, -1: may only fall, 0: may do both.
    cost
        What changes cost, relative to the distance: a `Cost`.
    max_change
        The most that the value may change, up or down: a number, or a share of x's value such as ``"20%"``;
        in ranks for ordered categories.
    follows
        Whether its value is computed from other features: it changes with them, and not by itself.

    Examples
    --------
    >>> Feature("age", seen=(18, 90), step=1, direction=1)
    Feature(name='age', kind='continuous', seen=(18, 90), ...direction=1, ...)
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
    cost: Cost = PLAIN
    max_change: float | str | None = None
    moment: str = ""
    follows: bool = False

    def __post_init__(self) -> None:
        if self.calendar is not None:
            self._count_dates(self.calendar)
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
            raise ValueError(f"{self.name!r} cannot be both immutable and one-way; remove one of the two.")
        if self.range is not None:
            self._check_range(self.range)
        if self.follows and (
            self.immutable or self.direction or self.max_change is not None or not self.cost.is_plain
        ):
            raise ValueError(
                f"{self.name!r} follows other features and is not changed by itself, so its only constraint "
                f"can be a range. Constrain the features that it follows."
            )
        if self.max_change is not None:
            self._check_max_change()
        if not self.cost.is_plain:
            self._check_cost()

    @property
    def is_categorical(self) -> bool:
        """Whether its values are categories."""
        return self.kind == "categorical"

    @property
    def may_change(self) -> bool:
        """Whether a counterfactual may change it by itself."""
        fixed = self.immutable or self.cost.is_never or (self.never_rises and self.never_falls)
        return not (fixed or self.follows)

    @property
    def never_rises(self) -> bool:
        """Whether its value may not rise: by its direction, or at any cost."""
        return self.direction < 0 or self.cost.never_rises

    @property
    def never_falls(self) -> bool:
        """Whether its value may not fall: by its direction, or at any cost."""
        return self.direction > 0 or self.cost.never_falls

    @cached_property
    def reach(self) -> tuple[float, float]:
        """The most that the value may change: an amount, and a share of x's value; inf for no limit.

        Examples
        --------
        >>> Feature("age", max_change=5).reach, Feature("income", max_change="20%").reach
        ((5.0, inf), (inf, 0.2))
        """
        if self.max_change is None:
            return np.inf, np.inf
        if isinstance(self.max_change, str):
            return np.inf, float(self.max_change.strip().removesuffix("%")) / 100
        return float(self.max_change), np.inf

    @cached_property
    def calendar(self) -> Calendar | None:
        """How its dates are counted; None if it holds no dates."""
        return Calendar.named(self.moment) if self.moment else None

    def _count_dates(self, calendar: Calendar) -> None:
        """Turn a step given as a duration and ends given as dates into numbers."""
        if self.step is None or isinstance(self.step, timedelta | np.timedelta64):
            length = timedelta(days=1) if self.step is None else self.step
            object.__setattr__(self, "step", calendar.step(length))
        if self.range is not None:
            ends = tuple(_end(self.name, end, calendar) for end in self.range)
            object.__setattr__(self, "range", ends)

    @property
    def is_ranked(self) -> bool:
        """Whether its values are categories that are searched along their order, as numbers are.

        Two categories have nothing between them, and an immutable feature may hold categories without a rank.
        """
        return self.is_categorical and self.ordered and not self.immutable and len(self.index) > 2

    @property
    def first_gap(self) -> float:
        """The first code of an ordered feature that stands for no category; infinite for any other."""
        return float(len(self.index)) if self.ordered and self.gaps else np.inf

    def label(self, value: float) -> Any:
        """Turn one number of a row back into the value it stands for."""
        if self.is_categorical:
            return self.categories[int(value)]
        if np.isnan(value):
            return None
        if self.calendar is not None:
            return self.calendar.label(value)
        return int(value) if self.step is not None and float(value).is_integer() else float(value)

    def write(self, number: float) -> Any:
        """Write a number as an object column holds it."""
        if self.calendar is not None:
            return self.calendar.label(number)
        return write(number, self.written or ("float" if self.step is None else "int"), self.step)

    def allows(self, category: Any) -> bool:
        """Whether a category is among the admissible ones."""
        return self.range is None or category_key(category) in self._allowed

    def codes_of(self, categories: Iterable[Any]) -> tuple[int, ...]:
        """Find the codes of known categories.

        Examples
        --------
        >>> Feature("job", kind="categorical", categories=("clerk", "smith")).codes_of(["smith"])
        (1,)
        """
        keys = [category_key(category) for category in self.categories]
        return tuple(keys.index(self._meant(category)) for category in categories)

    def knows(self, category: Any) -> bool:
        """Whether a category is among the known ones."""
        try:
            return self._meant(category) in self._keys
        except TypeError:  # it is unhashable, so it is not a known category
            return False

    @property
    def may_lose(self) -> bool:
        """Whether a counterfactual may lose a value that x has: on request, or if the range lists None."""
        if self.never_rises or self.never_falls or self.max_change is not None:
            return False
        if self.range is not None:
            return None in self.range
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
        """The categories that are not missing, for looking up values."""
        return pd.Index([c for c in self.categories if c is not None], dtype=object)

    @cached_property
    def index_codes(self) -> NDArray[np.int64]:
        """The codes of the categories in `index`."""
        return np.array([i for i, c in enumerate(self.categories) if c is not None], dtype=np.int64)

    @cached_property
    def gaps(self) -> dict[str, int]:
        """The code of the missing category for each mark."""
        codes = [code for code, category in enumerate(self.categories) if category is None]
        return dict(zip(self.missing_as, codes, strict=False))

    @cached_property
    def by_type(self) -> dict[type, tuple[pd.Index, NDArray[np.int64]]]:
        """`index` and `index_codes` per type: True, 1 and 1.0 are equal, but not the same category."""
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
        """Return the key of the category that is meant: one of the same type, else one that is equal."""
        key = category_key(category)
        return key if key in self._keys else category_key(self._equal.get(category, category))

    def in_order(self, order: Any) -> Feature:
        """Return the same feature with its categories in the given order, from the lowest to the highest.

        Examples
        --------
        >>> size = Feature("size", kind="categorical", categories=("large", "medium", "small"))
        >>> size.in_order(["small", "medium", "large"]).categories
        ('small', 'medium', 'large')
        """
        if not self.is_categorical:
            raise ValueError(
                f"order[{self.name!r}] lists categories, but it is a number. Name it in categorical= too."
            )
        if isinstance(order, str) or not isinstance(order, Iterable):
            raise TypeError(
                f"order[{self.name!r}] must list its categories from the lowest to the highest, "
                f"got {order!r}."
            )
        given = list(order)
        is_known = [category is not None and self.knows(category) for category in given]
        unknown = [category for category, known in zip(given, is_known, strict=True) if not known]
        keys = [self._meant(category) for category, known in zip(given, is_known, strict=True) if known]
        known = {category_key(category): category for category in self.categories if category is not None}
        left_out = [category for key, category in known.items() if key not in keys]
        if unknown or left_out or len(set(keys)) < len(keys):
            raise ValueError(
                f"order[{self.name!r}] must list each known category once, from the lowest to the highest, "
                f"got {listed(given)}. Unknown: {listed(unknown)}. Left out: {listed(left_out)}."
            )
        gaps = [category for category in self.categories if category is None]
        return replace(self, categories=(*(known[key] for key in keys), *gaps), ordered=True)

    def _check_categories(self) -> None:
        known = [category_key(category) for category in self.categories if category is not None]
        if not self.categories or len(set(known)) < len(known) or not self._has_marks:
            raise ValueError(
                f"{self.name!r} is categorical, so its categories must be given, each once (None once per "
                f"mark in missing_as), got {listed(self.categories)}."
            )
        if self.direction and not self.ordered:
            raise ValueError(
                f"{self.name!r} is one-way, but its categories have no order. Give it in order=, from the "
                f"lowest to the highest, or give the column an ordered categorical dtype."
            )
        if self.ordered and not self.immutable and None in self.categories[: len(self.index)]:
            raise ValueError(
                f"{self.name!r} is ordered, so None must come after its categories, got "
                f"{listed(self.categories)}."
            )

    @property
    def _has_marks(self) -> bool:
        """Whether there is one mark per missing category; it need not be given for at most one."""
        gaps = sum(category is None for category in self.categories)
        return gaps <= 1 or gaps == len(set(self.missing_as)) == len(self.missing_as)

    def _holds_a_step(self, low: float, high: float) -> bool:
        """Whether a whole multiple of the step lies within limits."""
        if np.isinf(low) or np.isinf(high) or self.step is None:
            return True
        near, (top, bottom) = np.rint(low / self.step), self.fraction
        return any(low <= count * top / bottom <= high for count in (near, near + 1))

    def _check_max_change(self) -> None:
        if self.is_categorical and not self.ordered:
            raise ValueError(
                f"max_change[{self.name!r}] is for numbers and ordered categories, and its categories have "
                f"no order. Use ranges, or costs with a table of changes."
            )
        try:
            if isinstance(self.max_change, str) and not self.max_change.strip().endswith("%"):
                raise ValueError
            amounts = np.array(self.reach, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"max_change[{self.name!r}] must be a number, or a share of x's value such as '20%', "
                f"got {self.max_change!r}."
            ) from None
        if not (amounts >= 0).all():
            raise ValueError(f"max_change[{self.name!r}] must be at least 0, got {self.max_change!r}.")
        if self.is_categorical and np.isfinite(amounts[1]):
            raise ValueError(
                f"max_change[{self.name!r}] counts the ranks of ordered categories, so it must be a whole "
                f"number, got {self.max_change!r}."
            )

    def _shown(self, ends: tuple[Any, ...]) -> str:
        """Show the ends of a range."""
        if self.calendar is None:
            return repr(ends)
        return f"({', '.join(self.calendar.texts(np.array(ends, dtype=np.float64), 'missing'))})"

    @property
    def _shown_step(self) -> str:
        if self.calendar is None or self.step is None:
            return str(self.step)
        return str(timedelta(days=self.step / self.calendar.per_day))

    def _check_cost(self) -> None:
        cost = self.cost
        if not self.is_categorical and cost.has_table:
            raise ValueError(
                f"costs[{self.name!r}] has costs of changes between categories, but it holds numbers. Use "
                f"Cost(up=, down=)."
            )
        if self.is_categorical and not self.ordered and cost.up != cost.down:
            raise ValueError(
                f"costs[{self.name!r}] has costs up and down, but its categories have no order. Use one "
                f"cost, or Cost(changes=)."
            )
        unknown = [category for category in cost.categories if not self.knows(category)]
        if unknown:
            raise ValueError(
                f"costs[{self.name!r}] must name known categories, got {listed(unknown)}. "
                f"Known: {listed(self.categories)}."
            )

    def _check_range(self, admissible: tuple[Any, ...]) -> None:
        if self.is_categorical:
            unknown = [c for c in admissible if not self.knows(c)]
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
                f"ranges[{self.name!r}] = {self._shown(admissible)} contains no whole multiple of its step "
                f"{self._shown_step}. Widen the range."
            )


def _end(name: Any, end: Any, calendar: Calendar) -> Any:
    """Count the end of a range of dates; numbers are counts already, and infinite ends are open."""
    if isinstance(end, int | float | np.number):
        return end
    try:
        return calendar.number(end)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"ranges[{name!r}] must be a pair of dates (low, high): {error} An open end is -inf or inf."
        ) from None


def category_key(category: Any) -> Hashable:
    """Return a key that is equal for the same category only: True, 1 and 1.0 are three categories.

    Examples
    --------
    >>> category_key(1) == category_key(np.int64(1)), category_key(1) == category_key(True)
    (True, False)
    """
    plain = category.item() if isinstance(category, np.generic) else category
    return type(plain), plain
