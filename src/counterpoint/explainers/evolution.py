"""A surrogate-guided evolution, for decisions that hardly anything flips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint.explainers.base import Explainer, at_least
from counterpoint.schema import Rows
from counterpoint.surrogate import Surrogate
from counterpoint.task import Search, Task

# Rounds spent on coming nearer to x, once something flips.
NEARER = 3


@dataclass
class Evolution(Explainer):
    """Candidates bred against a surrogate of the black box; the most promising are asked about.

    A surrogate, learned on the known instances, costs far less a row than the black box. Candidates
    take their values from instances decided differently; each generation keeps those to which the surrogate
    gives the highest score, and crosses and mutates them. The black box is asked about the best of the last
    generation. Once some flip, they are the parents. It finds counterfactuals where one random candidate in a
    thousand flips, which is what the ensemble needs where its other voices find too few.

    Parameters
    ----------
    population
        Candidates a generation.
    generations
        Generations bred on the surrogate between two questions to the black box.
    candidates
        How many the black box is asked about a round.
    islands
        Populations bred apart, so that not all end in the same corner.
    rounds
        How many times the black box is asked at most; after the first flip only three times more.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> rare = Evolution().fit(lambda rows: (rows[:, :2] > 1).all(axis=1), X, immutable=[2])
    >>> len(rare.explain(X[0], k=5).counterfactuals)
    5
    """

    population: int = 100
    generations: int = 3
    islands: int = 8
    candidates: int = 300
    rounds: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "population", "generations", "islands", "candidates", "rounds")

    def search(self, task: Task) -> Search:
        """Breed on the surrogate, ask about the best, and breed from what flips, ever nearer to x."""
        nursery = _Nursery(task, Surrogate.of(task), task.rng(), task.unlike(), self.islands, self.population)
        parents, enough = nursery.founders(), np.inf
        finds, left = task.x[None][:0], self.rounds
        while left > 0:
            for _ in range(self.generations):
                parents = nursery.next_generation(parents, enough)
            best = parents[:, : -(-self.candidates // self.islands)].reshape(-1, len(task.x))
            flips = task.flips((yield best))
            left -= 1
            if flips.any() and not len(finds):
                left = min(left, NEARER)
            finds = _nearest_distinct(task, np.concatenate([finds, best[flips]]), self.population)
            if len(finds):
                enough = float(np.quantile(nursery.surrogate.score(finds), 0.1))
                parents = np.repeat(finds[None], self.islands, axis=0)
        return finds[: task.k]


@dataclass(frozen=True)
class _Nursery:
    """Breeds candidates on several islands at once; a generation is an array island × candidate × feature."""

    task: Task
    surrogate: Surrogate
    rng: np.random.Generator
    donors: Rows
    islands: int
    population: int

    def founders(self) -> Rows:
        """Start from what the instances most like x in immutable features have, and from mixed values."""
        relatives = self.donors[_alike_elsewhere(self.task, self.donors, self.population)]
        rows = self.task.project(np.concatenate([relatives, self._mixed(self.population)]))
        return np.repeat(rows[None], self.islands, axis=0)

    def next_generation(self, parents: Rows, enough: float) -> Rows:
        """Cross and mutate parents, and keep the best, best first.

        The best are those with the highest score; among those that score enough, the nearest to x.
        """
        shape = (self.islands, self.population)
        island = np.arange(self.islands)[:, None]
        mothers, fathers = (parents[island, self.rng.integers(parents.shape[1], size=shape)] for _ in range(2))
        strangers = self._mixed(self.islands * self.population).reshape(mothers.shape)
        draw = self.rng.uniform(size=mothers.shape)
        children = np.where(draw < 0.5, mothers, fathers)
        children = np.where(draw > 0.85, strangers, children)
        children = np.where(draw < 0.15, self.task.x, children)
        children = self.task.project(children.reshape(-1, mothers.shape[2])).reshape(mothers.shape)
        everyone = np.concatenate([parents, children], axis=1)
        flat = everyone.reshape(-1, everyone.shape[2])
        score = np.minimum(self.surrogate.score(flat), enough).reshape(everyone.shape[:2])
        away = self.task.distance(flat).reshape(everyone.shape[:2])
        # A copy of a better candidate (same score and distance) goes to the end.
        order = np.lexsort([away, -score], axis=1)
        score, away = np.take_along_axis(score, order, 1), np.take_along_axis(away, order, 1)
        copy = np.zeros(score.shape, dtype=np.bool_)
        copy[:, 1:] = (score[:, 1:] == score[:, :-1]) & (away[:, 1:] == away[:, :-1])
        order = np.take_along_axis(order, np.argsort(copy, axis=1, kind="stable"), 1)
        return everyone[island, order[:, : self.population]]

    def _mixed(self, count: int) -> Rows:
        """Draw each value from another donor."""
        places = self.rng.integers(len(self.donors), size=(count, self.donors.shape[1]))
        return self.donors[places, np.arange(self.donors.shape[1])]


def _nearest_distinct(task: Task, rows: Rows, count: int) -> Rows:
    """Keep the nearest rows, each once."""
    rows = np.unique(rows, axis=0)
    return rows[np.argsort(task.distance(rows), kind="stable")][:count]


def _alike_elsewhere(task: Task, rows: Rows, count: int) -> NDArray[np.intp]:
    """Find the rows that are nearest to x in what may not change: what flips them may flip x."""
    others = np.flatnonzero(~task.free)
    away = task.known.distance.from_x(rows, task.x, others)
    return np.argsort(away, kind="stable")[:count]
