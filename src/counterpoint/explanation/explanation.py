"""The answer for one instance: its counterfactuals, what they change, and why there are fewer than k.

Everything derived is computed on first use, so that a hundred thousand answers take little memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.distance import changed
from counterpoint.data.types import Labels
from counterpoint.explanation.answer import Answer
from counterpoint.explanation.json_format import Document
from counterpoint.explanation.ranges import Ranges
from counterpoint.explanation.relaxation import Relaxation
from counterpoint.search.actions import directions
from counterpoint.show import cards, plots, wording

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Relaxing(Protocol):
    """An explainer, as far as it is used here."""

    def relax(self, explanation: Explanation, **options: Any) -> Relaxation | None:
        """Find the fewest constraints whose release gives an answer."""
        ...


class Widening(Protocol):
    """An explainer, as far as it is used here."""

    def ranges(self, explanations: Any, **options: Any) -> list[Ranges]:
        """Find how far the changed values of answers can move."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Answer):
    """The counterfactuals of one instance: what would have to change for its decision to be different.

    Counterfactuals are numbered from 1, in tables and in plots.

    Parameters
    ----------
    schema
        The columns of the table.
    row
        The explained instance x, as a row.
    decision
        The model's output for x: one label, or a vector of scores.
    rows
        The counterfactuals, as rows.
    labels
        The model's output for each.
    found_by
        The name of the explainer that found each: "Tree", or "Tree, polished" if it was made smaller since.
    k
        How many counterfactuals were asked for.
    distance
        The distance of each from x.
    target
        What counts as a different decision, in words.
    shortfall
        Why there are fewer than k, if there are.
    model_calls, model_rows
        The number of model calls for this answer, and of rows in them.
    codec
        The codec of images and series, in words.
    may_hold_needless
        Whether some changes may not be needed for the flip, as with `PLAUSIBLE`.
    classes
        The classes asked for; empty if the target names none.
    probability
        The probability asked for, if the model was to decide by probabilities: `decision` and `labels` are
        then the probabilities of its classes.
    nearest_miss
        If there is no counterfactual, the tried row with the best score, where the model has scores. It is
        not a counterfactual.
    cost
        What the changes of each cost, if costs were given: its distance from x, weighed by them.
    limits
        The constraints given with the question, in place of those given to `fit`; not written to JSON.
    bound
        What is proven about how near a counterfactual can be, if it was found by `Exact`.
    widened
        How far values can move, once `ranges` was called: it is then part of JSON and reports.

    Examples
    --------
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
        decision = wording.decision_texts(self.decision, self.labels[:0], quote=True)[0]
        return f"<Explanation: decision {decision}, {len(self)} of {self.k} counterfactuals>"

    def __str__(self) -> str:
        return cards.card_text(self._card)

    def _repr_html_(self) -> str:
        if not self.schema.form.shape or not plots.is_available():
            return cards.card_html(self._card)
        return cards.card_html(self._card) + plots.html(self.plot(), plots.describe(self._views))

    def plot(self) -> Figure:
        """Draw the answer: images side by side, series overlaid, tables as a grid of changes.

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
        """The counterfactuals as a table of the caller's type, with the same columns and dtypes."""
        return self.schema.decode(self.rows)

    @property
    def decisions(self) -> Labels:
        """The model's output for each counterfactual."""
        return self.labels

    @cached_property
    def changes(self) -> pd.DataFrame:
        """Every change of every counterfactual: its number, the feature, the old and the new value."""
        return wording.changes(self.schema, self.row, self.rows)

    @cached_property
    def actions(self) -> list[frozenset[tuple[Any, str]]]:
        """The action of each counterfactual: the changed features, each up, down or to another category.

        Two counterfactuals with the same action are variants of each other.
        """
        ways = directions(self.rows, self.row, self.schema.has_no_order)
        ways = np.where([feature.follows for feature in self.schema.features], 0.0, ways)
        return [
            frozenset((self.schema.names[i], wording.way_text(row[i])) for i in np.flatnonzero(row).tolist())
            for row in ways
        ]

    def importance(self) -> pd.Series:
        """Compute the share of the counterfactuals that change each feature, largest first."""
        return wording.shares(self.schema, self.row, self.rows)

    def sentences(self) -> list[str]:
        """Describe each counterfactual in one sentence."""
        if self.schema.form.shape:
            return wording.cell_sentences(self.row, self.rows, self.decision, self.labels, self._word)
        return wording.sentences(self.schema, self.row, self.rows, self.decision, self.labels, self._word)

    def card(self, *more: cards.Line) -> cards.Card:
        """Gather what is shown of the answer, with further lines below the decision."""
        word = self._word
        before, *after = wording.decision_texts(self.decision, self.labels)
        outcome = [
            cards.Line(word, before, tuple(after)),
            *more,
            cards.Line("distance", "", _texts(self.distance)),
            *([] if self.cost is None else [cards.Line("cost", "", _texts(self.cost))]),
            cards.Line("found by", "", tuple(self.found_by)),
        ]
        facts = (
            (
                word[:1].upper() + word[1:],
                wording.decision_texts(self.decision, self.labels[:0], quote=True)[0],
            ),
            ("Wanted", self.target),
            ("Found", f"{len(self)} of {self.k}"),
            *([("Seen through", self.codec)] if self.codec else []),
        )
        note = self._note
        if self.schema.form.shape:
            return cards.Card(facts, (), (), tuple(outcome), note)
        return cards.card(facts, self.schema, self.row, self.rows, outcome, note)

    def relax(
        self,
        explainer: Relaxing | None = None,
        *,
        target: Any = None,
        max_changes: int | None = None,
        keep: Iterable[Any] = (),
        max_seconds: float | None = None,
    ) -> Relaxation | None:
        """Find the fewest constraints whose release gives an answer, with that answer.

        Locks, ranges, directions, costs of ``inf``, `max_change` and `max_changes` can be released; a `rule`
        and `missing` cannot. If no release helps, the result is None. If there is at least one counterfactual
        already, or x has the decision asked for, nothing has to be released.

        Each constraint is tried alone, up to 200 of them, then up to 120 pairs. If no pair helps, the result
        is a set of which no constraint can be put back, but there may be a smaller one.

        Parameters
        ----------
        explainer
            The explainer of an answer that was read from JSON or a pickle; others know theirs. JSON does not
            hold the constraints of one question, so those given to `fit` then count.
        target, max_changes
            With an explainer, as they were given to `explain`; a target of classes may be left out.
        keep
            Features whose constraints are never released, such as those that nobody can change.
        max_seconds
            After this many seconds, the best found so far is returned.
        """
        if explainer is not None:
            return explainer.relax(
                self, target=target, max_changes=max_changes, keep=keep, max_seconds=max_seconds
            )
        if self._asked is None:
            raise ValueError(
                "This explanation does not know its explainer, because it was read from JSON, copied or "
                "built by hand. Give the fitted explainer: explanation.relax(explainer)."
            )
        found: Relaxation | None = self._asked.relax(self, keep, max_seconds)
        return found

    def ranges(
        self, explainer: Widening | None = None, *, target: Any = None, max_seconds: float | None = None
    ) -> Ranges:
        """Find how far each changed value can move while the counterfactual still is one.

        Each range is about one feature; all other values are as in the counterfactual, and the constraints
        hold. Of models made of trees, one value between any two thresholds is tried, so the range is certain.
        Of others, some values are tried and the edge is narrowed down by bisecting: the range says at how
        many values it was checked. Of categories, each is tried.

        The result is kept as `widened`, and is then part of JSON and of reports.

        Parameters
        ----------
        explainer
            The explainer of an answer that was read from JSON or a pickle; others know theirs.
        target
            With an explainer, as it was given to `explain`; a target of classes may be left out.
        max_seconds
            After this many seconds, what is known so far is returned.

        Examples
        --------
        >>> import counterpoint as cp
        >>> X = pd.DataFrame({"hours": range(20, 60), "age": range(20, 60)})
        >>> explainer = cp.Neighbours().fit(lambda X: X["hours"] >= 45, X, immutable=["age"])
        >>> print(explainer.explain({"hours": 40, "age": 30}, k=1).ranges())
        1: hours at least 45 (checked at 17 points)
        """
        if explainer is not None:
            (found,) = explainer.ranges([self], target=target, max_seconds=max_seconds)
        elif self._asked is None:
            raise ValueError(
                "This explanation does not know its explainer, because it was read from JSON, copied or "
                "built by hand. Give the fitted explainer: explanation.ranges(explainer)."
            )
        else:
            (found,) = self._asked.ranges([self], max_seconds)
        object.__setattr__(self, "widened", found)
        return found

    def to_json(self) -> str:
        """Write everything except the model as JSON; `from_json` reads it back."""
        index = pd.RangeIndex(1)
        return Document(self.schema, [self], index, self.model_calls, self.model_rows).to_json()

    @classmethod
    def from_json(cls, text: str) -> Explanation:
        """Read an answer that `to_json` wrote."""
        answers = Document.from_json(text, cls).answers
        if len(answers) != 1:
            raise ValueError(f"The text holds {len(answers)} explanations; use Explanations.from_json.")
        return answers[0]

    @cached_property
    def _card(self) -> cards.Card:
        if not self.schema.form.shape:
            return self.card()
        share = changed(self.rows, self.row).mean(axis=1)
        return self.card(cards.Line("cells changed", "", tuple(f"{each:.1%}" for each in share)))

    @property
    def _note(self) -> str:
        """Why there are fewer than k, what came nearest if there is none, and what to know of the answers."""
        parts = [str(part) for part in (self.shortfall, self.nearest_miss) if part is not None]
        if self.bound is not None and len(self):
            parts.append(wording.bound_text(self.bound.gap, self.cost is not None))
        if len(self) and (self.may_hold_needless or self.schema.form.shape):
            parts.append(wording.UNCHECKED)
        elif not self.schema.form.shape and (different := len(set(self.actions))) < len(self):
            parts.append(wording.variants_text(different))
        return ". ".join(parts)

    @property
    def _word(self) -> str:
        """What the model's output is, in words."""
        if self.probability is not None:
            return f"probability of {self.probability.named}"
        return wording.decision_word(self.decision, self.labels)

    @property
    def _views(self) -> plots.Views:
        shape = self.schema.form.shape
        note = self._note
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


def _texts(numbers: NDArray[np.float64]) -> tuple[str, ...]:
    return tuple(wording.number_text(number, digits=3) for number in numbers)
