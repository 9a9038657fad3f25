"""All columns of a table, and the way from the caller's table to rows and back.

A `Schema` turns the caller's table into rows and back. A row is a float vector with one place a feature:
numbers as they are, categories as codes, a missing number as NaN, a missing category as a code of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.feature import EXACT, MARKS, Feature, Row, Rows, listed
from counterpoint.tables import Column, Form, is_missing, missing_value

__all__ = ["EXACT", "Feature", "Row", "Rows", "Schema"]


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

    def __post_init__(self) -> None:
        if tuple(feature.name for feature in self.features) != self.form.names:
            raise ValueError(
                f"A schema must have one feature a column, in order: columns {list(self.form.names)}, "
                f"features {[feature.name for feature in self.features]}."
            )
        for place, feature in enumerate(self.features):
            if not feature.is_categorical:
                _check_number_column(feature, self.form, place)

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
            size = f"{len(columns[0]) if columns else 0} rows and {len(columns)} columns"
            raise ValueError(f"X must hold at least one known instance and one feature, got {size}.")
        named = set(_resolve(categorical or (), form, "categorical"))
        features = tuple(
            _infer_feature(form, place, column, form.names[place] in named)
            for place, column in enumerate(columns)
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
        limits = _resolve_ranges(ranges or {}, self)
        changed = []
        for feature in self.features:
            name, way = feature.name, feature.direction
            up, down = way > 0 or name in rising, way < 0 or name in falling
            if up and down:
                raise ValueError(
                    f"{name!r} may only rise and may only fall, so it could never change; "
                    f"drop it from increase or decrease, or name it in immutable instead."
                )
            changed.append(
                replace(
                    feature,
                    immutable=feature.immutable or name in frozen,
                    range=limits.get(name, feature.range),
                    direction=up - down,
                )
            )
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

    def seen_in(self, rows: Rows) -> Schema:
        """Learn the smallest and largest known value of features that were made without them.

        Examples
        --------
        >>> schema = Schema((Feature("x0"),), Form.of(np.zeros((1, 1))))
        >>> schema.seen_in(np.array([[2.0], [7.0]])).features[0].seen
        (2.0, 7.0)
        """
        features = list(self.features)
        for place in self.continuous.tolist():
            known = rows[~np.isnan(rows[:, place]), place]
            if np.isinf(features[place].seen).any() and len(known):
                features[place] = replace(features[place], seen=(float(known.min()), float(known.max())))
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
        if self._is_matrix:
            return self.form.build_array(rows)
        return self.form.build([self._decoded(place, rows[:, place]) for place in range(len(self.features))])

    def _decoded(self, place: int, values: Row) -> Any:
        feature = self.features[place]
        if feature.is_categorical:
            return self.form.pick(self._templates[place], values.astype(np.intp))
        return self.form.number_column(place, values, feature.step is not None, MARKS[feature.missing_as])

    @cached_property
    def _is_matrix(self) -> bool:
        """Whether the caller's tables are arrays of numbers, which need no look at each column."""
        plain = self.form.kind == "array" and self.form.number_type(0) is not None if self.features else False
        return plain and not len(self.categorical)

    @cached_property
    def _templates(self) -> dict[int, Any]:
        return {
            place: self.form.template(place, feature.categories, MARKS[feature.missing_as])
            for place, feature in enumerate(self.features)
            if feature.is_categorical
        }

    def _stack(self, columns: list[Column], what: str) -> Rows:
        rows = [feature.encode(column, what) for feature, column in zip(self.features, columns, strict=True)]
        for place in self.continuous:
            rows[place] = _held(self.features[place], rows[place], self.form.number_type(place), what)
        return np.column_stack(rows)


def _held(feature: Feature, numbers: Row, dtype: np.dtype[Any] | None, what: str) -> Row:
    """Bring numbers to what their column's dtype can hold, so that the model is asked about nothing else."""
    if dtype is None or (dtype.kind == "f" and dtype.itemsize >= 8):
        return numbers
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            held = numbers.astype(dtype).astype(np.float64)
        lost, rule = np.isinf(held), f"numbers of {dtype}"
    else:
        limits = np.iinfo(dtype)
        held = numbers
        lost = (numbers != np.rint(numbers)) | (numbers < limits.min) | (numbers > limits.max)
        lost, rule = lost & ~np.isnan(numbers), f"whole numbers ({dtype})"
    if lost.any():
        raise ValueError(
            f"{what} has {numbers[np.argmax(lost)].item()!r} in {feature.name!r}, which holds {rule}. "
            f"Give such a one, or make the column float64 and fit again."
        )
    return held


def _check_number_column(feature: Feature, form: Form, place: int) -> None:
    """Refuse a continuous feature whose values its column could not hold."""
    dtype = form.number_type(place)
    given = form.dtypes[place]
    if dtype is None and given != np.object_ and not str(given).startswith("Decimal"):
        raise TypeError(
            f"{feature.name!r} is continuous, but its column holds {given}. Make it categorical, "
            f"or turn the column into numbers."
        )
    if dtype is not None and dtype.kind in "iu" and not (feature.step and float(feature.step).is_integer()):
        raise ValueError(
            f"{feature.name!r} holds whole numbers ({given}), so its step must be a whole number, "
            f"got {feature.step}. Give step=1, or make the column float64."
        )


