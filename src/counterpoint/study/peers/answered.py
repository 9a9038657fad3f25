"""What any peer answered to any instances and what each answer cost, and the work that leads to it."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from counterpoint.study.peers.coding import Codes
from counterpoint.study.peers.job import Job
from counterpoint.study.peers.oracle import Oracle
from counterpoint.study.peers.shift import Outcome, Shift


@dataclass(frozen=True, eq=False)
class Answered:
    """What a peer answered and what it cost, one entry an instance, in the order of X.

    Where there was a budget of time, there may be fewer entries than instances.

    Attributes
    ----------
    name, k
        As asked.
    outcomes
        What became of each instance.
    setup_seconds
        CPU time to import and set up the peer, once for all instances.
    """

    name: str
    k: int
    outcomes: Sequence[Outcome] = field(repr=False)
    setup_seconds: float

    @property
    def answers(self) -> list[Codes]:
        """At most k counterfactuals an instance as rows of codes; none where the peer found none."""
        return [each.answers for each in self.outcomes]

    @property
    def wall_seconds(self) -> list[float]:
        """Wall time for the instance: the peer's own and the model's, but not to talk to each other."""
        return [each.wall for each in self.outcomes]

    @property
    def cpu_seconds(self) -> list[float]:
        """CPU time, likewise; NaN where the peer's process did not live to tell."""
        return [each.cpu for each in self.outcomes]

    @property
    def calls(self) -> list[int]:
        """How often the peer asked the model."""
        return [each.calls for each in self.outcomes]

    @property
    def rows(self) -> list[int]:
        """About how many rows it asked the model in all."""
        return [each.rows for each in self.outcomes]

    @property
    def errors(self) -> list[str | None]:
        """Why there is no answer: the peer raised (DiCE does if it finds none), ran out of time or died."""
        return [each.error for each in self.outcomes]


def carried_out(
    job: Job, oracle: Oracle, X_train: Any, y_train: ArrayLike, X: Any, budget: float | None
) -> tuple[list[Outcome], float]:
    """Have a peer explain the instances; return what became of each, and the CPU seconds of the set-up."""
    with tempfile.TemporaryDirectory(prefix="peer-") as name_of_folder:
        folder = Path(name_of_folder)
        job.write(folder, oracle, X_train, y_train, X)
        shift = Shift(job.peer, folder, oracle, job.time_limit)
        outcomes = shift.explain(len(X), np.inf if budget is None else budget)
    return outcomes, shift.setup_seconds
