"""Many clients of the service, against `explain_many` and against one by one; and its memory over a soak.

``python -m counterpoint_study.benchmarks.serve``
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import skops.io

from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.growth import status
from counterpoint_study.benchmarks.models import SEED, fit, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import NAME, timed
from counterpoint_study.models.training import Trained

HOST = "127.0.0.1"
STARTING = 120  # seconds that the service may take to be ready
LOOK = 5.0  # seconds between looks at its memory


@dataclass
class Load:
    """What clients saw: the seconds of each request, the statuses, and how long all took."""

    seconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    wall: float = 0.0

    def at(self, share: float) -> float:
        """Return the milliseconds within which a share of the requests was answered."""
        return 1_000 * float(np.quantile(self.seconds, share))

    @property
    def failed(self) -> int:
        """How many requests were not answered with 200."""
        return sum(each != 200 for each in self.statuses)


@contextmanager
def serving(folder: Path, trained: Trained) -> Iterator[tuple[int, int]]:
    """Start the service in a process of its own; give its port and its process."""
    skops.io.dump(trained.model, folder / "model.skops")
    trained.known.to_csv(folder / "known.csv", index=False)
    with socket.socket() as found:
        found.bind((HOST, 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "counterpoint.cli", "serve", "--quiet", "--port", str(port)]
    command += ["--model", f"{folder / 'model.skops'}", "--data", f"{folder / 'known.csv'}"]
    process = subprocess.Popen([*command, "--immutable", ",".join(trained.data.immutable)])
    try:
        _wait(port, process)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait(60)


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the service is ready."""
    for _ in range(10 * STARTING):
        if process.poll() is not None:
            raise RuntimeError(f"The service ended with exit code {process.returncode}.")
        try:
            link = http.client.HTTPConnection(HOST, port, timeout=5)
            link.request("GET", "/health/ready")
            if link.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"The service was not ready after {STARTING} seconds.")


def bodies(X: pd.DataFrame, k: int) -> list[bytes]:
    """Write one request per row."""
    records = json.loads(X.to_json(orient="records"))
    return [json.dumps({"rows": [record], "k": k}).encode() for record in records]


def load(port: int, asked: Sequence[bytes], clients: int, seconds: float = 0.0) -> Load:
    """Send requests from so many clients, each waiting for its answer; all once, or for some time."""
    begun, seen, lock = time.perf_counter(), Load(), threading.Lock()
    waiting = cycle(asked) if seconds else iter(asked)

    def client() -> None:
        link = http.client.HTTPConnection(HOST, port, timeout=120)
        while not seconds or time.perf_counter() - begun < seconds:
            with lock:
                body = next(waiting, None)
            if body is None:
                return
            sent = time.perf_counter()
            link.request("POST", "/explain", body, {"content-type": "application/json"})
            answer = link.getresponse()
            answer.read()
            with lock:
                seen.seconds.append(time.perf_counter() - sent)
                seen.statuses.append(answer.status)

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen.wall = time.perf_counter() - begun
    return seen


def cpu_seconds(process: int) -> float:
    """Read the CPU time of a process so far; unlike rows per second, it hardly depends on other work."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def compare(
    port: int, process: int, trained: Trained, options: argparse.Namespace
) -> tuple[list[Figure], list[Any]]:
    """Explain the same rows by `explain_many`, by many clients, and one by one."""
    X, k = trained.instances(options.rows), options.k
    few = X[: options.alone]
    explainer, asked = fit(trained), bodies(X, k)
    explainer.explain_many(X[:64], k=k, progress=False)
    load(port, asked[:64], options.clients)  # what is learned once counts for neither
    lines, shares, times = [], [], []
    for _ in range(options.times):
        _, together, worked = timed(lambda: explainer.explain_many(X, k=k, progress=False))
        before = cpu_seconds(process)
        seen = load(port, asked, options.clients)
        served = cpu_seconds(process) - before
        _, alone, _ = timed(lambda: [explainer.explain(few.iloc[[i]], k=k) for i in range(len(few))])
        rates = len(X) / together, len(X) / seen.wall, len(few) / alone
        shares.append(rates[1] / rates[0])
        times.append(rates[1] / rates[2])
        lines.append(
            {
                "explain_many: rows/s": rates[0],
                f"{options.clients} clients: rows/s": rates[1],
                "one by one: rows/s": rates[2],
                "CPU of explain_many's": served / worked,
                "p50 ms": seen.at(0.5),
                "p99 ms": seen.at(0.99),
                "failed": seen.failed,
            }
        )
    figures = [
        Figure(f"{options.clients} clients, of explain_many's rows/s", float(np.median(shares)), 0.6, ">="),
        Figure(f"{options.clients} clients, of one by one's rows/s", float(np.median(times)), 4.0, ">="),
        Figure("requests that failed", float(sum(line["failed"] for line in lines)), 0),
    ]
    return figures, lines


def soak(port: int, process: int, trained: Trained, options: argparse.Namespace) -> tuple[list[Figure], Any]:
    """Ask for some minutes, with other constraints every time, and look at the memory of the service."""
    records = json.loads(trained.instances(options.rows).to_json(orient="records"))
    numbers = [name for name in trained.known if pd.api.types.is_numeric_dtype(trained.known[name])]
    asked = [
        json.dumps({"rows": [record], "constraints": {"costs": {numbers[i % len(numbers)]: 1 + i % 50}}})
        for i, record in enumerate(records)
    ]
    looks: list[tuple[float, float]] = []
    done, begun = threading.Event(), time.perf_counter()

    def look() -> None:
        while not done.wait(LOOK):
            looks.append((time.perf_counter() - begun, status("VmRSS", process)))

    watcher = threading.Thread(target=look)
    watcher.start()
    seen = load(port, [each.encode() for each in asked], 8, 60 * options.minutes)
    done.set()
    watcher.join()
    half = [size for _, size in looks[len(looks) // 3 :]]
    before, after = np.mean(half[: len(half) // 2]), np.mean(half[len(half) // 2 :])
    figures = [
        Figure(f"memory over {options.minutes:g} minutes, late by early", float(after / before), 1.1),
        Figure("memory at the end: MB", half[-1]),
        Figure("p99 ms over the soak", seen.at(0.99)),
        Figure("requests over the soak", float(len(seen.seconds))),
        Figure("requests that failed over the soak", float(seen.failed), 0),
    ]
    return figures, looks


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("serve", __doc__)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--alone", type=int, default=32, help="rows that are explained one by one")
    parser.add_argument("--times", type=int, default=3, help="how often it is all done; medians count")
    parser.add_argument("--minutes", type=float, default=10.0, help="of the soak; 0 for none")
    parser.add_argument("-k", type=int, default=5)
    options = parser.parse_args(arguments)
    trained = train(NAME)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), trained) as (port, process):
        figures, lines = compare(port, process, trained, options)
        looks: Any = []
        if options.minutes:
            more, looks = soak(port, process, trained, options)
            figures += more
    results.show(f"The service on {NAME}, {options.rows:,} rows, k = {options.k}", lines)
    results.show("Service", [figure.cells() for figure in figures])
    body = {"figures": [figure.plain() for figure in figures], "lines": lines, "memory": looks}
    results.write("serve", SEED, {"options": vars(options), **body})


if __name__ == "__main__":
    main()
