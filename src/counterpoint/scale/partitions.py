"""One parquet file of rows becomes one of answers, with the sums that a report is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import pandas as pd

from counterpoint._util.blas import one_thread_each
from counterpoint.explainers import Explainer
from counterpoint.explainers.framing import frames_of
from counterpoint.explainers.run import IncompleteError
from counterpoint.explanation.frames import to_arrow
from counterpoint.report.many import CASES, Many
from counterpoint.report.plain import from_plain, to_plain
from counterpoint.scale.folders import Folder
from counterpoint.scale.work import BLOCK

# Where the sums are: in the folder of answers, but not part of the table.
SUMS = "_counterpoint"


@dataclass(frozen=True)
class Sums:
    """What is counted of a partition: its rows, what became of them, and the facts of a report.

    `source` tells which file it was, by its size and date.
    """

    rows: int
    states: dict[str, int]
    facts: Many | None
    source: list[Any]

    def to_plain(self, run: str) -> dict[str, Any]:
        """Turn them into what JSON can hold."""
        return {**vars(self), "facts": to_plain(self.facts), "run": run}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Sums:
        """Read what `to_plain` made."""
        own = {name: each for name, each in plain.items() if name != "run"}
        return cls(**{**own, "facts": from_plain(plain["facts"])})


@dataclass(frozen=True)
class Partitions:
    """A folder of rows, a folder of answers, and what is asked.

    Parameters
    ----------
    rows, out
        The folders.
    explainer
        The fitted explainer.
    take
        Takes the features of a table, and refuses what it does not know; it is given the other columns.
    id
        The column that names rows; None for their numbers in the file.
    groups
        Columns that the report compares.
    k, asked
        Arguments of `Explainer.explain_many`.
    run
        A text that differs for runs with other answers.
    """

    rows: Folder
    out: Folder
    explainer: Explainer
    take: Callable[[pd.DataFrame, Sequence[str]], pd.DataFrame]
    id: str | None
    groups: tuple[str, ...]
    k: int
    asked: dict[str, Any]
    run: str

    def left(self, names: Iterable[str]) -> list[str]:
        """List the files that have no answers yet, or had other rows when they were explained."""
        return [name for name in names if self.sums(name) is None]

    def sums(self, name: str) -> Sums | None:
        """Read the sums of a finished file; None if it is not finished."""
        plain = self.out.read_json(_sums(name))
        if plain is None or plain["run"] != self.run or plain["source"] != self.rows.state(name):
            return None
        return Sums.from_plain(plain)

    def explain(self, name: str) -> str:
        """Explain the rows of a file, and write the answers and then the sums; on a worker."""
        source = self.rows.state(name)
        frame = self.rows.read(name)
        aside = [*self.groups, *([] if self.id is None else [self.id])]
        missing = [column for column in aside if column not in frame]
        if missing:
            raise ValueError(f"{name} lacks the columns {missing} for ids and groups. Known: {list(frame)}.")
        features = self.take(frame, aside).reset_index(drop=True)
        with one_thread_each():
            parts = [self._block(features, frame, start) for start in range(0, max(1, len(frame)), BLOCK)]
        tidy = pd.concat([part for part, _ in parts], ignore_index=True) if len(parts) > 1 else parts[0][0]
        ids = frame.index if self.id is None else frame[self.id]
        schema = self.explainer.frame_schema("arrow", id=self.id, id_dtype=ids.dtype)
        self.out.write(name, to_arrow(tidy, schema))
        facts = [facts for _, facts in parts if facts is not None]
        sums = Sums(len(frame), _states(tidy), _added(facts), source)
        self.out.write_json(_sums(name), sums.to_plain(self.run))
        return name

    def _block(
        self, features: pd.DataFrame, frame: pd.DataFrame, start: int
    ) -> tuple[pd.DataFrame, Many | None]:
        """Explain some rows of a file."""
        rows = features.iloc[start : start + BLOCK].reset_index(drop=True)
        ids = frame.index.to_series() if self.id is None else frame[self.id]
        ids = ids.iloc[start : start + BLOCK]
        frames = frames_of(self.explainer._fitted(), self.id, ids.dtype)
        if not len(rows):
            return frames.empty(), None
        failed: dict[int, Exception] = {}
        try:
            found = self.explainer.explain_many(rows, self.k, invalid="skip", progress=False, **self.asked)
        except IncompleteError as error:
            found, failed = error.finished, error.failed
        tidy = frames.of(found, ids, failed)
        if not len(found):
            return tidy, None
        places = found.instances
        facts = Many.of(found, frame.iloc[start + places], self.groups)
        # Facts count what was explained; rows are named by their numbers in the file.
        cases = (replace(case, row=start + int(places[case.row - 1]) + 1) for case in facts.cases)
        return tidy, replace(facts, cases=tuple(cases))


def merged(sums: Iterable[Sums]) -> Many | None:
    """Add up the facts of partitions; rows are numbered through all of them.

    Examples
    --------
    >>> merged([]) is None
    True
    """
    facts, before = [], 0
    for each in sums:
        if each.facts is not None:
            cases = tuple(replace(case, row=case.row + before) for case in each.facts.cases)
            facts.append(replace(each.facts, cases=cases))
        before += each.rows
    return _added(facts)


def _added(facts: Sequence[Many]) -> Many | None:
    """Add up facts whose cases have the numbers that they should have."""
    if not facts:
        return None
    cases = [case for each in facts for case in each.cases][:CASES]
    return replace(reduce(add, facts), cases=tuple(cases))


def _states(tidy: pd.DataFrame) -> dict[str, int]:
    """Count what became of rows: the first line of each says it."""
    number, status = tidy.columns[1], tidy.columns[-2]
    return {str(key): int(count) for key, count in tidy.loc[tidy[number] <= 1, status].value_counts().items()}


def _sums(name: str) -> str:
    return f"{SUMS}/{name}.json"
