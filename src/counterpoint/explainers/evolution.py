"""A surrogate-guided evolution, for decisions that hardly anything flips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoint.engine import Lockstep
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.schema import Row, Rows
from counterpoint.surrogate import Surrogate
from counterpoint.task import Question, Search, Task, nearest

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
        # Every instance is bred with the same draws, so that none depends on the others.
        searches = Lockstep()
        for instance in range(len(task)):
            searches.add(self._evolve(task.only(np.array([instance])), instance))
        while (question := searches.question()) is not None:
            searches.answer((yield question))

    def _evolve(self, task: Task, instance: int) -> Search:
        """Search for one instance."""
        nursery = _Nursery(task, Surrogate.of(task), task.rng(), task.unlike(), self.islands, self.population)
        parents, enough = nursery.founders(), np.inf
        finds, left = task.x[:0], self.rounds
        while left > 0:
            for _ in range(self.generations):
                parents = nursery.next_generation(parents, enough)
            best = parents[:, : -(-self.candidates // self.islands)].reshape(-1, task.x.shape[1])
            flips = task.flips((yield Question(best, np.full(len(best), instance))))
            left -= 1
            if flips.any() and not len(finds):
                left = min(left, NEARER)
            finds = nursery.nearest_distinct(np.concatenate([finds, best[flips]]))
            if len(finds):
                enough = float(np.quantile(nursery.surrogate.score(finds), 0.1))
                parents = np.repeat(finds[None], self.islands, axis=0)


@dataclass(frozen=True)
class _Nursery:
    """Breeds candidates for one x, on several islands at once: island × candidate × feature."""

    task: Task
    surrogate: Surrogate
    rng: np.random.Generator
    donors: Rows
    islands: int
    population: int

    def founders(self) -> Rows:
        """Start from what the instances most like x in immutable features have, and from mixed values."""
        # What flips those may flip x.
        distance = self.task.known.distance.over(np.flatnonzero(~self.task.free))
        away = distance.measure(distance.embed(self.task.x), distance.embed(self.donors))
        relatives = self.donors[nearest(away, self.population)[0]]
        rows = self._project(np.concatenate([relatives, self._mixed(self.population)]))
        return np.repeat(rows[None], self.islands, axis=0)

    def next_generation(self, parents: Rows, enough: float) -> Rows:
        """Cross and mutate parents, and keep the best, best first.

        The best are those with the highest score; among those that score enough, the nearest to x.
        """
        everyone = np.concatenate([parents, self._children(parents)], axis=1)
        flat = everyone.reshape(-1, everyone.shape[2])
        score = np.minimum(self.surrogate.score(flat), enough).reshape(everyone.shape[:2])
        away = self._away(flat).reshape(everyone.shape[:2])
        order = np.lexsort([away, -score], axis=1)
        # A copy of a better candidate (same score and distance) goes to the end.
        score, away = np.take_along_axis(score, order, 1), np.take_along_axis(away, order, 1)
        copy = np.zeros(score.shape, dtype=np.bool_)
        copy[:, 1:] = (score[:, 1:] == score[:, :-1]) & (away[:, 1:] == away[:, :-1])
        order = np.take_along_axis(order, np.argsort(copy, axis=1, kind="stable"), 1)
        return np.asarray(np.take_along_axis(everyone, order[:, : self.population, None], 1))

    def nearest_distinct(self, rows: Rows) -> Rows:
        """Keep the nearest rows, each once."""
        rows = np.unique(rows, axis=0)
        return rows[np.argsort(self._away(rows), kind="stable")][: self.population]

    def _children(self, parents: Rows) -> Rows:
        """Take each value from one parent or the other, at times from a stranger, at times from x."""
        shape = (self.islands, self.population)
        island = np.arange(self.islands)[:, None]
        mothers, fathers = (parents[island, self.rng.integers(parents.shape[1], size=shape)] for _ in range(2))
        strangers = self._mixed(self.islands * self.population).reshape(mothers.shape)
        draw = self.rng.uniform(size=mothers.shape)
        children = np.where(draw < 0.5, mothers, fathers)
        children = np.where(draw > 0.85, strangers, children)
        children = np.where(draw < 0.15, self.task.x, children)
        return self._project(children.reshape(-1, mothers.shape[2])).reshape(mothers.shape)

    def _mixed(self, count: int) -> Rows:
        """Draw each value from another donor."""
        places = self.rng.integers(len(self.donors), size=(count, self.donors.shape[1]))
        return self.donors[places, np.arange(self.donors.shape[1])]

    def _project(self, rows: Rows) -> Rows:
        return self.task.project(rows, np.zeros(len(rows), dtype=np.intp)).rows

    def _away(self, rows: Rows) -> Row:
        return self.task.distance(rows, np.zeros(len(rows), dtype=np.intp))
