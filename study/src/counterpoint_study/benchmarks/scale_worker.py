"""One measured run of `scale`, in the environment of its engine; it needs counterpoint, but not the study."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pandas as pd

import counterpoint as cp
from counterpoint import scale
from counterpoint.cli.models import Request, open_model
from counterpoint.explainers.parallel import packed

WAVE, PARTS = 128, 8
ID = "application"

Run = Callable[[pd.DataFrame], pd.DataFrame]


def fitted(folder: Path) -> cp.Explainer:
    """Fit the ensemble to the model in a folder."""
    facts = json.loads((folder / "facts.json").read_text())
    model = open_model(Request(str(folder / "model.skops"))).model
    known = pd.read_parquet(folder / "known.parquet")
    return cp.Ensemble(seed=facts["seed"]).fit(model, known, immutable=facts["immutable"], progress=False)


@contextmanager
def started(engine: str, workers: int, explainer: cp.Explainer, k: int) -> Iterator[Run]:
    """Start an engine; give a function from rows to answers."""
    ask: dict[str, Any] = {"k": k, "id": ID}

    def parts(rows: pd.DataFrame) -> int:
        # The same number for each worker: otherwise one would wait for another's last part.
        return workers * max(1, min(PARTS, len(rows) // (WAVE * workers)))

    if engine == "jobs":
        yield lambda rows: explainer.explain_frame(rows, **ask, jobs=workers)
    elif engine == "dask":
        import dask.dataframe as dd
        import distributed

        cluster = distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=40
        )
        with cluster, distributed.Client(cluster):
            yield lambda rows: scale.explain(
                dd.from_pandas(rows, npartitions=parts(rows)), explainer, **ask
            ).compute()
    elif engine == "ray":
        import ray

        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield lambda rows: scale.explain(
            ray.data.from_pandas(
                [rows.iloc[each] for each in np.array_split(np.arange(len(rows)), parts(rows))]
            ),
            explainer,
            **ask,
        ).to_pandas()
        ray.shutdown()
    else:
        yield from _spark(workers, lambda rows: (rows, parts(rows)), explainer, ask)


def _spark(workers: int, cut: Any, explainer: cp.Explainer, ask: dict[str, Any]) -> Iterator[Run]:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{workers}]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.execution.arrow.pyspark.enabled", "true").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")

    def run(rows: pd.DataFrame) -> pd.DataFrame:
        frame, count = cut(rows)
        return scale.explain(session.createDataFrame(frame).repartition(count), explainer, **ask).toPandas()

    yield run
    session.stop()


class Memory(Thread):
    """Looks at the memory that child processes have for themselves, in MB; it keeps the most of any."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self._end = 0.0, Event()

    def run(self) -> None:
        """Look until it is stopped."""
        while not self._end.wait(0.2):
            self.most = max([self.most, *map(_own_memory, _children())])

    def stop(self) -> float:
        """Stop, and give the most."""
        self._end.set()
        self.join()
        return self.most


def _children() -> list[int]:
    found = Path("/proc/self/task").glob("*/children")
    return [int(pid) for path in found for pid in path.read_text().split()]


def _own_memory(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    # Not Private_Clean: those are pages of files, which are shared as soon as another process reads them.
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) / 1024


def digest(found: pd.DataFrame) -> str:
    """Compute a digest of answers that does not depend on their order or types."""
    frame = found.sort_values([ID, "counterfactual"])[
        [ID, "counterfactual", "distance", "decision", "found_by"]
    ]
    return hashlib.sha256(frame.to_csv(index=False).encode()).hexdigest()[:12]


def measure(folder: Path, engine: str, workers: int, count: int, k: int) -> dict[str, Any]:
    """Time a run, apart from what starts the engine and sends the explainer."""
    explainer, rows = fitted(folder), pd.read_parquet(folder / "rows.parquet")[:count]
    memory = Memory()
    memory.start()
    begun = time.monotonic()
    with started(engine, workers, explainer, k) as run:
        run(rows[: 2 * WAVE * workers])
        ready, asked, busy = time.monotonic(), _asked(explainer), time.process_time()
        found = run(rows)
        ended = time.monotonic()
    took = time.process_time() - busy
    answers = folder / f"{engine}.parquet"
    found.astype({"reason": "str"}).to_parquet(answers)
    line = {
        "engine": engine,
        "workers": workers,
        "rows": len(rows),
        "start s": ready - begun,
        "seconds": ended - ready,
        "rows per s": len(rows) / (ended - ready),
        "worker MB": memory.stop(),
        "digest": digest(found),
    }
    if engine == "jobs" and workers == 1:  # all in this process
        line["unit"] = _unit(folder, explainer, len(rows), took, _asked(explainer) - asked, answers)
    return line


def _asked(explainer: cp.Explainer) -> Any:
    """Tell how many calls and rows the model has had so far."""
    count = explainer.fitted_.blackbox._ever
    return np.array([count.calls, count.rows])


def _unit(
    folder: Path, explainer: cp.Explainer, rows: int, took: float, asked: Any, answers: Path
) -> dict[str, float]:
    """Tell what one row costs, and how large the explainer and the model are."""
    calls, model_rows = asked
    return {
        "seconds per row": took / rows,
        "calls per row": calls / rows,
        "model rows per row": model_rows / rows,
        "bytes in per row": (folder / "rows.parquet").stat().st_size / rows,
        "bytes back per row": answers.stat().st_size / rows,
        "bytes of the explainer": len(packed(explainer).content),
        "model MB": len(pickle.dumps(explainer.fitted_.blackbox.model)) / 2**20,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("engine", choices=["jobs", "dask", "ray", "spark"])
    for name in ("workers", "rows", "k"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    print(json.dumps(measure(options.folder, options.engine, options.workers, options.rows, options.k)))


if __name__ == "__main__":
    main()
