"""The model of cost, and runs of 10⁴, 10⁵ and 10⁶ rows that check it.

``python -m counterpoint_study.benchmarks.cost``

What a row costs is measured on the smallest run; the model predicts the others from it. The explainer and the
model are cheap ones, so that a million rows take minutes: four columns of adult, a small tree, `Neighbours`.
Work is counted in CPU time, which other work on the machine hardly changes.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp
from counterpoint._util.parcels import Parcel
from counterpoint.explainers.parallel import stop_workers
from counterpoint.scale.engines import Engine
from counterpoint.scale.folders import Folder
from counterpoint.scale.partitions import Partitions
from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.growth import resampled
from counterpoint_study.benchmarks.models import SEED, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import NAME

ID, METERS = "application", "_meters"
HOUR = 3_600
SIZE = 5_000  # rows per file, in all runs: larger files take fewer bytes per row
# How far a run may be from what is predicted of it.
NEAR = {"core-seconds": 0.15, "model calls": 0.05, "model rows": 0.05, "MB in": 0.15, "MB back": 0.15}


@dataclass(frozen=True)
class Cost:
    """The model of cost: what one row takes of a core, of the model and of the network.

    Examples
    --------
    >>> cost = Cost(0.02, 5.0, 0.07, 1_900.0, 100.0, 900.0, 10_000_000)
    >>> cost.of(10_000, workers=2)["core-seconds"]
    210.0
    >>> round(cost.of(1_000_000, workers=100)["wall hours"], 3)
    0.057
    """

    seconds_per_row: float
    start: float
    calls_per_row: float
    model_rows_per_row: float
    bytes_in: float
    bytes_back: float
    explainer: float

    def of(self, rows: int, workers: int) -> dict[str, float]:
        """Predict what a run costs."""
        work = rows * self.seconds_per_row
        return {
            "rows": rows,
            "workers": workers,
            "core-seconds": work + workers * self.start,
            "core-hours": (work + workers * self.start) / HOUR,
            "wall hours": (work / workers + self.start) / HOUR,
            "model calls": rows * self.calls_per_row,
            "model rows": rows * self.model_rows_per_row,
            "MB in": (rows * self.bytes_in + workers * self.explainer) / 1e6,
            "MB back": rows * self.bytes_back / 1e6,
        }


@dataclass(frozen=True)
class Metered:
    """Explains a file of rows on a worker, and writes what that took beside the answers."""

    partitions: Partitions

    def __call__(self, name: str) -> str:
        """Explain a file."""
        begun, count = time.process_time(), self.partitions.explainer.fitted_.blackbox._ever
        calls, rows = count.calls, count.rows
        self.partitions.explain(name)
        took = {
            "process": os.getpid(),
            "begun": begun,
            "seconds": time.process_time() - begun,
            "calls": count.calls - calls,
            "rows": count.rows - rows,
        }
        self.partitions.out.write_json(f"{METERS}/{name}.json", took)
        return name


def take(frame: pd.DataFrame, aside: Sequence[str]) -> pd.DataFrame:
    """Take the features of a table."""
    return frame.drop(columns=list(aside))


def cheap() -> tuple[cp.Explainer, pd.DataFrame]:
    """Fit a cheap explainer to a cheap model; give it with rows to draw from."""
    trained = train(NAME)
    numbers = list(trained.known.select_dtypes("number"))
    known = trained.known[numbers][:2_000]
    model = DecisionTreeClassifier(max_depth=6, random_state=SEED)
    model.fit(known, trained.model.predict(trained.known[:2_000]))
    explainer = cp.Neighbours(candidates=10, seed=SEED).fit(model, known, progress=False)
    return explainer, trained.data.X_test[numbers]


def make_rows(folder: Path, source: pd.DataFrame, rows: int) -> None:
    """Write a folder of rows, in files of the same size."""
    for number, start in enumerate(range(0, rows, SIZE)):
        part = resampled(source, min(SIZE, rows - start), seed=number)
        part.insert(0, ID, range(start, start + len(part)))
        part.to_parquet(folder / f"{number:04}.parquet", index=False)


def measured(explainer: cp.Explainer, source: pd.DataFrame, rows: int, workers: int) -> dict[str, float]:
    """Run on processes of this machine; sum up what they took."""
    with tempfile.TemporaryDirectory() as name:
        inside, out = Path(name, "rows"), Path(name, "found")
        inside.mkdir()
        make_rows(inside, source, rows)
        partitions = Partitions(
            Folder.of(str(inside)), Folder.of(str(out)), explainer, take, ID, (), 1, {}, "cost"
        )
        begun = time.monotonic()
        done = Engine.of("local", workers).run(Metered(partitions), partitions.rows.tables())
        files = [partitions.out.read_json(f"{METERS}/{name}.json") for name in done]
        wall = time.monotonic() - begun
        first: dict[int, float] = {}
        for file in files:  # what a worker's CPU had done before its first file is its start
            first[file["process"]] = min(file["begun"], first.get(file["process"], file["begun"]))
        bytes_in, bytes_back = (_size(folder) for folder in (inside, out))
    return {
        "rows": rows,
        "workers": workers,
        "files": len(files),
        "work": sum(file["seconds"] for file in files),
        "start": sum(first.values()),
        "wall s": wall,
        "model calls": sum(file["calls"] for file in files),
        "model rows": sum(file["rows"] for file in files),
        "bytes in": bytes_in,
        "bytes back": bytes_back,
    }


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("*.parquet"))


def fitted(run: dict[str, float], explainer: float) -> Cost:
    """Learn the model of cost from one run."""
    rows = run["rows"]
    return Cost(
        run["work"] / rows,
        run["start"] / run["workers"],
        run["model calls"] / rows,
        run["model rows"] / rows,
        run["bytes in"] / rows,
        run["bytes back"] / rows,
        explainer,
    )


def beside(cost: Cost, run: dict[str, float]) -> list[dict[str, Any]]:
    """Set what a run took beside what was predicted of it."""
    predicted = cost.of(int(run["rows"]), int(run["workers"]))
    took = {
        "core-seconds": run["work"] + run["start"],
        "model calls": run["model calls"],
        "model rows": run["model rows"],
        "MB in": (run["bytes in"] + run["workers"] * cost.explainer) / 1e6,
        "MB back": run["bytes back"] / 1e6,
    }
    return [
        {
            "rows": run["rows"],
            "quantity": name,
            "predicted": predicted[name],
            "measured": value,
            "measured / predicted": value / predicted[name],
        }
        for name, value in took.items()
    ]


def check(rows: Sequence[int], workers: int) -> tuple[list[Figure], dict[str, Any]]:
    """Run, print predicted beside measured, and judge how far apart they are."""
    explainer, source = cheap()
    # The executor keeps its workers; new ones for each run, so that each pays for its start.
    runs = []
    for count in sorted(rows):
        runs.append(measured(explainer, source, count, workers))
        stop_workers()
    cost = fitted(runs[0], len(Parcel.of(explainer).content))
    lines = [line for run in runs for line in beside(cost, run)]
    results.show("Cost: runs by a cheap model, and what the smallest of them predicts", lines)
    found = []
    for name, near in NEAR.items():
        ratios = [line["measured / predicted"] for line in lines if line["quantity"] == name]
        found.append(Figure(f"{name}: farthest from predicted", max(abs(each - 1) for each in ratios), near))
    return found, {"runs": runs, "cost": vars(cost), "beside": lines}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("cost", __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args(arguments)
    found, body = check(options.rows, options.workers)
    results.show("Cost", [figure.cells() for figure in found])
    results.write("cost", SEED, {**body, "figures": [figure.plain() for figure in found]})


if __name__ == "__main__":
    main()
