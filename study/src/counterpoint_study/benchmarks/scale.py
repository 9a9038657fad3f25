"""Rows per second with 1 and 2 workers on each engine, a worker's memory, and the cost of larger runs.

``python -m counterpoint_study.benchmarks.scale``

`cost` checks the model of cost; this one applies it to adult's forest. Ray and Spark are run by the
environments that `make scale` makes; without one, its engine is left out.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import skops.io

from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.cost import Cost
from counterpoint_study.benchmarks.growth import resampled
from counterpoint_study.benchmarks.models import SEED, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import NAME

WORKER = Path(__file__).with_name("scale_worker.py")
ENGINES = ("jobs", "dask", "ray", "spark")
LARGE = ((10**6, 10), (5 * 10**7, 100), (10**9, 1_000))  # rows and workers


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
    if engine in ("jobs", "dask"):
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
    """Run `jobs` with every number of workers, and the other engines with the most."""
    most = max(options.workers)
    for engine in options.engines:
        for workers in options.workers if engine == "jobs" or options.each else [most]:
            if (line := run(folder, engine, workers, options.rows, options.k)) is not None:
                print(f"{engine}, {workers}: {line['rows per s']:.1f} rows per s", flush=True)
                yield line


def figures(lines: Sequence[dict[str, Any]], most: int, model: float | None) -> list[Figure]:
    """Set engines against processes, and two workers against one."""
    rate = {(line["engine"], line["workers"]): line["rows per s"] for line in lines}
    found = []
    if ("jobs", 1) in rate and ("jobs", 2) in rate:
        found.append(Figure("rows per s, 2 jobs / 1", rate["jobs", 2] / rate["jobs", 1], 1.8, ">="))
    for engine in ENGINES[1:]:
        if (engine, most) in rate and ("jobs", most) in rate:
            overhead = rate["jobs", most] / rate[engine, most] - 1
            found.append(Figure(f"{engine}'s overhead over {most} jobs", overhead, 0.15))
    memory = [line["worker MB"] for line in lines if line["engine"] == "jobs" and line["workers"] > 1]
    if memory and model is not None:
        found.append(Figure("the model: MB", model))
        found.append(Figure("memory of a worker above the model: MB", max(memory) - model, 250))
    found.append(Figure("different answers among all runs", len({line["digest"] for line in lines}) - 1, 0))
    return found


def costs(unit: dict[str, float], start: float) -> list[dict[str, float]]:
    """Predict what large runs would cost."""
    cost = Cost(
        unit["seconds per row"],
        start,
        unit["calls per row"],
        unit["model rows per row"],
        unit["bytes in per row"],
        unit["bytes back per row"],
        unit["bytes of the explainer"],
    )
    return [cost.of(rows, workers) for rows, workers in LARGE]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("scale", __doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--each", action="store_true", help="other engines with every number of workers, too")
    parser.add_argument("-k", type=int, default=5)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, options.rows)
        lines = list(measured(options, folder))
    alone = next((line for line in lines if "unit" in line), None)
    unit = None if alone is None else alone["unit"]
    found = figures(lines, max(options.workers), None if unit is None else unit["model MB"])
    shown = [{key: value for key, value in line.items() if key != "unit"} for line in lines]
    results.show(f"Scale: {NAME}, k = {options.k}: rows per second", shown)
    body: dict[str, Any] = {"runs": lines, "figures": [figure.plain() for figure in found]}
    if alone is not None and unit is not None:
        body["costs"] = costs(unit, alone["start s"])
        results.show("Scale: what a row costs", [unit])
        results.show("Scale: what larger runs would cost", body["costs"])
    results.show("Scale", [figure.cells() for figure in found])
    results.write("scale", SEED, body)


if __name__ == "__main__":
    main()
