"""One decision: x, its counterfactuals, what the model would decide, and the quality of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoint.data.distance import changed
from counterpoint.data.outputs import is_continuous
from counterpoint.data.types import Row, Rows
from counterpoint.explainers import Explainer
from counterpoint.explainers.fitting import Fitted
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.joining import join
from counterpoint.explanation.relaxation import Relaxation
from counterpoint.metrics import measures
from counterpoint.metrics.evaluate import explain_alike
from counterpoint.metrics.measures import Measures
from counterpoint.model.representation import Through
from counterpoint.model.target import Target
from counterpoint.report.landscape import Landscape
from counterpoint.report.measures_in_words import Effort, Statement, Yardstick, statements
from counterpoint.show.cards import Card, Line
from counterpoint.show.wording import relaxation_text

NAN = float("nan")


@dataclass(frozen=True, eq=False)
class One:
    """The facts of a report on one decision.

    Parameters
    ----------
    explanation
        The answer.
    card
        x and its counterfactuals, line by line, with the changes.
    sentences
        Each counterfactual as a sentence.
    landscape
        Where x and the counterfactuals lie among the known instances.
    measures
        The ten measures of the answer.
    statements
        The same in plain words.
    relaxation
        If there is no counterfactual: which constraints to release for one, if that is known.
    """

    explanation: Explanation
    card: Card
    sentences: tuple[str, ...]
    landscape: Landscape
    measures: Measures
    statements: tuple[Statement, ...]
    relaxation: Relaxation | None = None

    @property
    def ranges(self) -> list[str]:
        """How far values can move, in words, if `Explanation.ranges` was called."""
        widened = self.explanation.widened
        return [] if widened is None else widened.sentences()

    @property
    def released(self) -> str:
        """The constraints to release, in words."""
        found = self.relaxation
        return "" if found is None else relaxation_text(found.released, found.alternatives)


def one(
    explanation: Explanation,
    explainer: Explainer,
    *,
    target: Any = None,
    seconds: float = NAN,
    relaxation: Relaxation | None = None,
) -> One:
    """Gather the facts of a report on one decision.

    To measure stability, the known instance most similar to x with the same decision is explained too, for
    the same target and without limits such as `max_changes`.

    Parameters
    ----------
    explanation
        The result of `explainer.explain`.
    explainer
        The explainer that produced it.
    target
        The target, as given to `explain`. It may be omitted if it names classes.
    seconds
        How long the answer took, if it was timed.
    relaxation
        The result of `explanation.relax()`, to show which constraints stand in the way of an answer.

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
        raise ValueError(
            "The explanation has other features than the explainer; give the explainer that made it."
        )
    wanted = _wanted(explanation, fitted, target)
    fitted = fitted.facing(wanted)
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
        relaxation,
    )


def _wanted(explanation: Explanation, fitted: Fitted, target: Any) -> Target:
    """Find what was asked for: the classes in the explanation, or else what the caller gives."""
    labels = fitted.known.labels
    continuous = is_continuous(labels, fitted.blackbox.model)
    known = (
        [] if continuous else list(dict.fromkeys([*np.unique(labels).tolist(), *fitted.blackbox.classes()]))
    )
    target = explanation.probability or list(explanation.classes) or None if target is None else target
    if target is not None or not continuous:
        wanted = Target.of(target, known, continuous)
        if str(wanted) == explanation.target:
            return wanted
    raise ValueError(
        f"The target of the explanation is {explanation.target}, the report was asked for "
        f"{'no target' if target is None else repr(target)}. Give target as it was given to explain."
    )


def _rows(explanation: Explanation, fitted: Fitted) -> tuple[Row, Rows]:
    """Get x and its counterfactuals as rows like those of the known instances."""
    if not isinstance(fitted.view, Through):
        return explanation.row, explanation.rows
    x = fitted.view.read_one(explanation.x).instances.rows[0]
    if not len(explanation):
        return x, x[None][:0]
    return x, fitted.view.read(explanation.counterfactuals).instances.rows


def _measured(explanation: Explanation, explainer: Explainer, wanted: Target, seconds: float) -> Measures:
    """Compute all ten measures of an answer about a table."""
    alike: list[tuple[Row, Rows] | None] = [None]
    if len(explanation):
        target = wanted.test or wanted.classes or None
        alike = explain_alike(explainer, [explanation], explanation.k, target, wanted)
    return measures.measure(
        explanation.rows,
        explanation.row,
        explanation.decision,
        explainer.fitted_.facing(wanted).known,
        k=explanation.k,
        schema=explainer.fitted_.schema,
        flips=wanted.flips,
        alike=alike[0],
        runtime=seconds,
    )


def _measured_cells(
    explanation: Explanation, fitted: Fitted, wanted: Target, x: Row, rows: Rows, seconds: float
) -> Measures:
    """Compute the measures of an answer about an image or a series.

    Measures of x and its counterfactuals use cells; measures that involve known instances use the codec's
    representation. Stability is not measured.
    """
    C, k, yardstick = explanation.rows, explanation.k, fitted.yardstick
    return Measures(
        size=measures.size(C, k),
        act=measures.act(C, explanation.row, fitted.schema.changeable, k),
        impl=measures.impl(rows, fitted.known),
        dis_dist=measures.dis_dist(C, explanation.row, yardstick),
        dis_count=measures.dis_count(C, explanation.row),
        div_dist=measures.div_dist(C, yardstick),
        div_count=measures.div_count(C),
        dipo=measures.dipo(rows, x, fitted.known, explanation.decision, k, wanted.flips),
        runtime=seconds,
    )


def _card(explanation: Explanation) -> Card:
    """Show the answer, with the number of changes in each counterfactual."""
    parts = "cells" if explanation.schema.form.shape else "features"
    counts = changed(explanation.rows, explanation.row).sum(axis=1).tolist()
    return explanation.card(Line(f"{parts} changed", "", tuple(f"{count:,}" for count in counts)))
