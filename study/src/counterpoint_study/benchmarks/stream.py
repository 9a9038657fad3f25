"""Many rows through the command line: its peak memory, and a run that is killed halfway and goes on.

``python -m counterpoint_study.benchmarks.stream``
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import skops.io

from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.growth import resampled, status
from counterpoint_study.benchmarks.models import SEED, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import NAME

PAUSE = 0.2  # seconds between looks at a running process


@dataclass(frozen=True)
class Run:
    """How a process ended: its exit code, its highest memory in MB, and how long it took."""

    code: int
    peak: float
    seconds: float

    def cells(self, name: str) -> dict[str, object]:
        """Return it as a line of a table."""
        return {"run": name, "exit code": self.code, "peak MB": self.peak, "seconds": self.seconds}


def make_files(folder: Path, rows: int) -> list[str]:
    """Write model, known instances and rows; give the command that explains them."""
    trained = train(NAME)
    skops.io.dump(trained.model, folder / "model.skops")
    trained.known.to_csv(folder / "known.csv", index=False)
    resampled(trained.data.X_test, rows).to_parquet(folder / "rows.parquet", index=False)
    command = [sys.executable, "-m", "counterpoint.cli", "explain", "--quiet"]
    command += ["--model", f"{folder / 'model.skops'}", "--data", f"{folder / 'known.csv'}"]
    command += ["--rows", f"{folder / 'rows.parquet'}"]
    return [*command, "--immutable", ",".join(trained.data.immutable)]


def watch(command: Sequence[str], enough: Callable[[], bool]) -> Run:
    """Run a command to its end, or kill it when it has done enough; measure its highest memory."""
    started, peak, is_killed = time.monotonic(), 0.0, False
    process = subprocess.Popen(command)
    while process.poll() is None:
        peak = max(peak, _peak(process.pid))
        if not is_killed and enough():
            process.send_signal(signal.SIGKILL)
            is_killed = True
        time.sleep(PAUSE)
    return Run(process.returncode, peak, time.monotonic() - started)


def _peak(process: int) -> float:
    """Read the highest memory of a running process in MB."""
    try:
        return status("VmHWM", process)
    except OSError:  # it has just ended
        return 0.0


def compare(folder: Path, options: argparse.Namespace) -> tuple[list[Figure], list[dict[str, object]]]:
    """Run once in one go, and once killed halfway and resumed; compare memory and answers."""
    command = [*make_files(folder, options.rows), "-k", str(options.k), "--part", str(options.part)]
    half: int = options.rows // options.part // 2
    whole, resumed = folder / "whole.parquet", folder / "resumed.parquet"

    def is_halfway() -> bool:
        return len(list(folder.glob("resumed.parquet.*.parts/*.json.gz"))) >= half

    runs: dict[str, Run] = {
        "in one go": watch([*command, "--out", str(whole)], lambda: False),
        "killed halfway": watch([*command, "--out", str(resumed)], is_halfway),
    }
    left = resumed.exists()
    runs["resumed"] = watch([*command, "--out", str(resumed)], lambda: False)
    figures = [
        Figure(f"peak memory, {options.rows:,} rows: MB", max(run.peak for run in runs.values()), 1024),
        Figure("an output after the kill", float(left), 0),
        Figure("the resumed run's file differs", float(whole.read_bytes() != resumed.read_bytes()), 0),
        Figure("rows a second", options.rows / runs["in one go"].seconds),
    ]
    return figures, [run.cells(name) for name, run in runs.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("stream", __doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--part", type=int, default=1_000, help="rows saved at a time")
    parser.add_argument("-k", type=int, default=5)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        figures, runs = compare(Path(folder), options)
    results.show(f"Streaming {options.rows:,} rows of {NAME}, k = {options.k}", runs)
    results.show("Stream", [figure.cells() for figure in figures])
    body = {"figures": [figure.plain() for figure in figures], "runs": runs}
    results.write("stream", SEED, {"options": vars(options), **body})


if __name__ == "__main__":
    main()
