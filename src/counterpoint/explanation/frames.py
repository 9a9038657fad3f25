"""Answers as a tidy frame whose columns and types are known before the first row is read.

It has one line per counterfactual. A row without any has one line too, with number 0 and the reason, so that
every row of the input can be found in the output.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels
from counterpoint.explanation.explanations import Explanations
from counterpoint.explanation.frame_types import (
    TEXT,
    arrow_type,
    decision_dtypes,
    feature_dtype,
    spark_arrow,
    spark_type,
)
from counterpoint.explanation.shortfall import Shortfall
from counterpoint.explanation.stacked import Stack

KINDS = ("pandas", "arrow", "spark")


class Status(StrEnum):
    """What became of a row."""

    FOUND = "found"
    FEWER = "fewer"
    NONE = "none"
    ALREADY = "already"
    INVALID = "invalid"
    FAILED = "failed"


@dataclass(frozen=True)
class Frames:
    """The columns of tidy frames, and how answers are put into them.

    Parameters
    ----------
    schema
        The columns of the table, as they were at `fit`.
    labels
        The model's outputs for the known instances, of which only the type matters.
    id
        The column that names the rows.
    id_dtype
        Its pandas dtype.

    Examples
    --------
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45]}))
    >>> Frames(schema, np.array(["no", "yes"]), "application", "int64").names
    ['application', 'counterfactual', 'age', 'decision', 'distance', 'found_by', 'status', 'reason']
    """

    schema: Schema
    labels: Labels
    id: Any
    id_dtype: Any

    def __post_init__(self) -> None:
        if self.schema.form.shape:
            raise ValueError(
                "A tidy frame has one column per feature, so it is for tables; use explain_many."
            )
        if self.id in self.schema.names:
            raise ValueError(
                f"id must name a column that is not a feature, got {self.id!r}. "
                f"Features: {list(self.schema.names)}."
            )

    @cached_property
    def dtypes(self) -> dict[Any, Any]:
        """The pandas dtype of each column, in order."""
        before = {"counterfactual": np.dtype("int64")}
        after = {
            **decision_dtypes(self.labels),
            "distance": np.dtype("float64"),
            "found_by": TEXT,
            "status": TEXT,
            "reason": TEXT,
        }
        features = {name: feature_dtype(self.schema, index) for index, name in enumerate(self.schema.names)}
        return {
            self.id: pd.api.types.pandas_dtype(self.id_dtype),
            **{self._free(name): dtype for name, dtype in before.items()},
            **features,
            **{self._free(name): dtype for name, dtype in after.items()},
        }

    @property
    def names(self) -> list[Any]:
        """The names of the columns, in order."""
        return list(self.dtypes)

    def empty(self) -> pd.DataFrame:
        """Make a frame without rows."""
        return pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in self.dtypes.items()})

    def arrow(self) -> Any:
        """Make the Arrow schema."""
        import pyarrow as pa

        return pa.schema([pa.field(str(name), arrow_type(dtype)) for name, dtype in self.dtypes.items()])

    def spark(self) -> str:
        """Write the schema in Spark's words."""
        return spark_words([(field.name, spark_type(field.type)) for field in self.arrow()])

    def of(
        self, found: Explanations, ids: pd.Series, failed: Mapping[int, Exception] | None = None
    ) -> pd.DataFrame:
        """Lay out answers, whose instances are named by their positions, and the rows that have none."""
        lines = _Lines.of(found, failed or {})
        stack = Stack(found.schema, list(found))
        columns, bad = self._features(found.schema, stack)
        if bad:
            lines = lines.without(bad)
        order = np.lexsort([lines.number, lines.position])
        lines = lines.take(order)
        decisions = stack.labels.reshape(len(stack.labels), -1).T
        after = [*decisions, stack.distance, np.array(stack.found_by, dtype=object)]
        values = [
            ids.take(lines.position).array,
            lines.number,
            *(_filled(column, lines.source) for column in columns),
            *(_filled(_cast(column, dtype), lines.source) for column, dtype in self._after(after)),
            lines.status,
            lines.reason,
        ]
        pairs = zip(self.dtypes.items(), values, strict=True)
        made = {name: pd.Series(column, dtype=dtype) for (name, dtype), column in pairs}
        return pd.DataFrame(made, copy=False)

    def _after(self, columns: list[Any]) -> zip[tuple[Any, Any]]:
        """Pair the columns after the features with their dtypes."""
        start = 2 + len(self.schema.names)
        return zip(columns, list(self.dtypes.values())[start : start + len(columns)], strict=True)

    def _features(self, schema: Schema, stack: Stack) -> tuple[list[Any], dict[int, str]]:
        """Decode the features of all counterfactuals; name the answers that do not fit the fixed types."""
        table, columns = schema.decode(stack.rows), []
        bad: dict[int, str] = {}
        for index, (name, dtype) in enumerate(list(self.dtypes.items())[2 : 2 + len(self.schema.names)]):
            column = _column(table, name, index)
            known = self.schema.form.dtypes[index]
            if schema.form.dtypes[index] != known or known == np.object_:
                column, lost = _fitting(column, dtype)
                why = f"The column {name!r} holds {dtype}, which has no place for this row's value."
                bad |= dict.fromkeys(stack.indices[lost].tolist(), why)
            columns.append(_cast(column, dtype))
        return columns, bad

    def _free(self, name: str) -> str:
        """Find a name that no other column has."""
        while name in (*self.schema.names, self.id):
            name += "_"
        return name


