"""BCE-S by the text: a sphere that shrinks until the boundary is crossed, and a sample of the last ring."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterpoint._util.duplicates import distinct
from counterpoint.data.types import Indices, Labels, Row
from counterpoint.explainers.base import at_least
from counterpoint.explainers.paper.base import PaperExplainer, Returning
from counterpoint.explainers.sphere import Rays
from counterpoint.search.grouped import cheapest_of_each
from counterpoint.search.task import Question, Task


@dataclass
class PaperSphere(PaperExplainer):
    """Synthetic instances from the ring around x in which the decision boundary lies.

    Instances are drawn Gaussian-matched, (x + ε·N(0, I)) / √(1 + ε²) in standardised space, with a large
    radius ε that is halved until no instance flips. The last radius at which some flip and the first at which
    none does bound the ring. The k flipping instances of the ring that are closest to x are returned.

    The paper does not say how categories are drawn. Here one is replaced by that of a known instance with the
    probability 1 − 1/√(1 + ε²), the share of x that is lost at that radius.

    Parameters
    ----------
    draws
        How many instances are drawn at each radius, and from the ring; fewer for very wide rows.
    radius
        The largest ε.
    halvings
        How often the radius is halved at most.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> sphere = PaperSphere().fit(lambda rows: rows[:, 0] > 0, X)
    >>> bool((sphere.explain(np.array([-1.0, 0.0]), k=3).counterfactuals[:, 0] > 0).all())
    True
    """

    draws: int = 1000
    radius: float = 16.0
    halvings: int = 10
    seed: int = 0

    paper_name: ClassVar[str] = "BCE-S"

    def __post_init__(self) -> None:
        at_least(1, self, "draws")
        at_least(0, self, "halvings")
        if not self.radius > 0:
            raise ValueError(f"PaperSphere.radius must be positive, got {self.radius}.")

    def returned(self, task: Task) -> Returning:
        """Halve the radius until nothing flips, sample the ring, and return the closest k that flip."""
        draws = task.affordable(self.draws)
        rays = task.once(
            ("paper", draws, self.halvings), lambda: Rays.draw(task, draws * (self.halvings + 2))
        )
        lower, upper, rim = yield from self._shrunk(task, rays, draws)
        rings = np.flatnonzero(upper)
        part = np.random.default_rng([*task.stream, 1]).uniform(size=draws)
        radii = lower[rings, None] + (upper - lower)[rings, None] * part
        ring = _draw(task, rays, rings, radii.ravel(), (self.halvings + 1) * draws)
        return _closest(task, _joined(rim, _flipping(task, ring, (yield ring))))

    def _shrunk(
        self, task: Task, rays: Rays, draws: int
    ) -> Generator[Question, Labels, tuple[Row, Row, Question]]:
        """Halve the radius until nothing flips.

        Returns the first radius at which nothing flips and the last one at which something does, 0 where
        nothing ever does, and what flips at the latter: it lies on the outer rim of the ring.
        """
        lower, upper = np.zeros(len(task)), np.zeros(len(task))
        rim = Question(task.x[:0], np.empty(0, dtype=np.intp))
        going, level = np.arange(len(task)), 0
        while len(going) and level <= self.halvings:
            radius = self.radius / 2.0**level
            question = _draw(task, rays, going, np.full(len(going) * draws, radius), level * draws)
            found = _flipping(task, question, (yield question))
            crossed = np.bincount(found.instance, minlength=len(task)) > 0
            kept = ~crossed[rim.instance]
            rim = _joined(Question(rim.rows[kept], rim.instance[kept]), found)
            upper[crossed] = radius
            ended = going[~crossed[going] & (upper[going] > 0)]
            lower[ended] = radius
            going, level = np.setdiff1d(going, ended), level + 1
        return lower, upper, rim


def _draw(task: Task, rays: Rays, instances: Indices, radius: Row, start: int) -> Question:
    """Draw equally many rows around some x, each with its own radius."""
    count = len(radius) // max(1, len(instances))
    ray = np.tile(start + np.arange(count), len(instances))
    return rays.question(task, np.repeat(instances, count), radius, ray)


def _flipping(task: Task, question: Question, labels: Labels) -> Question:
    """Keep the rows that flip."""
    flips = task.flips(labels)
    return Question(question.rows[flips], question.instance[flips])


def _joined(a: Question, b: Question) -> Question:
    rows, instance = (np.concatenate(parts) for parts in zip(a, b, strict=True))
    return Question(rows, instance)


def _closest(task: Task, found: Question) -> Question:
    """Keep the k rows closest to each x, each once."""
    first, _ = distinct(found.rows, found.instance, np.arange(len(found.instance)))
    rows, instance = found.rows[first], found.instance[first]
    near = cheapest_of_each(task.distance(rows, instance), instance, task.k)
    return Question(rows[near], instance[near])
