"""What has been run already, on disk: one file a cell, written whole or not at all.

A cell is a data set, a black box, a method and a k. Its file is named after a hash of all that decides its
answers, so a study that was stopped goes on where it was, and one whose inputs changed starts anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.metrics import Measures
from counterpoint.study.methods import Cost, Run
from counterpoint.study.scoring import Score


@dataclass(frozen=True)
class Done:
    """A cell that was run: its answers and their scores for each k, or why there are none."""

    run: Run
    scores: dict[int, list[Score]]
    failure: str | None = None


def save(path: Path, done: Done) -> None:
    """Write a cell."""
    plain = {
        "failure": done.failure,
        "costs": [asdict(cost) for cost in done.run.costs],
        "tables": [_rows(table) for table in done.run.tables],
        "alike": [_rows(table) for table in done.run.alike],
        "scores": {str(k): [asdict(each) for each in scores] for k, scores in done.scores.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under another name first, so that a run that is stopped here leaves no half of a file.
    part = path.with_suffix(".part")
    part.write_text(json.dumps(plain))
    part.replace(path)


def load(path: Path, columns: Sequence[str]) -> Done | None:
    """Read a cell of a data set with these columns; None if it has not been run."""
    if not path.exists():
        return None
    plain = json.loads(path.read_text())
    tables, alike = ([_table(rows, columns) for rows in plain[name]] for name in ("tables", "alike"))
    scores = {int(k): [_score(each) for each in found] for k, found in plain["scores"].items()}
    return Done(Run(tables, alike, [Cost(**cost) for cost in plain["costs"]]), scores, plain["failure"])


def through_disk(run: Run, columns: Sequence[str]) -> Run:
    """Give tables the form that they have when read again, so that fresh and kept ones score alike."""
    tables, alike = ([_table(_rows(table), columns) for table in each] for each in (run.tables, run.alike))
    return Run(tables, alike, run.costs)


def _rows(table: pd.DataFrame) -> list[list[Any]]:
    """Write a table as JSON takes it; numbers keep every bit."""
    return [[_plain(value) for value in row] for row in table.to_numpy(dtype=object)]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _table(rows: list[list[Any]], columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(columns))


def _score(plain: dict[str, Any]) -> Score:
    return Score(**{**plain, "measures": Measures(**plain["measures"])})
