"""A sample of a parquet table of any size, in one pass and little memory, whatever the order of its rows.

Each row has a random number that follows from its values and the seed. The rows with the smallest numbers are
kept, each distinct row once with its count, so neither the order of rows nor that of files matters. Rows with
the smallest and largest number of a column, and one of each category, are kept too: a sample must not make a
known value unknown. The model then labels what was kept, and known instances are drawn with each decision in
its share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.known import MOST
from counterpoint.data.outputs import is_continuous
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels
from counterpoint.model.blackbox import BlackBox
from counterpoint.model.representation import Direct

Hashes = NDArray[np.uint64]

# So many distinct rows are kept for the model to label, four for each known instance.
KEPT = 4 * MOST
# Rows are read, and labelled, this many at a time.
BATCH = 32_768
# Rows are forgotten when this many times as many as needed are there.
SPARE = 1.25
# The kept rows are in at most this many frames.
FRAMES = 256
# One row of each category is kept, unless a column has more categories than this.
CATEGORIES = 10_000
# Each decision has at least so many known instances, if there are.
FEW = 5
# While rows are read, columns have dtypes that do not depend on whether a value is missing.
MASKED: tuple[Any, ...] = (
    pd.BooleanDtype(),
    *(pd.api.types.pandas_dtype(f"{sign}Int{bits}") for sign in ("", "U") for bits in (8, 16, 32, 64)),
)


@dataclass
class Sampler:
    """Keeps the distinct rows with the smallest random numbers, and rows at the ends of columns.

    Examples
    --------
    >>> ages = pd.DataFrame({"age": [20, 30, 30, 40]})
    >>> there, back = Sampler(seed=0), Sampler(seed=0)
    >>> for start in range(4):
    ...     there.add(ages[start : start + 1])
    ...     back.add(ages[::-1][start : start + 1])
    >>> there.finish().equals(back.finish()), sorted(there.counts.tolist())
    (True, [1, 1, 2])
    """

    seed: int
    size: int = KEPT
    _frames: list[pd.DataFrame] = field(default_factory=list)
    _hashes: Hashes = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _limit: np.uint64 = field(default=np.uint64(2**64 - 1))
    _ends: dict[Any, _Ends] = field(default_factory=dict)
    is_end: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))

    def add(self, frame: pd.DataFrame) -> None:
        """Take some rows."""
        hashes = _hashed(frame, self.seed)
        order = np.argsort(hashes, kind="stable")
        for name in frame:
            ends = self._ends.setdefault(name, _Ends(_is_number(frame[name])))
            ends.add(frame, name, hashes, order)
        kept = np.flatnonzero(hashes <= self._limit)
        distinct, first, counts = np.unique(hashes[kept], return_index=True, return_counts=True)
        self._frames.append(frame.iloc[kept[first]])
        self._hashes = np.concatenate([self._hashes, distinct])
        self.counts = np.concatenate([self.counts, counts])
        if len(self._hashes) > SPARE * self.size:
            self._tidy()

    def finish(self) -> pd.DataFrame:
        """Give the kept rows, in an order that follows from their values; `counts` are theirs."""
        self._tidy()
        frame = self._joined()
        ends = [end.rows(frame) for end in self._ends.values()]
        more = pd.concat([frame[:0], *ends])
        hashes = _hashed(more, self.seed)
        distinct, first = np.unique(hashes, return_index=True)
        new = ~np.isin(distinct, self._hashes)
        joined = np.concatenate([self._hashes, distinct[new]])
        order = np.argsort(joined, kind="stable")
        self.counts = np.concatenate([self.counts, np.ones(int(new.sum()), dtype=np.int64)])[order]
        self.is_end = np.isin(joined[order], distinct)
        self._frames = [pd.concat([frame, more.iloc[first[new]]]).iloc[order].reset_index(drop=True)]
        self._hashes = joined[order]
        return self._frames[0]

    def _tidy(self) -> None:
        """Join equal rows, and forget all but those with the smallest numbers, frame by frame."""
        distinct, first, groups = np.unique(self._hashes, return_index=True, return_inverse=True)
        counts = np.bincount(groups, weights=self.counts).astype(np.int64)
        if len(distinct) >= self.size:
            self._limit = distinct[self.size - 1]
        by_place = np.argsort(first[: self.size])
        places = first[by_place]
        self._hashes, self.counts = distinct[by_place], counts[by_place]
        start = 0
        # Not all at once: that would take the memory of all rows twice more.
        for _ in range(len(self._frames)):
            frame = self._frames.pop(0)
            low, high = np.searchsorted(places, [start, start + len(frame)])
            self._frames.append(frame.iloc[places[low:high] - start])
            start += len(frame)
        if len(self._frames) > FRAMES:
            self._joined()

    def _joined(self) -> pd.DataFrame:
        """Put the kept rows into one frame."""
        self._frames = [pd.concat(self._frames)]
        return self._frames[0]


class _Ends:
    """Of one column: rows with the smallest and the largest number or one of each category, and no value."""

    def __init__(self, is_number: bool) -> None:
        self._is_number = is_number
        self._rows: dict[Any, tuple[Any, np.uint64, tuple[Any, ...]]] = {}
        self._is_full = False

    def add(self, frame: pd.DataFrame, name: Any, hashes: Hashes, order: NDArray[np.intp]) -> None:
        """Take some rows; of rows with the same value, the one with the smallest hash is kept."""
        if self._is_full:
            return
        column = frame[name]
        for key, place in self._wanted(column, order).items():
            found = column.iloc[place], hashes[place]
            if key not in self._rows or self._is_better(key, *found, *self._rows[key][:2]):
                self._rows[key] = (*found, tuple(frame.iloc[place].tolist()))
        self._is_full = len(self._rows) > CATEGORIES

    def _wanted(self, column: pd.Series, order: NDArray[np.intp]) -> dict[Any, int]:
        """Find the rows to keep, by what they show; `order` is that of the hashes."""
        gone = column.isna().to_numpy()[order]
        wanted = {"missing": int(order[np.argmax(gone)])} if gone.any() else {}
        there = order[~gone]
        values = column.iloc[there]
        if self._is_number:  # the first of equal ones has the smallest hash
            ends = {"low": values.argmin(), "high": values.argmax()} if len(values) else {}
            return wanted | {key: int(there[place]) for key, place in ends.items()}
        first = np.flatnonzero(~values.duplicated().to_numpy())
        return wanted | {("is", values.iloc[place]): int(there[place]) for place in first}

    def _is_better(self, key: Any, value: Any, number: np.uint64, known: Any, least: np.uint64) -> bool:
        if self._is_number and key != "missing" and value != known:
            return bool(value < known) is (key == "low")
        return bool(number < least)

    def rows(self, like: pd.DataFrame) -> pd.DataFrame:
        """Give the kept rows."""
        if self._is_full:
            return like[:0]
        made = pd.DataFrame([row for _, _, row in self._rows.values()], columns=list(like))
        return made.astype(like.dtypes.to_dict())


def sample(path: Path, columns: Sequence[str], model: Any, seed: int, size: int = MOST) -> pd.DataFrame:
    """Draw known instances from a parquet file or folder, stratified by the model's decisions.

    Parameters
    ----------
    path
        A parquet file, or a folder of them.
    columns
        The model's features.
    model
        The model; it is asked about at most 200,000 rows, and about none if the table is small.
    seed
        All draws depend on it, and not on the order of files or rows.
    size
        How many rows to draw.
    """
    sampler = Sampler(seed)
    dataset = _dataset(path)
    kinds = {field.name: field.type for field in dataset.schema}
    for table in _tables(dataset, columns):
        sampler.add(_pandas(table))
    rows = _finished(sampler.finish(), kinds)
    total = int(sampler.counts.sum())
    if total <= size:
        return rows.loc[np.repeat(np.arange(len(rows)), sampler.counts)].reset_index(drop=True)
    labels = _labelled(model, rows)
    drawn = stratified(labels, sampler.counts, size, np.random.default_rng([seed, 3]))
    drawn = np.maximum(drawn, sampler.is_end)
    return rows.loc[np.repeat(np.arange(len(rows)), drawn)].reset_index(drop=True)


def stratified(
    labels: Labels, counts: NDArray[np.int64], size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Say how often each of some rows is drawn, if each was there so often: each label keeps its share.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stratified(np.array(["no", "no", "yes"]), np.array([600, 300, 100]), 100, rng).tolist()
    [63, 27, 10]
    """
    if is_continuous(labels):
        labels = np.zeros(len(labels))
    # numpy draws from fewer than a billion.
    counts = np.ceil(counts * min(1.0, 5e8 / counts.sum())).astype(np.int64)
    drawn = np.zeros(len(counts), dtype=np.int64)
    for label in np.unique(labels):
        mine = np.flatnonzero(labels == label)
        there = int(counts[mine].sum())
        wanted = min(there, max(FEW, round(size * there / int(counts.sum()))))
        drawn[mine] = rng.multivariate_hypergeometric(counts[mine], wanted, method="marginals")
    return drawn


