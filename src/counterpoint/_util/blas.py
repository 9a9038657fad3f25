"""Limiting matrix products to one thread: the same digits and the same time on any number of cores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController, threadpool_limits


@contextmanager
def one_thread_of_blas() -> Iterator[None]:
    """Have NumPy multiply on one thread, which also avoids waiting for the model's threads.

    Examples
    --------
    >>> import numpy as np
    >>> with one_thread_of_blas():
    ...     np.eye(2) @ np.array([1.0, 2.0])
    array([1., 2.])
    """
    with _blas().limit(limits=1):
        yield


@cache
def _blas() -> Any:
    # Cached, because finding the libraries takes longer than a product.
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Have every library compute on one thread, for processes that share the cores of a machine.

    Examples
    --------
    >>> with one_thread_each():
    ...     joblib.effective_n_jobs(-1)
    1
    """
    with threadpool_limits(limits=1), joblib.parallel_config(backend="sequential", n_jobs=1):
        yield
