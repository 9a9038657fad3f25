"""Asking a server over HTTP: tried again when it is busy, given up in time, and said in one sentence."""

from __future__ import annotations

import atexit
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from time import monotonic, sleep
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from counterpoint._util.short_text import one_line
from counterpoint.model.errors import ModelError

if TYPE_CHECKING:
    import httpx

# These say that the server is busy or starting: the same request may succeed a moment later. 500 is not among
# them, because by 500 servers say that the model failed on a row.
BUSY = frozenset({408, 425, 429, 502, 503, 504})
TOO_LARGE = 413

# A server's Retry-After is heeded up to so many seconds, and an answer read up to so many bytes.
LONGEST_WAIT = 30.0
LARGEST_ANSWER = 256_000_000

# How much of a server's own words an error quotes.
QUOTED = 300


class StatusError(ModelError):
    """The server answered with an error, whose status is kept."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class TooLargeError(Exception):
    """The server refuses a request for its size."""


@dataclass(frozen=True)
class Server:
    """A server, and how patiently it is asked; it holds no open connection.

    Parameters
    ----------
    timeout
        Seconds that one try may take.
    retries
        How often a request is tried again.
    backoff
        Seconds before the second try; each further wait is twice as long.
    headers
        Sent with each request.
    token_variable
        The environment variable that holds a bearer token, if any.
    """

    timeout: float
    retries: int
    backoff: float
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    token_variable: str | None = None

    def get(self, url: str) -> Any:
        """Get a JSON document."""
        return self._asked("GET", url, None)

    def post(self, url: str, body: bytes) -> Any:
        """Post a JSON document, and return the one that comes back."""
        return self._asked("POST", url, body)

    def _asked(self, method: str, url: str, body: bytes | None) -> Any:
        """Try until there is an answer, or the tries are used up."""
        problem = ""
        for number in range(self.retries + 1):
            wait = self.backoff * 2**number
            try:
                status, answer, headers = self._try(method, url, body)
            except _NoAnswerError as error:
                problem = str(error)
            else:
                if status not in BUSY:
                    return _read(url, status, answer)
                problem = f"it answered {_quoted(status, answer)}"
                wait = max(wait, _retry_after(headers))
            if number < self.retries:
                sleep(wait)
        tries = f"{self.retries + 1} tries" if self.retries else "1 try"
        raise ModelError(
            f"The model at {shown(url)} cannot be reached: {problem}, after {tries}. Check that the server "
            f"runs and that the address is right; a slow one needs a longer timeout or smaller batches.",
            is_down=True,
        )

    def _try(self, method: str, url: str, body: bytes | None) -> tuple[int, bytes, Mapping[str, str]]:
        """Ask once; the time limit holds for the whole answer, however slowly it drips in."""
        httpx = _httpx()
        ends = monotonic() + self.timeout
        parts, size = [], 0
        try:
            with _client(os.getpid()).stream(
                method, url, content=body, headers=self._headers(), timeout=self.timeout
            ) as response:
                for part in response.iter_bytes():
                    parts.append(part)
                    size += len(part)
                    if size > LARGEST_ANSWER:
                        raise ModelError(
                            f"The answer of the model at {shown(url)} has more than {LARGEST_ANSWER:,} "
                            f"bytes; ask about fewer rows at a time: batch."
                        )
                    if monotonic() > ends:
                        raise _NoAnswerError(f"no complete answer within {self.timeout:g} s")
                return response.status_code, b"".join(parts), response.headers
        except httpx.TimeoutException as error:
            raise _NoAnswerError(f"no answer within {self.timeout:g} s") from error
        except httpx.RequestError as error:
            raise _NoAnswerError(_reason(error)) from error
        except httpx.InvalidURL as error:
            raise ValueError(f"{shown(url)} is not an address: {error}.") from error

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": "application/json", **self.headers}
        token = os.environ.get(self.token_variable, "").strip() if self.token_variable else ""
        if not (token.isascii() and token.isprintable()):
            # Not shown: it is a secret, although a broken one.
            raise ValueError(f"{self.token_variable} must be a token of plain characters in one line.")
        return headers | ({"authorization": f"Bearer {token}"} if token else {})


class _NoAnswerError(Exception):
    """A request got no answer."""


def _reason(error: Exception) -> str:
    """Say why there was no answer, without the system's number for it."""
    text = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or type(error).__name__
    return one_line(text, QUOTED).rstrip(".")


def shown(url: str) -> str:
    """Write an address without the name and password in it.

    Examples
    --------
    >>> shown("http://ann:secret@host/v1/models/credit:predict")
    'http://host/v1/models/credit:predict'
    """
    return re.sub(r"(?<=://)[^/@]*@", "", url)


def _httpx() -> Any:
    try:
        import httpx
    except ImportError as error:
        raise ImportError("A remote model needs httpx: pip install 'counterpoint[remote]'") from error
    return httpx


@lru_cache(maxsize=1)
def _client(process: int) -> httpx.Client:
    """Open a client, once per process: a forked one must not share connections with its parent."""
    client: httpx.Client = _httpx().Client()
    atexit.register(client.close)
    return client


def _read(url: str, status: int, answer: bytes) -> Any:
    """Read the JSON of an answer, or say what came instead."""
    if status == TOO_LARGE:
        raise TooLargeError(f"it answered {_quoted(status, answer)}")
    if not 200 <= status < 300:
        said = f"The model at {shown(url)} answered {_quoted(status, answer)}.{_cure(status)}"
        raise StatusError(said, status)
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as error:
        raise ModelError(
            f"The model at {shown(url)} must answer with JSON, got {_words(answer) or 'nothing'!r}. Check "
            f"that the address is that of a model."
        ) from error


def _cure(status: int) -> str:
    if status in (401, 403):
        return " Set the token in the environment variable that token_variable names, or send headers."
    if status in (404, 405):
        return " Check the name of the model and the address."
    if 300 <= status < 400:
        return " It sends requests elsewhere, which is not followed; give that address."
    return ""


def _quoted(status: int, answer: bytes) -> str:
    words = _words(answer)
    return f"{status}: {words}" if words else str(status)


def _words(answer: bytes) -> str:
    """Find what a server says about an error, in one line."""
    text = answer[: 10 * QUOTED].decode(errors="replace")
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, dict):
        found = [said[key] for key in ("error", "detail", "message") if said.get(key)]
        text = str(found[0]) if found else text
    return one_line(text, QUOTED).rstrip(". ")


def _retry_after(headers: Mapping[str, str]) -> float:
    """Read for how long a server asks to wait, if it says so in seconds."""
    said = headers.get("retry-after", "")
    return min(float(said), LONGEST_WAIT) if said.isdecimal() else 0.0
