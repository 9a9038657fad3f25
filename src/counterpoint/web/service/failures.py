"""What went wrong with a request, as an answer: a status, a sentence, and the rows at fault."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from fastapi import Request, Response
from starlette.exceptions import HTTPException

from counterpoint._util.short_text import one_line
from counterpoint.data.problems import InvalidError
from counterpoint.model.blackbox import ModelError
from counterpoint.web.logs import LOG
from counterpoint.web.rows import RefusedError
from counterpoint.web.service.bodies import MalformedError, respond
from counterpoint.web.service.deciding import RowError
from counterpoint.web.service.merging import FullError
from counterpoint.web.wire import problem


def refusal(
    request: Request,
    status: int,
    error: str,
    problems: Iterable[dict[str, Any]] = (),
    headers: dict[str, str] | None = None,
) -> Response:
    """Answer with an error."""
    listed = list(problems)
    said = {"error": error, "request_id": request.state.request_id}
    return respond(said | ({"problems": listed} if listed else {}), status, headers)


def failure_of(failed: dict[int, Exception]) -> Exception:
    """Choose what to say of rows without an answer: a value that is at fault comes before the model."""
    wrong = [each for each in failed.values() if isinstance(each, InvalidError)]
    if wrong:
        places = [row for row, each in failed.items() if isinstance(each, InvalidError)]
        problems = [each.problems[0] for each in wrong]
        where = f"rows[{places[0]}]"
        return RefusedError(problems[0].said(where), problems)
    if all(isinstance(each, ModelError) for each in failed.values()):
        return RowError(failed)
    return next(each for each in failed.values() if not isinstance(each, ModelError))


async def _refused(request: Request, error: RefusedError) -> Response:
    return refusal(request, 422, str(error), map(problem, error.problems))


async def _malformed(request: Request, error: MalformedError) -> Response:
    return refusal(request, 400, str(error))


async def _full(request: Request, error: FullError) -> Response:
    return refusal(request, 503, str(error), headers={"retry-after": str(error.retry)})


async def _model_failed(request: Request, error: RowError) -> Response:
    """Name the rows that the model fails on; what it said itself goes to the log only."""
    facts = {str(row): one_line(str(each), 500) for row, each in list(error.failed.items())[:10]}
    LOG.error("model failed", extra={"facts": {"request_id": request.state.request_id, "rows": facts}})
    if any(isinstance(each, ModelError) and each.is_down for each in error.failed.values()):
        what = "The model cannot be reached, so no row is at fault. Try again later."
    else:
        what = f"The model failed on {', '.join(f'rows[{row}]' for row in list(error.failed)[:10])}."
    said = f"{what} The log of the service has more under the request_id."
    rules = (
        {"row": row, "column": None, "value": None, "rule": _raised(each)}
        for row, each in error.failed.items()
    )
    return refusal(request, 502, said, rules)


def _raised(error: Exception) -> str:
    if isinstance(error, ModelError) and error.is_down:
        return "The model cannot be reached."
    cause = error.__cause__
    return f"The model raised {type(cause).__name__}." if cause else "The model's output cannot be used."


async def _model_ended(request: Request, error: ModelError) -> Response:
    return await _model_failed(request, RowError({0: error}))


async def _late(request: Request, error: TimeoutError) -> Response:
    return refusal(request, 504, "The model did not answer in time. Try again later, or with fewer rows.")


async def _http(request: Request, error: HTTPException) -> Response:
    path = one_line(request.url.path, 100)
    said = {
        404: f"There is nothing at {path}. /openapi.json lists what there is.",
        405: f"{path} does not take {request.method}. The header Allow says what it takes.",
    }.get(error.status_code, str(error.detail))
    return refusal(request, error.status_code, said, headers=dict(error.headers or {}))


FAILURES: dict[type[Exception], Callable[[Request, Any], Awaitable[Response]]] = {
    RefusedError: _refused,
    MalformedError: _malformed,
    FullError: _full,
    RowError: _model_failed,
    ModelError: _model_ended,
    TimeoutError: _late,
    HTTPException: _http,
}