def _infer_feature(form: Form, place: int, values: Column, categorical: bool) -> Feature:
    """Learn what one column is."""
    name, dtype = form.names[place], form.dtypes[place]
    missing = is_missing(values)
    known = values[~missing]
    _refuse_dates(name, known, dtype)
    held = form.number_type(place)
    kind = _object_kind(known) if dtype == np.object_ else held.kind if held else values.dtype.kind
    mark = missing_value(values)
    missing_as: Any = next((text for text, value in MARKS.items() if value is mark), "nan")
    if categorical or kind not in "iuf":
        return _categorical_feature(name, known, dtype, bool(missing.any()), missing_as)
    if not len(known):
        raise ValueError(f"{name!r} holds no value at all in X; drop it.")
    digits = 0 if kind in "iu" else getattr(dtype, "scale", None)  # a polars Decimal has a scale
    step = None if digits is None else 10**-digits
    feature = Feature(name, step=step, missing=bool(missing.any()), missing_as=missing_as)
    numbers = feature.encode(values)
    return replace(feature, seen=(float(np.nanmin(numbers)), float(np.nanmax(numbers))))


def _object_kind(known: Column) -> str:
    """Tell the kind of the values of an object column, as numpy names kinds."""
    if not len(known) or not all(isinstance(v, int | float | np.number | np.bool_) for v in known):
        return "O"
    if all(isinstance(v, bool | np.bool_) for v in known):
        return "b"
    return "i" if all(isinstance(v, int | np.integer) for v in known) else "f"


def _refuse_dates(name: Any, known: Column, dtype: Any) -> None:
    """Refuse values that are neither numbers nor categories."""
    first = known[0] if len(known) else None
    if known.dtype.kind in "mM" or isinstance(first, date | time | timedelta | pd.Period):
        raise TypeError(
            f"{name!r} holds dates or times ({dtype}). "
            f"Turn it into a number, such as days since a fixed date."
        )
    if known.dtype.kind == "c":
        raise TypeError(f"{name!r} holds complex numbers; give real ones.")
    if known.dtype == object:
        for value in known:
            if getattr(type(value), "__hash__", None) is None:
                raise TypeError(
                    f"{name!r} holds a {type(value).__name__} in each cell ({dtype}). "
                    f"Turn it into columns of numbers or categories."
                )


def _categorical_feature(name: Any, known: Column, dtype: Any, missing: bool, missing_as: Any) -> Feature:
    """Learn the categories of a column: those its dtype declares, else those it holds."""
    declared: Any = getattr(dtype, "categories", None)
    # A polars Categorical shares its pool with all other frames; only an Enum declares its own.
    enum = type(declared).__module__.startswith("polars") and type(dtype).__name__ == "Enum"
    if isinstance(declared, pd.Index) or enum:
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
        ordered=enum or bool(getattr(dtype, "ordered", False)),
        missing_as=missing_as,
    )


def _resolve(names: Iterable[Any], form: Form, argument: str) -> list[Any]:
    """Check that names are features; columns of an array may also be named by their place."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be a list of feature names, got {names!r}.")
    known = list(form.names)
    count = len(known) if form.kind == "array" else 0
    resolved = [
        known[name]
        if isinstance(name, int | np.integer) and not isinstance(name, bool) and -count <= name < count
        else name
        for name in names
    ]
    unknown = [name for name in resolved if name not in known]
    if unknown:
        raise ValueError(
            f"{argument} must name known features, got {listed(unknown)}. Known: {listed(known)}."
        )
    repeated = list(dict.fromkeys(name for name in resolved if resolved.count(name) > 1))
    if repeated:
        raise ValueError(f"{argument} must name each feature once, got {listed(repeated)} more than once.")
    return resolved


def _resolve_ranges(ranges: Mapping[Any, Any], schema: Schema) -> dict[Any, tuple[Any, ...]]:
    """Read the admissible values a feature."""
    if not isinstance(ranges, Mapping):
        raise TypeError(f"ranges must map feature names to admissible values, got {ranges!r}.")
    names = _resolve(ranges, schema.form, "ranges")
    features = {feature.name: feature for feature in schema.features}
    limits = {}
    for name, admissible in zip(names, ranges.values(), strict=True):
        if isinstance(admissible, str) or not isinstance(admissible, Iterable):
            asked = "a list of categories" if features[name].is_categorical else "a pair (low, high)"
            raise TypeError(f"ranges[{name!r}] must be {asked}, got {admissible!r}.")
        values = [v.item() if isinstance(v, np.generic) else v for v in admissible]
        missing = is_missing(np.fromiter(values, dtype=object, count=len(values)))
        limits[name] = tuple(
            None if features[name].is_categorical and gone else value
            for value, gone in zip(values, missing, strict=True)
        )
    return limits
