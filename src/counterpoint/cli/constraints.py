"""What a counterfactual may change: from flags, and from a TOML or YAML file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint._util.short_text import one_line, short
from counterpoint.cli.errors import InputError, check_is_file
from counterpoint.cli.yaml_files import read_yaml

KINDS = ("number", "category")
FLAGS = ("immutable", "increase", "decrease")
KEYS = ("kind", "range", *FLAGS)

# Enough for 10,000 columns, and for a file that is none of constraints it is soon said.
MOST_BYTES = 4_000_000


@dataclass(frozen=True)
class Limits:
    """Names of the columns under each constraint, and the admissible values of some.

    Examples
    --------
    >>> Limits(immutable=("age",)) + Limits(immutable=("sex",), ranges={"amount": (500, 9000)})
    Limits(categorical=(), immutable=('age', 'sex'), increase=(), decrease=(), ranges={'amount': (500, 9000)})
    """

    categorical: tuple[str, ...] = ()
    immutable: tuple[str, ...] = ()
    increase: tuple[str, ...] = ()
    decrease: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __add__(self, other: Limits) -> Limits:
        return Limits(
            _joined(self.categorical, other.categorical),
            _joined(self.immutable, other.immutable),
            _joined(self.increase, other.increase),
            _joined(self.decrease, other.decrease),
            {**self.ranges, **other.ranges},
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
) -> Limits:
    """Read flags; each range is NAME=LOW:HIGH, with an end left out if it is open, or NAME=A,B,C.

    Examples
    --------
    >>> from_flags([], ["age"], [], [], ["amount=500:", "purpose=car,tv"]).ranges
    {'amount': (500.0, inf), 'purpose': ('car', 'tv')}
    """
    read = dict(_range(text) for text in ranges)
    return Limits(tuple(categorical), tuple(immutable), tuple(increase), tuple(decrease), read)


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
    _check_keys(path, content, ("columns",), "the file")
    columns = content.get("columns") or {}
    if not isinstance(columns, Mapping):
        raise InputError(f"{path}: columns must map names to constraints, got {short(columns)}.")
    return _merged([_column_limits(path, str(name), column or {}) for name, column in columns.items()])


def _merged(limits: list[Limits]) -> Limits:
    """Join the constraints of many columns, in pairs: one by one would copy all of them for each column."""
    while len(limits) > 1:
        pairs = zip(limits[::2], [*limits[1::2], Limits()], strict=False)
        limits = [one + other for one, other in pairs]
    return limits[0] if limits else Limits()


def _parsed(path: Path) -> Mapping[str, Any]:
    """Parse a file by what its name ends in."""
    suffix = path.suffix.lower()
    if suffix not in (".toml", ".yaml", ".yml"):
        raise InputError(f"{path} must be a file of constraints whose name ends in .toml, .yaml or .yml.")
    try:
        check_is_file(path)
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} is larger than a file of constraints can be ({MOST_BYTES:,} bytes).")
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text) if suffix == ".toml" else read_yaml(text)
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; `counterpoint schema TABLE > {path}` drafts it.") from error
    except (ValueError, RecursionError, OverflowError) as error:
        deep = isinstance(error, RecursionError)
        why = "it is nested too deep" if deep else one_line(str(error), 300).rstrip(". ")
        raise InputError(f"{path} cannot be read as {suffix[1:]}: {why}. Mend it there.") from error
    if not isinstance(content, Mapping):
        raise InputError(f"{path} must hold a table named columns, got {type(content).__name__}.")
    return content


def _column_limits(path: Path, name: str, column: Any) -> Limits:
    """Read the constraints of one column."""
    if not isinstance(column, Mapping):
        raise InputError(f"{path}: columns.{name} must have keys among {list(KEYS)}, got {short(column)}.")
    _check_keys(path, column, KEYS, f"columns.{name}")
    kind = column.get("kind")
    if kind not in (None, *KINDS):
        raise InputError(f"{path}: columns.{name}.kind must be one of {list(KINDS)}, got {short(kind)}.")
    for flag in FLAGS:
        if not isinstance(column.get(flag, False), bool):
            raise InputError(
                f"{path}: columns.{name}.{flag} must be true or false, got {short(column[flag])}."
            )
    values = column.get("range")
    if values is not None and not isinstance(values, list):
        raise InputError(f"{path}: columns.{name}.range must be a list of values, got {short(values)}.")
    return Limits(
        categorical=(name,) if kind == "category" else (),
        immutable=(name,) if column.get("immutable") else (),
        increase=(name,) if column.get("increase") else (),
        decrease=(name,) if column.get("decrease") else (),
        ranges={} if values is None else {name: tuple(values)},
    )


def _check_keys(path: Path, content: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    unknown = [key for key in content if key not in known]
    if unknown:
        raise InputError(f"{path}: {where} has the unknown keys {short(unknown)}. Known: {list(known)}.")
