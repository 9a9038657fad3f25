"""Constraints between columns, as they are declared: implications and comparisons."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from counterpoint.data.problems import listed, said

# Columns, and the values that each may have: categories, or the ends of an interval.
Values = tuple[tuple[Any, tuple[Any, ...]], ...]

OPERATORS = ("<=", ">=", "==", "<", ">")


@dataclass(frozen=True)
class Implies:
    """If columns have certain values, others have certain values too; made by `implies`."""

    when: Values
    then: Values

    @property
    def names(self) -> list[Any]:
        """The columns it is about."""
        return [name for name, _ in (*self.when, *self.then)]

    def renamed(self, find: Callable[[Any], Any]) -> Implies:
        """Replace the names of columns."""
        return Implies(
            *(tuple((find(name), values) for name, values in part) for part in (self.when, self.then))
        )

    def __str__(self) -> str:
        return f"{_text(self.when)} implies {_text(self.then)}"


@dataclass(frozen=True)
class Compares:
    """One column is less than, at most, or equal to another.

    Examples
    --------
    >>> print(Compares("start", "<=", "end"))
    start <= end
    """

    left: Any
    operator: str
    right: Any

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise ValueError(f"A comparison must have one of {list(OPERATORS)}, got {self.operator!r}.")

    @property
    def names(self) -> list[Any]:
        """The columns it is about."""
        return [self.left, self.right]

    def renamed(self, find: Callable[[Any], Any]) -> Compares:
        """Replace the names of columns."""
        return replace(self, left=find(self.left), right=find(self.right))

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


Link = Implies | Compares


def implies(when: Mapping[Any, Any] | None = None, /, *, then: Mapping[Any, Any], **columns: Any) -> Implies:
    """Declare that some values of columns require values of others.

    A value is a category, a list of categories of which one is needed, a number, or the ends (low, high) of
    an interval.

    Parameters
    ----------
    when
        Columns and their values, for names that cannot be written as keywords.
    then
        The columns that follow, and their values.
    columns
        Columns and their values.

    Examples
    --------
    >>> print(implies(relationship="Husband", then={"sex": "Male"}))
    relationship is 'Husband' implies sex is 'Male'
    >>> print(implies({"age": (0, 17)}, then={"job": ["none", "pupil"]}))
    age is 0 to 17 implies job is 'none' or 'pupil'
    """
    conditions = _values({**(when or {}), **columns}, "a condition")
    return Implies(conditions, _values(then, "then"))


def _values(columns: Any, what: str) -> Values:
    if not isinstance(columns, Mapping) or not columns:
        raise ValueError(f"implies needs {what}: columns and their values, got {columns!r}.")
    return tuple((name, _listed(values)) for name, values in columns.items())


def _listed(values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return (values,)
    return tuple(values)


def _text(values: Values) -> str:
    return " and ".join(f"{name} is {_either(some)}" for name, some in values)


def _either(values: tuple[Any, ...]) -> str:
    numbers = len(values) == 2 and all(isinstance(value, int | float) for value in values)
    return (" to " if numbers else " or ").join(map(said, values))


def read_links(links: Any, names: Sequence[Any], find: Callable[[Any], Any]) -> tuple[Link, ...]:
    """Read what a caller gives: implications, and comparisons as text; `find` resolves names.

    Examples
    --------
    >>> read_links(["first day < last day"], ["first day", "last day"], str)
    (Compares(left='first day', operator='<', right='last day'),)
    """
    if isinstance(links, str | Mapping | Implies | Compares) or not isinstance(links, Iterable):
        raise TypeError(f"links must be a list such as ['start <= end', implies(...)], got {links!r}.")
    return tuple(_read(link, names).renamed(find) for link in links)


def _read(link: Any, names: Sequence[Any]) -> Link:
    if isinstance(link, Implies | Compares):
        return link
    if not isinstance(link, str):
        raise TypeError(f"A link must be a comparison such as 'start <= end' or implies(...), got {link!r}.")
    known = {str(name): name for name in names}
    for found in re.finditer("<=|>=|==|<|>", link):  # a name may contain an operator too
        left, right = link[: found.start()].strip(), link[found.end() :].strip()
        if left in known and right in known:
            return Compares(known[left], found.group(), known[right])
    raise ValueError(
        f"A link must compare two columns by one of {list(OPERATORS)}, got {link!r}. Known: {listed(names)}."
    )
