"""What a codebook is: the way from the model's instances to rows of floats, and back."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.float64]

Instances = TypeVar("Instances")


class CodeError(ValueError):
    """Codes that stand for no instance."""


class Coding(Protocol[Instances]):
    """Instances as rows of floats, which is all that a worker and the study tell each other.

    `codebook.Codebook` is the one for tables, `shapes.Shape` the one for images and series.
    """

    @property
    def width(self) -> int:
        """How many floats an instance is."""
        ...

    @property
    def network_file(self) -> str:
        """What a worker finds the network's weights under: a name for each format of them."""
        ...

    def terms(self) -> dict[str, Any]:
        """Return what a worker must know of the instances."""
        ...

    def encode(self, instances: Instances) -> NDArray[np.floating[Any]]:
        """Turn instances into rows."""
        ...

    def decode(self, codes: Codes) -> Instances:
        """Turn rows into instances."""
        ...

    def check(self, codes: Codes) -> None:
        """Raise `CodeError` unless all rows can be decoded without loss."""
        ...
