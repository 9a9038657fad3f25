"""One answer as plain data: what was decided, and each counterfactual with its changes."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.nearest_miss import NearestMiss
from counterpoint.search.bound import Bound


def record(index: int, item: Explanation) -> dict[str, Any]:
    """Make one answer into plain data: what was decided, and each counterfactual with its changes."""
    features = item.schema.features
    values = [
        {str(f.name): f.label(row[i]) for i, f in enumerate(features)} for row in (item.row, *item.rows)
    ]
    x, *others = values
    found = [
        {
            "decision": _plain(item.labels[i]),
            "distance": float(item.distance[i]),
            **({} if item.cost is None else {"cost": float(item.cost[i])}),
            "found_by": item.found_by[i],
            "changes": {name: value for name, value in other.items() if value != x[name]},
            "values": other,
        }
        for i, other in enumerate(others)
    ]
    return {
        "instance": index,
        "decision": _plain(item.decision),
        "wanted": item.target,
        "values": x,
        "shortfall": None if item.shortfall is None else item.shortfall.reason,
        "nearest_miss": None if item.nearest_miss is None else _miss(item.nearest_miss),
        **({} if item.bound is None else {"bound": _bound(item.bound)}),
        "counterfactuals": found,
    }


def _bound(bound: Bound) -> dict[str, Any]:
    """Make what is proven into plain data; JSON has no infinity."""
    return {"lower": bound.lower if np.isfinite(bound.lower) else None, "is_proven": bound.is_proven}


def _miss(miss: NearestMiss) -> dict[str, Any]:
    """Make a nearest miss into plain data; it says itself that it is no counterfactual."""
    changes = zip(miss.changes["feature"].tolist(), miss.changes["to"].tolist(), strict=True)
    return {
        "is_counterfactual": False,
        "decision": _plain(miss.decision),
        "score": miss.score,
        "score_is": str(miss.standing.kind),
        "needed": miss.needed,
        "changes": {str(name): value for name, value in changes},
    }


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
