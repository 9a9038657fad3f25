"""Why there is no answer: the constraints whose release gives one, to be released by a click."""

from __future__ import annotations

from typing import Any

from counterpoint.data.constraint import Constraint, ConstraintKind
from counterpoint.show.wording import constraint_text
from counterpoint.web.page.questions import Asked

# The search for constraints to release takes at most so long.
SECONDS = 20.0

# What the page calls each kind of constraint.
KINDS = {
    ConstraintKind.IMMUTABLE: "lock",
    ConstraintKind.RANGE: "range",
    ConstraintKind.INCREASE: "way",
    ConstraintKind.DECREASE: "way",
    ConstraintKind.COST: "cost",
    ConstraintKind.MAX_CHANGE: "max_change",
    ConstraintKind.MAX_CHANGES: "most",
}


def why(asked: Asked) -> dict[str, Any]:
    """Find what stands in the way of an answer."""
    found = asked.explain()
    relaxed = found.relax(max_seconds=SECONDS)
    if relaxed is None or not relaxed.released:
        return {"ways": []}
    ways = [_way(released) for released in (relaxed.released, *relaxed.alternatives)]
    ways[0]["then"] = relaxed.explanation.sentences()[:1]
    return {"ways": ways}


def _way(released: tuple[Constraint, ...]) -> dict[str, Any]:
    return {
        "release": [
            {"kind": KINDS[each.kind], "feature": None if each.feature is None else str(each.feature)}
            for each in released
        ],
        "text": "; ".join(constraint_text(each) for each in released),
    }
