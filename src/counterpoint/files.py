"""Writing files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Write a file under another name, and give it its own once it is complete.

    What was there before stays until then, also if writing fails. Its folder must exist.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "greeting") as file:
    ...         _ = file.write(b"hello")
    ...     (Path(folder) / "greeting").read_bytes()
    b'hello'
    """
    draft = draft_of(path)
    try:
        with draft.open("xb") as file:
            yield file
        put_in_place({path: draft})
    finally:
        draft.unlink(missing_ok=True)


def draft_of(path: Path) -> Path:
    """Name a file beside a path that nobody else has, to write what will be put in its place."""
    return path.with_name(f".{path.name}.{uuid4().hex}.draft")


def put_in_place(drafts: Mapping[Path, Path]) -> None:
    """Give complete drafts the names that they are for; when this returns, the disk has them.

    Nothing is replaced before all drafts are on the disk.

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
    for draft in drafts.values():
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
    for path, draft in drafts.items():
        draft.replace(path)
    for folder in {path.parent for path in drafts}:
        sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Have the disk hold the names in a folder, where the system lets folders be opened."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def remove_drafts(path: Path) -> None:
    """Remove what processes that died left beside a path; only for whoever alone writes to it.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "greeting"
    >>> draft_of(path).touch()
    >>> remove_drafts(path)
    >>> list(path.parent.iterdir())
    []
    """
    # What writes a draft may itself write a draft of that first.
    left = re.compile(rf"\.+{re.escape(path.name)}(\.[0-9a-f]{{32}}\.draft)+")
    for entry in list(path.parent.iterdir()):
        if left.fullmatch(entry.name):
            entry.unlink(missing_ok=True)


def destination(path: Path) -> Path:
    """Follow a link that a path may be, so that the file is written and not the link."""
    return path.resolve() if path.is_symlink() else path
