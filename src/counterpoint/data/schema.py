"""All columns of a table, and the conversion from the caller's table to rows and back.

A row is a float vector with one entry per feature: numbers as they are, categories as codes, a missing number
as NaN, a missing category as its own code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.costs import Cost, Costs
from counterpoint.data.dates import Calendar, calendar_of
from counterpoint.data.detection import detect, is_flag
from counterpoint.data.dummies import Group, declared
from counterpoint.data.feature import Feature, category_key
from counterpoint.data.grouped import GroupedFormat
from counterpoint.data.links import Compares, Link, read_links
from counterpoint.data.marks import is_missing, marks_in
from counterpoint.data.problems import InvalidError, Problem, listed
from counterpoint.data.reading import Reading, read_column
from counterpoint.data.tables import EXACT, Column, TableFormat, arrow_levels
from counterpoint.data.types import Mask, Row, Rows
from counterpoint.data.written import digits_in, is_exact, kinds_in, written_in

__all__ = ["EXACT", "Feature", "Row", "Rows", "Schema"]


@dataclass(frozen=True)
class Schema:
    """All columns of a table, and the format of the caller's tables.

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
    form: TableFormat
    links: tuple[Link, ...] = ()  # constraints between columns

    def __post_init__(self) -> None:
        if tuple(feature.name for feature in self.features) != self.form.names:
            raise ValueError(
                f"A schema must have one feature per column, in order: columns {list(self.form.names)}, "
                f"features {[feature.name for feature in self.features]}."
            )
        for index, feature in enumerate(self.features):
            if not feature.is_categorical:
                _check_number_column(feature, self.form, index)
        for link in self.links:
            _check_link(link, self)

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
        missing: Literal["keep", "allow"] = "keep",
        costs: Mapping[Any, Any] | None = None,
        max_change: Mapping[Any, float | str] | None = None,
        links: Iterable[Any] = (),
        order: Mapping[Any, Sequence[Any]] | None = None,
        onehot: Mapping[Any, Any] | bool | None = None,
        follows: Iterable[Any] = (),
    ) -> Schema:
        """Learn what each column is: floats are continuous, integers have step 1, the rest is categorical.

        Groups of 0/1 columns that encode one category become one feature: those that `onehot` declares, or
        else those that are detected, unless it is False. A float column of a frame that holds only 0 and 1
        has step 1. The other parameters are those of `Explainer.fit`.
        """
        form = TableFormat.of(X)
        columns = form.columns(X)
        if not columns or not len(columns[0]):
            size = f"{len(columns[0]) if columns else 0} rows and {len(columns)} columns"
            raise ValueError(f"X must contain at least one known instance and one feature, got {size}.")
        order = {**arrow_levels(X, form), **_checked_order(order)}
        groups = _groups(onehot, form, columns)
        if groups:
            grouped = GroupedFormat.over(form, groups)
            form, columns = grouped, grouped.joined(columns)
        named = {
            *resolve(categorical or (), form, "categorical"),
            *resolve(_checked_order(order), form, "order"),
        }
        frozen = set(resolve(immutable, form, "immutable"))
        features = tuple(
            _infer_feature(form, index, column, name in named, name in frozen)
            for index, (name, column) in enumerate(zip(form.names, columns, strict=True))
        )
        if onehot is not False and form.kind != "array":
            features = tuple(
                replace(feature, step=1) if feature.step is None and is_flag(column) else feature
                for feature, column in zip(features, columns, strict=True)
            )
        return cls(features, form).constrain(
            immutable=immutable,
            ranges=ranges,
            increase=increase,
            decrease=decrease,
            missing=missing,
            costs=costs,
            max_change=max_change,
            links=links,
            order=order,
            follows=follows,
        )

    def constrain(
        self,
        *,
        immutable: Iterable[Any] = (),
        ranges: Mapping[Any, Sequence[Any]] | None = None,
        increase: Iterable[Any] = (),
        decrease: Iterable[Any] = (),
        missing: Literal["keep", "allow"] = "keep",
        costs: Mapping[Any, Any] | None = None,
        max_change: Mapping[Any, float | str] | None = None,
        links: Iterable[Any] = (),
        order: Mapping[Any, Sequence[Any]] | None = None,
        follows: Iterable[Any] = (),
    ) -> Schema:
        """Return a schema with additional constraints on what a counterfactual may change.

        `order` lists the categories of features from the lowest to the highest. It changes the codes of
        categories, so give it before the schema reads any table.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "hours": [20, 40]}))
        >>> schema.constrain(immutable=["age"], ranges={"hours": (10, 50)}).actionable
        (1,)
        """
        if missing not in ("keep", "allow"):
            raise ValueError(
                f'missing must be "keep" (no value of x goes missing) or "allow", got {missing!r}.'
            )
        frozen = set(resolve(immutable, self.form, "immutable"))
        rising = set(resolve(increase, self.form, "increase"))
        falling = set(resolve(decrease, self.form, "decrease"))
        computed = set(resolve(follows, self.form, "follows"))
        limits = resolve_ranges(ranges or {}, self)
        prices = resolve_costs(costs or {}, self)
        reach = resolve_pairs(max_change or {}, self, "max_change")
        changed = []
        for feature in self._in_order(order):
            name, way = feature.name, feature.direction
            up, down = way > 0 or name in rising, way < 0 or name in falling
            if up and down:
                raise ValueError(
                    f"{name!r} may only rise and may only fall, so it could never change; "
                    f"remove it from increase or decrease, or name it in immutable instead."
                )
            changed.append(
                replace(
                    feature,
                    immutable=feature.immutable or name in frozen,
                    range=limits.get(name, feature.range),
                    direction=up - down,
                    may_go_missing=feature.may_go_missing or missing == "allow",
                    cost=prices.get(name, feature.cost),
                    max_change=reach.get(name, feature.max_change),
                    follows=feature.follows or name in computed,
                )
            )
        more = read_links(links, self.names, lambda name: resolve([name], self.form, "links")[0])
        return replace(self, features=tuple(changed), links=(*self.links, *more))

    def _in_order(self, order: Mapping[Any, Sequence[Any]] | None) -> Iterator[Feature]:
        """Put the categories of features in the order given by the user."""
        names = resolve(_checked_order(order), self.form, "order")
        given = dict(zip(names, (order or {}).values(), strict=True))
        return (f.in_order(given[f.name]) if f.name in given else f for f in self.features)

    def replace(self, name: Any, **changes: Any) -> Schema:
        """Return a schema with one feature changed.

        Examples
        --------
        >>> import pandas as pd
        >>> schema = Schema.infer(pd.DataFrame({"amount": [100, 900]}))
        >>> schema.replace("amount", step=100).features[0].step
        100
        """
        (name,) = resolve([name], self.form, "name")
        features = [replace(f, **changes) if f.name == name else f for f in self.features]
        return replace(self, features=tuple(features))

    def seen_in(self, rows: Rows) -> Schema:
        """Learn the smallest and largest known value of features that were created without them.

        Examples
        --------
        >>> schema = Schema((Feature("x0"),), TableFormat.of(np.zeros((1, 1))))
        >>> schema.seen_in(np.array([[2.0], [7.0]])).features[0].seen
        (2.0, 7.0)
        """
        features = list(self.features)
        for index in self.continuous.tolist():
            known = rows[~np.isnan(rows[:, index]), index]
            if np.isinf(features[index].seen).any() and len(known):
                features[index] = replace(features[index], seen=(float(known.min()), float(known.max())))
        return replace(self, features=tuple(features))

    @property
    def names(self) -> tuple[Any, ...]:
        """The features' names, in order."""
        return self.form.names

    @property
    def onehot(self) -> dict[Any, tuple[Any, ...]]:
        """The groups of dummy columns that are one feature each: their columns by the feature's name."""
        groups = self.form.groups if isinstance(self.form, GroupedFormat) else ()
        return {group.name: group.columns for group in groups}

    @cached_property
    def continuous(self) -> NDArray[np.intp]:
        """The indices of the continuous features."""
        return np.array([i for i, f in enumerate(self.features) if not f.is_categorical], dtype=np.intp)

    @cached_property
    def categorical(self) -> NDArray[np.intp]:
        """The indices of the categorical features."""
        return np.array([i for i, f in enumerate(self.features) if f.is_categorical], dtype=np.intp)

    @cached_property
    def has_order(self) -> Mask:
        """Which features have an order, as a mask: numbers, and ordered categories."""
        return np.array([not f.is_categorical or f.ordered for f in self.features], dtype=np.bool_)

    def ranks(self, rows: Rows) -> Rows:
        """Return rows in which a missing ordered category is NaN, as a missing number is."""
        return np.where(rows >= [feature.first_gap for feature in self.features], np.nan, rows)

    @cached_property
    def has_no_order(self) -> NDArray[np.bool_]:
        """Which features are categories without an order, as a mask."""
        return np.array([f.is_categorical and not f.is_ranked for f in self.features], dtype=np.bool_)

    @cached_property
    def actionable(self) -> tuple[int, ...]:
        """The indices of the features that may change: the paper's A."""
        return tuple(i for i, feature in enumerate(self.features) if feature.may_change)

    @cached_property
    def following(self) -> NDArray[np.bool_]:
        """Which features are computed from others, as a mask."""
        return np.array([feature.follows for feature in self.features], dtype=np.bool_)

    @cached_property
    def costs(self) -> Costs | None:
        """What changes cost; None if all cost what they cost by default."""
        return Costs.of([(feature.cost, feature.categories) for feature in self.features])

    def freeing(self, names: Iterable[Any]) -> Schema:
        """Return a schema in which some immutable features may change, so that they hold known values only.

        Examples
        --------
        >>> import pandas as pd
        >>> people = pd.DataFrame({"age": [31, 45], "name": ["ann", "bob"]})
        >>> free = Schema.infer(people, immutable=["name"]).freeing(["name"])
        >>> free.read(people.replace("bob", "eve")).problems[0].value
        'eve'
        """
        free = set(names)
        features = (replace(f, immutable=False) if f.name in free else f for f in self.features)
        return replace(self, features=tuple(features))

    @cached_property
    def changeable(self) -> tuple[int, ...]:
        """The indices of the features that may differ from x: the actionable ones, and those that follow."""
        return tuple(i for i, feature in enumerate(self.features) if feature.may_change or feature.follows)

    def read(self, X: Any, what: str = "X") -> TableReading:
        """Read a table: its rows, what they mean, and the values that cannot be read.

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
        """Turn a table into rows of exactly this schema."""
        reading = self.read(X, what).valid(what)
        if reading.schema is not self:
            pairs = zip(self.features, reading.schema.features, strict=True)
            grown = [old.name for old, new in pairs if new is not old]
            raise ValueError(
                f"{what} contains values in {listed(grown)} that this schema does not know. Use read, which "
                f"also returns a schema that knows them."
            )
        return reading.rows

    def decode(self, rows: Rows) -> Any:
        """Turn rows into a table with the caller's columns and dtypes."""
        if self._is_matrix:
            return self.form.build_array(rows)
        return self.form.build([self._decoded(index, rows[:, index]) for index in range(len(self.features))])

    def _decoded(self, index: int, values: Row) -> Any:
        feature = self.features[index]
        if feature.is_categorical:
            return self.form.pick(self._templates[index], values.astype(np.intp))
        if feature.calendar is not None and self.form.dtypes[index] != np.object_:
            return self.form.date_column(index, feature.calendar.instants(values))
        return self.form.number_column(index, values, feature.write)

    @cached_property
    def _is_matrix(self) -> bool:
        """Whether the caller's tables are arrays of numbers, which can be decoded as a whole."""
        plain = self.form.kind == "array" and self.form.number_type(0) is not None if self.features else False
        return plain and not len(self.categorical)

    @cached_property
    def _templates(self) -> dict[int, Any]:
        return {
            index: self.form.template(index, feature.categories, feature.missing_as)
            for index, feature in enumerate(self.features)
            if feature.is_categorical
        }

    def _read(self, columns: list[Column]) -> TableReading:
        readings = [
            read_column(feature, column, self.form.number_type(index), self.form.dtypes[index] == np.object_)
            for index, (feature, column) in enumerate(zip(self.features, columns, strict=True))
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
        """Add the new values of immutable features to this schema."""
        form = self.form
        for index, reading in enumerate(readings):
            if reading.new:
                form = form.holding(index, reading.new)
        features = tuple(reading.feature for reading in readings)
        same = all(new is old for new, old in zip(features, self.features, strict=True))
        return self if same and form is self.form else replace(self, features=features, form=form)


def _groups(
    onehot: Mapping[Any, Any] | bool | None, form: TableFormat, columns: Sequence[Column]
) -> tuple[Group, ...]:
    """Find the groups of dummy columns: declared, or detected."""
    if onehot is False:
        return ()
    return detect(form, columns) if onehot in (None, True) else declared(onehot, form, columns)


class TableReading(NamedTuple):
    """A table as rows.

    Attributes
    ----------
    schema
        What the rows mean: the schema that read them, plus the new values of its immutable features.
    rows
        One row per instance; meaningless where there is a problem.
    problems
        The values that could not be read, in order of rows.
    """

    schema: Schema
    rows: Rows
    problems: tuple[Problem, ...]

    def valid(self, what: str = "X") -> TableReading:
        """Raise an error if some values could not be read."""
        if self.problems:
            raise InvalidError(self.problems, what)
        return self


def _check_number_column(feature: Feature, form: TableFormat, index: int) -> None:
    """Raise an error for a continuous feature whose values its column cannot hold."""
    dtype = form.number_type(index)
    given = form.dtypes[index]
    if dtype is None and given != np.object_ and form.digits(index) is None and not feature.moment:
        raise TypeError(
            f"{feature.name!r} is continuous, but its column holds {given}. Make it categorical, "
            f"or convert the column to numbers."
        )
    if dtype is not None and dtype.kind in "iu" and not (feature.step and float(feature.step).is_integer()):
        raise ValueError(
            f"{feature.name!r} holds whole numbers ({given}), so its step must be a whole number, "
            f"got {feature.step}. Give step=1, or make the column float64."
        )


def _check_link(link: Link, schema: Schema) -> None:
    """Raise an error for a link that cannot be meant."""
    features = {feature.name: feature for feature in schema.features}
    unknown = [name for name in link.names if name not in features]
    if unknown:
        raise ValueError(
            f"The link {link} must name known features, got {listed(unknown)}. Known: {listed(schema.names)}."
        )
    if isinstance(link, Compares):
        categories = [name for name in link.names if features[name].is_categorical]
        if categories:
            raise ValueError(f"The link {link} compares numbers, and {listed(categories)} holds categories.")
        return
    for name, values in (*link.when, *link.then):
        feature = features[name]
        if not values or (feature.is_categorical and not all(map(feature.knows, values))):
            raise ValueError(
                f"The link {link} must name known values of {name!r}. Known: {listed(feature.categories)}."
            )
        if not feature.is_categorical and not _is_interval(values):
            raise ValueError(
                f"The link {link} must give {name!r} a number, or the ends (low, high) of an interval, "
                f"got {listed(values)}."
            )


def _is_interval(values: Sequence[Any]) -> bool:
    numbers = all(isinstance(value, int | float | np.number) for value in values)
    return numbers and len(values) <= 2 and bool(values[0] <= values[-1])


def _infer_feature(form: TableFormat, index: int, values: Column, categorical: bool, frozen: bool) -> Feature:
    """Learn what one column is; an immutable one may hold any values that can be told apart."""
    name, dtype = form.names[index], form.dtypes[index]
    missing = is_missing(values)
    known = values[~missing]
    _refuse_objects(name, known, dtype)
    calendar = None if frozen or categorical else calendar_of(name, known, dtype)
    held = form.number_type(index)
    written = written_in(known) if dtype == np.object_ and not categorical else ""
    kind = _object_kind(written) if dtype == np.object_ else held.kind if held else values.dtype.kind
    marks = marks_in(values)
    if written is None and not frozen:
        raise TypeError(
            f"{name!r} holds numbers of several types ({_named(known)}), which cannot be told apart in "
            f"counterfactuals. Convert it to numbers of one type, or name it in categorical=."
        )
    if calendar is not None:
        return _date_feature(name, values, calendar, marks)
    if categorical or kind not in "iuf" or (frozen and _is_no_scale(known, kind)):
        return _categorical_feature(name, known, dtype, marks)
    if not len(known):
        raise ValueError(f"{name!r} has no values in X; drop it.")
    digits = 0 if kind in "iu" else digits_in(known) if written == "Decimal" else form.digits(index)
    step = None if digits is None else 10**-digits
    marked: dict[str, Any] = {"missing": bool(marks), "missing_as": marks or ("nan",)}
    feature = Feature(name, step=step, immutable=frozen, written=written or "", **marked)
    reading = read_column(feature, values)
    if reading.faults:
        raise InvalidError(reading.problems(values))
    finite = reading.numbers[np.isfinite(reading.numbers)]
    return replace(feature, seen=(float(finite.min()), float(finite.max())))


def _is_no_scale(known: Column, kind: str) -> bool:
    """Tell whether numbers cannot be measured: ids that are not exact as floats, or no finite number."""
    if kind == "f":
        exact = all(is_exact(number) for number in known if isinstance(number, Decimal))
        return not (exact and np.isfinite(known.astype(np.float64)).any())
    return bool(len(known)) and max(abs(int(known.min())), abs(int(known.max()))) > EXACT


def _object_kind(written: str | None) -> str:
    """Return the kind of the values of an object column, as a numpy kind."""
    return {"int": "i", "": "O", None: "O"}.get(written, "f")


def _named(known: Column) -> str:
    return ", ".join(kind.__name__ for kind in kinds_in(known))


def _date_feature(name: Any, values: Column, calendar: Calendar, marks: tuple[str, ...]) -> Feature:
    """Make the feature of a column of dates: numbers with a step of a day."""
    numbers = calendar.numbers(values).numbers
    seen = float(np.nanmin(numbers)), float(np.nanmax(numbers))
    return Feature(name, seen=seen, missing=bool(marks), missing_as=marks or ("nan",), moment=calendar.name)


def _refuse_objects(name: Any, known: Column, dtype: Any) -> None:
    """Raise an error for values that are neither numbers nor categories."""
    if known.dtype.kind == "c":
        raise TypeError(f"{name!r} holds complex numbers; give real numbers.")
    if known.dtype == object:
        for value in known:
            if getattr(type(value), "__hash__", None) is None:
                raise TypeError(
                    f"{name!r} holds a {type(value).__name__} in each cell ({dtype}). "
                    f"Split it into columns of numbers or categories."
                )


def _categorical_feature(name: Any, known: Column, dtype: Any, marks: tuple[str, ...]) -> Feature:
    """Learn the categories of a column: those its dtype declares, else those it holds."""
    declared: Any = getattr(dtype, "categories", None)
    # A polars Categorical shares its categories with all other frames; only an Enum declares its own.
    enum = type(declared).__module__.startswith("polars") and type(dtype).__name__ == "Enum"
    if isinstance(declared, pd.Index) or enum:
        categories = tuple(declared)
    else:
        plain = (v.item() if isinstance(v, np.generic) else v for v in known)
        distinct = list({category_key(value): value for value in plain}.values())
        try:
            categories = tuple(sorted(distinct))
        except TypeError:
            categories = tuple(sorted(distinct, key=str))
    return Feature(
        name,
        kind="categorical",
        categories=(*categories, *(None for _ in marks)),
        ordered=enum or bool(getattr(dtype, "ordered", False)) or _are_bools(categories),
        missing_as=marks or ("nan",),
    )


def _are_bools(categories: Sequence[Any]) -> bool:
    """Tell whether categories are bools, the only type with a natural order: False comes before True."""
    return bool(categories) and all(isinstance(category, bool) for category in categories)


def resolve(names: Iterable[Any], form: TableFormat, argument: str) -> list[Any]:
    """Check that names are features; columns of an array may also be named by their index."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"{argument} must be a list of feature names, got {names!r}.")
    known, every = form.names, set(form.names)
    columns = form.caller.names
    count = len(columns) if form.kind == "array" else 0
    resolved = [
        columns[name]
        if isinstance(name, int | np.integer) and not isinstance(name, bool) and -count <= name < count
        else name
        for name in names
    ]
    if form.owners:
        resolved = _owned(resolved, form.owners, argument)
    unknown = [name for name in resolved if not isinstance(name, Hashable) or name not in every]
    if unknown:
        raise ValueError(
            f"{argument} must name known features, got {listed(unknown)}. Known: {listed(known)}."
        )
    repeated = [name for name, count in Counter(resolved).items() if count > 1]
    if repeated:
        raise ValueError(f"{argument} must name each feature once, got {listed(repeated)} more than once.")
    return resolved


def _owned(names: list[Any], owners: Mapping[Any, Any], argument: str) -> list[Any]:
    """Replace columns of groups by their groups, where that is what must be meant."""
    inside = [name for name in names if isinstance(name, Hashable) and name in owners]
    if inside and argument not in ("immutable", "categorical"):
        raise ValueError(
            f"{argument} must name features, but {inside[0]!r} is a column of {owners[inside[0]]!r}, whose "
            f"columns encode one category. Name {owners[inside[0]]!r}, or give onehot=False if they do not."
        )
    groups = dict.fromkeys(owners[name] for name in inside)
    return [*(name for name in names if name not in inside and name not in groups), *groups]


def _checked_order(order: Any) -> Mapping[Any, Any]:
    if not isinstance(order, Mapping | None):
        raise TypeError(f"order must map feature names to lists of categories, got {order!r}.")
    return order or {}


def resolve_ranges(ranges: Mapping[Any, Any], schema: Schema) -> dict[Any, tuple[Any, ...]]:
    """Read the admissible values per feature."""
    features = {feature.name: feature for feature in schema.features}
    limits = {}
    for name, admissible in resolve_pairs(ranges, schema, "ranges").items():
        if isinstance(admissible, str) or not isinstance(admissible, Iterable):
            asked = "a list of categories" if features[name].is_categorical else "a pair (low, high)"
            raise TypeError(f"ranges[{name!r}] must be {asked}, got {admissible!r}.")
        dated = features[name].calendar is not None
        values = [v.item() if isinstance(v, np.generic) and not dated else v for v in admissible]
        if dated and any(isinstance(v, int | float | np.number) and np.isfinite(v) for v in values):
            raise ValueError(f"ranges[{name!r}] must be a pair of dates (low, high), got {listed(values)}.")
        missing = is_missing(np.fromiter(values, dtype=object, count=len(values)))
        limits[name] = tuple(
            None if features[name].is_categorical and gone else value
            for value, gone in zip(values, missing, strict=True)
        )
    return limits


def resolve_costs(costs: Mapping[Any, Any], schema: Schema) -> dict[Any, Cost]:
    """Read the cost per feature."""
    read = {}
    for name, cost in resolve_pairs(costs, schema, "costs").items():
        try:
            read[name] = Cost.read(cost)
        except (TypeError, ValueError) as error:
            raise type(error)(f"costs[{name!r}]: {error}") from None
    return read


_MEANINGS = {"ranges": "admissible values", "costs": "costs", "max_change": "limits such as 5 or '20%'"}


def resolve_pairs(given: Mapping[Any, Any], schema: Schema, argument: str) -> dict[Any, Any]:
    """Check that a mapping names features."""
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument} must map feature names to {_MEANINGS[argument]}, got {given!r}.")
    return dict(zip(resolve(given, schema.form, argument), given.values(), strict=True))
