"""What the page has to know before anything is asked: columns, decisions, settings, and how cases spread."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.data.costs import Cost
from counterpoint.data.feature import Feature
from counterpoint.data.types import Row
from counterpoint.explainers.ensemble import Ensemble
from counterpoint.model.target import Between, Probability
from counterpoint.selection.selection import NAMED
from counterpoint.show.wording import value_texts
from counterpoint.web.asked import NEVER
from counterpoint.web.page.questions import SAFE_NAME, can_be_safe
from counterpoint.web.page.session import Session
from counterpoint.web.page.table import Cases
from counterpoint.web.wire import kind_of, plain

# How many bars the distribution of a number has.
BARS = 32

# The settings of the switch, as people call them, and what each means.
SETTINGS = {
    "balanced": ("Balanced", "A few good ways of different kinds"),
    "close": ("Close", "The smallest changes"),
    "sparse": ("Few changes", "As few changes at once as possible"),
    "plausible": ("Plausible", "As similar to known cases as possible"),
    SAFE_NAME: ("Safe", "Well beyond the line, not just over it"),
    "diverse": ("Diverse", "As different from each other as possible"),
}


def about(session: Session, cases: Cases) -> dict[str, Any]:
    """Describe columns, decisions and settings."""
    known = session.fitted.known
    told: dict[str, Any] = {
        "kind": "table",
        "title": session.title,
        "columns": [_column(f, known.rows[:, i]) for i, f in enumerate(session.fitted.schema.features)],
        "decisions": cases.counts,
        "cases": len(session.rows),
        "skipped": session.skipped,
        "numbers": session.is_continuous,
        "target": _target(session.target),
        "settings": _settings(session),
        "setting": _setting(session),
        "k": session.k,
        "most": session.max_changes,
        "has_scores": session.has_scores,
        "score_kind": session.score_kind,
        "has_command": session.opened is not None,
        "start": _start(session),
    }
    result: dict[str, Any] = plain(told)
    return result


def _column(feature: Feature, values: Row) -> dict[str, Any]:
    """Describe one column, with how its values spread and what may change as it was set up."""
    kind = kind_of(feature)
    facts: dict[str, Any] = {
        "name": str(feature.name),
        "kind": kind,
        "follows": feature.follows,
        "missing": feature.missing or None in feature.categories,
        "fixed": _fixed(feature, kind),
    }
    if kind == "category":
        return facts | {"ordered": feature.ordered, "categories": _categories(feature, values)}
    low, high = feature.seen
    known = values[np.isfinite(values)]
    counts = np.histogram(known, BARS, (low, high if high > low else low + 1))[0]
    step = feature.step
    if feature.calendar is not None:
        low, high, step = feature.label(low), feature.label(high), None
    return facts | {"low": low, "high": high, "step": step, "bars": counts.tolist()}


def _categories(feature: Feature, values: Row) -> list[dict[str, Any]]:
    counts = np.bincount(values.astype(np.intp), minlength=len(feature.categories))
    texts = value_texts(feature, np.arange(len(feature.categories), dtype=np.float64))
    return [
        {"value": value, "text": text, "share": count / max(1, len(values))}
        for value, text, count in zip(feature.categories, texts, counts.tolist(), strict=True)
    ]


def _fixed(feature: Feature, kind: str) -> dict[str, Any]:
    """Tell what may change as it was set up."""
    limits = feature.range
    if limits is not None and kind != "category":
        limits = tuple(None if np.isinf(end) else feature.label(end) for end in limits)
    return {
        "lock": feature.immutable,
        "range": limits,
        "way": {1: "up", -1: "down"}.get(feature.direction),
        "cost": None if feature.cost.is_plain else _cost(feature.cost),
        "max_change": feature.max_change,
    }


def set_up(session: Session) -> dict[str, Any]:
    """Write the constraints as they were set up, as the page sends them while nobody changes them."""
    features = [feature for feature in session.fitted.schema.features if not feature.follows]
    fixed = {str(feature.name): _fixed(feature, kind_of(feature)) for feature in features}

    def those(key: str) -> dict[str, Any]:
        return {name: facts[key] for name, facts in fixed.items() if facts[key] is not None}

    ways = {name: way for name, way in those("way").items() if not fixed[name]["lock"]}
    written: dict[str, Any] = {
        "immutable": [name for name, facts in fixed.items() if facts["lock"]],
        "ranges": those("range"),
        "increase": [name for name, way in ways.items() if way == "up"],
        "decrease": [name for name, way in ways.items() if way == "down"],
        "costs": those("cost"),
        "max_change": those("max_change"),
    }
    result: dict[str, Any] = plain(written)
    return result


def _cost(cost: Cost) -> dict[str, Any]:
    """Write a cost as it is read from a request."""

    def price(value: float) -> Any:
        return NEVER if np.isinf(value) else value

    written: dict[str, Any] = {"up": price(cost.up), "down": price(cost.down)}
    if cost.otherwise is not None:
        written["otherwise"] = price(cost.otherwise)
    if cost.changes:
        written["changes"] = [[old, new, price(value)] for (old, new), value in cost.changes]
    return written


def _settings(session: Session) -> list[dict[str, str]]:
    """List the settings that this explainer has."""
    if not isinstance(session.explainer, Ensemble):
        return []
    has = [name for name in SETTINGS if name in NAMED or (name == SAFE_NAME and can_be_safe(session))]
    return [{"name": name, "label": SETTINGS[name][0], "about": SETTINGS[name][1]} for name in has]


def _setting(session: Session) -> str | None:
    """Find the name of the explainer's own setting; None for one of the caller's making."""
    own = getattr(session.explainer, "selection", None)
    return next((name for name, each in NAMED.items() if each == own and name in SETTINGS), None)


def _target(target: Any) -> Any:
    """Write a target as it is read from a request; a function can only be named."""
    if isinstance(target, Between):
        return {"low": target.low, "high": target.high}
    if isinstance(target, Probability):
        return {"class": list(target.classes), "at_least": target.at_least, "at_most": target.at_most}
    return {"given": True} if callable(target) else target


def _start(session: Session) -> int:
    """Choose the case to begin with: the first whose decision is not the wanted one, else the rarest."""
    target = session.fitted.read_target(session.target)
    if session.is_continuous or target.classes or target.test is not None:
        labels = (
            session.fitted.facing(target).blackbox.predict(session.rows) if target.test else session.labels
        )
        unlike = np.flatnonzero(~target.flips(labels, None))
        return int(unlike[0]) if len(unlike) else 0
    values, counts = np.unique(session.labels, return_counts=True)
    return int(np.flatnonzero(session.labels == values[np.argmin(counts)])[0])
