"""How much of the CPU time of `counterpoint explain` is the model's own.

``python -m counterpoint_study.benchmarks.share``

The command reads, checks, explains, writes and reports, in a process of its own. The model is the same object
as in its file, with methods that add up their CPU time; what is left is Counterpoint's, with its imports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import skops.io

from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.growth import resampled
from counterpoint_study.benchmarks.models import SEED, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import NAME

# A module that the command imports as --model timed_model:model; it writes the times when the process ends.
MODEL = """
import atexit, json, pathlib, time

begun = time.process_time()
from counterpoint.cli.models import Request, open_model

folder = pathlib.Path(__file__).parent
model = open_model(Request(str(folder / "model.skops"))).model
spent = {"opening": time.process_time() - begun, "model": 0.0}


def timed(method):
    def call(X):
        begun = time.process_time()
        try:
            return method(X)
        finally:
            spent["model"] += time.process_time() - begun

    return call


for name in ("predict", "predict_proba"):
    setattr(model, name, timed(getattr(model, name)))


@atexit.register
def write():
    (folder / "spent.json").write_text(json.dumps({**spent, "total": time.process_time()}))
"""


def measure(folder: Path, rows: int, k: int) -> dict[str, float]:
    """Run the command; tell its CPU time, and how much of it opened the model and was the model's own."""
    trained = train(NAME)
    skops.io.dump(trained.model, folder / "model.skops")
    trained.known.to_parquet(folder / "known.parquet", index=False)
    resampled(trained.data.X_test, rows).to_parquet(folder / "rows.parquet", index=False)
    (folder / "timed_model.py").write_text(MODEL)
    command = [sys.executable, "-m", "counterpoint.cli", "explain", "--quiet", "-k", str(k)]
    command += ["--model", "timed_model:model", "--data", "known.parquet", "--rows", "rows.parquet"]
    command += ["--out", "found.parquet", "--report", "report.html"]
    command += ["--immutable", ",".join(trained.data.immutable)]
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait count as CPU time
    done = subprocess.run(command, cwd=folder, env={**os.environ, **one, "PYTHONPATH": path}, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"The command ended with {done.returncode}.")
    return dict(json.loads((folder / "spent.json").read_text()))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("share", __doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("-k", type=int, default=5)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        spent = measure(Path(name), options.rows, options.k)
    line = {"rows": options.rows, **{f"{key}: CPU s": value for key, value in spent.items()}}
    found = [
        Figure("all but the model's own time, of the total", 1 - spent["model"] / spent["total"], 0.25, "<"),
        Figure("opening the model's file, of the total", spent["opening"] / spent["total"]),
    ]
    results.show(f"`counterpoint explain` on {NAME}, k = {options.k}", [line])
    results.show("Share", [figure.cells() for figure in found])
    results.write("share", SEED, {"run": line, "figures": [figure.plain() for figure in found]})


if __name__ == "__main__":
    main()
