"""What a counterfactual may change: from flags, and from a TOML or YAML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint.cli.errors import InputError, need

KINDS = ("number", "category")
FLAGS = ("immutable", "increase", "decrease")
LISTS = ("range", "order", "onehot")
KEYS = ("kind", *LISTS, *FLAGS)


@dataclass(frozen=True)
class Limits:
    """Names of the columns under each constraint, and the admissible values of some.

    Examples
    --------
    >>> Limits(immutable=("age",)) + Limits(immutable=("sex",), ranges={"amount": (500, 9000)})
    Limits(categorical=(), immutable=('age', 'sex'), ..., ranges={'amount': (500, 9000)}, ...)
    """

    categorical: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    increase: tuple[str, ...] = ()
    decrease: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    order: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    onehot: Mapping[str, tuple[str, ...]] | bool | None = None  # None: they are detected

    def __add__(self, other: Limits) -> Limits:
        return Limits(
            _joined(self.categorical, other.categorical),
            _joined(self.immutable, other.immutable),
            _joined(self.increase, other.increase),
            _joined(self.decrease, other.decrease),
            {**self.ranges, **other.ranges},
            {**self.order, **other.order},
            _joined_groups(self.onehot, other.onehot),
        )

    def typed(self, known: pd.DataFrame) -> Limits:
        """Turn categories that a flag gave as texts into what the column holds."""
        return replace(self, ranges=_typed(self.ranges, known), order=_typed(self.order, known))


def _typed(given: Mapping[str, tuple[Any, ...]], known: pd.DataFrame) -> dict[str, tuple[Any, ...]]:
    typed = {}
    for name, values in given.items():
        texts = [value for value in values if isinstance(value, str)]
        held = known[name].unique() if texts and name in known else ()
        by_text = {str(value): value for value in held}
        typed[name] = tuple(by_text.get(value, value) if value in texts else value for value in values)
    return typed


def _joined_groups(one: Any, other: Any) -> Any:
    """Join groups of dummy columns; if none are named, the last word counts."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **other}
    return one if other is None else other


def _joined(*names: tuple[str, ...]) -> tuple[str, ...]:
    """Join names, each once."""
    return tuple(dict.fromkeys(name for some in names for name in some))


def from_flags(
    categorical: Sequence[str],
    immutable: Sequence[str],
    increase: Sequence[str],
    decrease: Sequence[str],
    ranges: Sequence[str],
    order: Sequence[str] = (),
    onehot: bool = True,
) -> Limits:
    """Read flags; each range is NAME=LOW:HIGH, with an end left out if it is open, or NAME=A,B,C.

    Each order is NAME=A,B,C, from the lowest to the highest.

    Examples
    --------
    >>> from_flags([], ["age"], [], [], ["amount=500:", "purpose=car,tv"]).ranges
    {'amount': (500.0, inf), 'purpose': ('car', 'tv')}
    """
    read = dict(_range(text) for text in ranges)
    return Limits(
        tuple(categorical),
        tuple(immutable),
        tuple(increase),
        tuple(decrease),
        read,
        dict(_order(text) for text in order),
        None if onehot else False,
    )


def between(text: str) -> tuple[float, float] | None:
    """Read LOW:HIGH; None if the text is something else.

    Examples
    --------
    >>> between("500:"), between("1:2"), between("car")
    ((500.0, inf), (1.0, 2.0), None)
    """
    low, colon, high = text.partition(":")
    try:
        return (float(low or "-inf"), float(high or "inf")) if colon else None
    except ValueError:
        return None


def _range(text: str) -> tuple[str, tuple[Any, ...]]:
    name, equals, values = text.rpartition("=")
    if not (name and equals and values):
        raise InputError(f"--range must be NAME=LOW:HIGH or NAME=A,B,C, got {text!r}.")
    return name, between(values) or _dates_between(values) or tuple(values.split(","))


