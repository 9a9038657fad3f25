"""Finding dummy columns in a table of known instances.

Columns are a group if they have a common prefix, at most one of them is set in every row, and chance would
not do that: if each were set as often as it is, but independently of the others, at most one table in 10,000
would look like that. So two rare flags with a common prefix are no group, unless there are enough rows to
tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.dummies import Group, as_flags, common_prefix, free_name, prefixes
from counterpoint.data.tables import Column, TableFormat
from counterpoint.data.types import Mask

# Columns that are independent look like a group in at most this share of tables.
CHANCE = 1e-4

# A float column of 0 and 1 is a flag, if it has at least so many values.
ENOUGH = 20


def detect(form: TableFormat, columns: Sequence[Column]) -> tuple[Group, ...]:
    """Find the groups of dummy columns in a table of known instances.

    Examples
    --------
    >>> import pandas as pd
    >>> homes = pd.get_dummies(pd.DataFrame({"home": ["own", "rent", "free"] * 10}))
    >>> form = TableFormat.of(homes)
    >>> detect(form, form.columns(homes))[0].categories
    ('free', 'own', 'rent')
    """
    flags = dict(_candidates(form, columns))
    named: dict[tuple[str, str], list[str]] = {}
    for name in flags:
        for prefix in prefixes(name):
            named.setdefault(prefix, []).append(name)
    groups: list[Group] = []
    taken: set[str] = set()
    # The shortest prefix comes first: purpose_new_car and purpose_used_car are both a purpose.
    for (_, separator), members in sorted(named.items(), key=lambda item: len(item[0][0])):
        if len(members) > 1 and taken.isdisjoint(members):
            some = [flags[name] for name in members]
            counts = np.asarray(np.sum(some, axis=0, dtype=np.int32))
            if (counts <= 1).all() and not _is_chance([flag.mean() for flag in some], counts):
                taken.update(members)
                used = {*form.names, *(group.name for group in groups)}
                groups.append(_named(members, separator, bool((counts == 0).any()), used))
    return tuple(groups)


def _candidates(form: TableFormat, columns: Sequence[Column]) -> Iterator[tuple[str, Mask]]:
    """List the columns with a prefix that hold 0 and 1 only."""
    for index, (name, column) in enumerate(zip(form.names, columns, strict=True)):
        if form.kind == "array" or not isinstance(name, str) or not prefixes(name):
            continue
        if not form.may_hold_flags(index):
            continue
        # Most columns of numbers show it in their first rows.
        if np.isnan(as_flags(column[:100])).any():
            continue
        flags = as_flags(column)
        if not np.isnan(flags).any():
            yield name, flags.astype(np.bool_)


def _is_chance(rates: Sequence[float], counts: NDArray[np.int32]) -> bool:
    """Tell whether flags that are set independently, at these rates, could be set at most once per row."""
    rate = np.array(rates)
    if (rate == 1).any():  # it is always the same category
        return True
    none = float((1 - rate).prod())
    likely = none * float((rate / (1 - rate)).sum()) + (none if (counts == 0).any() else 0.0)
    return bool(len(counts) * np.log(max(likely, 1e-300)) > np.log(CHANCE))


def _named(members: Sequence[str], separator: str, may_be_none: bool, used: set[Any]) -> Group:
    """Name a group and its categories by what its columns have in common."""
    prefix = common_prefix(members, separator)
    rests = [name[len(prefix) + len(separator) :] for name in members]
    if separator.startswith("[") and all(rest.endswith("]") for rest in rests):  # as patsy does: home[T.own]
        rests = [rest[:-1] for rest in rests]
    name = prefix
    while name in used:
        name += "_"
    return Group(name, tuple(members), tuple(rests), free_name(rests) if may_be_none else None)


def is_flag(column: Column) -> bool:
    """Tell whether a column of floats holds nothing but 0 and 1, as a dummy column of two levels does.

    Examples
    --------
    >>> is_flag(np.array([0.0, 1.0] * 10)), is_flag(np.array([0.0, 0.5] * 10))
    (True, False)
    """
    if column.dtype.kind != "f" or len(column) < ENOUGH or np.isnan(as_flags(column[:ENOUGH])).any():
        return False
    flags = as_flags(column)
    return bool(0 < flags.mean() < 1)
