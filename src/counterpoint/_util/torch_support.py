"""Using torch: imported only when needed, and without changing its global state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def import_torch(what: str) -> Any:
    """Import torch, or say what needs it and how to install it."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"{what} needs torch: pip install 'counterpoint[torch]'") from error
    return torch


@contextmanager
def one_thread_of(torch: Any) -> Iterator[None]:
    """Have torch use one thread, so that sums are the same everywhere; then restore the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def reproducible(torch: Any, seed: int) -> Iterator[None]:
    """Have torch draw from a seed and use one thread, so that sums are the same everywhere.

    Its random state and its number of threads are restored afterwards.
    """
    with one_thread_of(torch), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
