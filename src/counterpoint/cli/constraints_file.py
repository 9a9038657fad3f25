"""Constraints as a TOML or YAML file, as `counterpoint schema` drafts it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from counterpoint._util.short_text import one_line, short
from counterpoint.cli.constraints import Limits
from counterpoint.cli.errors import InputError, check_is_file
from counterpoint.cli.yaml_files import read_yaml
from counterpoint.data.costs import Cost
from counterpoint.data.links import Implies, implies

# Enough for 10,000 columns, and for a file that is none of constraints it is soon said.
MOST_BYTES = 4_000_000

KINDS = ("number", "category")
FLAGS = ("immutable", "increase", "decrease")
LISTS = ("range", "order", "onehot")
COLUMN_KEYS = ("kind", *LISTS, *FLAGS, "step", "cost", "max_change")
COST_KEYS = ("up", "down", "otherwise", "changes")
FILE_KEYS = ("columns", "onehot", "links", "missing", "max_changes")


def read_limits(path: Path) -> Limits:
    r"""Read a file of constraints.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "constraints.toml"
    >>> _ = path.write_text('links = ["start <= end"]\n[columns.amount]\nrange = [500, 9000]\ncost = 2')
    >>> limits = read_limits(path)
    >>> limits.ranges, limits.costs["amount"].up, limits.links
    ({'amount': (500, 9000)}, 2.0, ('start <= end',))
    """
    content = _parsed(path)
    _check_keys(path, content, FILE_KEYS, "the file")
    columns = content.get("columns") or {}
    if not isinstance(columns, Mapping):
        raise InputError(f"{path}: columns must map names to constraints, got {short(columns)}.")
    own = [_column_limits(path, str(name), column or {}) for name, column in columns.items()]
    limits = _merged([_general(path, content), *own])
    if content.get("onehot", True):
        return limits
    if isinstance(limits.onehot, Mapping):
        raise InputError(
            f"{path}: onehot is false, but {list(limits.onehot)} list columns. Drop one of the two."
        )
    return replace(limits, onehot=False)


def _merged(limits: list[Limits]) -> Limits:
    """Join the constraints of many columns, in pairs: one by one would copy all of them for each column."""
    while len(limits) > 1:
        pairs = zip(limits[::2], [*limits[1::2], Limits()], strict=False)
        limits = [one + other for one, other in pairs]
    return limits[0]


def _general(path: Path, content: Mapping[str, Any]) -> Limits:
    """Read what is not about a single column."""
    if not isinstance(content.get("onehot", True), bool):
        raise InputError(
            f"{path}: onehot must be true or false, got {short(content['onehot'])}. The columns of a group "
            f"are listed in columns.NAME.onehot."
        )
    missing, most = content.get("missing"), content.get("max_changes")
    if missing not in (None, "keep", "allow"):
        raise InputError(f'{path}: missing must be "keep" or "allow", got {short(missing)}.')
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise InputError(f"{path}: max_changes must be a whole number of at least 1, got {short(most)}.")
    links = content.get("links") or []
    if not isinstance(links, list):
        raise InputError(f'{path}: links must be a list such as ["start <= end"], got {short(links)}.')
    return Limits(links=tuple(_link(path, each) for each in links), missing=missing, max_changes=most)


def _link(path: Path, link: Any) -> str | Implies:
    """Read a comparison, or an implication: a table with the keys when and then."""
    if isinstance(link, str):
        return link
    if not isinstance(link, Mapping) or set(link) != {"when", "then"}:
        raise InputError(
            f'{path}: a link must be a comparison such as "start <= end", or a table with the keys when and '
            f"then, got {short(link)}."
        )
    try:
        return implies(link["when"], then=link["then"])
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: the link {short(dict(link))} cannot be read: {error}") from error


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
    where = f"columns.{name}"
    if not isinstance(column, Mapping):
        raise InputError(f"{path}: {where} must have keys among {list(COLUMN_KEYS)}, got {short(column)}.")
    _check_keys(path, column, COLUMN_KEYS, where)
    _check_types(path, column, where)
    own = {key: {} if column.get(key) is None else {name: column[key]} for key in COLUMN_KEYS}
    lists = {key: {name: tuple(values[name])} if (values := own[key]) else {} for key in LISTS}
    return Limits(
        categorical=(name,) if column.get("kind") == "category" else (),
        immutable=(name,) if column.get("immutable") else (),
        increase=(name,) if column.get("increase") else (),
        decrease=(name,) if column.get("decrease") else (),
        ranges=lists["range"],
        order=lists["order"],
        onehot=lists["onehot"] or None,
        steps={name: _step(path, step, where) for name, step in own["step"].items()},
        costs={name: _cost(path, cost, where) for name, cost in own["cost"].items()},
        max_change=own["max_change"],
    )


def _check_types(path: Path, column: Mapping[str, Any], where: str) -> None:
    kind = column.get("kind")
    if kind not in (None, *KINDS):
        raise InputError(f"{path}: {where}.kind must be one of {list(KINDS)}, got {short(kind)}.")
    for flag in FLAGS:
        if not isinstance(column.get(flag, False), bool):
            raise InputError(f"{path}: {where}.{flag} must be true or false, got {short(column[flag])}.")
    for key in LISTS:
        if not isinstance(column.get(key), list | None):
            raise InputError(f"{path}: {where}.{key} must be a list of values, got {short(column[key])}.")
    most = column.get("max_change")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int | float | str)):
        raise InputError(
            f'{path}: {where}.max_change must be a number or a share such as "20%", got {short(most)}.'
        )


def _step(path: Path, step: Any, where: str) -> Any:
    """Read a step: a number, or a number of days such as "7 days" for dates."""
    if isinstance(step, str) and step.strip().removesuffix("s").endswith(" day"):
        count = step.split()[0]
        if count.isdigit():
            return timedelta(days=int(count))
    if isinstance(step, bool) or not isinstance(step, int | float):
        raise InputError(f'{path}: {where}.step must be a number, or "7 days" for dates, got {short(step)}.')
    return step


def _cost(path: Path, cost: Any, where: str) -> Any:
    """Read a cost: a number, or a table of costs by direction or by transition."""
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        cost = {"up": cost, "down": cost}
    if not isinstance(cost, Mapping):
        raise InputError(
            f"{path}: {where}.cost must be a number, or a table with keys among {list(COST_KEYS)}, got "
            f"{short(cost)}."
        )
    _check_keys(path, cost, COST_KEYS, f"{where}.cost")
    changes = cost.get("changes", [])
    if not isinstance(changes, list) or not all(isinstance(c, list) and len(c) == 3 for c in changes):
        raise InputError(f"{path}: {where}.cost.changes must list [old, new, cost], got {short(changes)}.")
    try:
        table = {(old, new): price for old, new, price in changes}
        return Cost(**{key: cost[key] for key in COST_KEYS[:3] if key in cost}, changes=table)
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: {where}.cost cannot be read: {error}") from error


def _check_keys(path: Path, content: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    unknown = [key for key in content if key not in known]
    if unknown:
        raise InputError(f"{path}: {where} has the unknown keys {short(unknown)}. Known: {list(known)}.")
