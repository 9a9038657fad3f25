"""Opening a page: a server on this machine, with a random token in its address, and the browser."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from counterpoint.web.page.app import make_app
from counterpoint.web.page.calls import Calls
from counterpoint.web.page.session import Session

HOST = "127.0.0.1"
# A server starts within so many seconds, or something is wrong.
PATIENCE = 20.0


@dataclass(eq=False)
class Page:
    """A page that is open: its address, and the server behind it.

    Parameters
    ----------
    address
        Where the page is, with its token.
    """

    address: str
    _server: Any
    _thread: threading.Thread

    def close(self) -> None:
        """Stop the server, after what it is doing now."""
        self._server.should_exit = True
        self._thread.join(PATIENCE)

    def wait(self) -> None:
        """Wait until the page is closed, as by control-C."""
        try:
            while self._thread.is_alive():
                self._thread.join(0.5)
        except KeyboardInterrupt:
            self.close()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Page at {self.address}>"


def open_explainer(explainer: Any, rows: Any, asked: dict[str, Any], port: int, browser: bool) -> Page:
    """Open the page of a fitted explainer: for tables, or for images and series."""
    calls: Any
    if explainer._fitted().schema.form.shape:
        from counterpoint.web.page.images import SignalCalls

        calls = SignalCalls.of(explainer, rows, **asked)
    else:
        calls = Calls(Session.of(explainer, rows, **asked))
    return open_page(calls, port, browser)


def open_page(
    calls: Any, port: int = 0, browser: bool = True, show: Callable[[str], Any] = webbrowser.open
) -> Page:
    """Serve a page on this machine, and open the browser."""
    import uvicorn

    token = secrets.token_urlsafe(24)
    listening = _listen(port)
    config = uvicorn.Config(
        make_app(calls, token), log_level="error", lifespan="off", timeout_graceful_shutdown=2
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    deadline = monotonic() + PATIENCE
    while not server.started:
        if not thread.is_alive() or monotonic() > deadline:
            raise RuntimeError(f"The page could not be served at {HOST}:{port}.")
        sleep(0.01)
    address = f"http://{HOST}:{listening.getsockname()[1]}/?token={token}"
    if browser:
        show(address)
    return Page(address, server, thread)


def _listen(port: int) -> socket.socket:
    """Bind to a port of this machine; 0 for any that is free."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise ValueError(f"port {port} of {HOST} cannot be used: {error}. Give another, or 0.") from error
    return listening
