"""Work in processes that may die: each trial runs in a fork, and how it ended is part of the result."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

# Imported here once, so that a fork need not.
for module in (
    "counterpoint.cli.options",
    "counterpoint.report",
    "jinja2",
    "lightgbm",
    "onnxruntime",
    "pyarrow.parquet",
    "skl2onnx",
    "skops.io",
    "torch",
    "xgboost",
    "yaml",
):
    import_module(module)

GIGABYTE = 2**30


@dataclass(frozen=True)
class Ended:
    """How a process ended: with an exit code, or by a signal; None if it was stopped for taking too long."""

    code: int | None
    out: str
    err: str

    @property
    def ending(self) -> str:
        """The ending in words."""
        if self.code is None:
            return "took too long"
        return f"died of {signal.Signals(-self.code).name}" if self.code < 0 else f"exit code {self.code}"


class Running:
    """A function that runs in a fork of this process, in a folder of its own choice."""

    def __init__(self, work: Callable[[], int], folder: Path, memory: int = 6 * GIGABYTE) -> None:
        self._streams = TemporaryFile(), TemporaryFile()  # noqa: SIM115
        sys.stdout.flush()
        sys.stderr.flush()
        self._id = os.fork()
        if not self._id:
            self._work(work, folder, memory)
        self._start = time.monotonic()

    def _work(self, work: Callable[[], int], folder: Path, memory: int) -> None:
        code = 99
        try:
            os.setpgid(0, 0)
            os.chdir(folder)
            for number, stream in enumerate(self._streams, start=1):
                os.dup2(stream.fileno(), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            for text in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    text.flush()
            os._exit(code)

    def ended(self, seconds: float = 120.0) -> Ended:
        """Wait for the end, for so many seconds after the start."""
        out, err = self._streams
        with out, err:
            status = self._status(seconds)
            code = None if status is None else os.waitstatus_to_exitcode(status)
            return Ended(code, _read(out), _read(err))

    def _status(self, seconds: float) -> int | None:
        done, status = 0, 0
        try:
            while not done and time.monotonic() - self._start <= seconds:
                time.sleep(0.002)
                done, status = os.waitpid(self._id, os.WNOHANG)
        finally:
            if not done:  # too late, or the soak itself is being stopped
                with suppress(ProcessLookupError):  # it may not have its group yet
                    os.killpg(self._id, signal.SIGKILL)
                os.kill(self._id, signal.SIGKILL)
                os.waitpid(self._id, 0)
        return status if done else None


def _read(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode("utf-8", "replace")


def run(work: Callable[[], int], folder: Path, seconds: float = 120.0, memory: int = 6 * GIGABYTE) -> Ended:
    """Run a function in a fork, and wait for it."""
    return Running(work, folder, memory).ended(seconds)
