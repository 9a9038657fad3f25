"""Constraints as flags of the command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import date
from math import inf
from typing import Any

from counterpoint.cli.constraints import Limits
from counterpoint.cli.errors import InputError
from counterpoint.data.costs import Cost

# The flags that list columns, and those that say something of one column: NAME=…
NAMES = ("immutable", "increase", "decrease", "categorical")
PAIRS = ("range", "order", "step", "cost", "max_change", "onehot")


def from_flags(options: Namespace) -> Limits:
    """Read the flags about constraints.

    Examples
    --------
    >>> flags = {name: [] for name in (*NAMES, *PAIRS, "link")}
    >>> flags |= {"immutable": ["age,sex"], "range": ["amount=500:", "purpose=car,tv"], "cost": ["hours=0.2"]}
    >>> limits = from_flags(Namespace(**flags, no_onehot=False, allow_missing=False, max_changes=2))
    >>> limits.immutable, limits.ranges, limits.costs
    (('age', 'sex'), {'amount': (500.0, inf), 'purpose': ('car', 'tv')}, {'hours': 0.2})
    """
    names = {name: split(getattr(options, name)) for name in NAMES}
    if options.onehot and options.no_onehot:
        raise InputError("--onehot declares groups of columns, and --no-onehot takes none; drop one of them.")
    return Limits(
        **names,
        ranges=_pairs(options.range, "--range must be NAME=LOW:HIGH or NAME=A,B,C", _range),
        order=_pairs(options.order, "--order must be NAME=LOWEST,…,HIGHEST", _list),
        steps=_pairs(options.step, "--step must be NAME=NUMBER", float),
        costs=_pairs(options.cost, "--cost must be NAME=NUMBER or NAME=UP:DOWN, with inf for never", _cost),
        max_change=_pairs(options.max_change, "--max-change must be NAME=NUMBER or NAME=20%", _amount),
        onehot=_pairs(options.onehot, "--onehot must be NAME=COLUMN,COLUMN", _list) or _detects(options),
        links=tuple(options.link),
        missing="allow" if options.allow_missing else None,
        max_changes=options.max_changes,
    )


def split(texts: Sequence[str]) -> tuple[str, ...]:
    """Read names that are given with commas between, in one flag or several."""
    return tuple(dict.fromkeys(name.strip() for text in texts for name in text.split(",") if name.strip()))


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


def _detects(options: Namespace) -> bool | None:
    """Tell whether dummy columns are detected: None for yes."""
    return False if options.no_onehot else None


def _pairs(texts: Sequence[str], rule: str, read: Callable[[str], Any]) -> dict[str, Any]:
    """Read NAME=VALUE; the name may hold further equal signs."""
    found = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        try:
            if not (name and equals and value):
                raise ValueError
            found[name] = read(value)
        except (ValueError, TypeError):
            raise InputError(f"{rule}, got {text!r}.") from None
    return found


def _range(text: str) -> tuple[Any, ...]:
    return between(text) or _dates_between(text) or _list(text)


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _cost(text: str) -> Cost | float:
    """Read a cost, or UP:DOWN.

    Examples
    --------
    >>> _cost("5"), _cost("1:inf")
    (5.0, Cost(up=1.0, down=inf, changes=(), otherwise=None))
    """
    up, colon, down = text.partition(":")
    return Cost(up=float(up), down=float(down)) if colon else float(up)


def _amount(text: str) -> float | str:
    share = text.strip().removesuffix("%")
    return f"{float(share):g}%" if share != text.strip() else float(share)


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
