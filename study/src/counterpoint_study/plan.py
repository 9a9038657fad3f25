"""What a study runs: data sets × black boxes × methods × k × instances, within limits of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from counterpoint_study.methods.base import Limits
from counterpoint_study.topics import TOPICS, Topic


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
    """All that a study is about. `Plan.small` is small and complete, `Plan.full` has the paper's size.

    Parameters
    ----------
    topic
        ``"tables"``, ``"images"`` or ``"series"``.
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
    share
        The share of the known instances that methods are given, on tables; measures use all of them.
    refits
        How often each black box is trained again, to measure survival, on tables; 0 to leave it out.

    Examples
    --------
    >>> from dataclasses import replace
    >>> plan = replace(Plan.small("tables"), sets=("german",), black_boxes=("forest",), ks=(1, 5))
    >>> [str(job) for job in replace(plan, methods=("Counterpoint", "NICE")).jobs()]
    ['german forest Counterpoint k=1', 'german forest Counterpoint k=5', 'german forest NICE k=1']
    """

    topic: str
    sets: tuple[str, ...]
    black_boxes: tuple[str, ...]
    methods: tuple[str, ...]
    ks: tuple[int, ...]
    instances: int
    limits: Limits
    seed: int = 0
    share: float = 1.0
    refits: int = 0

    def __post_init__(self) -> None:
        _known("topic", (self.topic,), tuple(TOPICS))
        _known("sets", self.sets, self.about.sets)
        _known("black_boxes", self.black_boxes, self.about.black_boxes)
        _known("methods", self.methods, tuple(self.about.methods))
        if not self.ks or min(self.ks) < 1:
            raise ValueError(f"ks must be whole numbers from 1 on, got {self.ks}.")
        if self.instances < 1:
            raise ValueError(f"instances must be at least 1, got {self.instances}.")
        if not 0 < self.share <= 1 or (self.share < 1 and self.topic != "tables"):
            raise ValueError(f"share must be in (0, 1], and 1 for images and series, got {self.share}.")
        if self.refits < 0 or (self.refits and not self.about.refits):
            raise ValueError(f"refits must be at least 0, and 0 for images and series, got {self.refits}.")

    @classmethod
    def small(cls, topic: str) -> Self:
        """Make a plan of everyone on everything, with a few instances and k, and little time a cell."""
        about = TOPICS[topic]
        return cls._of(about, about.ks, about.instances, about.limits)

    @classmethod
    def full(cls, topic: str) -> Self:
        """Make the paper's plan: every k, 100 instances, and no limit for a cell as a whole."""
        about = TOPICS[topic]
        return cls._of(about, about.full_ks, 100, about.full_limits)

    @classmethod
    def _of(cls, about: Topic, ks: tuple[int, ...], instances: int, limits: Limits) -> Self:
        methods, refits = tuple(about.methods), about.refits
        return cls(about.name, about.sets, about.black_boxes, methods, ks, instances, limits, refits=refits)

    @property
    def about(self) -> Topic:
        """What is studied."""
        return TOPICS[self.topic]

    def jobs(self) -> list[Job]:
        """List all runs."""
        return [
            Job(name, black_box, method, k, ks)
            for name in self.sets
            for black_box in self.black_boxes
            for method in self.methods
            for k, ks in self.about.methods[method].asked(self.ks).items()
        ]


def _known(name: str, given: Sequence[str], known: Sequence[str]) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown or not given:
        raise ValueError(f"{name} must name some of {list(known)}, got {unknown or list(given)}.")
