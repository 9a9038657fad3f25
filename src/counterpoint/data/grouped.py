"""A table in which each group of dummy columns is read as one column of categories, and built back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.dummies import Group
from counterpoint.data.tables import Column, TableFormat


@dataclass(frozen=True)
class GroupedFormat(TableFormat):
    """The format of a table with dummy columns: its names are those of the features.

    For a schema, a group is a column of a pandas categorical dtype. Only here it is several columns.

    Examples
    --------
    >>> homes = pd.DataFrame({"home_own": [1, 0], "home_rent": [0, 1], "age": [31, 45]})
    >>> group = Group("home", ("home_own", "home_rent"), ("own", "rent"))
    >>> form = GroupedFormat.over(TableFormat.of(homes), (group,))
    >>> form.names, form.columns(homes)[0].tolist()
    (('home', 'age'), ['own', 'rent'])
    """

    base: TableFormat = field(kw_only=True)
    groups: tuple[Group, ...] = field(kw_only=True)

    @classmethod
    def over(cls, base: TableFormat, groups: tuple[Group, ...]) -> GroupedFormat:
        """Join the columns of groups; a group stands where its first column does."""
        owner = {column: group for group in groups for column in group.columns}
        found = list(dict.fromkeys(owner.get(name, name) for name in base.names))
        dtypes = dict(zip(base.names, base.dtypes, strict=True))
        return cls(
            base.kind,
            tuple(each.name if isinstance(each, Group) else each for each in found),
            tuple(
                pd.CategoricalDtype(list(each.every)) if isinstance(each, Group) else dtypes[each]
                for each in found
            ),
            base=base,
            groups=groups,
        )

    @property
    def caller(self) -> TableFormat:
        """The format of the caller's own table."""
        return self.base

    @cached_property
    def owners(self) -> Mapping[Any, Any]:
        """The name of the group that each of its columns belongs to."""
        return {column: group.name for group in self.groups for column in group.columns}

    def columns(self, table: Any, what: str = "X") -> list[Column]:
        """Read the columns of a table, with one column of categories per group."""
        return self.joined(self.base.columns(table, what))

    def one_row(self, x: Any) -> list[Column]:
        """Read one instance, with one column of categories per group."""
        return self.joined(self.base.one_row(x))

    def build(self, columns: Sequence[Any]) -> Any:
        """Build a table with the columns of each group."""
        parts: list[Any] = [None] * len(self.base.names)
        for places, column in zip(self._places, columns, strict=True):
            for place, part in zip(places, column if isinstance(column, _Parts) else [column], strict=True):
                parts[place] = part
        return self.base.build(parts)

    def number_type(self, index: int) -> np.dtype[Any] | None:
        """Find the numpy dtype of the numbers in a column; a group holds none."""
        return None if self._group(index) else self.base.number_type(self._places[index][0])

    def digits(self, index: int) -> int | None:
        """Count the digits after the decimal point of a column of decimals; None for any other column."""
        return None if self._group(index) else self.base.digits(self._places[index][0])

    def number_column(
        self, index: int, values: NDArray[np.float64], write: Callable[[float], Any] = float
    ) -> Any:
        """Turn floats into a new column with the dtype at an index."""
        return self.base.number_column(self._places[index][0], values, write)

    def date_column(self, index: int, instants: NDArray[np.datetime64]) -> Any:
        """Turn points in time into a new column with the dtype at an index."""
        return self.base.date_column(self._places[index][0], instants)

    def template(self, index: int, categories: Sequence[Any], missing_as: Sequence[str] = ()) -> Any:
        """Make a column, or the columns of a group, that hold each category once."""
        group, places = self._group(index), self._places[index]
        if group is None:
            return self.base.template(places[0], categories, missing_as)
        flags = group.flags(categories)
        return _Parts(self.base.flag_column(place, flags[:, i]) for i, place in enumerate(places))

    def pick(self, template: Any, codes: NDArray[np.intp]) -> Any:
        """Build a column, or the columns of a group, from the codes of categories."""
        if isinstance(template, _Parts):
            return _Parts(self.base.pick(part, codes) for part in template)
        return self.base.pick(template, codes)

    def holding(self, index: int, values: Sequence[Any]) -> TableFormat:
        """Return a format whose column at an index can also hold these values."""
        base = self.base.holding(self._places[index][0], values)
        return self if base is self.base else type(self).over(base, self.groups)

    def joined(self, columns: Sequence[Column]) -> list[Column]:
        """Join the columns of each group into one column of categories."""
        joined = []
        for index, places in enumerate(self._places):
            group, parts = self._group(index), [columns[place] for place in places]
            joined.append(parts[0] if group is None else group.read(parts))
        return joined

    def _group(self, index: int) -> Group | None:
        return self._by_name.get(self.names[index])

    @cached_property
    def _by_name(self) -> dict[Any, Group]:
        return {group.name: group for group in self.groups}

    @cached_property
    def _places(self) -> list[list[int]]:
        """The indices of the caller's columns that each feature is made of."""
        place = {name: index for index, name in enumerate(self.base.names)}
        groups = (self._group(index) for index in range(len(self.names)))
        return [
            [place[column] for column in (group.columns if group else [name])]
            for name, group in zip(self.names, groups, strict=True)
        ]


class _Parts(list[Any]):
    """The columns of a group."""
