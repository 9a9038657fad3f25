"""The study's dense network as numbers, from which a peer can rebuild it to differentiate it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """How one column becomes input: (x - mean) / scale, or, where it has levels, a 0 or 1 for each level."""

    name: str
    levels: tuple[str, ...] | None
    mean: float
    scale: float


@dataclass(frozen=True, eq=False)
class Blueprint:
    """The input's columns in their order, and the layers, each weights (inputs × outputs) and biases.

    There is a ReLU after each layer but the last, and a softmax after the last.
    """

    columns: tuple[Column, ...]
    layers: tuple[tuple[Floats, Floats], ...]

    @classmethod
    def load(cls, path: Path) -> Blueprint:
        """Read the file that the study's network wrote (`study.blueprint.Blueprint.save` tells its keys)."""
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        columns = tuple(_column(arrays, place) for place in range(len(arrays["names"])))
        depth = sum(key.startswith("weights_") for key in arrays)
        return cls(columns, tuple((arrays[f"weights_{j}"], arrays[f"biases_{j}"]) for j in range(depth)))


def _column(arrays: dict[str, NDArray[Any]], place: int) -> Column:
    levels = arrays.get(f"levels_{place}")
    return Column(
        name=str(arrays["names"][place]),
        levels=None if levels is None else tuple(levels.tolist()),
        mean=float(arrays["means"][place]),
        scale=float(arrays["scales"][place]),
    )
