"""An evolution guided by a surrogate, for decisions that are hard to flip."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpoint._util.duplicates import distinct
from counterpoint.data.types import Indices, Row, Rows
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.search.grouped import cheapest_of_each, nearest
from counterpoint.search.surrogate import Surrogate
from counterpoint.search.task import Question, Search, Task

# Rounds spent on moving closer to x, once something flips.
NEARER = 2


@dataclass
class Evolution(Explainer):
    """Candidates bred against a surrogate of the black box; the most promising are tried.

    A surrogate, learned on the known instances, costs much less per row than the black box. Candidates take
    their values from instances decided differently. Each generation keeps the candidates with the highest
    surrogate score, and crosses and mutates them. The black box is asked about the best of the last
    generation. Once some flip, they become the parents. This finds counterfactuals where one random candidate
    in a thousand flips, which is what the ensemble needs where its other voices find too few.

    Parameters
    ----------
    population
        Candidates per generation.
    generations
        Generations bred on the surrogate between two questions to the black box.
    candidates
        How many candidates are tried per round.
    islands
        Populations bred separately, so that they do not all end in the same corner.
    rounds
        The most rounds; after the first flip only two more.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> rare = Evolution().fit(lambda rows: (rows[:, :2] > 1).all(axis=1), X, immutable=[2])
    >>> len(rare.explain(X[0], k=5).counterfactuals)
    5
    """

    population: int = 75
    generations: int = 3
    islands: int = 4
    candidates: int = 300
    rounds: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "population", "generations", "islands", "candidates", "rounds")

    def search(self, task: Task) -> Search:
        """Breed on the surrogate, try the best, and breed from what flips, closer and closer to x."""
        donors = task.known.rows[task.unlike()]
        breeder = _Breeder(task, Surrogate.of(task), task.rng(), donors, self.islands, self.population)
        parents, enough = breeder.founders(), np.full(len(task), np.inf)
        finds, left = Question(task.x[:0], np.empty(0, dtype=np.intp)), np.full(len(task), self.rounds)
        while (left > 0).any():
            for _ in range(self.generations):
                parents = breeder.next_generation(parents, enough)
            rows, instance = self._best(parents.rows, np.flatnonzero(left > 0))
            flips = task.flips((yield Question(rows, instance)))
            left -= 1
            flipped = np.setdiff1d(instance[flips], finds.instance)
            left[flipped] = np.minimum(left[flipped], NEARER)
            finds = breeder.nearest_distinct(
                np.concatenate([finds.rows, rows[flips]]), np.concatenate([finds.instance, instance[flips]])
            )
            breeder.restart(parents.rows, enough, finds)
            parents = breeder.judged(parents.rows)

    def _best(self, parents: Rows, instances: Indices) -> Question:
        """Take the best of each island."""
        best = parents[instances, :, : -(-self.candidates // self.islands)].reshape(-1, parents.shape[3])
        return Question(best, np.repeat(instances, len(best) // len(instances)))


class _Generation(NamedTuple):
    """Candidates, instance × island × candidate × feature, with their scores and distances from x."""

    rows: Rows
    score: Rows
    away: Rows

    def joined(self, other: _Generation) -> _Generation:
        """Put two generations together."""
        return _Generation(*(np.concatenate(pair, axis=2) for pair in zip(self, other, strict=True)))

    def take(self, order: Indices) -> _Generation:
        """Keep some of each island, in an order."""
        rows = np.take_along_axis(self.rows, order[..., None], 2)
        return _Generation(rows, *(np.take_along_axis(each, order, 2) for each in self[1:]))


@dataclass(frozen=True)
class _Breeder:
    """Breeds candidates on several islands at once.

    Every instance is bred with the same draws, so that none depends on the others.
    """

    task: Task
    surrogate: Surrogate
    rng: np.random.Generator
    donors: Rows
    islands: int
    population: int

    def founders(self) -> _Generation:
        """Start from what the instances most like x in immutable features have, and from mixed values."""
        # What flips those may flip x.
        distance = self.task.known.distance.over(np.flatnonzero(~self.task.free))
        away = distance.measure(distance.embed(self.task.x), distance.embed(self.donors))
        relatives = self.donors[nearest(away, self.population // 2)]
        mixed = np.repeat(self._mixed((self.population,))[None], len(self.task), axis=0)
        rows = self._projected(np.concatenate([relatives, mixed], axis=1)[:, None, : self.population])
        return self.judged(np.repeat(rows, self.islands, axis=1))

    def judged(self, rows: Rows) -> _Generation:
        """Score candidates and measure their distances."""
        away = self.task.distance(*self._flat(rows)).reshape(rows.shape[:3])
        return _Generation(rows, self.surrogate.score(rows), away)

    def next_generation(self, parents: _Generation, enough: Row) -> _Generation:
        """Cross and mutate parents, and keep the best, best first.

        The best are those with the highest score; among those that score enough, the nearest to x.
        """
        everyone = parents.joined(self.judged(self._children(parents.rows)))
        score = np.minimum(everyone.score, enough[:, None, None])
        order = np.lexsort([everyone.away, -score], axis=2)
        # A copy of a better candidate (same score and distance) goes to the end.
        score, away = np.take_along_axis(score, order, 2), np.take_along_axis(everyone.away, order, 2)
        copy = np.zeros(score.shape, dtype=np.bool_)
        copy[..., 1:] = (score[..., 1:] == score[..., :-1]) & (away[..., 1:] == away[..., :-1])
        order = np.take_along_axis(order, np.argsort(copy, axis=2, kind="stable"), 2)
        return everyone.take(order[..., : self.population])

    def nearest_distinct(self, rows: Rows, instance: Indices) -> Question:
        """Keep the nearest rows of each instance, each once."""
        first, _ = distinct(rows, instance, np.arange(len(instance)))
        near = first[
            cheapest_of_each(
                self.task.distance(rows[first], instance[first]), instance[first], self.population
            )
        ]
        return Question(rows[near], instance[near])

    def restart(self, parents: Rows, enough: Row, finds: Question) -> None:
        """Make what flips the parents on all islands, and the score of its least tenth enough."""
        instances, starts, counts = np.unique(finds.instance, return_index=True, return_counts=True)
        cyclic = np.arange(self.islands * parents.shape[2]) % counts[:, None]
        parents[instances] = finds.rows[starts[:, None] + cyclic].reshape(-1, *parents.shape[1:])
        score = self.surrogate.score(finds.rows)
        enough[instances] = score[np.lexsort([score, finds.instance])][starts + (counts - 1) // 10]

    def _children(self, parents: Rows) -> Rows:
        """Take each value from one parent or the other, at times from a stranger, at times from x."""
        shape = (self.islands, self.population)
        island = np.arange(self.islands)[:, None]
        mother, father = (self.rng.integers(parents.shape[2], size=shape) for _ in range(2))
        draw = self.rng.uniform(size=(*shape, parents.shape[3]))
        children = np.where(draw < 0.5, parents[:, island, mother], parents[:, island, father])
        children = np.where(draw > 0.85, self._mixed(shape), children)
        children = np.where(draw < 0.15, self.task.x[:, None, None], children)
        return self._projected(children)

    def _mixed(self, shape: tuple[int, ...]) -> Rows:
        """Draw each value from another donor."""
        places = self.rng.integers(len(self.donors), size=(*shape, self.donors.shape[1]))
        return np.asarray(self.donors[places, np.arange(self.donors.shape[1])])

    def _projected(self, rows: Rows) -> Rows:
        return self.task.project(*self._flat(rows)).rows.reshape(rows.shape)

    def _flat(self, rows: Rows) -> Question:
        each = int(np.prod(rows.shape[1:-1]))
        return Question(rows.reshape(-1, rows.shape[-1]), np.repeat(np.arange(len(rows)), each))
