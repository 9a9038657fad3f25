"""The application: its routes, what they answer with, and the guards in front of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

from fastapi import FastAPI, Request, Response
from starlette.middleware.cors import CORSMiddleware

from counterpoint._util.short_text import short
from counterpoint.explainers import Explainer
from counterpoint.explanation.explanation import Explanation
from counterpoint.web.asked import Reader
from counterpoint.web.guards import LOOPBACK, Bearer, BodyLimit, Headers, Hosts
from counterpoint.web.limits import Bounds
from counterpoint.web.logs import Logged
from counterpoint.web.rows import RefusedError, Table
from counterpoint.web.service import deciding
from counterpoint.web.service.bodies import OPTIONS, body_of, fields_of, respond
from counterpoint.web.service.document import document
from counterpoint.web.service.failures import FAILURES, failure_of
from counterpoint.web.service.kserve import Kserve
from counterpoint.web.service.merging import Ask, FullError, Merger
from counterpoint.web.service.metrics import TYPE
from counterpoint.web.service.questions import Questions
from counterpoint.web.wire import answer, columns, plain

# Health checks come from inside a cluster, by address and without a token; they tell nothing.
HEALTH = ("/health/live", "/health/ready", "/v2/health/live", "/v2/health/ready")

# Work on more rows than these is done in a thread of its own.
MANY = 20

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]
Route = tuple[str, str, Handler]


def application(
    explainer: Explainer,
    *,
    name: str = "model",
    target: Any = None,
    token: str | None = None,
    hosts: Sequence[str] = LOOPBACK,
    origins: Sequence[str] = (),
    bounds: Bounds | None = None,
    release: bool = False,
    share: bool = False,
    max_changes: int | None = None,
) -> FastAPI:
    """Make the service of a fitted explainer for tables; see `Explainer.app`."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", name):
        raise ValueError(f"name must be of letters, digits, dots, dashes and underscores, got {name!r}.")
    bounds = bounds or Bounds()
    if target is not None:
        explainer._fitted().read_target(target)
    questions = Questions(Reader(explainer), bounds, target, release, max_changes)
    service = Service(explainer, name, questions, share)
    app = FastAPI(title=f"Counterpoint: {name}", docs_url=None, redoc_url=None, openapi_url=None)
    routes = [*service.routes(), *Kserve(service).routes()]
    for path, method, handler in routes:
        app.add_api_route(path, handler, methods=[method])
    service.merger.metrics.routes = frozenset(path for path, _, _ in routes)
    described = document(service.questions, name, share, token is not None)
    app.openapi = lambda: described  # type: ignore[method-assign]
    for kind, how in FAILURES.items():
        app.add_exception_handler(kind, how)
    app.add_middleware(BodyLimit, most=bounds.body)
    _guard(app, token, tuple(hosts), origins)
    app.add_middleware(Logged, told=service.merger.metrics.told)
    return app


def _guard(app: FastAPI, token: str | None, hosts: tuple[str, ...], origins: Sequence[str]) -> None:
    """Put guards before an application; the one that is added last is passed first."""
    if token is not None:
        app.add_middleware(Bearer, token=_checked_token(token), free=HEALTH)
    if origins:
        said = ["authorization", "content-type", "x-request-id"]
        app.add_middleware(
            CORSMiddleware, allow_origins=list(origins), allow_methods=["GET", "POST"], allow_headers=said
        )
    app.add_middleware(Hosts, allowed=hosts, free=HEALTH)
    app.add_middleware(Headers)


def _checked_token(token: str) -> str:
    if len(token) < 16 or not token.isascii() or token != token.strip():
        raise ValueError("token must have at least 16 ASCII characters and no blanks at its ends.")
    return token


async def aside(rows: Any, work: Callable[[], T]) -> T:
    """Do work on rows; on many of them in another thread, so that others are answered meanwhile."""
    many = isinstance(rows, list) and len(rows) > MANY
    return await asyncio.to_thread(work) if many else work()


