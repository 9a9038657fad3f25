"""The answer: counterfactuals for one instance or many, what they change, and why there are fewer than k.

Nothing is computed before it is asked for, so that a hundred thousand answers are cheap to hold.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint import plots, render, sentences, storage
from counterpoint.blackbox import Labels
from counterpoint.distances import changed
from counterpoint.schema import Row, Rows, Schema
from counterpoint.tables import Form

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERSION = 2
TOP = 10  # features listed in a summary
_NO_COLUMNS = Schema((), Form("pandas", (), ()))


@dataclass(frozen=True)
class Shortfall:
    """Why an answer holds fewer counterfactuals than were asked for.

    Examples
    --------
    >>> print(Shortfall(asked=5, found=2, reason="all others break a constraint."))
    Found 2 of 5: all others break a constraint.
    """

    asked: int
    found: int
    reason: str

    def __str__(self) -> str:
        return f"Found {self.found} of {self.asked}: {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
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

    schema: Schema
    row: Row
    decision: Any
    rows: Rows
    labels: Labels
    found_by: tuple[str, ...]
    k: int
    distance: NDArray[np.float64]
    shortfall: Shortfall | None = None
    model_calls: int = 0
    model_rows: int = 0
    target: str = "any other decision"
    codec: str = ""

    def __len__(self) -> int:
        return len(self.rows)

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
        return Explanations([self]).to_json()

    @classmethod
    def from_json(cls, text: str) -> Explanation:
        """Read an answer that `to_json` saved."""
        many = Explanations.from_json(text)
        if len(many) != 1:
            raise ValueError(f"The text holds {len(many)} explanations; use Explanations.from_json.")
        return many[0]

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


class Explanations(Sequence[Explanation]):
    """The answers for many instances: a sequence of `Explanation`, with tables over all of them.

    Parameters
    ----------
    items
        One answer an instance.
    schema
        What the columns are; without it, the tables of no items have no features.
    model_calls, model_rows
        Calls of the model and rows asked about in the run that gave the items, which share calls.
        If not given, the sums over the items. A slice keeps the numbers of its run.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]})
    >>> one = Explanation(
    ...     Schema.infer(people), row=np.array([31.0, 0.0]), decision="bad",
    ...     rows=np.array([[31.0, 1.0]]), labels=np.array(["good"]),
    ...     found_by=("Tree",), k=1, distance=np.array([1.0]),
    ... )
    >>> Explanations([one, one]).frame
       instance  counterfactual  age    job decision  distance found_by
    0         0               1   31  smith     good       1.0     Tree
    1         1               1   31  smith     good       1.0     Tree
    >>> Explanations([one, one]).importance().to_dict()
    {'job': 1.0, 'age': 0.0}
    """

    def __init__(
        self,
        items: Iterable[Explanation],
        schema: Schema | None = None,
        model_calls: int | None = None,
        model_rows: int | None = None,
    ) -> None:
        self._items = tuple(items)
        self.schema = schema or (self._items[0].schema if self._items else _NO_COLUMNS)
        if any(item.schema is not self.schema and item.schema != self.schema for item in self._items):
            raise ValueError("Explanations must be of one schema, got items of several.")
        self.model_calls = sum(i.model_calls for i in self._items) if model_calls is None else model_calls
        self.model_rows = sum(i.model_rows for i in self._items) if model_rows is None else model_rows

    @overload
    def __getitem__(self, place: int) -> Explanation: ...
    @overload
    def __getitem__(self, place: slice) -> Explanations: ...
    def __getitem__(self, place: int | slice) -> Explanation | Explanations:
        if isinstance(place, slice):
            return Explanations(self._items[place], self.schema, self.model_calls, self.model_rows)
        return self._items[place]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"<Explanations: {len(self)} instances, {len(self._rows)} counterfactuals>"

    def __str__(self) -> str:
        return render.summary_text(self._summary)

    def _repr_html_(self) -> str:
        return render.summary_html(self._summary, [item._card for item in self._items[:5]])

    @cached_property
    def frame(self) -> Any:
        """All counterfactuals in one frame: of polars if polars was given, else of pandas.

        The columns: the place of the instance from 0, the number of the counterfactual from 1, the
        features, decision (decision_0, decision_1, ... if it is a vector), distance and found_by. Where a
        feature already has one of these names, an underscore is added.
        """
        labels = self._labels
        scores = {f"decision_{i}": labels[:, i] for i in range(labels.shape[1])} if labels.ndim > 1 else {}
        found_by = [name for item in self for name in item.found_by]
        return sentences.framed(
            self.schema,
            self._rows,
            before={"instance": self._instances, "counterfactual": self._numbers},
            after={**(scores or {"decision": labels}), "distance": self._distance, "found_by": found_by},
        )

    @cached_property
    def changes(self) -> pd.DataFrame:
        """Every change of every counterfactual, with the place of its instance."""
        table = sentences.changes(self.schema, self._x_of_rows, self._rows)
        places = table["counterfactual"].to_numpy() - 1
        table["counterfactual"] = self._numbers[places]
        table.insert(0, "instance", self._instances[places])
        return table

    def importance(self) -> pd.Series:
        """Measure the share of all counterfactuals that change each feature, largest first.

        Each counterfactual counts the same, so an instance that has more of them weighs more.
        """
        return sentences.shares(self.schema, self._x_of_rows, self._rows)

    @cached_property
    def shortfalls(self) -> pd.DataFrame:
        """The instances that got fewer counterfactuals than asked for, and why."""
        pairs = [(i, item.shortfall) for i, item in enumerate(self) if item.shortfall is not None]
        rows = [(i, short.asked, short.found, short.reason) for i, short in pairs]
        return pd.DataFrame(rows, columns=["instance", "asked", "found", "reason"])

    def to_json(self) -> str:
        """Save everything but the model as text; `from_json` reads it back."""
        plain = {
            "version": VERSION,
            "schema": storage.schema_to_plain(self.schema),
            "x": storage.numbers_to_plain(self._x),
            "decision": storage.labels_to_plain(self._decisions),
            "rows": storage.numbers_to_plain(self._rows),
            "labels": storage.labels_to_plain(self._labels),
            "distance": storage.numbers_to_plain(self._distance),
            "model": [self.model_calls, self.model_rows],
            "items": [_item_to_plain(item) for item in self],
        }
        return json.dumps(plain, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Explanations:
        """Read answers that `to_json` saved."""
        try:
            plain = json.loads(text)
        except ValueError as error:
            raise ValueError(f"The text is no JSON, so no explanations: {error}") from error
        if plain.get("version") != VERSION:
            raise ValueError(f"The text has format version {plain.get('version')}, known is {VERSION}.")
        schema = storage.schema_from_plain(plain["schema"])
        calls, rows = plain["model"]
        return cls(_items_from_plain(plain, schema), schema, calls, rows)

    @cached_property
    def _counts(self) -> NDArray[np.intp]:
        return np.array([len(item) for item in self], dtype=np.intp)

    @cached_property
    def _rows(self) -> Rows:
        return np.concatenate([np.empty((0, len(self.schema.features))), *(item.rows for item in self)])

    @cached_property
    def _x(self) -> Rows:
        return np.array([item.row for item in self]).reshape(len(self), len(self.schema.features))

    @property
    def _x_of_rows(self) -> Rows:
        return np.repeat(self._x, self._counts, axis=0)

    @cached_property
    def _distance(self) -> NDArray[np.float64]:
        return np.concatenate([np.empty(0), *(item.distance for item in self)])

    @cached_property
    def _decisions(self) -> Labels:
        return np.array([item.decision for item in self])

    @cached_property
    def _labels(self) -> Labels:
        # An answer of nothing has labels of no certain dtype or width, which must not spoil the others'.
        return np.concatenate([item.labels for item in self if len(item)] or [self._decisions[:0]])

    @property
    def _instances(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self)), self._counts)

    @property
    def _numbers(self) -> NDArray[np.intp]:
        """Number the counterfactuals of each instance from 1."""
        first = np.cumsum(self._counts) - self._counts
        return np.arange(1, len(self._rows) + 1) - np.repeat(first, self._counts)

    @cached_property
    def _summary(self) -> render.Summary:
        asked, found, n = sum(item.k for item in self), len(self._rows), max(1, len(self))
        mean, wanted = (sentences.number_text(count / n, digits=3) for count in (found, asked))
        facts = (
            ("Instances", f"{len(self):,}"),
            ("Counterfactuals", f"{found:,} of {asked:,} (mean {mean} of {wanted})"),
            ("Model", f"{self.model_calls:,} calls, {self.model_rows:,} rows"),
        )
        shares = self.importance()[:TOP]
        reasons = Counter(self.shortfalls["reason"].tolist()).most_common(TOP)
        notes = [f"{count:,} of {n:,} instances got fewer than asked for: {why}" for why, count in reasons]
        # Of images and series it would be a list of single cells.
        cells = bool(self.schema.form.shape)
        listed = tuple((str(name), float(share)) for name, share in shares.items() if share and not cells)
        return render.Summary(facts, listed, tuple(notes))


def _item_to_plain(item: Explanation) -> dict[str, Any]:
    """Keep what is not in the arrays over all items."""
    short = item.shortfall
    return {
        "found_by": list(item.found_by),
        "k": item.k,
        "shortfall": None if short is None else [short.asked, short.found, short.reason],
        "model": [item.model_calls, item.model_rows],
        "target": item.target,
        "codec": item.codec,
    }


def _items_from_plain(plain: dict[str, Any], schema: Schema) -> Iterator[Explanation]:
    """Part the arrays over all items again."""
    decisions, labels = (storage.labels_from_plain(plain[name]) for name in ("decision", "labels"))
    x, rows = (
        storage.numbers_from_plain(plain[name]).reshape(len(plain[name]), len(schema.features))
        for name in ("x", "rows")
    )
    distance = storage.numbers_from_plain(plain["distance"])
    end = 0
    for i, item in enumerate(plain["items"]):
        start, end = end, end + len(item["found_by"])
        yield Explanation(
            schema=schema,
            row=x[i],
            decision=decisions[i],
            rows=rows[start:end],
            labels=labels[start:end],
            found_by=tuple(item["found_by"]),
            k=item["k"],
            distance=distance[start:end],
            shortfall=Shortfall(*item["shortfall"]) if item["shortfall"] else None,
            model_calls=item["model"][0],
            model_rows=item["model"][1],
            target=item["target"],
            codec=item["codec"],
        )
