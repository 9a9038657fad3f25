"""What a study runs: data sets × black boxes × methods × k × instances, within limits of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from counterpoint.datasets import NAMES
from counterpoint.study.blackboxes import KINDS
from counterpoint.study.methods import METHODS, Limits

PAPER_KS = (1, 2, 3, 4, 5, 8, 10, 12, 14, 16, 18, 20)


@dataclass(frozen=True)
class Job:
    """One run of a method: for which k it is asked, and which k its answers are good for."""

    set: str
    black_box: str
    method: str
    k: int
    ks: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.set} {self.black_box} {self.method} k={self.k}"


@dataclass(frozen=True)
class Plan:
    """All that a study is about. The default is small and complete; `Plan.full()` has the paper's size.

    Parameters
    ----------
    sets, black_boxes, methods
        Names of what is run with what.
    ks
        How many counterfactuals are asked for.
    instances
        How many test instances are explained.
    limits
        How long a peer may take.
    seed
        All draws depend on it.

    Examples
    --------
    >>> plan = Plan(sets=("german",), black_boxes=("forest",), methods=("ECE", "NICE"), ks=(1, 5))
    >>> [str(job) for job in plan.jobs()]
    ['german forest ECE k=1', 'german forest ECE k=5', 'german forest NICE k=1']
    """

    sets: tuple[str, ...] = NAMES
    black_boxes: tuple[str, ...] = KINDS
    methods: tuple[str, ...] = tuple(METHODS)
    ks: tuple[int, ...] = (1, 5, 10)
    instances: int = 20
    limits: Limits = field(default_factory=lambda: Limits(instance=30.0, cell=45.0))
    seed: int = 0

    def __post_init__(self) -> None:
        _known("sets", self.sets, NAMES)
        _known("black_boxes", self.black_boxes, KINDS)
        _known("methods", self.methods, tuple(METHODS))
        if not self.ks or min(self.ks) < 1:
            raise ValueError(f"ks must be whole numbers from 1 on, got {self.ks}.")
        if self.instances < 1:
            raise ValueError(f"instances must be at least 1, got {self.instances}.")

    @classmethod
    def full(cls) -> Self:
        """Make the paper's plan: every k, 100 instances, and no limit for a cell as a whole."""
        return cls(ks=PAPER_KS, instances=100, limits=Limits(instance=30.0))

    def jobs(self) -> list[Job]:
        """List all runs."""
        return [
            Job(name, black_box, method, k, ks)
            for name in self.sets
            for black_box in self.black_boxes
            for method in self.methods
            for k, ks in METHODS[method].asked(self.ks).items()
        ]


def _known(name: str, given: Sequence[str], known: Sequence[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown or not given:
        raise ValueError(f"{name} must name some of {list(known)}, got {unknown or list(given)}.")