class Service:
    """What the routes do.

    Parameters
    ----------
    explainer
        The fitted explainer.
    name
        The name of the model.
    questions
        Reads requests.
    share
        Whether the range of known instances and all categories may be told.
    """

    def __init__(self, explainer: Explainer, name: str, questions: Questions, share: bool) -> None:
        self.explainer, self.name, self.questions, self._share = explainer, name, questions, share
        by_setting: dict[str | None, Explainer] = {}

        def explainer_for(setting: str | None) -> Explainer:
            if setting not in by_setting:
                by_setting[setting] = questions.reader.explainer_for(setting)
            return by_setting[setting]

        self.merger = Merger(explainer_for, questions.bounds)
        self._deciding = ThreadPoolExecutor(1, "counterpoint-decisions")
        self._undecided = 0

    def routes(self) -> list[Route]:
        """List the routes: path, method, and what answers."""
        return [
            ("/explain", "POST", self._explain),
            ("/decide", "POST", self._decide),
            ("/schema", "GET", self._schema),
            ("/health/live", "GET", self.live),
            ("/health/ready", "GET", self.ready),
            ("/metrics", "GET", self._metrics),
            ("/openapi.json", "GET", self._openapi),
        ]

    @cached_property
    def classes(self) -> list[Any] | None:
        """The classes that the model gives probabilities for; None if it gives none."""
        fitted = self.explainer._fitted()
        return deciding.classes_of(fitted.blackbox, fitted.known.rows[:1])

    async def explain(self, request: Request, ask: Ask) -> list[dict[str, Any]]:
        """Answer a question about rows, together with those of others."""
        request.state.facts = {"rows": len(ask.table), "k": ask.k}
        future = asyncio.wrap_future(self.merger.submit(ask))
        patience = ask.left + self.questions.bounds.seconds
        results = await asyncio.wait_for(future, max(1.0, patience))
        failed = {row: each for row, each in enumerate(results) if isinstance(each, Exception)}
        if failed:
            raise failure_of(failed)
        found = [item for item in results if isinstance(item, Explanation)]
        return await aside(found, lambda: [answer(row, item) for row, item in enumerate(found)])

    async def ask(self, rows: Any, options: Mapping[str, Any], what: str = "rows") -> Ask:
        """Read a question about rows."""
        return await aside(rows, lambda: self.questions.explain(rows, options, what))

    async def table(self, rows: Any, what: str = "rows") -> Table:
        """Read rows to decide about."""
        return await aside(rows, lambda: self.questions.decide(rows, what))

    async def decided(self, request: Request, table: Table, scores: bool = False) -> tuple[list[Any], Any]:
        """Ask the model about rows, and for its probabilities if they are wanted and it has them."""
        request.state.facts = {"rows": len(table)}
        if self._undecided >= self.questions.bounds.queue:
            raise FullError(1)
        self._undecided += 1
        try:
            labels = await self._asking(deciding.decide, table)
            return labels, await self._asking(deciding.probabilities, table) if scores else None
        finally:
            self._undecided -= 1

    async def _asking(self, ask: Callable[[Explainer, Table], T], table: Table) -> T:
        """Ask the model in the thread for that, but not for ever."""
        asked = asyncio.get_running_loop().run_in_executor(self._deciding, ask, self.explainer, table)
        return await asyncio.wait_for(asked, 2 * self.questions.bounds.seconds)

    async def _explain(self, request: Request) -> Response:
        said = fields_of(await body_of(request), ("rows", *OPTIONS))
        ask = await self.ask(said.get("rows"), said)
        answers = await self.explain(request, ask)
        return respond({"model": self.name, "answers": answers, "request_id": request.state.request_id})

    async def _decide(self, request: Request) -> Response:
        said = fields_of(await body_of(request), ("rows", "scores"))
        wants = said.get("scores", False)
        if not isinstance(wants, bool):
            raise RefusedError(f"scores must be true or false, got {short(wants)}.")
        table = await self.table(said.get("rows"))
        labels, scores = await self.decided(request, table, wants)
        found: list[dict[str, Any]] = [{"row": row, "decision": label} for row, label in enumerate(labels)]
        if scores is not None:
            classes, shares = scores
            for each, numbers in zip(found, shares, strict=True):
                pairs = zip(classes, numbers, strict=True)
                each["probabilities"] = [{"class": label, "probability": p} for label, p in pairs]
        said_back = {"model": self.name, "decisions": found, "request_id": request.state.request_id}
        return respond(said_back)

    async def _schema(self, request: Request) -> Response:
        bounds, reader = self.questions.bounds, self.questions.reader
        return respond(
            {
                "model": self.name,
                "columns": columns(self.explainer._fitted().schema, self._share),
                "decisions": [plain(each) for each in reader.decisions.values()],
                "settings": list(reader.settings),
                "limits": {
                    "rows": bounds.rows,
                    "k": bounds.k,
                    "seconds": bounds.seconds,
                    "bytes": bounds.body,
                },
            }
        )

    async def live(self, request: Request) -> Response:
        """Tell that the process answers."""
        return respond({"live": True})

    async def ready(self, request: Request) -> Response:
        """Tell whether rows can be explained now."""
        is_ready = not self.merger.is_stuck
        return respond({"ready": is_ready}, 200 if is_ready else 503)

    async def _metrics(self, request: Request) -> Response:
        return Response(self.merger.metrics.text(), media_type=TYPE)

    async def _openapi(self, request: Request) -> Response:
        return respond(request.app.openapi())
