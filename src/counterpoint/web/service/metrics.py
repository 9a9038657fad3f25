"""What a service counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from counterpoint.explanation.explanation import Explanation
from counterpoint.web.guards import Scope, path_of

TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """The counters of one service, apart from those of others in the same process.

    Examples
    --------
    >>> metrics = Metrics(waiting=lambda: 3)
    >>> b"counterpoint_waiting_requests 3.0" in metrics.text()
    True
    """

    def __init__(self, waiting: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self.routes: frozenset[str] = frozenset()
        own: dict[str, Any] = {"registry": self._registry}
        self._requests = Counter(
            "counterpoint_requests", "Requests by path and status.", ["path", "status"], **own
        )
        self._seconds = Histogram(
            "counterpoint_request_seconds", "Time per request.", ["path"], buckets=_SECONDS, **own
        )
        self._run_rows = Histogram("counterpoint_run_rows", "Rows per run.", buckets=_ROWS, **own)
        self._run_requests = Histogram("counterpoint_run_requests", "Requests per run.", buckets=_ROWS, **own)
        self._run_seconds = Histogram(
            "counterpoint_run_seconds", "Time per run of the engine.", buckets=_SECONDS, **own
        )
        self._answers = Counter("counterpoint_answers", "Rows by what was found.", ["outcome"], **own)
        self._calls = Counter("counterpoint_model_calls", "Calls of the model by runs.", **own)
        self._rows = Counter("counterpoint_model_rows", "Rows given to the model by runs.", **own)
        Gauge("counterpoint_waiting_requests", "Requests that wait.", **own).set_function(waiting)

    def told(self, scope: Scope, status: int, seconds: float) -> None:
        """Count an answer; paths that do not exist are counted together."""
        path = path_of(scope)
        path = path if path in self.routes else "other"
        self._requests.labels(path, str(status)).inc()
        self._seconds.labels(path).observe(seconds)

    def ran(self, requests: int, rows: int, seconds: float, calls: int, asked: int) -> None:
        """Count a run of the engine."""
        self._run_requests.observe(requests)
        self._run_rows.observe(rows)
        self._run_seconds.observe(seconds)
        self._calls.inc(calls)
        self._rows.inc(asked)

    def answered(self, results: Sequence[Explanation | Exception]) -> None:
        """Count what was found for rows."""
        for result in results:
            self._answers.labels(_outcome(result)).inc()

    def text(self) -> bytes:
        """Write all counters, as Prometheus reads them."""
        return generate_latest(self._registry)


def _outcome(result: Explanation | Exception) -> str:
    if isinstance(result, Exception):
        return "failed"
    if result.shortfall is None:
        return "all"
    if result.shortfall.already:
        return "already"
    return "some" if len(result) else "none"
