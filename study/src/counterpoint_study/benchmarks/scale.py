"""Rows per second with 1 and 2 workers on each engine, and a model of cost that predicts larger runs.

``python -m counterpoint_study.benchmarks.scale``

Ray and Spark are run by the environments that `make scale` makes; without one, its engine is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import skops.io

from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.growth import resampled
from counterpoint_study.benchmarks.models import SEED, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import NAME

WORKER = Path(__file__).with_name("scale_worker.py")
ENGINES = ("jobs", "dask", "ray", "spark")
BILLION = 10**9
HOUR = 3_600


@dataclass(frozen=True)
class Cost:
    """The model of cost: what one row takes of a core, of the model and of the network.

    Examples
    --------
    >>> cost = Cost(0.02, 5.0, 0.07, 1_900.0, 100.0, 900.0, 10_000_000)
    >>> cost.seconds(10_000, workers=2)
    105.0
    >>> round(cost.of(1_000_000, workers=100)["core-hours"], 1)
    5.7
    """

    seconds_per_row: float
    start: float
    calls_per_row: float
    model_rows_per_row: float
    bytes_in: float
    bytes_back: float
    explainer: float

    def seconds(self, rows: int, workers: int) -> float:
        """Predict the wall time of a run, with its start."""
        return self.start + rows * self.seconds_per_row / workers

    def of(self, rows: int, workers: int) -> dict[str, float]:
        """Predict what a run costs."""
        return {
            "rows": rows,
            "workers": workers,
            "wall hours": self.seconds(rows, workers) / HOUR,
            "core-hours": (rows * self.seconds_per_row + workers * self.start) / HOUR,
            "model calls": rows * self.calls_per_row,
            "model rows": rows * self.model_rows_per_row,
            "GB shipped": (rows * (self.bytes_in + self.bytes_back) + workers * self.explainer) / 1e9,
        }


def make_files(folder: Path, rows: int) -> None:
    """Write model, known instances and rows."""
    trained = train(NAME)
    skops.io.dump(trained.model, folder / "model.skops")
    trained.known.to_parquet(folder / "known.parquet", index=False)
    drawn = resampled(trained.data.X_test, rows)
    drawn.insert(0, "application", range(rows))
    drawn.to_parquet(folder / "rows.parquet", index=False)
    facts = {"seed": SEED, "immutable": list(trained.data.immutable)}
    (folder / "facts.json").write_text(json.dumps(facts))


def python_of(engine: str) -> str | None:
    """Find the Python that has an engine; None if there is none."""
    if engine in ("unit", "jobs", "dask"):
        return sys.executable
    path = Path(f".venv-{engine}/bin/python")
    return str(path) if path.exists() else None


def run(folder: Path, engine: str, workers: int, rows: int, k: int) -> dict[str, Any] | None:
    """Measure one run in a process of its own; None if its engine is not installed."""
    python = python_of(engine)
    if python is None:
        print(f"{engine} is left out: `make scale` installs it.", flush=True)
        return None
    options = ["--workers", str(workers), "--rows", str(rows), "--k", str(k)]
    command = [python, str(WORKER), str(folder), engine, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measured(options: Any, folder: Path) -> Iterator[dict[str, Any]]:
    """Run every engine with every number of workers on the fewest rows, then one engine on more."""
    few, *more = sorted(options.rows)
    for engine in options.engines:
        for workers in options.workers:
            if (line := run(folder, engine, workers, few, options.k)) is not None:
                yield line
    for rows in more:
        if (line := run(folder, "jobs", max(options.workers), rows, options.k)) is not None:
            yield line


def figures(lines: Sequence[dict[str, Any]], few: int, most: int, model: float) -> list[Figure]:
    """Set engines against processes, and two workers against one."""
    rate = {(line["engine"], line["workers"]): line["rows per s"] for line in lines if line["rows"] == few}
    found = []
    if ("jobs", 1) in rate and ("jobs", 2) in rate:
        found.append(Figure("rows per s, 2 jobs / 1", rate["jobs", 2] / rate["jobs", 1], 1.8, ">="))
    for engine in ENGINES[1:]:
        if (engine, most) in rate and ("jobs", most) in rate:
            overhead = rate["jobs", most] / rate[engine, most] - 1
            found.append(Figure(f"{engine}'s overhead over {most} jobs", overhead, 0.15))
    memory = max(line["worker MB"] for line in lines if line["engine"] == "jobs")
    found.append(Figure("memory of a worker above the model: MB", memory - model, 250))
    digests = {line["digest"] for line in lines if line["rows"] == few}
    found.append(Figure("different answers among all runs", len(digests) - 1, 0))
    return found


def checked(cost: Cost, lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Compare the runs of `jobs` with what the model of cost predicts."""
    return [
        {
            "rows": line["rows"],
            "workers": line["workers"],
            "predicted s": (predicted := cost.seconds(line["rows"], line["workers"]) - cost.start),
            "measured s": line["seconds"],
            "measured / predicted": line["seconds"] / predicted,
        }
        for line in lines
        if line["engine"] == "jobs"
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("scale", __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("-k", type=int, default=10)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, max(options.rows))
        unit = run(folder, "unit", 1, min(1_024, *options.rows), options.k)
        lines = list(measured(options, folder))
    first = next(line for line in lines if line["engine"] == "jobs")
    assert unit is not None
    cost = Cost(
        first["seconds"] * first["workers"] / first["rows"],
        first["start s"],
        unit["calls per row"],
        unit["model rows per row"],
        unit["bytes in per row"],
        first["bytes back per row"],
        unit["bytes of the explainer"],
    )
    costs = [cost.of(rows, workers) for rows, workers in ((10**6, 10), (5 * 10**7, 100), (BILLION, 1_000))]
    found = figures(lines, min(options.rows), max(options.workers), unit["model MB"])
    results.show(f"Scale: {NAME}, k = {options.k}: rows per second", lines)
    results.show("Scale: the model of cost beside the runs", checked(cost, lines))
    results.show("Scale: what larger runs would cost", costs)
    results.show("Scale", [figure.cells() for figure in found])
    body = {"runs": lines, "unit": unit, "costs": costs, "figures": [figure.plain() for figure in found]}
    results.write("scale", SEED, body)


if __name__ == "__main__":
    main()
