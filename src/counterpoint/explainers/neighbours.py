"""BCE-N: the nearest known instances that the black box decides differently."""

from __future__ import annotations

from dataclasses import dataclass

from counterpoint.explainers.base import Explainer, at_least
from counterpoint.search.task import Search, Task


@dataclass
class Neighbours(Explainer):
    """Nearest known instances that the black box decides differently.

    What may not change is put back to x's value, so validity is checked again.

    Parameters
    ----------
    candidates
        How many neighbours are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [8.0, 1.0], [9.0, 1.0]])
    >>> Neighbours().fit(lambda rows: rows[:, 0] > 5, X).explain(X[0], k=1).counterfactuals
    array([[8., 1.]])
    """

    candidates: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "candidates")

    def search(self, task: Task) -> Search:
        """Ask about the nearest unlike instances."""
        yield task.project(*task.nearest_unlike(task.affordable(self.candidates, least=4 * task.k)))
