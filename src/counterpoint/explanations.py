"""The answers for many instances, with tables over all of them.

Nothing is computed before it is asked for, so that a hundred thousand answers are cheap to hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint import render, sentences
from counterpoint.answer_json import Document
from counterpoint.explanation import Explanation
from counterpoint.joining import join, recode
from counterpoint.problems import Problem
from counterpoint.schema import Schema
from counterpoint.shortfall import total
from counterpoint.stack import Stack
from counterpoint.tables import Form

TOP = 10  # features listed in a summary
_NO_COLUMNS = Schema((), Form("pandas", (), ()))


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
    instances
        A label for each instance, by which the tables name it: of a pandas frame those of its index. If not
        given, their places from 0. A slice keeps the labels of its items.
    skipped
        What kept other instances of the run from being explained. A slice keeps all of it.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]})
    >>> one = Explanation(
    ...     Schema.infer(people), row=np.array([31.0, 0.0]), decision="bad",
    ...     rows=np.array([[31.0, 1.0]]), labels=np.array(["good"]),
    ...     found_by=("Tree",), k=1, distance=np.array([1.0]),
    ... )
    >>> Explanations([one, one], instances=["ann", "bob"]).frame
      instance  counterfactual  age    job decision  distance found_by
    0      ann               1   31  smith     good       1.0     Tree
    1      bob               1   31  smith     good       1.0     Tree
    >>> Explanations([one, one]).importance().to_dict()
    {'job': 1.0, 'age': 0.0}
    """

    def __init__(
        self,
        items: Iterable[Explanation],
        schema: Schema | None = None,
        model_calls: int | None = None,
        model_rows: int | None = None,
        instances: Any = None,
        skipped: Iterable[Problem] = (),
    ) -> None:
        self._items = tuple(items)
        self.schema = schema or (self._items[0].schema if self._items else _NO_COLUMNS)
        if any(item.schema is not self.schema and item.schema != self.schema for item in self._items):
            self.schema, self._items = _joined(self._items)
        self.model_calls = sum(i.model_calls for i in self._items) if model_calls is None else model_calls
        self.model_rows = sum(i.model_rows for i in self._items) if model_rows is None else model_rows
        self.instances = _index(instances, len(self._items))
        self.skipped = tuple(skipped)

    @overload
    def __getitem__(self, place: int) -> Explanation: ...
    @overload
    def __getitem__(self, place: slice) -> Explanations: ...
    def __getitem__(self, place: int | slice) -> Explanation | Explanations:
        if isinstance(place, slice):
            part, instances = self._items[place], self.instances[place]
            return Explanations(part, self.schema, self.model_calls, self.model_rows, instances, self.skipped)
        return self._items[place]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Explanation]:
        return iter(self._items)

    def __repr__(self) -> str:
        return f"<Explanations: {len(self)} instances, {sum(map(len, self))} counterfactuals>"

    def __str__(self) -> str:
        return render.summary_text(self._summary)

    def _repr_html_(self) -> str:
        return render.summary_html(self._summary, [item._card for item in self._items[:5]])

    @cached_property
    def frame(self) -> Any:
        """All counterfactuals in one frame: of polars if polars was given, else of pandas.

        The columns: the label of the instance in X's index (its place from 0 if X was no pandas frame), the
        number of the counterfactual from 1, the features, decision (decision_0, decision_1, ... if it is a
        vector), distance and found_by. Where a feature already has one of these names, an underscore is
        added.
        """
        stack, labels = self._stack, self._stack.labels
        scores = {f"decision_{i}": labels[:, i] for i in range(labels.shape[1])} if labels.ndim > 1 else {}
        instances = self._labels(stack.places)
        instances = _polars(instances) if self.schema.form.kind == "polars" else instances
        return sentences.framed(
            self.schema,
            stack.rows,
            before={"instance": instances, "counterfactual": stack.numbers},
            after={
                **(scores or {"decision": labels}),
                "distance": stack.distance,
                "found_by": stack.found_by,
            },
        )

    @cached_property
    def changes(self) -> pd.DataFrame:
        """Every change of every counterfactual, with the label of its instance as in `frame`."""
        stack = self._stack
        table = sentences.changes(self.schema, stack.x_of_rows, stack.rows)
        rows = table["counterfactual"].to_numpy() - 1
        table["counterfactual"] = stack.numbers[rows]
        table.insert(0, "instance", self._labels(stack.places[rows]))
        return table

    def importance(self) -> pd.Series:
        """Measure the share of all counterfactuals that change each feature, largest first.

        Each counterfactual counts the same, so an instance that has more of them weighs more.
        """
        return sentences.shares(self.schema, self._stack.x_of_rows, self._stack.rows)

    @cached_property
    def shortfalls(self) -> pd.DataFrame:
        """The instances that got fewer counterfactuals than asked for, by their labels, and why."""
        pairs = [(place, item.shortfall) for place, item in enumerate(self) if item.shortfall is not None]
        rows = [(short.asked, short.found, short.reason) for _, short in pairs]
        table = pd.DataFrame(rows, columns=["asked", "found", "reason"])
        table.insert(0, "instance", self._labels(np.array([place for place, _ in pairs], dtype=np.intp)))
        return table

    def to_json(self) -> str:
        """Save everything but the model as text; `from_json` reads it back.

        Labels of instances that are texts, numbers or tuples of them come back as they are; others, such as
        dates, as text.
        """
        return Document(
            self.schema, self._items, self.instances, self.model_calls, self.model_rows, self.skipped
        ).to_json()

    @classmethod
    def from_json(cls, text: str) -> Explanations:
        """Read answers that `to_json` saved."""
        saved = Document.from_json(text, Explanation)
        return cls(
            saved.answers, saved.schema, saved.model_calls, saved.model_rows, saved.instances, saved.skipped
        )

    @cached_property
    def _stack(self) -> Stack:
        return Stack(self.schema, self._items)

    def _labels(self, places: NDArray[np.intp]) -> pd.Index:
        """Give the labels of instances; one of several levels is a tuple."""
        return self.instances.take(places).to_flat_index()

    @cached_property
    def _summary(self) -> render.Summary:
        asked, found, n = sum(item.k for item in self), len(self._stack.rows), max(1, len(self))
        mean, wanted = (sentences.number_text(count / n, digits=3) for count in (found, asked))
        facts = (
            ("Instances", f"{len(self):,}"),
            ("Counterfactuals", f"{found:,} of {asked:,} (mean {mean} of {wanted})"),
            ("Model", f"{self.model_calls:,} calls, {self.model_rows:,} rows"),
        )
        shares = self.importance()[:TOP]
        notes = total(item.shortfall for item in self)
        if self.skipped:
            left_out = len({problem.row for problem in self.skipped})
            rows = f"{left_out:,} row{'s' * (left_out != 1)}"
            notes.append(f"{rows} could not be explained. The first: {self.skipped[0]}")
        # Of images and series it would be a list of single cells.
        cells = bool(self.schema.form.shape)
        listed = tuple((str(name), float(share)) for name, share in shares.items() if share and not cells)
        return render.Summary(facts, listed, tuple(notes))


def _joined(items: Sequence[Explanation]) -> tuple[Schema, tuple[Explanation, ...]]:
    """Bring answers of several runs to one schema, which knows the immutable values of all."""
    schema = join([item.schema for item in items])
    if schema is None:
        raise ValueError("Explanations must be of one schema, got items of several.")
    return schema, tuple(
        replace(
            item,
            schema=schema,
            row=recode(item.row, item.schema, schema),
            rows=recode(item.rows, item.schema, schema),
        )
        for item in items
    )


def _index(labels: Any, count: int) -> pd.Index:
    """Hold labels as they are; a pandas index is not copied."""
    if labels is None:
        return pd.RangeIndex(count)
    index = labels if isinstance(labels, pd.Index) else pd.Index(labels)
    if len(index) != count:
        raise ValueError(f"instances must hold one label an item: {count} items, got {len(index)} labels.")
    return index


def _polars(labels: pd.Index) -> Any:
    """Make labels a column of polars; where they are of several types, of texts."""
    import polars as pl

    return pl.Series(labels.tolist(), strict=False)
