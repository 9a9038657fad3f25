"""How time and memory grow with the number of instances, of known instances and of columns.

``python -m counterpoint_study.benchmarks.growth``
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import counterpoint as cp
from counterpoint_study.benchmarks import columns, results
from counterpoint_study.benchmarks.models import SEED, TREES, fit, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import NAME, timed
from counterpoint_study.models.training import Trained

K = 10
WIDE_INSTANCES = 10  # explained with each number of columns
BLOCKS = {10: 10, 100: 3}  # few instances are explained several times over, each time others


# -- with the number of instances ---


def by_instances(trained: Trained, counts: Sequence[int]) -> list[dict[str, float]]:
    """Time `explain_many` of few and of many instances."""
    explainer = fit(trained)
    X = trained.instances(max(counts))
    # What is built once would otherwise weigh on few instances and hide a rise.
    explainer.explain_many(X[: min(counts)], k=K, progress=False)
    return [_time_blocks(explainer, X, count) for count in counts]


def _time_blocks(explainer: cp.Explainer, X: pd.DataFrame, count: int) -> dict[str, float]:
    blocks = max(1, min(BLOCKS.get(count, 1), len(X) // count))
    parts = [X[i * count : (i + 1) * count] for i in range(blocks)]
    times = [timed(partial(explainer.explain_many, part, k=K, progress=False))[1:] for part in parts]
    wall, cpu = np.mean(times, axis=0) / count * 1000
    return {"instances": count, "blocks": blocks, "wall ms each": wall, "CPU ms each": cpu}


# -- with the number of known instances ---


def by_known(trained: Trained, sizes: Sequence[int], count: int) -> list[dict[str, float]]:
    """Time `fit`, and `explain_many` of the same instances, with few and with many known instances."""
    X = trained.instances(count)
    return [_time_known(trained, resampled(trained.known, size), X) for size in sizes]


def _time_known(trained: Trained, known: pd.DataFrame, X: pd.DataFrame) -> dict[str, float]:
    explainer = cp.Ensemble(seed=SEED)
    _, fit_wall, _ = timed(lambda: explainer.fit(trained.model, known, immutable=trained.data.immutable))
    (_, *first), (_, *again) = (
        timed(lambda: explainer.explain_many(X, k=K, progress=False)) for _ in range(2)
    )
    return {
        "known": len(known),
        "fit s": fit_wall,
        "first: wall ms each": first[0] / len(X) * 1000,
        "first: CPU ms each": first[1] / len(X) * 1000,
        "again: wall ms each": again[0] / len(X) * 1000,
        "again: CPU ms each": again[1] / len(X) * 1000,
    }


def resampled(X: pd.DataFrame, size: int, seed: int = SEED) -> pd.DataFrame:
    """Draw rows with replacement and move their numbers a little, so that hardly any row is there twice.

    Where most rows have the same number (no capital gain), it stays: noise would make it another feature.
    """
    rng = np.random.default_rng(seed)
    drawn = X.iloc[rng.integers(len(X), size=size)].reset_index(drop=True)
    for name in drawn.select_dtypes("number"):
        usual = X[name].mode()[0]
        noise = np.rint(rng.normal(0, 0.05 * X[name].std(), size)).astype(drawn[name].dtype)
        moved = (drawn[name] + noise).clip(X[name].min(), X[name].max())
        drawn[name] = moved.where((drawn[name] != usual) | (np.mean(X[name] == usual) < 0.5), usual)
    return drawn


# -- memory, each figure in a process of its own ---


def memory(what: str, count: int) -> dict[str, float]:
    """Measure in a fresh process how far memory rises at its highest above the loaded data and model."""
    command = [sys.executable, "-m", f"{__package__}.growth", "--measure", what, "--most", str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"what": what, "instances": count, **json.loads(done.stdout.splitlines()[-1])}


def measure(what: str, count: int) -> dict[str, float]:
    """Do the work of `memory` in this process."""
    trained = train(NAME)
    X = trained.instances(count)
    trained.model.predict(X[:10])  # what the first call imports is no part of it
    _forget_loading()
    before = status("VmRSS")
    if what == "explain_many":
        explanations = fit(trained).explain_many(X, k=K, progress=False)
        assert len(explanations) == count  # so that they are still there
    else:
        trained.model.predict(resampled(trained.known, 100_000))
    return {"before MB": before, "peak MB": status("VmHWM"), "above MB": status("VmHWM") - before}


def _forget_loading() -> None:
    """Give back what loading took for a moment and start the peak anew: both would hide what comes after."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def status(field: str, process: int | str = "self") -> float:
    """Read a memory field of a process in MB, from Linux.

    `resource.getrusage` would do for the peak, but its ru_maxrss starts with that of the parent process.
    """
    path = Path(f"/proc/{process}/status")
    for line in path.read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(f"No {field} in {path}: the process has ended.")


