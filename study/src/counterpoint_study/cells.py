"""What has been run already, on disk: one file a cell, written whole or not at all.

A cell is a data set, a black box, a method and a k. Its file is named after a hash of all that decides its
answers, so a study that was stopped goes on where it was, and one whose inputs changed starts anew. Answers
that are tables are kept as JSON, and arrays as compressed numpy files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint._util.atomic import replacing
from counterpoint.metrics.measures import Measures
from counterpoint_study.methods.base import Cost, Run
from counterpoint_study.scenes.base import Instances, Scene
from counterpoint_study.scoring import Score


@dataclass(frozen=True)
class Done:
    """A cell that was run: its answers and their scores for each k, or why there are none.

    `refits` says with how many refits of the black box survival was measured.
    """

    run: Run
    scores: dict[int, list[Score]]
    failure: str | None = None
    refits: int = 0


class Cells(Protocol):
    """How cells with one kind of answers are kept."""

    @property
    def suffix(self) -> str:
        """How the files' names end."""
        ...

    def save(self, path: Path, done: Done) -> None:
        """Write a cell."""
        ...

    def load(self, path: Path) -> Done | None:
        """Read a cell; None if it has not been run."""
        ...

    def as_kept(self, run: Run) -> Run:
        """Give answers the form that they have when read again, so that fresh and kept ones score alike."""
        ...


@dataclass(frozen=True)
class TableCells:
    """Cells whose answers are tables with certain columns, as JSON."""

    columns: tuple[str, ...]
    suffix: str = ".json"

    @classmethod
    def of(cls, scene: Scene) -> TableCells:
        """Make it for a scene's answers."""
        X: Any = scene.X
        return cls(tuple(X.columns))

    def save(self, path: Path, done: Done) -> None:
        """Write a cell."""
        plain = _plain(done) | {
            "tables": [_rows(table) for table in done.run.answers],
            "alike": [_rows(table) for table in done.run.alike],
        }
        _write(path, json.dumps(plain).encode())

    def load(self, path: Path) -> Done | None:
        """Read a cell; None if it has not been run."""
        if not path.exists():
            return None
        plain = json.loads(path.read_text())
        answers, alike = ([self._table(rows) for rows in plain[name]] for name in ("tables", "alike"))
        return _done(plain, answers, alike)

    def as_kept(self, run: Run) -> Run:
        """Give tables the form that they have when read again."""
        answers, alike = ([self._table(_rows(table)) for table in each] for each in (run.answers, run.alike))
        return replace(run, answers=answers, alike=alike)

    def _table(self, rows: list[list[Any]]) -> pd.DataFrame:
        return pd.DataFrame(rows, columns=list(self.columns))


@dataclass(frozen=True)
class SignalCells:
    """Cells whose answers are arrays of a certain shape and dtype, in compressed numpy files."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    suffix: str = ".npz"

    @classmethod
    def of(cls, scene: Scene) -> SignalCells:
        """Make it for a scene's answers."""
        X: Any = scene.X
        return cls(X.shape[1:], X.dtype)

    def save(self, path: Path, done: Done) -> None:
        """Write a cell: all answers end to end, how many there are an instance, and the rest as JSON."""
        arrays: dict[str, NDArray[Any]] = {"rest": np.array(json.dumps(_plain(done)))}
        for name, answers in (("answers", done.run.answers), ("alike", done.run.alike)):
            arrays[name] = np.concatenate([self._none(), *map(self._array, answers)])
            arrays[f"{name}_counts"] = np.array([len(answer) for answer in answers], dtype=np.int64)
        content = BytesIO()
        np.savez_compressed(content, allow_pickle=False, **arrays)
        _write(path, content.getvalue())

    def load(self, path: Path) -> Done | None:
        """Read a cell; None if it has not been run."""
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as file:
            answers, alike = (
                np.split(file[name], np.cumsum(file[f"{name}_counts"]))[:-1] for name in ("answers", "alike")
            )
            return _done(json.loads(str(file["rest"])), answers, alike)

    def as_kept(self, run: Run) -> Run:
        """Give arrays the form that they have when read again."""
        answers, alike = ([self._array(answer) for answer in each] for each in (run.answers, run.alike))
        return replace(run, answers=answers, alike=alike)

    def _array(self, answer: Instances) -> NDArray[Any]:
        """Take an answer in the data's dtype; one of another shape is an error of the method's."""
        array = np.asarray(answer, dtype=self.dtype)
        if array.shape[1:] != self.shape:
            wanted = ", ".join(["k", *map(str, self.shape)])
            raise ValueError(f"An answer must have the shape ({wanted}), got {array.shape}.")
        return array

    def _none(self) -> NDArray[Any]:
        return np.empty((0, *self.shape), dtype=self.dtype)


def _plain(done: Done) -> dict[str, Any]:
    """Write all but the answers as JSON takes it."""
    return {
        "failure": done.failure,
        "refits": done.refits,
        "costs": [asdict(cost) for cost in done.run.costs],
        "scores": {str(k): [asdict(each) for each in scores] for k, scores in done.scores.items()},
    }


def _done(plain: dict[str, Any], answers: Sequence[Instances], alike: Sequence[Instances]) -> Done:
    scores = {int(k): [_score(each) for each in found] for k, found in plain["scores"].items()}
    run = Run(answers, alike, [Cost(**cost) for cost in plain["costs"]])
    # Cells of before survival was measured do not say how.
    return Done(run, scores, plain["failure"], plain.get("refits", 0))


def _score(plain: dict[str, Any]) -> Score:
    return Score(**plain | {name: Measures(**plain[name]) for name in ("measures", "quantiles")})


def _rows(table: pd.DataFrame) -> list[list[Any]]:
    """Write a table as JSON takes it; numbers keep every bit."""
    return [[_bare(value) for value in row] for row in table.to_numpy(dtype=object)]


def _bare(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)
