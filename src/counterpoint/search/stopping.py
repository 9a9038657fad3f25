"""Stopping a search from outside, between two model calls: for a question that nobody waits for any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_is_over: ContextVar[Callable[[], bool] | None] = ContextVar("is_over", default=None)


class StoppedError(RuntimeError):
    """A search was stopped because its answer is no longer wanted."""


@contextmanager
def stopping(is_over: Callable[[], bool]) -> Iterator[None]:
    """Stop all searches of this thread as soon as a function says so: they raise a `StoppedError`.

    The function is called before each model call of a search, so it should be fast.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoint import Neighbours
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> explainer = Neighbours().fit(lambda rows: rows[:, 0] > 0, X)
    >>> with stopping(lambda: True):
    ...     explainer.explain(X[0])
    Traceback (most recent call last):
        ...
    counterpoint.search.stopping.StoppedError: The search was stopped: its answer is no longer wanted.
    """
    token = _is_over.set(is_over)
    try:
        yield
    finally:
        _is_over.reset(token)


def check_wanted() -> None:
    """Raise an error if the search is to stop."""
    is_over = _is_over.get()
    if is_over is not None and is_over():
        raise StoppedError("The search was stopped: its answer is no longer wanted.")