def _dates_between(text: str) -> tuple[date | float, date | float] | None:
    """Read LOW:HIGH of dates; None if the text is something else.

    Examples
    --------
    >>> _dates_between("2020-01-01:")
    (datetime.date(2020, 1, 1), inf)
    """
    low, colon, high = text.partition(":")
    try:
        first = date.fromisoformat(low) if low else -inf
        return (first, date.fromisoformat(high) if high else inf) if colon else None
    except ValueError:
        return None


def _order(text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, values = text.rpartition("=")
    if not (name and equals and values):
        raise InputError(f"--order must be NAME=LOWEST,…,HIGHEST, got {text!r}.")
    return name, tuple(values.split(","))


def read_limits(path: Path) -> Limits:
    r"""Read a file of constraints, as `counterpoint schema` drafts it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "constraints.toml"
    >>> _ = path.write_text('[columns.age]\nimmutable = true\n[columns.amount]\nrange = [500, 9000]')
    >>> read_limits(path).ranges
    {'amount': (500, 9000)}
    """
    content = _parsed(path)
    _check_keys(path, content, ("columns", "onehot"), "the file")
    columns = content.get("columns") or {}
    if not isinstance(content.get("onehot", True), bool):
        raise InputError(
            f"{path}: onehot must be true or false, got {content['onehot']!r}. The columns of a group are "
            f"listed in columns.NAME.onehot."
        )
    if not isinstance(columns, Mapping):
        raise InputError(f"{path}: columns must map names to constraints, got {columns!r}.")
    limits = Limits()
    for name, column in columns.items():
        limits += _column_limits(path, str(name), column or {})
    if content.get("onehot", True):
        return limits
    if isinstance(limits.onehot, Mapping):
        raise InputError(
            f"{path}: onehot is false, but {list(limits.onehot)} list columns. Drop one of the two."
        )
    return replace(limits, onehot=False)


def _parsed(path: Path) -> Mapping[str, Any]:
    """Parse a file by what its name ends in."""
    suffix = path.suffix.lower()
    if suffix not in (".toml", ".yaml", ".yml"):
        raise InputError(f"{path} must be a file of constraints whose name ends in .toml, .yaml or .yml.")
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if suffix == ".toml" else _yaml(text)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; `counterpoint schema TABLE > {path}` drafts it.") from error
    except ValueError as error:
        raise InputError(f"{path} cannot be read as {suffix[1:]}: {error}. Mend it there.") from error
    if not isinstance(content, Mapping):
        raise InputError(f"{path} must hold a table named columns, got {type(content).__name__}.")
    return content


def _yaml(text: str) -> Any:
    yaml = need("yaml", "Reading YAML")
    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _column_limits(path: Path, name: str, column: Any) -> Limits:
    """Read the constraints of one column."""
    if not isinstance(column, Mapping):
        raise InputError(f"{path}: columns.{name} must have keys among {list(KEYS)}, got {column!r}.")
    _check_keys(path, column, KEYS, f"columns.{name}")
    kind = column.get("kind")
    if kind not in (None, *KINDS):
        raise InputError(f"{path}: columns.{name}.kind must be one of {list(KINDS)}, got {kind!r}.")
    for flag in FLAGS:
        if not isinstance(column.get(flag, False), bool):
            raise InputError(f"{path}: columns.{name}.{flag} must be true or false, got {column[flag]!r}.")
    for key in LISTS:
        if not isinstance(column.get(key), list | None):
            raise InputError(f"{path}: columns.{name}.{key} must be a list of values, got {column[key]!r}.")
    values, order, onehot = (None if column.get(key) is None else {name: tuple(column[key])} for key in LISTS)
    return Limits(
        categorical=(name,) if kind == "category" else (),
        immutable=(name,) if column.get("immutable") else (),
        increase=(name,) if column.get("increase") else (),
        decrease=(name,) if column.get("decrease") else (),
        ranges=values or {},
        order=order or {},
        onehot=onehot,
    )


def _check_keys(path: Path, content: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    unknown = [key for key in content if key not in known]
    if unknown:
        raise InputError(f"{path}: {where} has the unknown keys {unknown}. Known: {list(known)}.")
