"""Where the decision about one case flips, feature by feature: all of them in one question to the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.data.feature import Feature
from counterpoint.data.types import Labels, Mask, Row, Rows
from counterpoint.show.wording import decision_texts
from counterpoint.web.page.questions import Asked
from counterpoint.web.wire import plain

# So many values of each number are tried: half at equal steps, half where known instances are.
TRIED = 48


def flips(asked: Asked) -> dict[str, Any]:
    """Tell for each feature what the model would decide at its other values, all else being equal."""
    fitted = asked.fitted
    features, x = fitted.schema.features, asked.row
    tries = [_tried(f, fitted.known.rows[:, i], x[i]) for i, f in enumerate(features)]
    rows = np.repeat(x[None], 1 + sum(map(len, tries)), axis=0)
    start = 1
    for index, values in enumerate(tries):
        rows[start : start + len(values), index] = values
        start += len(values)
    labels = fitted.blackbox.predict(rows)
    wanted = asked.target.flips(labels, labels[0])
    texts = _texts(labels)
    ends = np.cumsum([1, *map(len, tries)])
    parts = [slice(ends[i], ends[i + 1]) for i in range(len(features))]
    return {
        str(f.name): _facts(f, rows[part, i], texts[part], wanted[part])
        for i, (f, part) in enumerate(zip(features, parts, strict=True))
    }


def _tried(feature: Feature, known: Row, x: float) -> Row:
    """Choose the values to try, in ascending order."""
    if feature.is_categorical:
        return np.arange(len(feature.categories), dtype=np.float64)
    if feature.follows:
        return np.empty(0)
    held = known[np.isfinite(known)]
    low, high = min(feature.seen[0], x), max(feature.seen[1], x)
    if not np.isfinite(low + high) or (np.isnan(x) and not len(held)):
        return np.empty(0)
    if np.isnan(x):
        low, high = feature.seen
    even = np.linspace(low, high, TRIED // 2)
    values = np.concatenate([even, np.quantile(held, np.linspace(0, 1, TRIED // 2)), [x, low, high]])
    values = values[np.isfinite(values)]
    if feature.step is not None:
        top, bottom = feature.fraction
        values = np.rint(values * bottom / top) * top / bottom
        values = values[(values >= low) & (values <= high)]
    return np.unique(values)


def _texts(labels: Labels) -> list[str]:
    if labels.ndim > 1:
        return [decision_texts(label, labels[:0])[0] for label in labels]
    values, inverse = np.unique(labels, return_inverse=True)
    texts = [decision_texts(value, values[:0])[0] for value in values]
    return [texts[i] for i in inverse.tolist()]


def _facts(feature: Feature, values: Row, texts: list[str], wanted: Mask) -> dict[str, Any]:
    """Tell what would be decided: per category, or in bands of numbers."""
    if feature.is_categorical:
        decided = zip(values.tolist(), texts, wanted.tolist(), strict=True)
        return {
            "categories": [
                {"value": plain(feature.label(value)), "decision": text, "wanted": flips}
                for value, text, flips in decided
            ]
        }
    return {"bands": _bands(feature, values, texts, wanted)}


def _bands(feature: Feature, values: Row, texts: list[str], wanted: Mask) -> list[dict[str, Any]]:
    """Join neighbouring values that are decided alike; a band ends half-way to the next value."""
    if not len(values):
        return []
    alike = wanted[1:] == wanted[:-1]
    starts = [0, *(np.flatnonzero(~alike) + 1).tolist()]
    ends = [*(start - 1 for start in starts[1:]), len(values) - 1]
    halves: Rows = np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
    return [
        {
            "from": _wire(feature, halves[start]),
            "to": _wire(feature, halves[end + 1]),
            "first": plain(feature.label(values[start])),
            "last": plain(feature.label(values[end])),
            "wanted": bool(wanted[start]),
            "decision": texts[start],
        }
        for start, end in zip(starts, ends, strict=True)
    ]


def _wire(feature: Feature, value: float) -> Any:
    """Write a place on the track: numbers as they are, dates as dates."""
    return float(value) if feature.calendar is None else plain(feature.label(np.rint(value)))
