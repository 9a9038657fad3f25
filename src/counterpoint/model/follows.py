"""Columns that are computed from others: they follow the changes of a candidate before the model sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoint.data.problems import listed
from counterpoint.data.reading import read_column
from counterpoint.data.schema import Schema, resolve
from counterpoint.data.types import Indices, Mask, Row, Rows
from counterpoint.model.representation import Instances, View

# From a table of candidates, in the caller's format, to a column of it.
Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Follows:
    """The columns that follow others, in the order in which they are computed."""

    functions: tuple[tuple[int, Function], ...]

    @classmethod
    def of(cls, functions: Mapping[Any, Function], schema: Schema) -> Follows:
        """Look up the columns."""
        if not isinstance(functions, Mapping) or not all(map(callable, functions.values())):
            raise TypeError(f"follows must map names of columns to functions of a table, got {functions!r}.")
        names = resolve(functions, schema.form, "follows")
        alone = {feature.name for feature in schema.features if feature.follows}.difference(names)
        if alone:
            raise ValueError(
                f"{listed(sorted(alone, key=str))} follow other features; give follows= functions."
            )
        return cls(tuple((schema.names.index(n), f) for n, f in zip(names, functions.values(), strict=True)))

    def check(self, schema: Schema, rows: Rows) -> None:
        """Compute the columns of known instances, to see that the functions work."""
        for feature, function in self.functions:
            self._column(schema, feature, function, schema.decode(rows))

    def about(self, view: View, about: Instances, group: Indices, schema: Schema) -> Following:
        """Prepare for candidates of a group of instances, under the constraints of a schema."""
        return Following(self, view, about, group, schema)

    def _column(self, schema: Schema, feature: int, function: Function, table: Any) -> Row:
        """Compute one column of a table, and check it; NaN where it is not a finite number."""
        known = schema.features[feature]
        where = f"follows[{known.name!r}]"
        try:
            returned = function(table)
        except Exception as error:
            error.add_note(f"It was raised by {where}, not by the library.")
            raise
        values = np.asarray(returned)
        if values.shape != (len(table),):
            raise ValueError(
                f"{where} must return one value per candidate: {len(table)} candidates, got an array of "
                f"shape {values.shape}."
            )
        dtype, objects = schema.form.number_type(feature), schema.form.dtypes[feature] == np.object_
        plain = replace(known, missing=True, immutable=False)
        reading = read_column(
            plain, values.astype(object) if plain.is_categorical else values, dtype, objects
        )
        infinite = np.isinf(reading.numbers)
        for problem in reading.problems(values):
            if not infinite[problem.row]:
                raise ValueError(f"{where} returned {problem.value!r}. {problem.reason}")
        return np.where(infinite, np.nan, reading.numbers)


@dataclass(frozen=True)
class Following:
    """Computes the columns that follow, for candidates of a group of instances."""

    follows: Follows
    view: View
    about: Instances
    group: Indices
    schema: Schema

    def __post_init__(self) -> None:
        x = self.view.decode(self.about.rows[self.group], self.about, self.group)
        own = [self._computed(feature, function, x) for feature, function in self.follows.functions]
        object.__setattr__(self, "_own", own)

    def __call__(self, rows: Rows, instance: Indices) -> tuple[Rows, Mask]:
        """Let columns follow, and tell which rows have possible values in them.

        Where a function gives the same as for x, x's own value stays, bit for bit.
        """
        rows, possible = rows.copy(), np.ones(len(rows), dtype=np.bool_)
        own: list[Row] = self._own  # type: ignore[attr-defined]
        for (feature, function), of_x in zip(self.follows.functions, own, strict=True):
            table = self.view.decode(rows, self.about, self.group[instance])
            values, before = self._computed(feature, function, table), of_x[instance]
            same = (values == before) | (np.isnan(values) & np.isnan(before))
            rows[:, feature] = np.where(same, self.about.rows[self.group[instance], feature], values)
            possible &= self._is_possible(feature, rows[:, feature]) & (same | ~np.isnan(values))
        return rows, possible

    def _computed(self, feature: int, function: Function, table: Any) -> Row:
        return self.follows._column(self.view.schema, feature, function, table)

    def _is_possible(self, feature: int, values: Row) -> Mask:
        """Tell which values lie inside the user's range."""
        known = self.schema.features[feature]
        if known.range is None:
            return np.ones(len(values), dtype=np.bool_)
        if known.is_categorical:
            return np.isin(values, known.codes_of(known.range))
        low, high = known.range
        return np.asarray(((values >= low) & (values <= high)) | np.isnan(values))
