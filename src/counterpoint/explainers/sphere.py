"""BCE-S: a sphere of synthetic instances around x, shrunk until it meets the decision boundary."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.row_blocks import in_blocks
from counterpoint.data.distance import units
from counterpoint.data.types import Indices, Row, Rows
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.search.task import Question, Search, Task


@dataclass
class Sphere(Explainer):
    """Synthetic instances in all directions, as near as the decision boundary lets them.

    Draws are Gaussian-matched: (x + ε·N(0, 1)) / √(1 + ε²) in standardised space, so that a large radius
    leads to the population and not to nowhere. A category switches to one drawn from the known instances
    when the radius passes the direction's own threshold, so along a direction categories switch one by one
    and are never broken. Ordered categories move by their ranks, as numbers do. The radius starts at `radius`
    and is divided until the boundary is crossed; then the ring between the last radius that flips and the
    first that does not is halved, in each direction.

    Parameters
    ----------
    directions
        How many directions are drawn, fewer for very wide rows; they are the same for every x.
    radius
        The largest ε.
    rounds
        How often the ring is halved.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> sphere = Sphere(seed=1).fit(lambda rows: rows[:, 0] > 0, X)
    >>> bool((sphere.explain(np.array([-1.0, 0.0]), k=3).counterfactuals[:, 0] > 0).all())
    True
    """

    directions: int = 100
    radius: float = 4.0
    rounds: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "directions")
        at_least(0, self, "rounds")
        if not self.radius > 0:
            raise ValueError(f"Sphere.radius must be positive, got {self.radius}.")

    def search(self, task: Task) -> Search:
        """Ask at falling radii in all directions, then halve the ring in each that crosses the boundary."""
        directions = task.affordable(self.directions)
        rays = task.learned(("rays", directions), lambda: Rays.draw(task, directions))
        levels = self.radius / 4.0 ** np.arange(3)[::-1]
        instance = np.repeat(np.arange(len(task)), directions)
        ray = np.tile(np.arange(directions), len(task))
        flips = task.flips(
            (
                yield rays.question(
                    task, np.tile(instance, 3), np.repeat(levels, len(instance)), np.tile(ray, 3)
                )
            )
        )
        flips = flips.reshape(3, -1)
        crossed = np.flatnonzero(flips.any(axis=0))
        instance, ray, first = instance[crossed], ray[crossed], flips.argmax(axis=0)[crossed]
        outer = levels[first]
        inner = np.where(first > 0, levels[first - 1], levels[0] / 4)
        for _ in range(self.rounds):
            middle = np.sqrt(inner * outer)
            nearer = task.flips((yield rays.question(task, instance, middle, ray)))
            inner, outer = np.where(nearer, inner, middle), np.where(nearer, middle, outer)


@dataclass(frozen=True)
class Rays:
    """Directions drawn once: Gaussian steps, categories to switch to, and when."""

    centre: Row
    spread: Row
    steps: Rows
    categories: Rows
    thresholds: Rows
    is_category: NDArray[np.bool_]

    @classmethod
    def draw(cls, task: Task, count: int) -> Rays:
        """Draw directions from the task's random stream."""
        rng, known = task.rng(), task.rules.ranks(task.known.rows)
        # A sample may lack every value of a feature; the median of all known instances stands in.
        finite = np.isfinite(known)  # what may not change can be infinite
        known = np.where(finite, known, np.where(finite.any(axis=0), np.nan, task.known.distance.median))
        shape = (count, known.shape[1])
        unit = units(known)
        spread = np.nanstd(known / unit, axis=0)
        return cls(
            centre=np.nanmean(known / unit, axis=0) * unit,
            spread=np.where(spread > 0, spread, 1.0) * unit,
            steps=rng.normal(size=shape),
            categories=known[rng.integers(len(known), size=shape), np.arange(known.shape[1])],
            thresholds=rng.uniform(size=shape),
            is_category=task.is_category,
        )

    def question(self, task: Task, instance: Indices, radius: Row, ray: Indices) -> Question:
        """Ask about the places so far along a direction from each x."""
        free = np.flatnonzero(task.free)  # the other features stay as they are
        # A missing number has no place to start from: it starts at the centre.
        start = np.nan_to_num((task.rules.ranks(task.x) - self.centre) / self.spread)[:, free]
        along = replace(self, **{name: getattr(self, name)[..., free] for name in vars(self)})

        def rows(instance: Indices, radius: Row, ray: Indices) -> Rows:
            result = task.x[instance]
            result[:, free] = along._at(result[:, free], start[instance], radius, ray)
            return task.project(result, instance).rows

        return Question(in_blocks(task.x.shape[1], rows, instance, radius, ray), instance)

    def _at(self, x: Rows, start: Rows, radius: Row, ray: Indices) -> Rows:
        """Go from each x, standardised as `start`, so far along a direction."""
        away = radius[:, None]
        kept = 1 / np.sqrt(1 + away**2)
        numbers = (start + away * self.steps[ray]) * kept * self.spread + self.centre
        switched = np.where(self.thresholds[ray] < 1 - kept, self.categories[ray], x)
        return np.where(self.is_category, switched, numbers)
