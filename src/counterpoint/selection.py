"""S: picks k counterfactuals out of many, close to x and different from each other.

The paper's density objective: maximise |⋃ knn_C(c)| − λ Σ d(c, x) over at most k chosen c. The first term is
monotone and submodular, the second a linear cost, so cost-scaled greedy (Nikolakaki, Ene and Terzi, 2021)
keeps f(S) − c(S) ≥ ½ f(OPT) − c(OPT). Plausibility and the number of changes are prices of each single
counterfactual too, so they join the cost and the guarantee stays. Redundancy and dispersion are prices and
values between counterfactuals; with them the guarantee is for the rest of the objective only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from counterpoint.bounds import Mask
from counterpoint.distances import changed
from counterpoint.pool import Finds
from counterpoint.schema import Row, Rows
from counterpoint.task import Places, Task, nearest

# Plausibility is measured against the known instances around x: so many, out of a sample of so many.
NEAR = 100
REFERENCE = 5_000

# Where more features than this change on average, as among pixels, each is worth less.
MANY = 8


@dataclass(frozen=True)
class Selection:
    """What a good set of counterfactuals is.

    Benefits and costs are in one currency: covering one whole neighbourhood that no other choice covers is
    worth 1.

    Parameters
    ----------
    distance
        The paper's λ: the price of being as far from x as the pool is on average.
    implausibility
        The price of being as far from the nearest known instance as the pool is on average.
    changes
        The price of each changed feature; where the pool changes more than eight on average, it is so much
        less that this average costs as much as eight.
    redundancy
        The price of lying behind another choice, or before it: the same changes taken further, or further
        changes added. It makes each answer an action of its own.
    dispersion
        The value of being as far from the other choices as the members of the pool are from each other on
        average, and again of differing from them in as many features as the pool does from x. It makes
        answers as different as can be, however far they are from x.
    neighbours
        The paper's h: how many of the pool a choice covers. None for the size of the pool over k, which makes
        covering mean diversity however large the pool is.
    fill
        Go on by the same marginal gain until k are chosen, though the objective would stop before.
    most
        At most so many of the pool are looked at, the cheapest ones.

    Examples
    --------
    >>> Selection(distance=2.0).distance
    2.0
    """

    distance: float = 0.8
    implausibility: float = 1.5
    changes: float = 0.4
    redundancy: float = 0.3
    dispersion: float = 0.4
    neighbours: int | None = None
    fill: bool = True
    most: int = 120

    def __post_init__(self) -> None:
        for name in ("distance", "implausibility", "changes", "redundancy", "dispersion"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"Selection.{name} must be at least 0, got {getattr(self, name)}.")
        if self.most < 1 or (self.neighbours is not None and self.neighbours < 1):
            raise ValueError("Selection.most and Selection.neighbours must be at least 1.")

    def select(self, task: Task, finds: Finds, k: int) -> list[Places]:
        """Choose at most k of the finds of each instance; gives their places."""
        cost = self.costs(task, finds)
        return [self._choose(task, i, finds.rows, cost, finds.places(i), k) for i in range(len(task))]

    def costs(self, task: Task, finds: Finds) -> Row:
        """Price each find: distance, implausibility and number of changes."""
        rows, of = finds.rows, finds.of
        counts = task.changed(rows, of).sum(axis=1)
        cost = self.changes * np.minimum(counts, MANY * _relative(counts, of))
        cost = cost + self.distance * _relative(task.distance(rows, of), of)
        if self.implausibility:
            cost += self.implausibility * _relative(implausibility(task, finds), of)
        return np.asarray(cost)

    def _choose(self, task: Task, instance: int, rows: Rows, cost: Row, places: Places, k: int) -> Places:
        """Choose for one instance."""
        most = max(self.most, k)
        if len(places) > most:
            places = places[np.argsort(cost[places], kind="stable")[:most]]
        if len(places) <= 1:
            return places
        rows = rows[places]
        distance = task.known.distance
        embedded = distance.embed(rows)
        away = distance.roughly(embedded, embedded)
        h = min(len(places), self.neighbours or max(2, round(len(places) / k)))
        x, is_category = task.x[instance], distance.is_category
        differs = changed(rows, x)
        changes = np.where(differs, rows - x, 0.0)
        scale = away.mean() or 1.0, differs.sum(axis=1).mean() or 1.0

        def between(chosen: int) -> Row:
            """Tell what a choice makes the others worth: redundant ones less, far and different ones more."""
            redundant = on_one_way(changes, is_category, chosen)
            spread = away[chosen] / scale[0] + changed(rows, rows[chosen]).sum(axis=1) / scale[1]
            return np.asarray(h * (self.dispersion * spread / max(1, k - 1) - self.redundancy * redundant))

        pairs = between if self.redundancy or self.dispersion else None
        return places[cost_scaled_greedy(neighbourhoods(away, h), cost[places] * h, k, self.fill, pairs)]


def _relative(values: Row, of: Places) -> Row:
    """Divide values by their mean over each instance's finds."""
    counts = np.bincount(of)
    means = np.bincount(of, values) / np.maximum(counts, 1)
    return np.asarray(values / np.where(means > 0, means, 1.0)[of])