# -- all of it ---


def figures(few_many: list[dict[str, float]], known: list[dict[str, float]], above: float) -> list[Figure]:
    """Set the first against the last of each series."""

    def ratio(series: list[dict[str, float]], column: str) -> float:
        return series[-1][column] / series[0][column]

    counts = f"{few_many[-1]['instances']:,} / {few_many[0]['instances']:,} instances"
    sizes = f"{known[-1]['known']:,} / {known[0]['known']:,} known"
    return [
        # 1.1, not 1: two runs of the same work differ by that much on a machine with other work.
        Figure(f"wall time each, {counts}", ratio(few_many, "wall ms each"), 1.1),
        Figure(f"CPU time each, {counts}", ratio(few_many, "CPU ms each"), 1.1),
        Figure(f"wall time each, {sizes}, first call", ratio(known, "first: wall ms each"), 3),
        Figure(f"CPU time each, {sizes}, first call", ratio(known, "first: CPU ms each"), 3),
        Figure(f"wall time each, {sizes}, second call", ratio(known, "again: wall ms each"), 3),
        Figure(f"CPU time each, {sizes}, second call", ratio(known, "again: CPU ms each"), 3),
        Figure(f"fit time, {sizes}", ratio(known, "fit s")),
        Figure(f"peak memory above the data, {few_many[-1]['instances']:,} instances: MB", above, 500, "<"),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("growth", __doc__)
    parser.add_argument("--counts", type=int, nargs="+", default=[10, 100, 1000], help="of instances")
    parser.add_argument("--known", type=int, nargs="+", default=[10**4, 10**5, 10**6])
    parser.add_argument("--instances", type=int, default=50, help="explained with each number of known ones")
    parser.add_argument("--columns", type=int, nargs="+", default=list(columns.WIDTHS))
    parser.add_argument("--measure", choices=["explain_many", "model"], help=argparse.SUPPRESS)
    parser.add_argument("--most", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.most)))
        return
    run(options)


def run(options: argparse.Namespace) -> None:
    """Measure, print and write everything."""
    trained = train(NAME)
    most = max(options.counts)
    memories: list[dict[str, Any]] = [memory("explain_many", most), memory("model", most)]
    results.show(f"Peak memory above the data: {NAME}, k = {K}; the model's own for 100,000 rows", memories)
    few_many = by_instances(trained, options.counts)
    results.show(f"Time by the number of instances: {NAME}, k = {K}", few_many)
    known = by_known(trained, options.known, options.instances)
    results.show(
        f"Time by the number of known instances: {NAME}, {options.instances} instances, k = {K}", known
    )
    wide = columns.by_columns(options.columns, min(options.instances, WIDE_INSTANCES))
    results.show(f"Time by the number of columns: a linear model of all of them, k = {columns.K}", wide)
    found = [*figures(few_many, known, memories[0]["above MB"]), *columns.figures(wide)]
    results.show(f"Growth: {NAME}, forest of {TREES} trees", [figure.cells() for figure in found])
    body = {
        "figures": [figure.plain() for figure in found],
        "by instances": few_many,
        "by known instances": known,
        "by columns": wide,
        "memory": memories,
    }
    results.write("growth", SEED, {"options": vars(options), **body})


if __name__ == "__main__":
    main()
