"""What a counterfactual may change: from flags, and from a TOML or YAML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint.cli.errors import InputError, need
from counterpoint.data.costs import Cost
from counterpoint.data.links import Implies, implies

KINDS = ("number", "category")
FLAGS = ("immutable", "increase", "decrease")
KEYS = ("kind", "range", *FLAGS, "cost", "max_change")


@dataclass(frozen=True)
class Limits:
    """Names of the columns under each constraint, the admissible values of some, costs and links.

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
    costs: Mapping[str, Any] = field(default_factory=dict)
    max_change: Mapping[str, float | str] = field(default_factory=dict)
    links: tuple[Any, ...] = ()

    def __add__(self, other: Limits) -> Limits:
        return Limits(
            _joined(self.categorical, other.categorical),
            _joined(self.immutable, other.immutable),
            _joined(self.increase, other.increase),
            _joined(self.decrease, other.decrease),
            {**self.ranges, **other.ranges},
            {**self.costs, **other.costs},
            {**self.max_change, **other.max_change},
            (*self.links, *other.links),
        )

    def typed(self, known: pd.DataFrame) -> Limits:
        """Turn categories that a flag gave as texts into what the column holds."""
        ranges = {}
        for name, values in self.ranges.items():
            texts = [value for value in values if isinstance(value, str)]
            held = known[name].unique() if texts and name in known else ()
            by_text = {str(value): value for value in held}
            ranges[name] = tuple(by_text.get(value, value) if value in texts else value for value in values)
        return replace(self, ranges=ranges)


def _joined(*names: tuple[str, ...]) -> tuple[str, ...]:
    """Join names, each once."""
    return tuple(dict.fromkeys(name for some in names for name in some))


def from_flags(
    categorical: Sequence[str],
    immutable: Sequence[str],
    increase: Sequence[str],
    decrease: Sequence[str],
    ranges: Sequence[str],
    costs: Sequence[str] = (),
    max_change: Sequence[str] = (),
    links: Sequence[str] = (),
) -> Limits:
    """Read flags; each range is NAME=LOW:HIGH, with an end left out if it is open, or NAME=A,B,C.

    Costs are NAME=COST or NAME=UP:DOWN, limits of changes NAME=AMOUNT or NAME=SHARE%.

    Examples
    --------
    >>> from_flags([], ["age"], [], [], ["amount=500:", "purpose=car,tv"]).ranges
    {'amount': (500.0, inf), 'purpose': ('car', 'tv')}
    >>> from_flags([], [], [], [], [], costs=["hours=0.2"], max_change=["income=20%"]).max_change
    {'income': '20%'}
    """
    read = dict(_range(text) for text in ranges)
    names = tuple(categorical), tuple(immutable), tuple(increase), tuple(decrease)
    prices, reach = dict(map(_cost_flag, costs)), dict(map(_reach_flag, max_change))
    return Limits(*names, read, prices, reach, tuple(links))


def _cost_flag(text: str) -> tuple[str, Any]:
    """Read NAME=COST or NAME=UP:DOWN."""
    name, _, value = text.rpartition("=")
    up, colon, down = value.partition(":")
    try:
        if name:
            return name, Cost(float(up), float(down)) if colon else Cost.read(float(up))
    except ValueError as error:
        raise InputError(f"--cost must be NAME=COST or NAME=UP:DOWN, got {text!r}: {error}") from None
    raise InputError(f"--cost must be NAME=COST or NAME=UP:DOWN, got {text!r}.")


def _reach_flag(text: str) -> tuple[str, float | str]:
    """Read NAME=AMOUNT or NAME=SHARE%."""
    name, _, value = text.rpartition("=")
    try:
        if name and value.endswith("%"):
            return name, f"{float(value[:-1]):g}%"
        if name:
            return name, float(value)
    except ValueError:
        pass
    raise InputError(f"--max-change must be NAME=AMOUNT or NAME=20%, got {text!r}.")


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
    return name, between(values) or tuple(values.split(","))


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
    _check_keys(path, content, ("columns", "links"), "the file")
    columns = content.get("columns") or {}
    if not isinstance(columns, Mapping):
        raise InputError(f"{path}: columns must map names to constraints, got {columns!r}.")
    limits = Limits(links=_links(path, content.get("links") or []))
    for name, column in columns.items():
        limits += _column_limits(path, str(name), column or {})
    return limits


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
    values = column.get("range")
    if values is not None and not isinstance(values, list):
        raise InputError(f"{path}: columns.{name}.range must be a list of values, got {values!r}.")
    return Limits(
        categorical=(name,) if kind == "category" else (),
        immutable=(name,) if column.get("immutable") else (),
        increase=(name,) if column.get("increase") else (),
        decrease=(name,) if column.get("decrease") else (),
        ranges={} if values is None else {name: tuple(values)},
        costs={name: _cost(path, name, column["cost"])} if "cost" in column else {},
        max_change={name: column["max_change"]} if "max_change" in column else {},
    )


def _cost(path: Path, name: str, given: Any) -> Cost:
    """Read a cost: a number, or a table with up and down, or with changes and otherwise."""
    where = f"{path}: columns.{name}.cost"
    if not isinstance(given, Mapping):
        read = {"up": given, "down": given}
    else:
        _check_keys(path, given, ("up", "down", "changes", "otherwise"), f"columns.{name}.cost")
        read = dict(given)
        changes = read.get("changes", [])
        if not isinstance(changes, list) or any(not isinstance(c, list) or len(c) != 3 for c in changes):
            raise InputError(f"{where}.changes must list [old, new, cost], got {changes!r}.")
        read["changes"] = {(old, new): price for old, new, price in changes}
    try:
        return Cost(**read)
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {error}") from None


def _links(path: Path, links: Any) -> tuple[Any, ...]:
    """Read links: comparisons as texts, and tables with `when` and `then`."""
    if not isinstance(links, list):
        raise InputError(f"{path}: links must be a list, got {links!r}.")
    return tuple(link if isinstance(link, str) else _implication(path, link) for link in links)


def _implication(path: Path, link: Any) -> Implies:
    if not isinstance(link, Mapping) or set(link) != {"when", "then"}:
        raise InputError(f"{path}: a link is a comparison, or has the keys when and then, got {link!r}.")
    try:
        return implies(link["when"], then=link["then"])
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}") from None


def _check_keys(path: Path, content: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    unknown = [key for key in content if key not in known]
    if unknown:
        raise InputError(f"{path}: {where} has the unknown keys {unknown}. Known: {list(known)}.")
