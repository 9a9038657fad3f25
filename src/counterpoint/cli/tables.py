"""Tables in files: csv, parquet, arrow and json, read whole or in parts of a fixed number of rows.

Reading in parts needs memory for one part, however long the file is. Only a json list is read whole.
Parquet and arrow files are tried out in a process of their own first.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoint._util.short_text import one_line, short
from counterpoint.cli.arrow_files import batches
from counterpoint.cli.errors import InputError, need
from counterpoint.cli.trial import try_to_open

FORMATS = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}

TRUTHS = {"true": True, "false": False}

# A file read in larger portions than this gains no speed.
PORTION = 10_000

# A table that is read whole has at most this many cells: 8 gigabytes of numbers. Few files say more, and
# those may say far more than there is room for: a column that is always the same takes no space in parquet.
MOST_CELLS = 1_000_000_000
# What one cell must not be.
_NESTED = (list, dict, set, tuple, np.ndarray)
# Each column takes time of its own in every step, and a page of its own in the report.
MOST_COLUMNS = 10_000


def read_table(path: Path) -> pd.DataFrame:
    r"""Read a whole table.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,job\n31,clerk\n45,smith\n")
    >>> read_table(path)
       age    job
    0   31  clerk
    1   45  smith
    """
    with _reading(path):
        if _format(path) == "csv":
            # Not in portions: the type of a column must not depend on where a portion ends.
            with _no_line_too_long():
                return _checked(pd.read_csv(path, low_memory=False, index_col=False), path)
        _check_room(path)
        frames = list(_frames(path, {}))
        return _checked(pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(), path)


def read_parts(path: Path, size: int, like: pd.DataFrame) -> Iterator[pd.DataFrame]:
    r"""Read a table in parts of `size` rows; texts of the columns that are texts in `like` stay texts.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "codes.csv"
    >>> _ = path.write_text("code\n007\n008\n009\n")
    >>> [part["code"].tolist() for part in read_parts(path, 2, pd.DataFrame({"code": ["001"]}))]
    [['007', '008'], ['009']]
    """
    texts: dict[Any, type] = {name: str for name in like if pd.api.types.is_string_dtype(like[name].dtype)}
    with _reading(path):
        empty = True
        for part in _regrouped(_frames(path, texts), size):
            empty = False
            part = _checked(part, path)
            yield _read_cells(part, like) if _format(path) == "csv" else part
        if empty:
            _checked(pd.DataFrame(), path)


def _read_cells(part: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Read columns of numbers cell by cell where one cell that is none made all of them texts."""
    for name in like:
        kind = like[name].dtype
        if name not in part or not pd.api.types.is_numeric_dtype(kind):
            continue
        texts = part[name]
        if pd.api.types.is_numeric_dtype(texts.dtype):
            continue
        is_truth = pd.api.types.is_bool_dtype(kind)
        read = (
            texts.astype(str).str.lower().map(TRUTHS) if is_truth else pd.to_numeric(texts, errors="coerce")
        )
        part[name] = read.astype(object).where(read.notna() | texts.isna(), texts.astype(object))
    return part


def count_rows(path: Path) -> int | None:
    """Count the rows of a table, where its file tells without being read."""
    if _format(path) != "parquet":
        return None
    with _reading(path):
        try_to_open(path, "parquet")
        return int(_pyarrow("parquet").read_metadata(path).num_rows)


def _check_room(path: Path) -> None:
    """Refuse to read a table whole that claims to have more cells than there is room for."""
    kind = _format(path)
    if kind == "json":
        return
    _pyarrow("lib")
    rows = try_to_open(path, kind)
    columns = len(next(_frames(path, {}), pd.DataFrame()).columns)
    if rows * columns > MOST_CELLS:
        raise InputError(
            f"{path} has {rows:,} rows of {columns:,} columns, more than {MOST_CELLS:,} cells. Give some of "
            f"its rows: at most 50,000 known instances are used."
        )


def _frames(path: Path, texts: dict[Any, type]) -> Iterator[pd.DataFrame]:
    """Read a table in portions of any size."""
    match _format(path):
        case "csv":
            yield from _csv_frames(path, texts)
        case "parquet":
            _pyarrow("parquet")
            try_to_open(path, "parquet")
            with _pyarrow("parquet").ParquetFile(path) as file:
                for batch in file.iter_batches(batch_size=PORTION):
                    yield _pandas(batch)
        case "arrow":
            _pyarrow("lib")
            try_to_open(path, "arrow")
            yield from map(_pandas, batches(str(path)))
        case "json":
            yield from _json_frames(path)


