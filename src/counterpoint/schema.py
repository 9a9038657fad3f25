"""What a column is: its kind, its range, its categories, its step, and whether and how it may change.

A `Schema` turns the caller's table into rows and back. A row is a float vector with one place a feature:
numbers as they are, categories as codes, a missing number as NaN, a missing category as a code of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.tables import Column, Form, is_missing

Rows = NDArray[np.float64]
Row = NDArray[np.float64]

# Above this, a float64 no longer holds every whole number, and an immutable id could change unseen.
EXACT = 2**53


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
        Admissible values from the user: a pair (continuous) or the allowed categories (categorical).
    step
        Continuous values are whole multiples of it; 1 for integers, None for no step.
    categories
        The known categories in code order; None stands for a missing one.
    ordered
        Whether the categories' order means something, so that they can rise and fall.
    missing
        Whether a number may be missing.
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
    immutable: bool = False
    direction: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("continuous", "categorical"):
            raise ValueError(
                f"{self.name!r}: kind must be 'continuous' or 'categorical', got {self.kind!r}."
            )
        if self.step is not None and not self.step > 0:
            raise ValueError(f"{self.name!r}: step must be positive, got {self.step}.")
        if self.direction and self.immutable:
            raise ValueError(f"{self.name!r} cannot be both immutable and one-way; drop it from one of them.")
        if self.direction and self.is_categorical and not self.ordered:
            raise ValueError(
                f"{self.name!r} is one-way, but its categories have no order. Give the column an ordered "
                f"categorical dtype, or a Schema whose feature has ordered=True."
            )
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
    def _index(self) -> pd.Index:
        return pd.Index([c for c in self.categories if c is not None], dtype=object)

    @cached_property
    def _index_codes(self) -> NDArray[np.int64]:
        return np.array([i for i, c in enumerate(self.categories) if c is not None], dtype=np.int64)

    def _encode_categories(self, values: Column, what: str) -> Row:
        places = self._index.get_indexer(pd.Index(np.asarray(values, dtype=object), dtype=object))
        codes = np.append(self._index_codes, -1)[places].astype(np.float64)
        missing = is_missing(values)
        if missing.any():
            if None not in self.categories:
                raise ValueError(
                    f"{what} has a missing value in {self.name!r}, which no known instance has. "
                    f"Known: {list(self.categories)}."
                )
            codes[missing] = self.categories.index(None)
        if (codes < 0).any():
            value = values[np.argmax(codes < 0)]
            raise ValueError(
                f"{what} has the category {value!r} in {self.name!r}, which no known instance has. "
                f"Known: {list(self.categories)}."
            )
        return codes

    def _numbers(self, values: Column, what: str) -> Row:
        missing = is_missing(values)
        try:
            numbers = np.where(missing, np.nan, values).astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"{what} must hold numbers in {self.name!r}, got {values[~missing][0]!r}. "
                f"If it is a category, name it in categorical=."
            ) from None
        if missing.any() and not self.missing:
            raise ValueError(f"{what} has a missing value in {self.name!r}, which no known instance has.")
        if np.isinf(numbers).any():
            raise ValueError(f"{what} has an infinite value in {self.name!r}; replace it by a number or NaN.")
        if (np.abs(numbers[~missing]) > EXACT).any() and values.dtype.kind in "iuO":
            raise ValueError(
                f"{what} holds whole numbers beyond 2**53 in {self.name!r}, which are not exact as floats. "
                f"Drop the feature if it is an id, or name it in categorical=."
            )
        return numbers

    def _check_range(self, admissible: tuple[Any, ...]) -> None:
        if self.is_categorical:
            unknown = [c for c in admissible if c not in self.categories]
            if unknown or not admissible:
                raise ValueError(
                    f"ranges[{self.name!r}] must name known categories, got {unknown or 'none'}. "
                    f"Known: {list(self.categories)}."
                )
            return
        if len(admissible) != 2 or not admissible[0] <= admissible[1]:
            raise ValueError(f"ranges[{self.name!r}] must be a pair (low, high), got {admissible!r}.")
        low, high = admissible
        if self.step is not None and np.floor(high / self.step) * self.step < low:
            raise ValueError(
                f"ranges[{self.name!r}] = {admissible!r} holds no whole multiple of its step {self.step}."
            )


@dataclass(frozen=True)
class Schema:
    """All columns of a table, and the form the caller's tables have.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]})
    >>> schema = Schema.infer(people, immutable=["age"])
    >>> schema.encode(people)
    array([[31.,  0.],
           [45.,  1.]])
    >>> schema.decode(schema.encode(people)).equals(people)
    True
    """

    features: tuple[Feature, ...]
    form: Form

    @classmethod
    def infer(
        cls,
        X: Any,
        *,
        categorical: Iterable[Any] | None = None,
        immutable: Iterable[Any] = (),
        ranges: Mapping[Any, Sequence[Any]] | None = None,
        increase: Iterable[Any] = (),
        decrease: Iterable[Any] = (),
    ) -> Schema:
        """Learn what each column of X is: floats continuous, integers stepped, the rest categorical."""
        form = Form.of(X)
        columns = form.columns(X)
        if not columns or not len(columns[0]):
            raise ValueError("X must hold at least one known instance and one feature, got an empty table.")
        named = set(_resolve(categorical or (), form, "categorical"))
        features = tuple(
            _infer_feature(name, column, dtype, name in named)
            for name, column, dtype in zip(form.names, columns, form.dtypes, strict=True)
        )
        return cls(features, form).constrain(
            immutable=immutable, ranges=ranges, increase=increase, decrease=decrease
        )

    def constrain(
        self,
        *,
        immutable: Iterable[Any] = (),
        ranges: Mapping[Any, Sequence[Any]] | None = None,
        increase: Iterable[Any] = (),
        decrease: Iterable[Any] = (),
    ) -> Schema:
        """Return a schema with further constraints on what a counterfactual may change.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "hours": [20, 40]}))
        >>> schema.constrain(immutable=["age"], ranges={"hours": (10, 50)}).actionable
        (1,)
        """
        frozen = _resolve(immutable, self.form, "immutable")
        rising = _resolve(increase, self.form, "increase")
        falling = _resolve(decrease, self.form, "decrease")
        limits = dict(zip(_resolve(ranges or {}, self.form, "ranges"), (ranges or {}).values(), strict=True))
        both = [name for name in rising if name in set(falling)]
        if both:
            raise ValueError(f"{both} cannot be in both increase and decrease.")
        changed = [
            replace(
                feature,
                immutable=feature.immutable or feature.name in frozen,
                range=tuple(limits[feature.name]) if feature.name in limits else feature.range,
                direction=(feature.name in rising) - (feature.name in falling) or feature.direction,
            )
            for feature in self.features
        ]
        return replace(self, features=tuple(changed))

    def replace(self, name: Any, **changes: Any) -> Schema:
        """Return a schema in which one feature is changed.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = Schema.infer(pd.DataFrame({"amount": [100, 900]}))
        >>> schema.replace("amount", step=100).features[0].step
        100
        """
        (name,) = _resolve([name], self.form, "name")
        features = [replace(f, **changes) if f.name == name else f for f in self.features]
        return replace(self, features=tuple(features))

    @property
    def names(self) -> tuple[Any, ...]:
        """The features' names, in order."""
        return self.form.names

    @cached_property
    def continuous(self) -> NDArray[np.intp]:
        """The places of the continuous features."""
        return np.array([i for i, f in enumerate(self.features) if not f.is_categorical], dtype=np.intp)

    @cached_property
    def categorical(self) -> NDArray[np.intp]:
        """The places of the categorical features."""
        return np.array([i for i, f in enumerate(self.features) if f.is_categorical], dtype=np.intp)

    @cached_property
    def actionable(self) -> tuple[int, ...]:
        """The places of the features that may change: the paper's A."""
        return tuple(i for i, feature in enumerate(self.features) if not feature.immutable)

    def encode(self, X: Any, what: str = "X") -> Rows:
        """Turn a table of the caller's into rows."""
        return self._stack(self.form.columns(X, what), what)

    def encode_one(self, x: Any) -> Row:
        """Turn one instance (dict, Series, one-row table or vector) into a row."""
        return np.asarray(self._stack(self.form.one_row(x), "x")[0])

    def decode(self, rows: Rows) -> Any:
        """Turn rows into a table with the caller's columns and dtypes."""
        columns = [
            self.form.pick(self._templates[i], rows[:, i].astype(np.intp))
            if feature.is_categorical
            else self.form.number_column(i, rows[:, i])
            for i, feature in enumerate(self.features)
        ]
        return self.form.build(columns)

    @cached_property
    def _templates(self) -> dict[int, Any]:
        return {
            i: self.form.template(i, f.categories) for i, f in enumerate(self.features) if f.is_categorical
        }

    def _stack(self, columns: list[Column], what: str) -> Rows:
        pairs = zip(self.features, columns, strict=True)
        return np.column_stack([feature.encode(column, what) for feature, column in pairs])


