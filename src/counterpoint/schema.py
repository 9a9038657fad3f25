"""All columns of a table, and the way from the caller's table to rows and back.

A `Schema` turns the caller's table into rows and back. A row is a float vector with one place a feature:
numbers as they are, categories as codes, a missing number as NaN, a missing category as a code of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.feature import EXACT, MARKS, Feature, Row, Rows
from counterpoint.problems import InvalidError, Problem, listed
from counterpoint.reading import Reading, read_column
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
        frozen = set(_resolve(immutable, form, "immutable"))
        features = tuple(
            _infer_feature(form, place, column, name in named, name in frozen)
            for place, (name, column) in enumerate(zip(form.names, columns, strict=True))
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
        frozen = set(_resolve(immutable, self.form, "immutable"))
        rising = set(_resolve(increase, self.form, "increase"))
        falling = set(_resolve(decrease, self.form, "decrease"))
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

    def read(self, X: Any, what: str = "X") -> TableReading:
        """Read a table of the caller's: its rows, what they mean, and what in it cannot be read.

        Examples
        --------
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [31, 45], "name": ["ann", "bob"]})
        >>> reading = Schema.infer(people, immutable=["name"]).read(people.replace("bob", "eve"))
        >>> reading.schema.features[1].categories
        ('ann', 'bob', 'eve')
        >>> Schema.infer(people).read(people.replace("bob", "eve")).problems[0].value
        'eve'
        """
        return self._read(self.form.columns(X, what))

    def read_one(self, x: Any) -> TableReading:
        """Read one instance (dict, Series, one-row table or vector)."""
        return self._read(self.form.one_row(x))

    def encode(self, X: Any, what: str = "X") -> Rows:
        """Turn a table of the caller's into rows of this schema as it is."""
        reading = self.read(X, what).valid(what)
        if reading.schema is not self:
            pairs = zip(self.features, reading.schema.features, strict=True)
            grown = [old.name for old, new in pairs if new is not old]
            raise ValueError(
                f"{what} holds values in {listed(grown)} that this schema does not know. Use read, whose "
                f"answer has a schema that knows them."
            )
        return reading.rows

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

    def _read(self, columns: list[Column]) -> TableReading:
        readings = [
            read_column(feature, column, self.form.number_type(place))
            for place, (feature, column) in enumerate(zip(self.features, columns, strict=True))
        ]
        problems = [
            problem
            for reading, column in zip(readings, columns, strict=True)
            for problem in reading.problems(column)
        ]
        problems.sort(key=lambda problem: problem.row)
        return TableReading(
            self._widened(readings),
            np.column_stack([reading.numbers for reading in readings]),
            tuple(problems),
        )

    def _widened(self, readings: Sequence[Reading]) -> Schema:
        """Give this schema what its immutable features have not seen before."""
        form = self.form
        for place, reading in enumerate(readings):
            if reading.new:
                form = form.holding(place, reading.new)
        features = tuple(reading.feature for reading in readings)
        same = all(new is old for new, old in zip(features, self.features, strict=True))
        return self if same and form is self.form else replace(self, features=features, form=form)


class TableReading(NamedTuple):
    """A table as rows.

    Attributes
    ----------
    schema
        What the rows mean: the schema that read them, widened by what its immutable features had not seen.
    rows
        One row per instance; of no meaning where there is a problem.
    problems
        What could not be read, row by row.
    """

    schema: Schema
    rows: Rows
    problems: tuple[Problem, ...]

    def valid(self, what: str = "X") -> TableReading:
        """Refuse a table that could not be read in full."""
        if self.problems:
            raise InvalidError(self.problems, what)
        return self


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


def _infer_feature(form: Form, place: int, values: Column, categorical: bool, frozen: bool) -> Feature:
    """Learn what one column is; what is frozen may hold anything that can be told apart."""
    name, dtype = form.names[place], form.dtypes[place]
    missing = is_missing(values)
    known = values[~missing]
    _refuse_objects(name, known, dtype)
    if not frozen:
        _refuse_dates(name, known, dtype)
    held = form.number_type(place)
    kind = _object_kind(known) if dtype == np.object_ else held.kind if held else values.dtype.kind
    mark = missing_value(values)
    missing_as: Any = next((text for text, value in MARKS.items() if value is mark), "nan")
    if categorical or kind not in "iuf" or (frozen and _is_no_scale(known, kind)):
        return _categorical_feature(name, known, dtype, bool(missing.any()), missing_as)
    if not len(known):
        raise ValueError(f"{name!r} holds no value at all in X; drop it.")
    digits = 0 if kind in "iu" else getattr(dtype, "scale", None)  # a polars Decimal has a scale
    step = None if digits is None else 10**-digits
    feature = Feature(name, step=step, missing=bool(missing.any()), missing_as=missing_as, immutable=frozen)
    reading = read_column(feature, values)
    if reading.faults:
        raise InvalidError(reading.problems(values))
    finite = reading.numbers[np.isfinite(reading.numbers)]
    return replace(feature, seen=(float(finite.min()), float(finite.max())))


def _is_no_scale(known: Column, kind: str) -> bool:
    """Tell numbers that cannot be measured: ids that are not exact as floats, or none that is finite."""
    if kind == "f":
        return not np.isfinite(known.astype(np.float64)).any()
    return bool(len(known)) and max(abs(int(known.min())), abs(int(known.max()))) > EXACT


def _object_kind(known: Column) -> str:
    """Tell the kind of the values of an object column, as numpy names kinds."""
    if not len(known) or not all(isinstance(v, int | float | np.number | np.bool_) for v in known):
        return "O"
    if all(isinstance(v, bool | np.bool_) for v in known):
        return "b"
    return "i" if all(isinstance(v, int | np.integer) for v in known) else "f"


def _refuse_dates(name: Any, known: Column, dtype: Any) -> None:
    """Refuse dates, which could not change like numbers or categories."""
    first = known[0] if len(known) else None
    if known.dtype.kind in "mM" or isinstance(first, date | time | timedelta | pd.Period):
        raise TypeError(
            f"{name!r} holds dates or times ({dtype}). Turn it into a number, such as days since a fixed "
            f"date, or name it in immutable= if it may not change."
        )


def _refuse_objects(name: Any, known: Column, dtype: Any) -> None:
    """Refuse values that are neither numbers nor categories."""
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
        ordered=enum or bool(getattr(dtype, "ordered", False)) or _are_bools(categories),
        missing_as=missing_as,
    )


def _are_bools(categories: Sequence[Any]) -> bool:
    """Tell the one kind of category that has an order of its own: False comes before True."""
    return bool(categories) and all(isinstance(category, bool) for category in categories)


def _resolve(names: Iterable[Any], form: Form, argument: str) -> list[Any]:
    """Check that names are features; columns of an array may also be named by their place."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be a list of feature names, got {names!r}.")
    known, every = form.names, set(form.names)
    count = len(known) if form.kind == "array" else 0
    resolved = [
        known[name]
        if isinstance(name, int | np.integer) and not isinstance(name, bool) and -count <= name < count
        else name
        for name in names
    ]
    unknown = [name for name in resolved if not isinstance(name, Hashable) or name not in every]
    if unknown:
        raise ValueError(
            f"{argument} must name known features, got {listed(unknown)}. Known: {listed(known)}."
        )
    repeated = [name for name, count in Counter(resolved).items() if count > 1]
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