@dataclass(frozen=True)
class _Lines:
    """The lines of a frame: which row and number each is about, and which counterfactual it shows, or -1."""

    position: NDArray[np.intp]
    number: NDArray[np.int64]
    source: NDArray[np.intp]
    answer: NDArray[np.intp]
    status: NDArray[np.object_]
    reason: NDArray[np.object_]

    @classmethod
    def of(cls, found: Explanations, failed: Mapping[int, Exception]) -> _Lines:
        counts = np.array([len(item) for item in found], dtype=np.intp)
        status = np.array([_status(item.shortfall) for item in found], dtype=object)
        reason = np.array([item.shortfall.reason if item.shortfall else None for item in found], dtype=object)
        answer = np.repeat(np.arange(len(found)), np.maximum(counts, 1))
        first = np.cumsum(np.maximum(counts, 1)) - np.maximum(counts, 1)
        number = np.arange(len(answer)) - first[answer] + (counts[answer] > 0)
        source = np.where(number > 0, np.cumsum(number > 0) - 1, -1)
        positions = np.asarray(found.instances, dtype=np.intp)
        explained = cls(positions[answer], number, source, answer, status[answer], reason[answer])
        invalid: dict[int, str] = {}
        for problem in found.skipped:
            before = f"{invalid[problem.row]} " if problem.row in invalid else ""
            invalid[problem.row] = before + problem.said("The row")
        rest = [(Status.INVALID, invalid), (Status.FAILED, {row: str(e) for row, e in failed.items()})]
        return explained.joined([cls.unexplained(status, why) for status, why in rest])

    @classmethod
    def unexplained(cls, status: Status, why: Mapping[int, str]) -> _Lines:
        """Make one line for each row that has no answer."""
        position, none = np.array(list(why), dtype=np.intp), np.full(len(why), -1, dtype=np.intp)
        states = np.full(len(why), str(status), dtype=object)
        reasons = np.array(list(why.values()), dtype=object)
        return cls(position, np.zeros(len(why), dtype=np.int64), none, none, states, reasons)

    def joined(self, others: list[_Lines]) -> _Lines:
        """Put further lines after these."""
        every = [self, *others]
        return _Lines(*(np.concatenate([getattr(each, name) for each in every]) for name in _FIELDS))

    def take(self, indices: NDArray[Any]) -> _Lines:
        """Keep some lines."""
        return _Lines(*(getattr(self, name)[indices] for name in _FIELDS))

    def without(self, bad: Mapping[int, str]) -> _Lines:
        """Replace the lines of answers that cannot be shown by one line that says why."""
        is_bad = np.isin(self.answer, list(bad))
        rows = {int(self.position[self.answer == answer][0]): why for answer, why in bad.items()}
        return self.take(np.flatnonzero(~is_bad)).joined([self.unexplained(Status.INVALID, rows)])


