"""What every request has to pass: ASGI middlewares that the service and the page stand behind.

Each is a dataclass for ``app.add_middleware(Hosts, allowed=("localhost",))``. The one that is added last is
the outermost. What a guard refuses is answered at once, as JSON with the key ``error``.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from fastapi import HTTPException

from counterpoint._util.short_text import short

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

# The names that a machine has for itself.
LOOPBACK = ("localhost", "127.0.0.1", "::1")

# Answers that are data run nothing, load nothing and are shown in no frame.
DATA_ONLY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


def header(scope: Scope, name: str) -> str | None:
    """Read a header of a request.

    Examples
    --------
    >>> header({"headers": [(b"host", b"localhost:8000")]}, "host")
    'localhost:8000'
    """
    wanted = name.encode("latin-1")
    for key, value in scope["headers"]:
        if key == wanted:
            return str(value.decode("latin-1"))
    return None


def host_of(text: str) -> str:
    """Take the port from a Host header, and write the name in one way.

    Examples
    --------
    >>> host_of("LocalHost.:8000"), host_of("[::1]:8000"), host_of("::1")
    ('localhost', '::1', '::1')
    """
    text = text.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    name = text if text.count(":") > 1 else text.partition(":")[0]
    return name.rstrip(".")


def is_among(host: str, allowed: tuple[str, ...]) -> bool:
    """Tell whether a host is one of those allowed: a name, ``*.example.com``, or ``*`` for any.

    Examples
    --------
    >>> is_among("a.example.com", ("*.example.com",)), is_among("example.com.evil.org", ("*.example.com",))
    (True, False)
    """
    return any(
        each == "*" or host == host_of(each) or (each.startswith("*.") and host.endswith(each[1:].lower()))
        for each in allowed
    )


def same(given: str, expected: str) -> bool:
    """Compare secrets in a time that does not tell where they differ.

    Examples
    --------
    >>> same("a secret", "a secret"), same("a secreT", "a secret")
    (True, False)
    """
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


async def refuse(
    scope: Scope, send: Send, status: int, error: str, headers: Mapping[str, str] | None = None
) -> None:
    """Answer a request with an error, as JSON."""
    said = {"error": error, "request_id": scope.get("state", {}).get("request_id")}
    body = json.dumps(said).encode()
    more = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in more.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True)
class Hosts:
    """Refuses requests for hosts that this is not: a page elsewhere may point its own name to this machine.

    Parameters
    ----------
    app
        What is guarded.
    allowed
        Names of hosts without a port; ``*.example.com`` for all below one, ``*`` for any.
    free
        Paths that answer whatever the host, such as those of health checks.
    """

    app: App
    allowed: tuple[str, ...] = LOOPBACK
    free: tuple[str, ...] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is for this host."""
        if scope["type"] != "http" or path_of(scope) in self.free:
            return await self.app(scope, receive, send)
        host = header(scope, "host") or ""
        if not is_among(host_of(host), self.allowed):
            return await refuse(
                scope,
                send,
                421,
                f"This does not answer as {short(host)}: it would be no safe place to send data to. Use one "
                f"of the hosts that it was started with, or allow this one: --allow-host, or app(hosts=…).",
            )
        return await self.app(scope, receive, send)


@dataclass(frozen=True)
class BodyLimit:
    """Refuses bodies of more than `most` bytes, without reading them to their end."""

    app: App
    most: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a body that is small enough."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        said = header(scope, "content-length") or "0"
        if not said.isdigit() or int(said[:20]) > self.most:
            return await refuse(scope, send, 413, self._rule, {"connection": "close"})
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self.most:  # a body that comes in chunks does not tell its length before
                raise HTTPException(413, self._rule, {"connection": "close"})
            return message

        return await self.app(scope, counted, send)

    @property
    def _rule(self) -> str:
        return f"A request may have at most {self.most:,} bytes. Send fewer rows at a time."


@dataclass(frozen=True)
class Bearer:
    """Refuses requests without the token: ``Authorization: Bearer TOKEN``.

    Parameters
    ----------
    app
        What is guarded.
    token
        The secret that every request has to give.
    free
        Paths that need no token, such as those of health checks.
    """

    app: App
    token: str
    free: tuple[str, ...] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests that give the token."""
        if scope["type"] != "http" or path_of(scope) in self.free:
            return await self.app(scope, receive, send)
        kind, _, given = (header(scope, "authorization") or "").partition(" ")
        if kind.lower() != "bearer" or not same(given.strip(), self.token):
            rule = "The token is missing or wrong: send the header Authorization: Bearer TOKEN."
            return await refuse(scope, send, 401, rule, {"www-authenticate": "Bearer"})
        return await self.app(scope, receive, send)


@dataclass(frozen=True)
class Headers:
    """Adds the headers that keep answers from being run, framed, guessed at, stored or passed on.

    Parameters
    ----------
    app
        What is guarded.
    policy
        The Content-Security-Policy; it must never allow inline scripts.
    """

    app: App
    policy: str = DATA_ONLY

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add headers to the answer, but for those that it has."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                has = {name.lower() for name, _ in message["headers"]}
                new = ((name, value) for name, value in self._pairs if name not in has)
                message["headers"] = [*message["headers"], *new]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)

    @property
    def _pairs(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"content-security-policy", self.policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cache-control", b"no-store"),
        ]


def path_of(scope: Scope) -> str:
    """Tell the path of a request within its application, wherever that is mounted."""
    root, path = scope.get("root_path", ""), str(scope["path"])
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path
