"""Keeping freed memory for a while, where the process was told to give it back at once."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Names of glibc's settings, and the environment variable that Dask sets for its workers.
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
ASKED = "MALLOC_TRIM_THRESHOLD_"

# What glibc allows at most, and what it has without being told.
LARGEST_MMAP, USUAL_MMAP = 32 * 2**20, 128 * 2**10
KEPT = 256 * 2**20


@contextmanager
def keeping_memory() -> Iterator[None]:
    """Keep freed memory for the next model call, and give it back at the end.

    A model call frees arrays that the next one needs again. In a process that gives memory back at once, as
    workers of Dask do, the system clears every page of them again, and that takes time.

    Examples
    --------
    >>> with keeping_memory():
    ...     pass
    """
    asked = os.environ.get(ASKED, "")
    libc: Any = ctypes.CDLL(None) if asked.isdigit() and os.name == "posix" else None
    if not hasattr(libc, "mallopt"):  # only glibc has it
        yield
        return
    libc.mallopt(TRIM_THRESHOLD, KEPT)
    libc.mallopt(MMAP_THRESHOLD, LARGEST_MMAP)
    try:
        yield
    finally:
        libc.mallopt(TRIM_THRESHOLD, int(asked))
        libc.mallopt(MMAP_THRESHOLD, USUAL_MMAP)
        libc.malloc_trim(0)
