"""Facts as text and back: frozen dataclasses of numbers, texts and tuples, read by their types."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def to_json(facts: Any) -> str:
    """Write facts as text."""
    return json.dumps(asdict(facts))


def from_json(kind: type[T], text: str) -> T:
    """Read facts of a kind that `to_json` wrote.

    Examples
    --------
    >>> from counterpoint.report.costs import Costs
    >>> costs = Costs.of([0.5, 0.25], [1, 2])
    >>> from_json(Costs, to_json(costs)) == costs
    True
    """
    return cast(T, _read(kind, json.loads(text)))


def _read(kind: Any, plain: Any) -> Any:
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return cast(Any, kind)(**{name: _read(hints[name], value) for name, value in plain.items()})
    if get_origin(kind) is not tuple:
        return plain
    kinds = get_args(kind)
    if kinds[-1] is Ellipsis:
        return tuple(_read(kinds[0], value) for value in plain)
    return tuple(_read(each, value) for each, value in zip(kinds, plain, strict=True))
