"""Decisions of the model about rows, without explanations."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.data.types import Rows
from counterpoint.explainers import Explainer
from counterpoint.model.blackbox import BlackBox, ModelError
from counterpoint.model.scores import ScoreKind
from counterpoint.web.rows import Table
from counterpoint.web.wire import plain


class RowError(Exception):
    """The model fails on rows; `failed` has the error of each by its place."""

    def __init__(self, failed: dict[int, Exception]) -> None:
        super().__init__(f"The model failed on {len(failed)} rows.")
        self.failed = failed


def decide(explainer: Explainer, table: Table) -> list[Any]:
    """Ask the model about rows.

    Examples
    --------
    >>> import counterpoint as cp
    >>> import pandas as pd
    >>> explainer = cp.Neighbours().fit(lambda X: X["age"] > 35, pd.DataFrame({"age": [20, 30, 40, 50]}))
    >>> decide(explainer, Table(("age",), ([31, 45],)))
    [False, True]
    """
    fitted = explainer._fitted()
    sight = fitted.view.read(table.frame).valid("rows")
    rows, places = sight.instances.rows, np.arange(len(table))
    blackbox = fitted.blackbox.seen_by(sight.view).about(sight.instances)
    try:
        return [plain(label) for label in blackbox.predict(rows, places)]
    except ModelError as error:
        found = blackbox.first_failing(rows, places)
        place, own = (0, error) if found is None else found
        raise RowError({place: own}) from error


def probabilities(explainer: Explainer, table: Table) -> tuple[list[Any], list[list[float]]] | None:
    """Ask the model for its classes, and their probabilities per row; None if it has none."""
    fitted = explainer._fitted()
    sight = fitted.view.read(table.frame).valid("rows")
    blackbox = fitted.blackbox.seen_by(sight.view).about(sight.instances)
    scores = blackbox.class_scores(sight.instances.rows, np.arange(len(table)))
    if scores is None or scores.kind is not ScoreKind.PROBABILITY:
        return None
    return [plain(each) for each in scores.classes], scores.numbers.tolist()


def classes_of(blackbox: BlackBox, row: Rows) -> list[Any] | None:
    """List the classes that the model gives probabilities for, by one row; None if it gives none."""
    scores = blackbox.class_scores(row, np.zeros(1, dtype=np.intp))
    if scores is None or scores.kind is not ScoreKind.PROBABILITY:
        return None
    return [plain(each) for each in scores.classes]
