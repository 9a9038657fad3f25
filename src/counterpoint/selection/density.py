"""The paper's selection: its density objective with absolute λ and h, by cost-scaled greedy.

Maximise |⋃ knn_C(c)| − λ Σ d(c, x) over sets S of at most k counterfactuals of C. The first term f is
monotone and submodular, the second a linear cost, so cost-scaled greedy (Nikolakaki, Ene and Terzi, 2021)
guarantees f(S) − cost(S) ≥ ½ f(T) − cost(T) for every set T of at most k. It stops where the objective stops.
"""

from __future__ import annotations

from dataclasses import dataclass

from counterpoint.data.types import Indices
from counterpoint.search.pool import Finds
from counterpoint.search.task import Task
from counterpoint.selection.greedy import cost_scaled_greedy, neighbourhoods


@dataclass(frozen=True)
class Density:
    """The paper's density objective.

    Parameters
    ----------
    lambda_
        The paper's λ: the cost of one unit of distance, in counterfactuals covered.
    h
        The paper's h: how many members of C a choice covers, itself included. None for as many as are wanted.

    Examples
    --------
    >>> Density(lambda_=0.5, h=5)
    Density(lambda_=0.5, h=5)
    """

    lambda_: float
    h: int | None

    def select(self, task: Task, finds: Finds) -> list[Indices]:
        """Choose at most k finds for each instance, with the distance of the task; returns their indices."""
        cost = self.lambda_ * task.distance(finds.rows, finds.instance)
        embedded = task.known.distance.embed(finds.rows)
        chosen = []
        for instance in range(len(task)):
            indices = finds.indices(instance)
            mine = embedded.take(indices)
            away = task.known.distance.measure(mine, mine)
            covers = neighbourhoods(away, self.h or task.k)
            (picks,) = cost_scaled_greedy(covers[None], cost[None, indices], task.k)
            chosen.append(indices[picks[picks >= 0]])
        return chosen