def _infer_feature(name: Any, values: Column, dtype: Any, categorical: bool) -> Feature:
    """Learn what one column is."""
    kind = values.dtype.kind
    missing = is_missing(values)
    known = values[~missing]
    if kind in "mM" or (len(known) and kind == "O" and hasattr(known[0], "year")):
        raise TypeError(
            f"{name!r} holds dates ({dtype}). Turn it into a number, such as days since a fixed date."
        )
    if kind == "c":
        raise TypeError(f"{name!r} holds complex numbers; give real ones.")
    if kind == "O" and len(known) and all(isinstance(v, int | float | np.number) for v in known):
        whole = all(isinstance(v, int | np.integer) for v in known)
        kind = "b" if all(isinstance(v, bool | np.bool_) for v in known) else "i" if whole else "f"
    if categorical or kind not in "iuf":
        return _categorical_feature(name, known, dtype, bool(missing.any()))
    if not len(known):
        raise ValueError(f"{name!r} holds no value at all in X; drop it.")
    feature = Feature(name, step=1 if kind in "iu" else None, missing=bool(missing.any()))
    numbers = feature.encode(values)
    return replace(feature, seen=(float(np.nanmin(numbers)), float(np.nanmax(numbers))))


def _categorical_feature(name: Any, known: Column, dtype: Any, missing: bool) -> Feature:
    """Learn the categories of a column: those its dtype declares, else those it holds."""
    declared = getattr(dtype, "categories", None)
    if declared is not None:
        categories = tuple(declared)
    else:
        distinct = list(dict.fromkeys(v.item() if isinstance(v, np.generic) else v for v in known))
        try:
            categories = tuple(sorted(distinct))
        except TypeError:
            categories = tuple(sorted(distinct, key=str))
    return Feature(
        name,
        kind="categorical",
        categories=(*categories, None) if missing else categories,
        ordered=bool(getattr(dtype, "ordered", False)),
    )


def _resolve(names: Iterable[Any], form: Form, argument: str) -> list[Any]:
    """Check that names are features; columns of an array may also be named by their place."""
    if isinstance(names, str):
        raise TypeError(f"{argument} must be a list of feature names, got the single text {names!r}.")
    known = set(form.names)
    resolved = [
        form.names[name]
        if form.kind == "array" and isinstance(name, int | np.integer) and -len(known) <= name < len(known)
        else name
        for name in names
    ]
    unknown = [name for name in resolved if name not in known]
    if unknown:
        raise ValueError(f"{argument} must name known features, got {unknown}. Known: {list(form.names)}.")
    return resolved
