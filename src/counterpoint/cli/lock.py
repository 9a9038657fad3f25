"""One run per output: a lock that the system takes back when its holder dies, however it dies.

The lock is the system's, on a file beside the output that names the holder.
Whether that file exists says nothing.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TextIO

from counterpoint.cli.errors import BusyError, InputError

_held: set[TextIO] = set()


@contextmanager
def only_run(outputs: Iterable[Path]) -> Iterator[None]:
    """Keep other runs from writing to the same outputs, under whatever name or link.

    Examples
    --------
    >>> import tempfile
    >>> found = Path(tempfile.mkdtemp()) / "found.csv"
    >>> with only_run([found]), only_run([found]):
    ...     pass
    Traceback (most recent call last):
        ...
    counterpoint.cli.errors.BusyError: ...found.csv is being written by process ... on ... since ...
    """
    with ExitStack() as stack:
        # In one order, so that of two runs that want the same two outputs one gets both.
        for place, path in sorted({path.resolve(): path for path in outputs}.items()):
            stack.enter_context(_holding(place.with_name(f".{place.name}.lock"), path))
        yield


@contextmanager
def _holding(lock: Path, output: Path) -> Iterator[None]:
    file = _taken(lock, output)
    _held.add(file)
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} since {_now()}")
        file.flush()
        yield
    finally:
        _let_go(lock, file)


def _taken(lock: Path, output: Path) -> TextIO:
    """Open and lock a file, or say who has it."""
    while True:
        try:
            file = lock.open("a+", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{output} cannot be written: {error.strerror}. Give another path.") from error
        try:
            _lock(file)
        except BlockingIOError:
            file.seek(0)
            holder = file.read() or "another run"
            file.close()
            raise BusyError(
                f"{output} is being written by {holder}. Wait for it, stop it, or give another path."
            ) from None
        except OSError as error:
            file.close()
            raise InputError(
                f"{output} cannot be locked against other runs: {error.strerror}. Give another path."
            ) from error
        if _is_at(lock, file):
            return file
        file.close()  # its holder removed it after we opened it, so others lock another file


def _let_go(lock: Path, file: TextIO) -> None:
    if file not in _held:  # in a process that was forked off, and never had the lock
        return
    _held.remove(file)
    # Removed while it is still ours, so that nobody's lock is removed but our own.
    with suppress(PermissionError):  # Windows keeps a file that is open
        lock.unlink(missing_ok=True)
    file.close()


def _is_at(lock: Path, file: TextIO) -> bool:
    try:
        return os.path.samestat(lock.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _now() -> str:
    return datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")


if sys.platform == "win32":
    import msvcrt

    def _lock(file: TextIO) -> None:
        """Lock a byte far behind the text, which others may then still read."""
        file.seek(1 << 20)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, error.strerror) from error

else:
    import fcntl

    def _lock(file: TextIO) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _forget() -> None:
        """Close the locks in a forked process, which would otherwise hold them when its parent has died."""
        while _held:
            _held.pop().close()

    os.register_at_fork(after_in_child=_forget)
