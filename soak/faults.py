"""Faults at one operation on files: the process dies there, or the operation fails."""

from __future__ import annotations

import builtins
import io
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CHANGING = (
    *("rename", "replace", "unlink", "remove", "rmdir", "mkdir"),
    *("fsync", "link", "symlink", "truncate", "ftruncate", "chmod"),
)


@dataclass
class Faults:
    """Counts operations that change files, and does something at one of them.

    Parameters
    ----------
    at
        Which operation, counted from 1; 0 for none.
    before
        What to do instead of it, or before it.
    after
        What to do after it.
    """

    at: int = 0
    before: Callable[[str], None] | None = None
    after: Callable[[str], None] | None = None
    count: int = 0
    names: list[str] = field(default_factory=list)

    def install(self) -> None:
        """Watch the operations of this process."""
        for name in CHANGING:
            setattr(os, name, self._watched(name, getattr(os, name)))
        opened = io.open
        faults = self

        class Watched(io.FileIO):
            """A file whose writes are counted; half of a write may be done when the process dies."""

            def write(self, data: Any, /) -> int:
                half = bytes(data)[: len(data) // 2]
                return int(faults._do("write", lambda: super(Watched, self).write(data), self, half))

        def open_watched(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
            if not set(mode) & set("wax+") or isinstance(file, int):
                return opened(file, mode, *more, **options)
            raw = Watched(file, mode.replace("b", "").replace("t", ""))
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            if "b" in mode:
                return buffered
            kept = {key: value for key, value in options.items() if key in ("encoding", "errors", "newline")}
            return io.TextIOWrapper(buffered, **kept)

        io.open = builtins.open = open_watched

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **options: self._do(name, lambda: real(*args, **options))

    def _do(self, name: str, real: Callable[[], Any], file: Any = None, half: bytes = b"") -> Any:
        self.count += 1
        self.names.append(name)
        here = self.count == self.at
        if here and self.before is not None:
            if file is not None and half:
                io.FileIO.write(file, half)
            self.before(name)
        try:
            return real()
        finally:  # also where the operation fails by itself, as removing what is not there does
            if here and self.after is not None:
                self.after(name)


def die(_: str) -> None:
    """End this process as a power cut would: at once, without any cleaning up."""
    os.kill(os.getpid(), signal.SIGKILL)


def failing(number: int) -> Callable[[str], None]:
    """Make an operation fail as the system would say it."""

    def fail(name: str) -> None:
        raise OSError(number, os.strerror(number), name)

    return fail
