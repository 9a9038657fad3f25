"""The page over HTTP: its files, and its calls behind a token, for this machine only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from importlib.resources import files
from threading import Event
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from counterpoint._util.short_text import one_line
from counterpoint.model.blackbox import ModelError
from counterpoint.search.stopping import StoppedError, stopping
from counterpoint.web import wire
from counterpoint.web.guards import LOOPBACK, Bearer, BodyLimit, Headers, Hosts
from counterpoint.web.page.calls import Calls
from counterpoint.web.rows import RefusedError

# Only files of the page itself; no inline script or style, no frame around it, nothing from elsewhere.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
MOST_BYTES = 2_000_000
# A body that is too large is read to its end, up to this size: a browser shows no answer before that.
DRAINED = 50_000_000
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


def static_files() -> dict[str, tuple[bytes, str]]:
    """Read the files of the front end: their contents and types, by path."""
    found = {}
    for file in files(__package__).joinpath("static").iterdir():
        kind = TYPES.get("." + file.name.rpartition(".")[2])
        if kind is not None:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            found[path] = (file.read_bytes(), f"{kind}; charset=utf-8")
    return found


def make_app(calls: Any, token: str, allowed: tuple[str, ...] = LOOPBACK) -> FastAPI:
    """Make the application that serves a page."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    shipped = static_files()

    def file(request: Request) -> Response:
        content, kind = shipped[request.scope["path"]]
        return Response(content, media_type=kind)

    for path in shipped:
        app.add_api_route(path, file, methods=["GET"])

    @app.post("/api/{name}")
    async def call(name: str, request: Request) -> Response:
        if name not in calls and name != "groups":
            return _said(404, f"There is nothing called {name!r} here.")
        text = await _read(request)
        if text is None:
            return _said(413, f"A request may have at most {MOST_BYTES:,} bytes.")
        try:
            body = json.loads(text or b"{}")
        except (ValueError, RecursionError):
            return _said(400, "The request is not valid JSON.")
        if name == "groups":
            return StreamingResponse(_lines(calls, body), media_type="application/x-ndjson")
        return await asyncio.to_thread(_called, calls, name, body, request.headers.get("x-page", ""))

    app.add_middleware(BodyLimit, most=DRAINED)
    app.add_middleware(Bearer, token=token, free=tuple(shipped))
    app.add_middleware(Hosts, allowed=allowed)
    app.add_middleware(Headers, policy=POLICY)
    return app


async def _read(request: Request) -> bytes | None:
    """Read a body; None if it is too large, once it has been read to its end."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size <= MOST_BYTES:
            parts.append(part)
    return b"".join(parts) if size <= MOST_BYTES else None


def _called(calls: Any, name: str, body: Any, page: str) -> Response:
    """Answer a call; what goes wrong becomes a sentence and a code."""
    try:
        return Response(wire.dumps(calls.call(name, body, page)), media_type="application/json")
    except Exception as error:
        return _said(*problem(error))


def problem(error: Exception) -> tuple[int, str]:
    """Say what went wrong in a sentence, with the code of HTTP for it."""
    if isinstance(error, StoppedError):
        return 409, "A newer question took its place."
    if isinstance(error, RefusedError | ValueError | TypeError | ImportError):
        return 422, one_line(str(error))
    if isinstance(error, ModelError):
        return 502, one_line(f"The model failed, so there is no answer. {error}")
    return 500, f"This is a bug in Counterpoint: {type(error).__name__}. {one_line(str(error))}"


def _said(status: int, error: str) -> Response:
    return Response(wire.dumps({"error": error}), status, media_type="application/json")


async def _lines(calls: Calls, body: Any) -> AsyncIterator[bytes]:
    """Give one line of JSON per part; stop the search as soon as nobody reads on."""
    gone = Event()
    parts: Iterator[dict[str, Any]] | None = None

    def following() -> dict[str, Any] | None:
        nonlocal parts
        try:
            with stopping(gone.is_set):
                parts = calls.groups(body) if parts is None else parts
                return next(parts, None)
        except Exception as error:
            status, said = problem(error)
            return {"error": said, "status": status}

    try:
        while (part := await asyncio.to_thread(following)) is not None:
            yield wire.dumps(part) + b"\n"
            if "error" in part:
                return
    finally:
        gone.set()
