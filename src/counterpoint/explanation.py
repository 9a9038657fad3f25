"""The answer for one instance: its counterfactuals, what they change, and why there are fewer than k.

Nothing is computed before it is asked for, so that a hundred thousand answers are cheap to hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pandas as pd

from counterpoint import plots, render, sentences
from counterpoint.answer import Answer
from counterpoint.answer_json import Document
from counterpoint.blackbox import Labels
from counterpoint.distances import changed

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Answer):
    """The counterfactuals of one instance: what would have to change for its decision to be different.

    Counterfactuals are numbered from 1, in tables as in pictures.

    Parameters
    ----------
    schema
        What the columns are.
    row
        The explained instance x, as a row.
    decision
        What the model says of x: one label, or a vector of scores.
    rows
        The counterfactuals, as rows.
    labels
        What the model says of them.
    found_by
        The name of the explainer that found each.
    k
        How many were asked for.
    distance
        How far each is from x.
    target
        What counts as a different decision, in words.
    shortfall
        Why there are fewer than k, if there are.
    model_calls, model_rows
        How often the model was called for this answer, and about how many rows in all.
    codec
        What images and series were seen through, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoint import Schema
    >>> people = pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]})
    >>> explanation = Explanation(
    ...     Schema.infer(people), row=np.array([31.0, 0.0]), decision="bad",
    ...     rows=np.array([[31.0, 1.0]]), labels=np.array(["good"]),
    ...     found_by=("Tree",), k=1, distance=np.array([1.0]),
    ... )
    >>> print(explanation)
    Decision: 'bad'   Wanted: any other decision   Found: 1 of 1
    <BLANKLINE>
    feature    x       1
    ────────────────────────
    job        clerk   smith
    ────────────────────────
    decision   bad     good
    distance           1
    found by           Tree
    <BLANKLINE>
    Unchanged: age.
    >>> explanation.counterfactuals
       age    job
    0   31  smith
    """

    def __repr__(self) -> str:
        decision = sentences.decision_texts(self.decision, self.labels[:0], quote=True)[0]
        return f"<Explanation: decision {decision}, {len(self)} of {self.k} counterfactuals>"

    def __str__(self) -> str:
        return render.card_text(self._card)

    def _repr_html_(self) -> str:
        if not self.schema.form.shape or not plots.is_available():
            return render.card_html(self._card)
        return render.card_html(self._card) + plots.html(self.plot(), plots.describe(self._views))

    def plot(self) -> Figure:
        """Draw the answer: images side by side, series overlaid, of tables what changes to what.

        Needs matplotlib: ``pip install 'counterpoint[plot]'``.
        """
        if self.schema.form.shape:
            return plots.draw(self._views)
        return plots.draw_table(self._card, plots.ways(self.schema, self.row, self.rows))

    @cached_property
    def x(self) -> Any:
        """The explained instance: a frame of one row, or an array if arrays were given."""
        table = self.schema.decode(self.row[None])
        return table[0] if self.schema.form.kind == "array" else table

    @cached_property
    def counterfactuals(self) -> Any:
        """The counterfactuals as a table like the caller's: the same library, columns and dtypes."""
        return self.schema.decode(self.rows)

    @property
    def decisions(self) -> Labels:
        """What the model says of each counterfactual."""
        return self.labels

    @cached_property
    def changes(self) -> pd.DataFrame:
        """Every change of every counterfactual: its number, the feature, the values before and after."""
        return sentences.changes(self.schema, self.row, self.rows)

    def importance(self) -> pd.Series:
        """Measure the share of the counterfactuals that change each feature, largest first."""
        return sentences.shares(self.schema, self.row, self.rows)

    def sentences(self) -> list[str]:
        """Say each counterfactual as one sentence."""
        if self.schema.form.shape:
            return sentences.cell_sentences(self.row, self.rows, self.decision, self.labels)
        return sentences.sentences(self.schema, self.row, self.rows, self.decision, self.labels)

    def to_json(self) -> str:
        """Save everything but the model as text; `from_json` reads it back."""
        place = pd.RangeIndex(1)
        return Document(self.schema, [self], place, self.model_calls, self.model_rows).to_json()

    @classmethod
    def from_json(cls, text: str) -> Explanation:
        """Read an answer that `to_json` saved."""
        answers = Document.from_json(text, cls).answers
        if len(answers) != 1:
            raise ValueError(f"The text holds {len(answers)} explanations; use Explanations.from_json.")
        return answers[0]

    @cached_property
    def _card(self) -> render.Card:
        word = sentences.decision_word(self.decision, self.labels)
        before, *after = sentences.decision_texts(self.decision, self.labels)
        outcome = [
            render.Line(word, before, tuple(after)),
            render.Line("distance", "", tuple(sentences.number_text(d, digits=3) for d in self.distance)),
            render.Line("found by", "", tuple(self.found_by)),
        ]
        facts = (
            (word.capitalize(), sentences.decision_texts(self.decision, self.labels[:0], quote=True)[0]),
            ("Wanted", self.target),
            ("Found", f"{len(self)} of {self.k}"),
            *([("Seen through", self.codec)] if self.codec else []),
        )
        note = str(self.shortfall or "")
        if not self.schema.form.shape:
            return render.card(facts, self.schema, self.row, self.rows, outcome, note)
        share = changed(self.rows, self.row).mean(axis=1)
        line = render.Line("cells changed", "", tuple(f"{each:.1%}" for each in share))
        return render.Card(facts, (), (), (outcome[0], line, *outcome[1:]), note)

    @property
    def _views(self) -> plots.Views:
        shape = self.schema.form.shape
        note = str(self.shortfall or "")
        return plots.Views(
            plots.kind_of(shape),
            self.x,
            self.counterfactuals,
            self.decision,
            self.decisions,
            self.distance,
            self.found_by,
            note,
        )
