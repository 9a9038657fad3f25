"""One decision: x and its counterfactuals, what to do, where they lie, and how good the answer is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoint import metrics
from counterpoint.answers import Fitted
from counterpoint.blackbox import is_continuous
from counterpoint.distances import changed
from counterpoint.explainers import Explainer
from counterpoint.explanation import Explanation
from counterpoint.joining import join
from counterpoint.metrics import Measures
from counterpoint.render import Card, Line, card
from counterpoint.report.landscape import Landscape
from counterpoint.report.statements import Effort, Statement, Yardstick, statements
from counterpoint.schema import Row, Rows
from counterpoint.sentences import decision_texts, decision_word, number_text
from counterpoint.target import Target
from counterpoint.view import Through

NAN = float("nan")


@dataclass(frozen=True, eq=False)
class One:
    """The facts of a report on one decision.

    Parameters
    ----------
    explanation
        The answer.
    card
        x and its counterfactuals, line by line, with what changed.
    sentences
        Each counterfactual as a sentence.
    landscape
        Where x and they lie among the known instances.
    measures
        The ten measures of the answer.
    statements
        The same in plain words.
    """

    explanation: Explanation
    card: Card
    sentences: tuple[str, ...]
    landscape: Landscape
    measures: Measures
    statements: tuple[Statement, ...]


def one(explanation: Explanation, explainer: Explainer, *, target: Any = None, seconds: float = NAN) -> One:
    """Gather the facts of a report on one decision.

    How stable the answer is takes one more: that of the known instance most like x which is decided as x is,
    for the same target, without limits such as `max_changes`.

    Parameters
    ----------
    explanation
        What `explainer.explain` gave.
    explainer
        The explainer that gave it.
    target
        What was asked for, as given to `explain`. Classes need not be repeated here.
    seconds
        How long the answer took, if it was timed.

    Examples
    --------
    >>> from counterpoint import Neighbours
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> explainer = Neighbours().fit(lambda rows: rows[:, 0] > 0, X)
    >>> facts = one(explainer.explain(X[0], k=3), explainer)
    >>> facts.statements[0].text
    '3 of the 3 asked for were found.'
    """
    fitted = explainer.fitted_
    if join([fitted.schema, explanation.schema]) is None:
        raise ValueError("The explanation is of other features than the explainer knows; give its own.")
    wanted = _wanted(explanation, fitted, target)
    shaped = bool(fitted.schema.form.shape)
    x, rows = _rows(explanation, fitted)
    if shaped:
        measures = _measured_cells(explanation, fitted, wanted, x, rows, seconds)
    else:
        measures = _measured(explanation, explainer, wanted, seconds)
    return One(
        explanation,
        _card(explanation),
        tuple(explanation.sentences()),
        Landscape.of(fitted.known, x, rows, wanted.flips, explanation.decision),
        measures,
        statements(
            measures,
            explanation.k,
            len(fitted.schema.features),
            Yardstick.of(fitted.known),
            Effort(explanation.model_calls, explanation.model_rows),
            "cells" if shaped else "features",
        ),
    )


def _wanted(explanation: Explanation, fitted: Fitted, target: Any) -> Target:
    """Find what was asked for: classes by their names in the explanation, else what the caller gives."""
    labels = fitted.known.labels
    continuous = is_continuous(labels, fitted.blackbox.model)
    known = (
        [] if continuous else list(dict.fromkeys([*np.unique(labels).tolist(), *fitted.blackbox.classes()]))
    )
    if target is None:
        named = explanation.target.split(" or ")
        target = [label for label in known if repr(label) in named] or None
    if target is not None or not continuous:
        wanted = Target.of(target, known, continuous)
        if str(wanted) == explanation.target:
            return wanted
    raise ValueError(
        f"The explanation is about {explanation.target}, the report was asked for "
        f"{'no target' if target is None else repr(target)}. Give target as it was given to explain."
    )


def _rows(explanation: Explanation, fitted: Fitted) -> tuple[Row, Rows]:
    """Give x and its counterfactuals as rows like those of the known instances."""
    if not isinstance(fitted.view, Through):
        return explanation.row, explanation.rows
    x = fitted.view.read_one(explanation.x).instances.rows[0]
    if not len(explanation):
        return x, x[None][:0]
    return x, fitted.view.read(explanation.counterfactuals).instances.rows


def _measured(explanation: Explanation, explainer: Explainer, wanted: Target, seconds: float) -> Measures:
    """Take all ten measures of an answer about a table."""
    return metrics.measure(
        explanation.rows,
        explanation.row,
        explanation.decision,
        explainer.fitted_.known,
        k=explanation.k,
        schema=explainer.fitted_.schema,
        flips=wanted.flips,
        alike=_alike(explanation, explainer, wanted),
        runtime=seconds,
    )


def _alike(explanation: Explanation, explainer: Explainer, wanted: Target) -> tuple[Row, Rows] | None:
    """Explain the known instance most like x that is decided as x is."""
    schema, known = explainer.fitted_.schema, explainer.fitted_.known
    if not len(explanation) or not len(known.rows):
        return None
    (place,) = metrics.nearest_alike(explanation.row[None], [explanation.decision], known, wanted.flips)
    if place < 0:
        return None
    target = wanted.test or wanted.classes or None
    answer = explainer.explain(schema.decode(known.rows[[place]]), explanation.k, target=target)
    return answer.row, answer.rows


def _measured_cells(
    explanation: Explanation, fitted: Fitted, wanted: Target, x: Row, rows: Rows, seconds: float
) -> Measures:
    """Take the measures of an answer about an image or a series.

    Those about x and its counterfactuals are taken on cells, those about the known instances on what the
    codec makes of all of them. How stable the answer is, is not measured.
    """
    C, k, yardstick = explanation.rows, explanation.k, fitted.yardstick
    return Measures(
        size=metrics.size(C, k),
        act=metrics.act(C, explanation.row, fitted.schema.actionable, k),
        impl=metrics.impl(rows, fitted.known),
        dis_dist=metrics.dis_dist(C, explanation.row, yardstick),
        dis_count=metrics.dis_count(C, explanation.row),
        div_dist=metrics.div_dist(C, yardstick),
        div_count=metrics.div_count(C),
        dipo=metrics.dipo(rows, x, fitted.known, explanation.decision, k, wanted.flips),
        runtime=seconds,
    )


def _card(explanation: Explanation) -> Card:
    """Lay out x and its counterfactuals: what changes, what does not, and what comes of it."""
    word = decision_word(explanation.decision, explanation.labels)
    before, *after = decision_texts(explanation.decision, explanation.labels)
    masks = changed(explanation.rows, explanation.row)
    parts = "cells" if explanation.schema.form.shape else "features"
    outcome = (
        Line(word, before, tuple(after)),
        Line(f"{parts} changed", "", tuple(f"{count:,}" for count in masks.sum(axis=1).tolist())),
        Line("distance", "", tuple(number_text(d, digits=3) for d in explanation.distance)),
        Line("found by", "", explanation.found_by),
    )
    facts = (
        (word.capitalize(), decision_texts(explanation.decision, explanation.labels[:0], quote=True)[0]),
        ("Wanted", explanation.target),
        ("Found", f"{len(explanation)} of {explanation.k}"),
        *([("Seen through", explanation.codec)] if explanation.codec else []),
    )
    note = str(explanation.shortfall or "")
    if explanation.schema.form.shape:
        return Card(facts, (), (), outcome, note)
    return card(facts, explanation.schema, explanation.row, explanation.rows, outcome, note)
