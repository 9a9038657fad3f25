"""BCE-B by the text: variations nearest first, until k flip, each refined by bisecting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterpoint.data.types import Rows
from counterpoint.explainers.base import at_least
from counterpoint.explainers.brute_force import BruteForce
from counterpoint.explainers.paper.base import PaperExplainer, Returning
from counterpoint.search.grouped import first_of_each
from counterpoint.search.polish import shrink
from counterpoint.search.task import Question, Task

# The most variations that are tried per instance, the nearest; fewer where rows are very wide.
MOST = 10_000


@dataclass
class PaperBruteForce(PaperExplainer):
    """All variations of x in at most n features, by the centres of r bins; the nearest k that flip, refined.

    Parameters
    ----------
    n
        The paper's n: how many features are varied together.
    r
        The paper's r: bins per feature, over the known instances that are decided differently.
    refine
        Rounds of bisecting; each divides the interval between x and the variation by eight.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [8.0, 1.0], [9.0, 1.0]])
    >>> explainer = PaperBruteForce().fit(lambda rows: rows[:, 0] > 5, X)
    >>> explainer.explain(X[0], k=1).counterfactuals.round(1)
    array([[5.1, 5. ]])
    """

    n: int = 1
    r: int = 10
    refine: int = 2
    seed: int = 0

    paper_name: ClassVar[str] = "BCE-B"
    changes_one_by_one: ClassVar[bool] = True

    def __post_init__(self) -> None:
        at_least(1, self, "n", "r")
        at_least(0, self, "refine")

    def returned(self, task: Task) -> Returning:
        """Ask about all variations, and return the nearest k that flip, moved towards x.

        All are asked about at once, as rows cost less than rounds: the nearest k are the same as if they were
        asked about one after the other until k flip.
        """
        question = task.question(self._ranked(task))
        flips = task.flips((yield question))
        rows, instance = question.rows[flips], question.instance[flips]
        first = first_of_each(instance, task.k)
        rows, instance = rows[first], instance[first]
        return Question((yield from shrink(task, rows, instance, self.refine)), instance)

    def _ranked(self, task: Task) -> list[Rows]:
        """Make the variations of each x, ranked by their distance, which need not be a sum over features."""
        variations = BruteForce(self.n, self.r, MOST).variations(task)
        ranked = []
        for instance, rows in enumerate(variations):
            away = task.distance(rows, np.full(len(rows), instance))
            ranked.append(rows[np.argsort(away, kind="stable")])
        return ranked
