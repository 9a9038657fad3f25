"""Formats of answers: csv, parquet, json and report. Each takes part after part, so memory does not grow."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pandas as pd

from counterpoint._util.atomic import draft_of
from counterpoint.cli.errors import InputError, need
from counterpoint.cli.parts import Part
from counterpoint.cli.records import tidy
from counterpoint.cli.spreadsheets import quoted_table
from counterpoint.explanation.records import record


class Output(ABC):
    """Something that takes the answers part by part."""

    @abstractmethod
    def add(self, part: Part) -> None:
        """Take a part."""

    def finish(self) -> None:
        """Do what is to be done after the last part; here nothing."""
        return


class RawCsv(Output):
    """All counterfactuals as csv, as they are."""

    def __init__(self, file: IO[str]) -> None:
        self._file, self._is_first = file, True

    def add(self, part: Part) -> None:
        """Write the lines of a part, after the names of the columns if it is the first."""
        frame = self._written(tidy(part))
        frame.to_csv(self._file, index=False, header=self._is_first, lineterminator="\n")
        self._is_first = False

    def _written(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame


class Csv(RawCsv):
    """All counterfactuals as csv, in which a spreadsheet finds nothing to run."""

    def _written(self, frame: pd.DataFrame) -> pd.DataFrame:
        return quoted_table(frame)


class Lines(Output):
    """One answer per line, as json."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def add(self, part: Part) -> None:
        """Write a part."""
        for index, item in part.numbered():
            self._file.write(_json(record(index, item)) + "\n")


class Json(Output):
    """All answers as one json list, one answer per line."""

    def __init__(self, file: IO[str]) -> None:
        self._file, self._before = file, "[\n"

    def add(self, part: Part) -> None:
        """Write a part."""
        for index, item in part.numbered():
            self._file.write(self._before + _json(record(index, item)))
            self._before = ",\n"

    def finish(self) -> None:
        """Close the list."""
        self._file.write("\n]\n" if self._before == ",\n" else "[]\n")


class Parquet(Output):
    """All counterfactuals as parquet, one row group per part."""

    def __init__(self, path: Path) -> None:
        self._path, self._empty = path, pd.DataFrame()
        self._writer: Any = None
        self._arrow, self._parquet = (need(f"pyarrow{name}", "Writing parquet") for name in ("", ".parquet"))

    def add(self, part: Part) -> None:
        """Write a row group."""
        frame = tidy(part)
        if len(frame):  # without rows, the types of some columns would be unknown
            self._write(frame)
        else:
            self._empty = frame

    def finish(self) -> None:
        """Write the end of the file, without which none of it can be read."""
        if self._writer is None:
            self._write(self._empty)
        self._writer.close()

    def _write(self, frame: pd.DataFrame) -> None:
        table = self._arrow.Table.from_pandas(frame, preserve_index=False)
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._path, table.schema)
        schemas = [self._writer.schema, table.schema]
        schema = self._arrow.unify_schemas(schemas, promote_options="permissive")
        if schema != self._writer.schema:
            self._widen(schema)
        self._writer.write_table(table.cast(schema))

    def _widen(self, schema: Any) -> None:
        """Write all again with types that hold more: a later part may have what earlier ones had not."""
        self._writer.close()
        earlier = self._path.rename(draft_of(self._path))
        try:
            self._writer = self._parquet.ParquetWriter(self._path, schema)
            with self._parquet.ParquetFile(earlier) as file:
                for group in range(file.num_row_groups):
                    self._writer.write_table(file.read_row_group(group).cast(schema))
        finally:
            earlier.unlink()


class Report(Output):
    """The report on many decisions, as html."""

    def __init__(self, path: Path, groups: tuple[str, ...]) -> None:
        self._path, self._groups = path, groups
        self._facts: Any = None

    def add(self, part: Part) -> None:
        """Count a part."""
        from counterpoint.report import Many

        facts = Many.of(part.explanations, part.groups, self._groups)
        # Facts count what was explained; rows are named by their indices in the file.
        indices, before = part.explanations.instances, self._facts.costs.instances if self._facts else 0
        cases = (replace(case, row=int(indices[case.row - 1]) + 1 - before) for case in facts.cases)
        facts = replace(facts, cases=tuple(cases))
        self._facts = self._facts + facts if self._facts else facts

    def finish(self) -> None:
        """Write the page."""
        from counterpoint.report import write

        write(self._facts, self._path)


TEXTS: dict[str, Callable[[IO[str]], Output]] = {"csv": Csv, "json": Json, "jsonl": Lines}
RAW_TEXTS = TEXTS | {"csv": RawCsv}
ENDINGS = (*(f".{name}" for name in TEXTS), ".parquet", ".html")


def check_ending(path: Path) -> None:
    """Refuse an output whose ending names no format."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"--out must be - or end in {', '.join(ENDINGS)}, got {path.name!r}.")


@contextmanager
def opened(path: Path, ending: str, groups: tuple[str, ...], raw: bool = False) -> Iterator[Output]:
    """Open an output in a file, in the format that an ending names."""
    if ending == ".parquet":
        yield Parquet(path)
    elif ending == ".html":
        yield Report(path, groups)
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            yield (RAW_TEXTS if raw else TEXTS)[ending[1:]](file)


def _json(thing: Any) -> str:
    return json.dumps(thing, ensure_ascii=False, allow_nan=False, default=str)
