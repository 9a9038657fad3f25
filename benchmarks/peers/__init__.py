"""Competing libraries, each run in an environment and a process of its own.

`run_peer` is all a benchmark needs::

    run = run_peer("dice_random", model, X_train, y_train, X_test, k=5, immutable=[], categorical=["job"])

The model must be made of scikit-learn's own classes, because the peers' environment has nothing else to load
it with. The methods, and what each can take:

- ``dice_random``: DiCE 0.12. Immutable features by `features_to_vary`. Asks for the runner-up class if there
  are more than two.
- ``nice_sparsity``: NICE 0.2.3. One answer at most, whatever k is. Cannot hold features fixed: it may change
  immutable ones.
- ``cfnow_greedy``, ``cfnow_random``: CFNOW 0.0.6. Sees the mutable features only. Accepts ties as valid, and
  may return fractions for whole-numbered features.
- ``fat_brute_force``: FAT Forensics 0.1.2, single features and pairs. Takes the immutable features.
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from benchmarks.peers.environment import peers_python

METHODS = ("dice_random", "nice_sparsity", "cfnow_greedy", "cfnow_random", "fat_brute_force")
WORKER = Path(__file__).with_name("worker.py")


class PeerError(RuntimeError):
    """A peer could not be set up at all. What fails on one instance is in `PeerRun.errors`."""


@dataclass(frozen=True)
class PeerRun:
    """What a peer answered and what it cost, one entry per instance.

    Attributes
    ----------
    method, k
        As asked.
    answers
        At most k counterfactuals an instance, in X's columns and dtypes; no rows where the peer found none. A
        column of integers is one of floats where the peer put fractions into it.
    cpu_seconds, wall_seconds
        Time for the instance. The CPU time leaves out turning the peer's rows into rows of the model's data
        frame, which a user of the peer would not need; the wall time has it.
    calls, rows
        How often the peer called the model, and for how many rows in all.
    errors
        Why there is no answer, where the peer raised (DiCE does when it finds none) or ran out of time.
    setup_seconds
        CPU time to import and set up the peer, once for all instances.
    """

    method: str
    k: int
    answers: list[pd.DataFrame]
    cpu_seconds: list[float]
    wall_seconds: list[float]
    calls: list[int]
    rows: list[int]
    errors: list[str | None]
    setup_seconds: float


def run_peer(
    method: str,
    model: Any,
    X_train: pd.DataFrame,
    y_train: Any,
    X_test: pd.DataFrame,
    *,
    k: int,
    immutable: Sequence[str],
    categorical: Sequence[str],
    seed: int = 0,
    time_limit: float = 30.0,
    limit_seconds: float | None = None,
) -> PeerRun:
    """Explain every row of `X_test` with a peer.

    Parameters
    ----------
    method
        One of `METHODS`.
    model
        A fitted scikit-learn pipeline that takes frames like `X_train`.
    X_train, y_train
        What the model was trained on.
    X_test
        The instances to explain.
    k
        Counterfactuals asked for per instance.
    immutable, categorical
        Names of columns. The columns that are not categorical must hold numbers.
    seed
        The instance in row i is explained with the random seed ``seed + i``.
    time_limit
        Wall seconds after which an instance is given up.
    limit_seconds
        CFNOW's own limit, which it uses up. It does not hold for CFNOW's first search, which may take longer
        than the rest: by default it is a third of `time_limit`, so that CFNOW mostly ends in time.
    """
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}; there are {', '.join(METHODS)}")
    job = {
        "method": method,
        "k": k,
        "immutable": list(immutable),
        "categorical": list(categorical),
        "continuous": [name for name in X_train.columns if name not in set(categorical)],
        "seed": seed,
        "time_limit": time_limit,
        "limit_seconds": time_limit / 3 if limit_seconds is None else limit_seconds,
    }
    with tempfile.TemporaryDirectory(prefix="peer-") as name:
        folder = Path(name)
        _write(folder, job, {"model": model, "train": X_train, "labels": np.asarray(y_train), "test": X_test})
        _work(folder, method)
        return _read(folder, method, k)


def _write(folder: Path, job: dict[str, Any], objects: dict[str, Any]) -> None:
    (folder / "job.json").write_text(json.dumps(job))
    for name, value in objects.items():
        joblib.dump(value, folder / f"{name}.joblib")


def _work(folder: Path, method: str) -> None:
    # -I: neither the caller's PYTHONPATH nor this folder may get in front of the peers' packages.
    command = [str(peers_python()), "-I", str(WORKER), str(folder)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise PeerError(f"{method} failed:\n{done.stderr[-2000:]}")


def _read(folder: Path, method: str, k: int) -> PeerRun:
    report = json.loads((folder / "report.json").read_text())
    instances = report["instances"]
    return PeerRun(
        method=method,
        k=k,
        answers=joblib.load(folder / "answers.joblib"),
        cpu_seconds=[one["cpu_seconds"] for one in instances],
        wall_seconds=[one["wall_seconds"] for one in instances],
        calls=[one["calls"] for one in instances],
        rows=[one["rows"] for one in instances],
        errors=[one["error"] for one in instances],
        setup_seconds=report["setup_seconds"],
    )