def schema_of(path: Path) -> pd.DataFrame:
    """Give the columns of a parquet file or folder, as a frame without rows."""
    return _dataset(path).schema.empty_table().to_pandas()


def count_of(path: Path) -> int:
    """Count the rows of a parquet file or folder, which its metadata tells."""
    return int(_dataset(path).count_rows())


def _dataset(path: Path) -> Any:
    import pyarrow.dataset as ds

    return ds.dataset(path, format="parquet", partitioning="hive")


def _labelled(model: Any, rows: pd.DataFrame) -> Labels:
    """Ask the model about rows, some at a time."""
    schema = Schema.infer(rows)
    blackbox = BlackBox(model, Direct(schema), rows[:1_000])
    starts = range(0, len(rows), BATCH)
    return np.concatenate([blackbox.predict(schema.encode(rows[start : start + BATCH])) for start in starts])


def _hashed(frame: pd.DataFrame, seed: int) -> Hashes:
    """Give each row a random number that follows from its values and the seed."""
    numbers = pd.util.hash_pandas_object(frame, index=False, categorize=True).to_numpy(dtype=np.uint64)
    mixed = numbers ^ np.random.default_rng([seed, 2]).integers(2**64, dtype=np.uint64)
    # The finalizer of SplitMix64: pandas has no seed for numbers, and the seed must change the order.
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)


