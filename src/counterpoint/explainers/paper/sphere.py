"""BCE-S by the text: a sphere that shrinks until the boundary is crossed, and a sample of the last ring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterpoint._util.duplicates import distinct
from counterpoint.data.types import Indices, Labels, Mask, Row
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
        """Halve the radius until nothing flips, sample the ring, and return the closest k that flip.

        The ring of an instance is sampled as soon as it is known, so that what is asked for one instance, and
        when, does not depend on the others.
        """
        draws = task.affordable(self.draws)
        rays = task.once(
            ("paper", draws, self.halvings), lambda: Rays.draw(task, draws * (self.halvings + 2))
        )
        rim = found = Question(task.x[:0], np.empty(0, dtype=np.intp))
        upper, going = np.zeros(len(task)), np.arange(len(task))
        bounded = going[:0]  # the instances whose rings are sampled in this round
        for level in range(self.halvings + 2):
            radius = self.radius / 2.0**level
            going = going if level <= self.halvings else going[:0]
            sphere = _draw(task, rays, going, np.full(len(going) * draws, radius), level * draws)
            ring = self._ring(task, rays, bounded, upper[bounded], draws)
            labels = yield _joined(sphere, ring)
            flipping = _flipping(task, sphere, labels[: len(sphere.instance)])
            found = _joined(found, _flipping(task, ring, labels[len(sphere.instance) :]))
            crossed = np.bincount(flipping.instance, minlength=len(task)) > 0
            rim = _joined(_about(rim, ~crossed), flipping)  # what flips at the last radius that does
            upper[crossed] = radius
            is_bounded = (upper > 0) & (~crossed | (level == self.halvings))
            bounded, going = going[is_bounded[going]], going[~is_bounded[going]]
        return _closest(task, _joined(rim, found))

    def _ring(self, task: Task, rays: Rays, instances: Indices, upper: Row, draws: int) -> Question:
        """Draw from the rings of some instances: between the last radius that flips and half of it."""
        part = np.random.default_rng([*task.stream, 1]).uniform(0.5, 1.0, size=draws)
        radii = upper[:, None] * part
        return _draw(task, rays, instances, radii.ravel(), (self.halvings + 1) * draws)


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


def _about(found: Question, those: Mask) -> Question:
    """Keep the rows of some instances."""
    kept = those[found.instance]
    return Question(found.rows[kept], found.instance[kept])


def _closest(task: Task, found: Question) -> Question:
    """Keep the k rows closest to each x, each once."""
    first, _ = distinct(found.rows, found.instance, np.arange(len(found.instance)))
    rows, instance = found.rows[first], found.instance[first]
    near = cheapest_of_each(task.distance(rows, instance), instance, task.k)
    return Question(rows[near], instance[near])
