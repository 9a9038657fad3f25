"""Many cases at once: which features flip decisions most, and what it costs whom; part after part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from counterpoint.data.types import Indices
from counterpoint.report.groups import contrast
from counterpoint.report.many import Many
from counterpoint.web.page.questions import Asked
from counterpoint.web.page.table import Cases
from counterpoint.web.rows import RefusedError

# So many cases are explained at a time, and at most so many in all, evenly drawn.
PART, MOST = 16, 2_000
# Features that are listed.
LISTED = 12


def grouped(cases: Cases, asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Explain the cases that fit a filter; after each part, give what is known so far."""
    session = cases.session
    names = asked.get("groups") or []
    _check(names, [str(name) for name in session.fitted.schema.names])
    by_text = {str(name): name for name in session.fitted.schema.names}
    indices = cases.found(asked.get("filter") or {})
    some = _evenly(np.sort(indices))
    question = dict(asked.get("question") or {})
    values = cases.values(int(some[0]))["values"] if len(some) else None
    if values is None:
        yield {"done": 0, "total": 0, "found": 0, "facts": None}
        return
    asking = Asked.of(session, {**question, "values": values, "k": 1})
    frames = session.fitted.schema.decode(session.rows[some])
    total: Many | None = None
    for start in range(0, len(some), PART):
        part = frames[start : start + PART]
        explanations = asking.explainer.explain_many(part, progress=False, invalid="skip", **asking.options)
        many = Many.of(explanations, part, [by_text[name] for name in names])
        total = many if total is None else total + many
        done = min(start + PART, len(some))
        yield {"done": done, "total": len(some), "found": len(indices), "facts": _facts(total)}


def _check(names: Any, known: list[str]) -> None:
    if not isinstance(names, list) or not all(name in known for name in names):
        raise RefusedError(f"groups must list columns, got {names!r}. Known: {known}.")


def _evenly(indices: Indices) -> Indices:
    if len(indices) <= MOST:
        return indices
    return indices[np.linspace(0, len(indices) - 1, MOST).astype(np.intp)]


def _facts(many: Many) -> dict[str, Any]:
    """Write what was counted."""
    asking = max(1, many.costs.asking)
    return {
        "asking": many.costs.asking,
        "already": many.costs.already,
        "without": many.costs.without,
        "features": [
            {
                "name": flip.name,
                "share": flip.instances / asking,
                "up": flip.up,
                "down": flip.down,
                "count": flip.instances,
            }
            for flip in many.ranked[:LISTED]
        ],
        "unchanged": list(many.unchanged),
        "splits": [
            {"name": split.name, "groups": [_group(g) for g in split.groups], "text": contrast(split.groups)}
            for split in many.splits
        ],
    }


def _group(group: Any) -> dict[str, Any]:
    costs = group.costs
    told: dict[str, Any] = {
        "name": group.name,
        "cases": costs.asking,
        "without": costs.share_without,
        "small": group.is_small,
        "found": costs.found,
    }
    if costs.found:
        told |= {"low": costs.distance(0.25), "median": costs.distance(0.5), "high": costs.distance(0.75)}
    return told
