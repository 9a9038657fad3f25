"""Where the case and the answers lie among known instances, with what a pointer shows of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterpoint.report.landscape import Landscape
from counterpoint.show.wording import decision_texts, value_texts
from counterpoint.web.page.answers import placed
from counterpoint.web.page.questions import Asked
from counterpoint.web.wire import plain


def place(asked: Asked, others: Any) -> dict[str, Any]:
    """Place the case and some answers, given by their values."""
    rows, target, fitted = placed(asked, others), asked.target, asked.fitted
    decision = fitted.blackbox.predict(asked.row[None])[0]
    there = Landscape.of(fitted.known, asked.row, rows, target.flips, decision)
    return {
        "known": _points(there.known),
        "wanted": there.wanted.tolist(),
        "cases": _told(asked, there),
        "x": plain(there.x.round(5)),
        "answers": _points(there.found),
        "count": there.known_in_all,
        "shown": round(there.shown, 4),
    }


def _points(points: Any) -> list[list[float]]:
    points = np.asarray(points).round(5).tolist()
    return list(points)


def _told(asked: Asked, there: Landscape) -> Mapping[str, Any]:
    """Tell the values of the known instances on the map, by column: the texts, and which case has which."""
    schema = asked.session.fitted.schema
    columns = []
    for feature, column in zip(schema.features, there.rows.T, strict=True):
        values, which = np.unique(column, return_inverse=True)
        texts = [value_texts(feature, value[None])[0] for value in values]
        columns.append({"name": str(feature.name), "texts": texts, "which": which.tolist()})
    labels, which = np.unique(there.labels, return_inverse=True)
    texts = [decision_texts(label, labels[:0])[0] for label in labels]
    return {"columns": columns, "decisions": {"texts": texts, "which": which.tolist()}}
