"""Running one function on many names, on the engine that an address tells: here, or on a cluster."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
from joblib.externals.loky.process_executor import BrokenProcessPool

from counterpoint._util.parcels import FileParcel, Parcel
from counterpoint.explainers.parallel import DEATHS, WorkerWarning, parcels, stop_workers

SCHEMES = ("dask", "ray", "spark")

# An engine starts a task again this often if its worker dies.
RETRIES = 3


@dataclass(frozen=True)
class Engine:
    """Where work is done: `local`, or an address such as dask://host:8786; `local` as host starts one here.

    Examples
    --------
    >>> Engine.of("dask://10.0.0.7:8786", jobs=1)
    Engine(scheme='dask', host='10.0.0.7:8786', jobs=1)
    >>> Engine.of("sql://here", jobs=1)
    Traceback (most recent call last):
        ...
    ValueError: --engine must be local, or start with dask://, ray:// or spark://, got 'sql://here'.
    """

    scheme: str
    host: str
    jobs: int

    @classmethod
    def of(cls, address: str, jobs: int) -> Engine:
        """Read an address."""
        scheme, _, host = address.partition("://")
        if address != "local" and (scheme not in SCHEMES or not host):
            raise ValueError(
                f"--engine must be local, or start with dask://, ray:// or spark://, got {address!r}."
            )
        return cls(scheme, host, jobs)

    def run(self, work: Callable[[str], str], names: Sequence[str]) -> Iterator[str]:
        """Call a function with each name; give the names that are done, in any order."""
        run = {"local": self._local, "dask": self._dask, "ray": self._ray, "spark": self._spark}[self.scheme]
        return run(work, names)

    @property
    def _is_here(self) -> bool:
        return self.host == "local"

    @property
    def _workers(self) -> int:
        return max(1, int(joblib.effective_n_jobs(self.jobs)))

    def _local(self, work: Callable[[str], str], names: Sequence[str]) -> Iterator[str]:
        if self.jobs == 1:
            yield from map(work, names)
            return
        parcel = FileParcel.of(work, Path(parcels().name))
        left, deaths = list(names), 0
        while left:
            run = joblib.Parallel(n_jobs=self.jobs, return_as="generator_unordered", batch_size=1)
            try:
                for name in run(joblib.delayed(_call)(parcel, name) for name in list(left)):
                    left.remove(name)
                    yield name
            except BrokenProcessPool as error:
                stop_workers()
                deaths += 1
                if deaths == DEATHS:
                    raise
                text = " ".join(str(error).split())
                said = f"A worker process died; its file is done again. {text}"
                warnings.warn(said, WorkerWarning, stacklevel=2)
            except BaseException:
                stop_workers()
                raise

    def _dask(self, work: Callable[[str], str], names: Sequence[str]) -> Iterator[str]:
        distributed = _needed("distributed", "dask")
        if self._is_here:
            address = distributed.LocalCluster(
                n_workers=self._workers, threads_per_worker=1, dashboard_address=":0"
            )
        else:
            address = f"tcp://{self.host}"
        with distributed.Client(address) as client:
            # A task and not scattered: if its worker dies, another can give it.
            sent = client.submit(_same, Parcel.of(work), pure=False)
            futures = [client.submit(_call, sent, name, retries=RETRIES, pure=False) for name in names]
            for future in distributed.as_completed(futures):
                yield future.result()
            if self._is_here:
                client.shutdown()

    def _ray(self, work: Callable[[str], str], names: Sequence[str]) -> Iterator[str]:
        ray = _needed("ray", "ray")
        quiet = {"log_to_driver": False, "ignore_reinit_error": True}
        if self._is_here:
            ray.init(num_cpus=self._workers, include_dashboard=False, **quiet)
        else:
            ray.init(address=f"ray://{self.host}", **quiet)
        try:
            sent, call = ray.put(Parcel.of(work)), ray.remote(max_retries=RETRIES)(_call)
            left = [call.remote(sent, name) for name in names]
            while left:
                done, left = ray.wait(left)
                yield from ray.get(done)
        finally:
            ray.shutdown()

    def _spark(self, work: Callable[[str], str], names: Sequence[str]) -> Iterator[str]:
        sql = _needed("pyspark.sql", "spark")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        master = f"local[{self._workers}, {RETRIES + 1}]" if self._is_here else f"spark://{self.host}"
        builder = sql.SparkSession.builder.master(master).appName("counterpoint")
        session = builder.config("spark.ui.enabled", "false").getOrCreate()
        try:
            context = session.sparkContext
            sent = context.broadcast(Parcel.of(work))
            tasks = context.parallelize(names, len(names))
            yield from tasks.map(lambda name: _call(sent.value, name)).collect()
        finally:
            session.stop()


def _call(parcel: Any, name: str) -> str:
    """Do the work for one name, on a worker."""
    done: str = parcel.open()(name)
    return done


def _same(parcel: Parcel) -> Parcel:
    return parcel


def _needed(module: str, extra: str) -> Any:
    """Import an engine, or say how to get it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"This engine needs {module}: pip install 'counterpoint[{extra}]'") from error
