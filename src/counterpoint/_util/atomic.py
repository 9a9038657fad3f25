"""Atomic writes: nobody ever sees half a file.

A file that is replaced keeps its permissions, and one that nobody may write to is not replaced. A link is
followed: what it leads to is replaced, and the link stays.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

_WRITE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file under a temporary name, and rename it when it is complete.

    An existing file is kept until then, also if writing fails. The folder must exist. If the path is a link,
    what it leads to is replaced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "greeting") as file:
    ...         _ = file.write(b"hello")
    ...     (Path(folder) / "greeting").read_bytes()
    b'hello'
    """
    path = destination(path)
    check_writable(path)
    draft = draft_of(path)
    try:
        with draft.open("xb") as file:
            yield file
        put_in_place({path: draft})
    finally:
        draft.unlink(missing_ok=True)


def draft_of(path: Path) -> Path:
    """Return a unique file name next to a path, for writing the content that will replace it."""
    return path.with_name(f".{path.name}.{uuid4().hex}.draft")


def put_in_place(drafts: Mapping[Path, Path]) -> None:
    """Rename complete drafts to their final paths; they are on disk when this returns.

    Nothing is replaced before all drafts are on disk.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "greeting"
    >>> draft = draft_of(path)
    >>> _ = draft.write_text("hello")
    >>> put_in_place({path: draft})
    >>> path.read_text(), draft.exists()
    ('hello', False)
    """
    for path, draft in drafts.items():
        check_writable(path)
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
    for path, draft in drafts.items():
        if path.exists():
            draft.chmod(stat.S_IMODE(path.stat().st_mode))
        draft.replace(path)
    for folder in {path.parent for path in drafts}:
        sync_folder(folder)


def check_writable(path: Path) -> None:
    """Refuse to replace a file that nobody may write to, or not this user.

    Renaming needs permission to change the folder only. But whoever made a file read-only wants to keep it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "kept"
    >>> path.touch(mode=0o444)
    >>> check_writable(path)
    Traceback (most recent call last):
        ...
    PermissionError: [Errno 13] it is read-only, so it is not replaced: ...
    """
    if path.exists() and not (path.stat().st_mode & _WRITE and os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, "it is read-only, so it is not replaced", str(path))


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk, if the system can open folders."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def remove_drafts(path: Path) -> None:
    """Remove the drafts of a path that crashed processes left; only if nobody else is writing to it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "greeting"
    >>> draft_of(path).touch()
    >>> remove_drafts(path)
    >>> list(path.parent.iterdir())
    []
    """
    # The writer of a draft may itself write a draft of the draft first.
    left = re.compile(rf"\.+{re.escape(path.name)}(\.[0-9a-f]{{32}}\.draft)+")
    for entry in list(path.parent.iterdir()):
        if left.fullmatch(entry.name):
            entry.unlink(missing_ok=True)


def destination(path: Path) -> Path:
    """Resolve a path that may be a link, so that the file is replaced and not the link."""
    return path.resolve() if path.is_symlink() else path
