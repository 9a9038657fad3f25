"""The bodies of requests and of answers, as JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import Request, Response
from starlette.exceptions import HTTPException

from counterpoint._util.short_text import one_line, short
from counterpoint.web.rows import RefusedError
from counterpoint.web.wire import dumps

# What a question says besides its rows.
OPTIONS = ("k", "target", "setting", "constraints", "deadline")
# A body must have arrived within so many seconds.
ARRIVAL = 30.0


class MalformedError(Exception):
    """A body is no JSON; the message says why."""


def parsed(body: bytes) -> Any:
    """Read JSON.

    Examples
    --------
    >>> parsed(b'{"rows": [{"age": 31}]}')
    {'rows': [{'age': 31}]}
    """
    try:
        return json.loads(body)
    except RecursionError:
        raise MalformedError("The body is no JSON: it is nested too deeply.") from None
    except ValueError as error:  # also bytes that are no text, and numbers of thousands of digits
        raise MalformedError(f"The body is no JSON: {one_line(str(error), 200)}.") from None


def fields_of(said: Any, known: Iterable[str], what: str = "The body") -> Mapping[str, Any]:
    """Take a JSON object that has only the given keys."""
    if not isinstance(said, Mapping):
        raise RefusedError(f"{what} must be an object with the keys {list(known)}, got {short(said)}.")
    unknown = [name for name in said if name not in known]
    if unknown:
        raise RefusedError(f"{what} has the unknown keys {short(unknown)}. Known: {list(known)}.")
    return said


async def body_of(request: Request) -> Any:
    """Read the JSON of a request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"The body must be JSON: Content-Type: application/json, got {short(kind)}.")
    try:
        return parsed(await asyncio.wait_for(request.body(), ARRIVAL))
    except TimeoutError:
        raise HTTPException(408, f"The body did not arrive within {ARRIVAL:g} seconds.") from None


def respond(said: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Answer with JSON."""
    return Response(dumps(said), status, headers, media_type="application/json")
