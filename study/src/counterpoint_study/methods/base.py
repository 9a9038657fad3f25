"""What a method is: from a scene to answers and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from counterpoint_study.scenes.base import Instances, Scene


@dataclass(frozen=True)
class Limits:
    """How long a peer may think about an instance, and about all instances of a cell together."""

    instance: float = 30.0
    cell: float | None = None


@dataclass(frozen=True)
class Cost:
    """What one instance took: wall and CPU seconds, model calls and rows, and what went wrong.

    `runtime` is for one decision at a time, for every method: it is what methods are ranked by. `batched` is
    for one decision of a batch, of methods that take batches, and so is the CPU time of these.
    """

    runtime: float
    cpu: float
    model_calls: float
    model_rows: float
    error: str | None = None
    batched: float | None = None


@dataclass(frozen=True)
class Run:
    """What a method answered to the first instances of a scene and to those alike, and what each cost."""

    answers: Sequence[Instances]
    alike: Sequence[Instances]
    costs: Sequence[Cost]


class Method(Protocol):
    """A line of the table."""

    @property
    def name(self) -> str:
        """What the table calls it."""
        ...

    @property
    def library(self) -> str:
        """The package it comes from, and its version."""
        ...

    @property
    def identity(self) -> str:
        """All parameters that decide its answers, in words, for caches."""
        ...

    def asked(self, ks: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Plan for which k to run it, and which k each run is good for."""
        ...

    def prepare(self, scene: Scene, seed: int) -> None:
        """Do once what all cells of a data set and a black box share, such as training a codec."""
        ...

    def run(self, scene: Scene, k: int, limits: Limits, seed: int) -> Run:
        """Explain the scene's instances, and those alike."""
        ...
