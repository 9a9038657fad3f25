"""Facts on many decisions as plain data and back, so that those of parts can be added up later."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from counterpoint.explanation.shortfall import Reason
from counterpoint.report.costs import Costs, Histogram
from counterpoint.report.flips import Flip
from counterpoint.report.groups import Split
from counterpoint.report.many import Case, Many
from counterpoint.search.why import Why

_KINDS = {kind.__name__: kind for kind in (Many, Costs, Histogram, Flip, Reason, Case, Split)}


def to_plain(facts: Any) -> Any:
    """Turn facts into what JSON can hold.

    Examples
    --------
    >>> to_plain(Histogram.of([1, 1, 2]))
    {'kind': 'Histogram', 'counts': [[1, 2], [2, 1]]}
    """
    if is_dataclass(facts):
        parts = {field.name: to_plain(getattr(facts, field.name)) for field in fields(facts)}
        return {"kind": type(facts).__name__, **parts}
    if isinstance(facts, Why):
        return {"kind": "Why", "value": facts.value}
    return [to_plain(each) for each in facts] if isinstance(facts, tuple) else facts


def from_plain(plain: Any) -> Any:
    """Turn plain data back into facts.

    Examples
    --------
    >>> from_plain(to_plain(Histogram.of([1, 1, 2])))
    Histogram(counts=((1, 2), (2, 1)))
    """
    if isinstance(plain, list):
        return tuple(from_plain(each) for each in plain)
    if not isinstance(plain, dict):
        return plain
    parts = {name: from_plain(each) for name, each in plain.items() if name != "kind"}
    return Why(**parts) if plain["kind"] == "Why" else _KINDS[plain["kind"]](**parts)
