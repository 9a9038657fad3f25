"""A surrogate-guided evolution, for decisions that hardly anything flips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier

from counterpoint.explainers.base import Explainer, at_least
from counterpoint.schema import Row, Rows
from counterpoint.task import Search, Task

# Enough known instances to learn the direction in which a decision changes.
MOST = 5000


@dataclass
class Guided(Explainer):
    """Candidates bred against a surrogate of the black box; the most promising are asked about.

    A boosted surrogate, trained on the known instances, costs far less a row than the black box. Candidates
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
    rounds
        How many rounds at most; it stops when k flip.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> rare = Guided().fit(lambda rows: (rows[:, :2] > 1).all(axis=1), X, immutable=[2])
    >>> len(rare.explain(X[0], k=5).counterfactuals)
    5
    """

    population: int = 400
    generations: int = 5
    candidates: int = 150
    rounds: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "population", "generations", "candidates", "rounds")

    def search(self, task: Task) -> Search:
        """Breed on the surrogate, ask about the best, and breed from what flips."""
        surrogate = task.once("guide", lambda: _Surrogate.fit(task))
        rng = task.rng()
        donors = task.unlike()
        relatives = donors[_alike_elsewhere(task, donors, self.population // 2)]
        parents = task.project(np.concatenate([relatives, _mixed(rng, donors, self.population)]))
        finds = asked = parents[:0]
        for _ in range(self.rounds):
            bred = self._breed(task, rng, surrogate, parents, donors)
            fresh = bred[~_among(bred, asked)][: self.candidates]
            flips = task.flips((yield fresh))
            asked = np.concatenate([asked, fresh])
            finds = np.concatenate([finds, fresh[flips]])
            if len(finds) >= task.k:
                break
            parents = finds if len(finds) else bred
        return finds[np.argsort(task.distance(finds), kind="stable")][: task.k]

    def _breed(
        self, task: Task, rng: np.random.Generator, surrogate: _Surrogate, parents: Rows, donors: Rows
    ) -> Rows:
        """Cross and mutate parents for some generations; return the last one, best first."""
        for _ in range(self.generations):
            mothers, fathers = (parents[rng.integers(len(parents), size=self.population)] for _ in range(2))
            strangers = _mixed(rng, donors, self.population)
            draw = rng.uniform(size=mothers.shape)
            children = np.where(draw < 0.5, mothers, fathers)
            children = np.where(draw > 0.85, strangers, children)
            children = np.where(draw < 0.1, task.x, children)
            everyone = np.unique(np.concatenate([parents, task.project(children)]), axis=0)
            order = np.argsort(-surrogate.score(everyone), kind="stable")
            parents = everyone[order[: self.population // 2]]
        return parents


@dataclass(frozen=True)
class _Surrogate:
    """A boosted model of which rows flip; categories are coded by how often they do."""

    model: GradientBoostingClassifier
    rates: dict[int, Row]
    median: Row

    @classmethod
    def fit(cls, task: Task) -> _Surrogate | _Blind:
        """Learn from the known instances."""
        known = task.known.sample(task.rng(), MOST)
        flips = task.flips(known.labels)
        if flips.all() or not flips.any():
            return _Blind()
        rates = {int(f): _rates(known.rows[:, f], flips) for f in known.schema.categorical}
        model = GradientBoostingClassifier(
            n_estimators=60, max_depth=4, learning_rate=0.2, subsample=0.5, random_state=task.stream[0]
        )
        surrogate = cls(model, rates, known.distance.median)
        model.fit(surrogate._coded(known.rows), flips)
        return surrogate

    def score(self, rows: Rows) -> Row:
        """Say how much rows look like flipping, higher is more."""
        return np.asarray(self.model.decision_function(self._coded(rows)))

    def _coded(self, rows: Rows) -> Rows:
        coded = np.where(np.isnan(rows), self.median, rows)
        for feature, rates in self.rates.items():
            coded[:, feature] = rates[rows[:, feature].astype(np.intp)]
        return coded


class _Blind:
    """Stands in where no known instance flips: it knows nothing."""

    def score(self, rows: Rows) -> Row:
        """Give all rows the same score."""
        return np.zeros(len(rows))


def _rates(codes: Row, flips: NDArray[np.bool_]) -> Row:
    """Find how often each category flips, drawn towards the overall rate where it is rare."""
    places = codes.astype(np.intp)
    size = int(places.max()) + 2
    counts = np.bincount(places, minlength=size)
    return np.asarray((np.bincount(places, flips, minlength=size) + 10 * flips.mean()) / (counts + 10))


def _alike_elsewhere(task: Task, rows: Rows, count: int) -> NDArray[np.intp]:
    """Find the rows that are nearest to x in what may not change: what flips them may flip x."""
    others = np.flatnonzero(~task.free)
    away = task.known.distance.from_x(rows, task.x, others)
    return np.argsort(away, kind="stable")[:count]


def _mixed(rng: np.random.Generator, rows: Rows, count: int) -> Rows:
    """Draw each value from another row."""
    places = rng.integers(len(rows), size=(count, rows.shape[1]))
    return rows[places, np.arange(rows.shape[1])]


def _among(rows: Rows, others: Rows) -> NDArray[np.bool_]:
    """Tell which rows are among others."""
    known = set(map(bytes, others))
    return np.array([bytes(row) in known for row in rows], dtype=np.bool_)
