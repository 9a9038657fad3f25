"""Read-only arrays, which searches share: no search can change what the others see."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return a read-only view of an array; the array itself stays writable.

    Examples
    --------
    >>> read_only(np.zeros(2))[0] = 1.0
    Traceback (most recent call last):
        ...
    ValueError: assignment destination is read-only
    """
    view = array.view()
    view.flags.writeable = False
    return view


def make_read_only(thing: Any) -> None:
    """Make all arrays that a frozen dataclass holds read-only; for its ``__post_init__``."""
    for field in fields(thing):
        value = getattr(thing, field.name)
        if isinstance(value, np.ndarray) and value.flags.writeable:
            object.__setattr__(thing, field.name, read_only(value))