def _csv_frames(path: Path, texts: dict[Any, type]) -> Iterator[pd.DataFrame]:
    with pd.read_csv(path, dtype=texts, chunksize=PORTION, index_col=False) as reader:
        while True:
            with _no_line_too_long():
                frame = next(reader, None)
            if frame is None:
                return
            yield frame


@contextmanager
def _no_line_too_long() -> Iterator[None]:
    """Refuse a csv file that has more values than names, of which pandas would drop the last."""
    with warnings.catch_warnings(action="error", category=pd.errors.ParserWarning):
        try:
            yield
        except pd.errors.ParserWarning as error:
            raise ValueError("a line has more values than the first line has names") from error


def _json_frames(path: Path) -> Iterator[pd.DataFrame]:
    """Read a list of records, or one record per line; one record alone is a table of one row."""
    with path.open(encoding="utf-8") as file:
        first = file.readline()
        file.seek(0)
        if not _is_record(first):
            yield _records([json.loads(file.read())])
            return
        lines = (json.loads(line) for line in file if line.strip())
        while portion := list(islice(lines, PORTION)):
            yield _records(portion)


def _is_record(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except json.JSONDecodeError:
        return False


def _records(values: list[Any]) -> pd.DataFrame:
    """Make a table of records, which may stand in a list of their own."""
    records = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    if not records or not all(isinstance(record, dict) for record in records):
        raise ValueError('it must hold records such as {"age": 31, "job": "clerk"}, one per row')
    return pd.DataFrame(records)


def _regrouped(frames: Iterable[pd.DataFrame], size: int) -> Iterator[pd.DataFrame]:
    """Part tables of any size into tables of one size; the last may be smaller."""
    waiting: list[pd.DataFrame] = []
    for frame in frames:
        rest = frame
        while (lack := size - sum(map(len, waiting))) <= len(rest):
            yield pd.concat([*waiting, rest[:lack]], ignore_index=True)
            waiting, rest = [], rest[lack:]
        waiting += [rest] if len(rest) else []
    if waiting:
        yield pd.concat(waiting, ignore_index=True)


def _format(path: Path) -> str:
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise InputError(
            f"{path} must be a table whose name ends in {', '.join(FORMATS)}, "
            f"got {path.suffix or 'no ending'}."
        ) from None


def _checked(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    if not len(frame):
        raise InputError(f"{path} holds no rows; give a table with at least one.")
    if not 1 <= len(frame.columns) <= MOST_COLUMNS:
        raise InputError(
            f"{path} has {len(frame.columns):,} columns; give a table of at least 1 and at most "
            f"{MOST_COLUMNS:,}."
        )
    _refuse_nested(frame, path)
    only = str(frame.columns[0])
    for mark, name in {";": "semicolons", "\t": "tabs"}.items():
        if len(frame.columns) == 1 and mark in only and _format(path) == "csv":
            raise InputError(f"{path} separates its values by {name}; save it with commas.")
    return frame.reset_index(drop=True)


def _refuse_nested(frame: pd.DataFrame, path: Path) -> None:
    """Refuse columns of lists or records: a cell must be one value."""
    for index, name in enumerate(frame.columns):
        cells = frame.iloc[:, index]
        if not pd.api.types.is_object_dtype(cells.dtype):
            continue
        nested = cells.map(lambda cell: isinstance(cell, _NESTED))
        if nested.any():
            first = int(nested.to_numpy().argmax())
            raise InputError(
                f"{path} has {short(cells.iloc[first])} in column {short(name)}, row {first + 1:,}; "
                f"a cell must be one value. Give each part a column of its own, or leave the column out."
            )


def _pandas(batch: Any) -> pd.DataFrame:
    # What pandas once noted about its index in the file does not matter, and may be damaged.
    batch = batch.replace_schema_metadata(None)
    return _pyarrow("lib").Table.from_batches([batch]).to_pandas()


def _pyarrow(part: str) -> Any:
    return need(f"pyarrow.{part}", "Reading parquet and arrow")


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn what the readers of tables raise into one sentence."""
    kind = _format(path)
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the path.") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; give a file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8; save it as UTF-8.") from error
    except pd.errors.EmptyDataError as error:
        raise InputError(f"{path} is empty; give a table with at least one row.") from error
    except (InputError, ImportError):
        raise
    except RecursionError as error:
        raise InputError(f"{path} cannot be read as {kind}: it is nested too deep.") from error
    except Exception as error:  # whatever the format's own library raises
        why = one_line(str(error), 300).rstrip(". ") or type(error).__name__
        raise InputError(
            f"{path} cannot be read as {kind}: {why}. Mend the file, or write it anew."
        ) from error