_FIELDS = ("position", "number", "source", "answer", "status", "reason")


def _status(shortfall: Shortfall | None) -> str:
    """Tell what became of an explained row."""
    if shortfall is None:
        return str(Status.FOUND)
    if shortfall.already:
        return str(Status.ALREADY)
    return str(Status.FEWER if shortfall.found else Status.NONE)


def _column(table: Any, name: Any, index: int) -> Any:
    """Get a column of a decoded table of any kind."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[:, index].array
    return table[:, index] if isinstance(table, np.ndarray) else np.array(table[name].to_list(), dtype=object)


def _cast(column: Any, dtype: Any) -> Any:
    return pd.Series(column).astype(dtype).array


def _fitting(column: Any, dtype: Any) -> tuple[Any, NDArray[np.intp]]:
    """Replace values that a dtype has no place for by missing ones, and give their positions."""
    series = pd.Series(column).astype(object)
    codes, distinct = pd.factorize(series, use_na_sentinel=True)
    fits = np.array([_fits(value, dtype) for value in distinct], dtype=np.bool_)
    lost = np.flatnonzero((codes >= 0) & ~np.append(fits, True)[codes])
    series.iloc[lost] = None
    return series, lost


def _fits(value: Any, dtype: Any) -> bool:
    """Tell whether a column of a dtype gives a value back as it is."""
    if dtype == TEXT:
        return isinstance(value, str)
    try:
        return bool(pd.Series([value], dtype=object).astype(dtype).astype(object)[0] == value)
    except (TypeError, ValueError):
        return False


def _filled(column: Any, source: NDArray[np.intp]) -> Any:
    """Take values of a column; those at -1 are missing."""
    return pd.api.extensions.take(column, source, allow_fill=True)


def to_arrow(frame: pd.DataFrame, schema: Any) -> Any:
    """Turn a tidy frame into an Arrow table with exactly the given schema.

    Examples
    --------
    >>> frames = Frames(Schema.infer(pd.DataFrame({"age": [31, 45]})), np.array([0, 1]), "row", "int64")
    >>> to_arrow(frames.empty(), frames.arrow()).schema.equals(frames.arrow())
    True
    """
    import pyarrow as pa

    texts = [name for name, dtype in frame.dtypes.items() if dtype == np.object_]
    frame = frame.assign(**{str(name): frame[name].map(str, na_action="ignore") for name in texts})
    frame = frame.set_axis([str(name) for name in frame], axis=1)
    return pa.Table.from_pandas(frame, schema=schema, preserve_index=False)


def spark_words(columns: Iterable[tuple[Any, str]]) -> str:
    """Write names and types of columns in Spark's words.

    Examples
    --------
    >>> spark_words([("age", "bigint"), ("job", "string")])
    '`age` bigint, `job` string'
    """
    return ", ".join(f"`{str(name).replace('`', '``')}` {kind}" for name, kind in columns)


def spark_table(frame: pd.DataFrame, schema: Any, id_type: Any) -> Any:
    """Turn a tidy frame into an Arrow table that Spark can read; the id has its own type."""
    import pyarrow as pa

    table = to_arrow(frame, schema)
    first, *others = schema
    kinds = [pa.field(first.name, id_type), *(each.with_type(spark_arrow(each.type)) for each in others)]
    return table.cast(pa.schema(kinds)).replace_schema_metadata(None)
