"""The steps from the paper's method to ours, each with the draws of the one before it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import counterpoint as cp
from counterpoint.data.types import Indices
from counterpoint.explainers.paper import PaperEnsemble
from counterpoint.search.pool import Asking, Finds, Pool


@dataclass
class WholePool(PaperEnsemble):
    """The paper's method, selecting from every row that flips, not only from what base explainers return."""

    def gather(self, task: cp.Task, pool: Pool) -> Asking:
        """Call the base explainers, and keep all that flips."""
        for member in self.members_:
            pool.add(member.returned(task), member.name)
        yield from pool.finish()


@dataclass
class OwnSelection(WholePool):
    """The same pool, with our selection in the place of the paper's."""

    selection: cp.Selection = cp.BALANCED

    def choose(self, task: cp.Task, finds: Finds) -> list[Indices]:
        """Select k of the pool for each instance."""
        return self.selection.select(task, finds, task.k)


@dataclass
class Polished(OwnSelection):
    """The same, with the most promising finds polished as our ensemble does."""

    ensemble: cp.Ensemble = field(default_factory=cp.Ensemble)

    def gather(self, task: cp.Task, pool: Pool) -> Asking:
        """Call the base explainers, and polish what looks best."""
        yield from super().gather(task, pool)
        self.ensemble._polish(task, pool, np.arange(len(task)))
        yield from pool.finish()