def implausibility(task: Task, finds: Finds) -> Row:
    """Measure how far finds are from the known instances around their x."""
    distance = task.known.distance
    result = np.empty(len(finds.rows))
    if not len(result):
        return result
    known = task.once("reference", lambda: task.known.sample(task.rng(), REFERENCE).embedded)
    around = nearest(distance.measure(task.embedded, known), NEAR)
    embedded = distance.embed(finds.rows)
    for instance in range(len(task)):
        places = finds.places(instance)
        away = distance.roughly(embedded.take(places), known.take(around[instance]))
        result[places] = away.min(axis=1, initial=np.inf)
    return result


def neighbourhoods(away: Rows, h: int) -> Mask:
    """Tell, for each row, which rows its h nearest are, itself included."""
    covers = np.zeros(away.shape, dtype=np.bool_)
    if h < len(away):
        # Itself first, whatever else is at distance 0.
        away = away - np.eye(len(away))
        nearest = np.argpartition(away, h - 1, axis=1)[:, :h]
        covers[np.arange(len(away))[:, None], nearest] = True
        return covers
    return ~covers


def on_one_way(changes: Rows, is_category: Mask, chosen: int) -> Mask:
    """Tell which changes from x lie on the way to a chosen one, or behind it.

    Examples
    --------
    >>> changes = np.array([[2.0, 0.0], [5.0, 0.0], [-2.0, 0.0], [2.0, 1.0]])
    >>> on_one_way(changes, np.array([False, False]), chosen=0)
    array([ True,  True, False,  True])
    """
    mine = changes[chosen]
    ahead = ~is_category & (changes * mine > 0)
    before = (changes == 0) | (changes == mine) | (ahead & (np.abs(changes) <= np.abs(mine)))
    behind = (mine == 0) | (changes == mine) | (ahead & (np.abs(changes) >= np.abs(mine)))
    return np.asarray(before.all(axis=1) | behind.all(axis=1))


def cost_scaled_greedy(
    covers: Mask,
    cost: Row,
    k: int,
    fill: bool = False,
    between: Callable[[int], Row] | None = None,
) -> Places:
    """Maximise (how many are covered) − (the cost of the chosen) over at most k choices.

    Each step takes the choice with the largest gain less twice its cost, and stops when that is not
    positive; with `fill` it goes on until k. `between` tells what a choice adds to the gain of all others.

    Examples
    --------
    >>> covers = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
    >>> cost_scaled_greedy(covers, np.array([0.2, 0.1, 0.3]), k=2)
    array([1, 2])
    """
    chosen: list[int] = []
    open_ = covers.astype(np.float64)
    left = np.ones(covers.shape[1])
    worth = -2.0 * cost
    for _ in range(min(k, len(cost))):
        gain = open_ @ left + worth
        gain[chosen] = -np.inf
        best = int(gain.argmax())
        if gain[best] <= 0 and not fill:
            break
        chosen.append(best)
        left[covers[best]] = 0.0
        if between is not None and len(chosen) < k:
            worth = worth + between(best)
    return np.array(chosen, dtype=np.intp)


BALANCED = Selection()
CLOSE = Selection(distance=2.0, implausibility=0.1, changes=0.2, redundancy=0.0, dispersion=0.0)
DIVERSE = Selection(
    distance=0.04, implausibility=0.05, changes=0.17, redundancy=0.5, dispersion=0.45, most=400
)
PLAUSIBLE = Selection(distance=0.2, implausibility=2.0, changes=0.17, redundancy=0.3, dispersion=1.3)
SPARSE = Selection(distance=0.8, implausibility=0.2, changes=0.8, redundancy=0.3, dispersion=0.0)
VARIED = Selection(
    distance=0.06, implausibility=0.23, changes=0.32, redundancy=0.4, dispersion=0.46, most=300
)

NAMED: Mapping[str, Selection] = {
    "balanced": BALANCED,
    "close": CLOSE,
    "diverse": DIVERSE,
    "plausible": PLAUSIBLE,
    "sparse": SPARSE,
    "varied": VARIED,
}
"""All of these by their names; the first is the default."""
