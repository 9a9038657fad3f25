"""The answers for many instances, with tables over all of them.

Everything derived is computed on first use, so that a hundred thousand answers take little memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.problems import Problem
from counterpoint.data.schema import Schema
from counterpoint.data.tables import TableFormat
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.joining import join, recode
from counterpoint.explanation.json_format import Document
from counterpoint.explanation.ranges import Ranges
from counterpoint.explanation.shortfall import total
from counterpoint.explanation.stacked import Stack
from counterpoint.show import cards, wording

TOP = 10  # features listed in a summary
_NO_COLUMNS = Schema((), TableFormat("pandas", (), ()))


class Explanations(Sequence[Explanation]):
    """The answers for many instances: a sequence of `Explanation`, with tables over all of them.

    Parameters
    ----------
    items
        One answer per instance.
    schema
        The columns of the table; without it, the tables of an empty sequence have no features.
    model_calls, model_rows
        The number of model calls and rows of the run that gave the items, which share calls.
        If not given, the sums over the items. A slice keeps the numbers of its run.
    instances
        The name of each instance in the tables: the index of a pandas frame. If not given, instances are
        numbered from 0. A slice keeps the names of its items.
    skipped
        Why other instances of the run could not be explained. A slice keeps all of it.

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
        return cards.summary_text(self._summary)

    def _repr_html_(self) -> str:
        return cards.summary_html(self._summary, [item._card for item in self._items[:5]])

    @cached_property
    def frame(self) -> Any:
        """All counterfactuals in one frame: a polars frame if polars was given, otherwise pandas.

        The columns are: the instance by X's index (numbered from 0 if X was not a pandas frame), the number
        of the counterfactual from 1, the features, decision (decision_0, decision_1, ... if it is a vector),
        distance, cost (if costs were given) and found_by. If a feature already has one of these names, an
        underscore is added.
        """
        stack, labels = self._stack, self._stack.labels
        scores = {f"decision_{i}": labels[:, i] for i in range(labels.shape[1])} if labels.ndim > 1 else {}
        instances = self._labels(stack.indices)
        instances = _polars(instances) if self.schema.form.kind == "polars" else instances
        return wording.framed(
            self.schema,
            stack.rows,
            before={"instance": instances, "counterfactual": stack.numbers},
            after={
                **(scores or {"decision": labels}),
                "distance": stack.distance,
                **({} if stack.cost is None else {"cost": stack.cost}),
                "found_by": stack.found_by,
            },
        )

    @cached_property
    def changes(self) -> pd.DataFrame:
        """Every change of every counterfactual, with its instance as in `frame`."""
        stack = self._stack
        table = wording.changes(self.schema, stack.x_of_rows, stack.rows)
        rows = table["counterfactual"].to_numpy() - 1
        table["counterfactual"] = stack.numbers[rows]
        table.insert(0, "instance", self._labels(stack.indices[rows]))
        return table

    def importance(self) -> pd.Series:
        """Compute the share of all counterfactuals that change each feature, largest first.

        Each counterfactual counts the same, so instances with more counterfactuals weigh more.
        """
        return wording.shares(self.schema, self._stack.x_of_rows, self._stack.rows)

    @cached_property
    def shortfalls(self) -> pd.DataFrame:
        """The instances that got fewer counterfactuals than asked for, and why."""
        pairs = [(place, item.shortfall) for place, item in enumerate(self) if item.shortfall is not None]
        rows = [(short.asked, short.found, short.reason) for _, short in pairs]
        table = pd.DataFrame(rows, columns=["asked", "found", "reason"])
        table.insert(0, "instance", self._labels(np.array([place for place, _ in pairs], dtype=np.intp)))
        return table

    def ranges(
        self, explainer: Any = None, *, target: Any = None, max_seconds: float | None = None
    ) -> list[Ranges]:
        """Find how far the changed values of all answers can move, as `Explanation.ranges` does, together."""
        known = [item._asked for item in self._items if item._asked is not None]
        if explainer is not None:
            found = explainer.ranges(self._items, target=target, max_seconds=max_seconds)
        elif len(known) < len(self._items):
            raise ValueError(
                "These explanations do not know their explainer, because they were read from JSON, copied or "
                "built by hand. Give the fitted explainer: explanations.ranges(explainer)."
            )
        else:
            found = known[0].ranges(self._items, max_seconds) if known else []
        for item, each in zip(self._items, found, strict=True):
            object.__setattr__(item, "widened", each)
        return list(found)

    def to_json(self) -> str:
        """Write everything except the model as JSON; `from_json` reads it back.

        Names of instances that are strings, numbers, dates or tuples of them are restored exactly; others
        become strings.
        """
        return Document(
            self.schema, self._items, self.instances, self.model_calls, self.model_rows, self.skipped
        ).to_json()

    @classmethod
    def from_json(cls, text: str) -> Explanations:
        """Read answers that `to_json` wrote."""
        saved = Document.from_json(text, Explanation)
        return cls(
            saved.answers, saved.schema, saved.model_calls, saved.model_rows, saved.instances, saved.skipped
        )

    @cached_property
    def _stack(self) -> Stack:
        return Stack(self.schema, self._items)

    def _labels(self, indices: NDArray[np.intp]) -> pd.Index:
        """Get the names of instances; a name with several levels becomes a tuple."""
        return self.instances.take(indices).to_flat_index()

    @cached_property
    def _summary(self) -> cards.Summary:
        asked, found, n = sum(item.k for item in self), len(self._stack.rows), max(1, len(self))
        mean, wanted = (wording.number_text(count / n, digits=3) for count in (found, asked))
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
        # For images and series this would be a list of single cells.
        cells = bool(self.schema.form.shape)
        listed = tuple((str(name), float(share)) for name, share in shares.items() if share and not cells)
        return cards.Summary(facts, listed, tuple(notes))


def _joined(items: Sequence[Explanation]) -> tuple[Schema, tuple[Explanation, ...]]:
    """Convert answers of several runs to one schema that holds the immutable values of all."""
    schema = join([item.schema for item in items])
    if schema is None:
        raise ValueError("Explanations must share one schema, got items with several.")
    return schema, tuple(
        replace(
            item,
            schema=schema,
            row=recode(item.row, item.schema, schema),
            rows=recode(item.rows, item.schema, schema),
            nearest_miss=item.nearest_miss and item.nearest_miss.recoded(schema),
            widened=item.widened and replace(item.widened, schema=schema),
        )
        for item in items
    )


def _index(labels: Any, count: int) -> pd.Index:
    """Make an index of names; a pandas index is not copied."""
    if labels is None:
        return pd.RangeIndex(count)
    index = labels if isinstance(labels, pd.Index) else pd.Index(labels)
    if len(index) != count:
        raise ValueError(f"instances must have one entry per item: {count} items, got {len(index)} entries.")
    return index


def _polars(labels: pd.Index) -> Any:
    """Make a polars column of names; mixed types become strings."""
    import polars as pl

    return pl.Series(labels.tolist(), strict=False)