def _tables(dataset: Any, columns: Sequence[str]) -> Iterator[Any]:
    """Read some rows at a time, as tables with the columns and types that the dataset has as a whole.

    A scanner would read several files ahead, and of each at least a row group, which can be the whole file.
    """
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    for fragment in dataset.get_fragments():
        keys = ds.get_partition_keys(fragment.partition_expression)
        with fragment.open() as file:
            parquet = pq.ParquetFile(file)
            own = [name for name in columns if name in parquet.schema_arrow.names]
            for batch in parquet.iter_batches(BATCH, columns=own, use_threads=False):
                if batch.num_rows:
                    yield _whole(batch, keys, [dataset.schema.field(name) for name in columns])


def _whole(batch: Any, keys: dict[str, Any], fields: Sequence[Any]) -> Any:
    """Give a batch all columns: those of the file, those that folders tell, and else missing values."""
    import pyarrow as pa

    columns = {}
    for each in fields:
        kind = each.type.value_type if pa.types.is_dictionary(each.type) else each.type
        if each.name in batch.schema.names:
            columns[each.name] = batch.column(each.name).cast(kind)
        else:
            columns[each.name] = pa.repeat(pa.scalar(keys.get(each.name)).cast(kind), batch.num_rows)
    return pa.table(columns)


def _pandas(table: Any) -> pd.DataFrame:
    """Turn a table into a frame with dtypes that do not depend on whether a value is missing in it."""
    import pyarrow as pa

    fixed = {pa.from_numpy_dtype(dtype.numpy_dtype): dtype for dtype in MASKED}
    return table.to_pandas(types_mapper=fixed.get)


def _finished(rows: pd.DataFrame, kinds: dict[str, Any]) -> pd.DataFrame:
    """Give columns the dtypes that a whole table would have."""
    import pyarrow as pa

    columns = {}
    for name in rows:
        column, kind = rows[name], kinds[str(name)]
        if pa.types.is_dictionary(kind):
            known = sorted(column.dropna().unique())
            column = column.astype(pd.CategoricalDtype(known, ordered=kind.ordered))
        elif hasattr(column.dtype, "numpy_dtype") and isinstance(
            column.dtype, pd.api.extensions.ExtensionDtype
        ):
            is_bool = pd.api.types.is_bool_dtype(column.dtype)
            gone = column.isna().any()
            column = column.astype(
                object if is_bool and gone else "float64" if gone else column.dtype.numpy_dtype
            )
        columns[name] = column
    return pd.DataFrame(columns)
