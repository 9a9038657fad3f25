"""One line of JSON per request, with an id that the answer has too. Values of rows are never logged."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from counterpoint.web.guards import App, Message, Receive, Scope, Send, header, refuse

LOG = logging.getLogger("counterpoint.web")

# An id that a client sends is kept if it can do no harm in a log.
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

# Is told of every answer: the scope of its request, its status, and the seconds it took.
Told = Callable[[Scope, int, float], None]


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON, with what was given as ``extra={"facts": {...}}``.

    Examples
    --------
    >>> record = logging.LogRecord("counterpoint.web", logging.INFO, "", 0, "started", (), None)
    >>> json.loads(JsonLines().format(record))["event"]
    'started'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Write a record."""
        facts: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            facts["trace"] = self.formatException(record.exc_info)
        return json.dumps(facts, default=str)


def log_to_stderr() -> None:
    """Send the log of the service to standard error, as lines of JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for log, level in ((LOG, logging.INFO), (logging.getLogger("uvicorn"), logging.WARNING)):
        log.handlers[:] = [handler]
        log.setLevel(level)
        log.propagate = False


@dataclass(frozen=True)
class Logged:
    """Gives each request an id, logs it, and answers with 500 if something is wrong in the code.

    Parameters
    ----------
    app
        What is logged.
    told
        Is told of every answer; None for nobody.
    """

    app: App
    told: Told | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request, and log its end."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        request_id = _request_id(header(scope, "x-request-id"))
        scope["state"] = {**(scope.get("state") or {}), "request_id": request_id}
        begun, status = time.perf_counter(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        except Exception:
            LOG.exception("failed", extra={"facts": {"request_id": request_id}})
            if not status:
                bug = "This is a bug in Counterpoint; its log has more under the request_id."
                await refuse(scope, noted, 500, bug)
        finally:
            self._end(scope, request_id, status, time.perf_counter() - begun)

    def _end(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        facts = {
            "request_id": request_id,
            "method": scope["method"],
            "path": scope["path"],
            "status": status,
            "milliseconds": round(1_000 * seconds, 1),
            **scope["state"].get("facts", {}),
        }
        LOG.info("request", extra={"facts": facts})
        if self.told is not None:
            self.told(scope, status, seconds)


def _request_id(given: str | None) -> str:
    return given if given is not None and _ID.fullmatch(given) else uuid.uuid4().hex
