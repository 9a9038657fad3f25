"""Servers of others, started on free ports of loopback for a test, and stopped after it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

# Seconds that a server has to start, and to stop before it is killed.
STARTS, STOPS = 120, 20


def free_ports(count: int) -> list[int]:
    """Find ports that nobody uses."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


@contextmanager
def started(command: list[str], ready: str, folder: Path, **more: str) -> Iterator[None]:
    """Run a server until the test is over; it is ready when an address answers with 200."""
    program = Path(sys.executable).parent / command[0]
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", **more}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [str(program), *command[1:]],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,  # so that its workers stop with it
        )
        try:
            _wait(server, ready, folder / "server.log")
            yield
        finally:
            _stop(server)


def _wait(server: subprocess.Popen[bytes], ready: str, log: Path) -> None:
    ends = time.monotonic() + STARTS
    while time.monotonic() < ends:
        assert server.poll() is None, f"the server ended: {log.read_text()[-3_000:]}"
        try:
            if httpx.get(ready, timeout=2).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(f"the server is not ready: {log.read_text()[-3_000:]}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, sign)
        except ProcessLookupError:
            break
        try:
            server.wait(STOPS)
        except subprocess.TimeoutExpired:
            continue
    server.wait(STOPS)
