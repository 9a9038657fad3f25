"""S: picks k counterfactuals out of many, close to x and different from each other.

The paper's density objective: maximise |⋃ knn_C(c)| − λ Σ d(c, x) over at most k chosen c. The first term is
monotone and submodular, the second a linear cost, so cost-scaled greedy (Nikolakaki, Ene and Terzi, 2021)
keeps f(S) − c(S) ≥ ½ f(OPT) − c(OPT). Plausibility and the number of changes are prices of each single
counterfactual too, so they join the cost and the guarantee stays. Redundancy and dispersion are prices and
values between counterfactuals; with them the guarantee is for the rest of the objective only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint.blocks import CELLS
from counterpoint.bounds import Mask
from counterpoint.distances import changed
from counterpoint.greedy import cost_scaled_greedy, neighbourhoods, on_one_way, ways
from counterpoint.pool import Finds
from counterpoint.schema import Row, Rows
from counterpoint.task import Places, Task, nearest

# Instance × candidate × feature, or × candidate.
Stack = NDArray[np.float64]

# Instances are chosen for together while their tables have no more cells than this.
TOGETHER = 4 * CELLS

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
        chosen = [self._cheapest(cost, finds.places(instance), k) for instance in range(len(task))]
        for instances in _alike(chosen, task.x.shape[1]):
            places = np.stack([chosen[instance] for instance in instances])
            picks = self._choose(task, task.home[instances], finds.rows[places], cost[places], k)
            for instance, pick in zip(instances, picks, strict=True):
                chosen[instance] = chosen[instance][pick[pick >= 0]]
        return chosen

    def costs(self, task: Task, finds: Finds) -> Row:
        """Price each find: distance, implausibility and number of changes."""
        rows, of = finds.rows, finds.of
        counts = task.changed(rows, of).sum(axis=1)
        cost = self.changes * np.minimum(counts, MANY * _relative(counts, of))
        cost = cost + self.distance * _relative(task.distance(rows, of), of)
        if self.implausibility:
            cost += self.implausibility * _relative(implausibility(task, finds), of)
        return np.asarray(cost)

    def _cheapest(self, cost: Row, places: Places, k: int) -> Places:
        """Keep the cheapest of an instance's finds, cheapest first where some are left out."""
        most = max(self.most, k)
        return places if len(places) <= most else places[np.argsort(cost[places], kind="stable")[:most]]

    def _choose(self, task: Task, x: Rows, rows: Stack, cost: Rows, k: int) -> Places:
        """Choose for instances of which equally many candidates are looked at."""
        count, distance = rows.shape[1], task.known.distance.over(np.flatnonzero(~task.rules.frozen))
        embedded = [distance.embed(each) for each in rows]
        away = np.stack([distance.roughly(each, each) for each in embedded])
        h = min(count, self.neighbours or max(2, round(count / k)))
        pairs = self._between(x, rows, away, distance.is_category, h, k)
        return cost_scaled_greedy(neighbourhoods(away, h), cost * h, k, self.fill, pairs)

    def _between(
        self, x: Rows, rows: Stack, away: Stack, is_category: Mask, h: int, k: int
    ) -> Callable[[Places], Rows] | None:
        """Tell what a choice makes the others worth: redundant ones less, far and different ones more."""
        if not self.redundancy and not self.dispersion:
            return None
        differs = changed(rows, x[:, None])
        moving = np.flatnonzero(differs.any(axis=(0, 1)))
        # Features come first, so that what is done for each of them is done along lines of candidates.
        values = np.ascontiguousarray(rows.T[moving].swapaxes(1, 2))
        shifts = np.where(differs.T[moving].swapaxes(1, 2), values - x.T[moving, :, None], 0.0)
        ahead = ways(shifts, is_category[moving])
        values = np.where(np.isnan(values), np.inf, values)  # missing equals missing
        apart = np.array([each.mean() or 1.0 for each in away])[:, None]
        changes = np.array([each.mean() or 1.0 for each in differs.sum(axis=2)])[:, None]
        each = np.arange(len(x))

        def between(chosen: Places) -> Rows:
            unlike = (values != values[:, each, chosen][..., None]).sum(axis=0)
            spread = away[each, chosen] / apart + unlike / changes
            redundant = on_one_way(ahead, chosen)
            return np.asarray(h * (self.dispersion * spread / max(1, k - 1) - self.redundancy * redundant))

        return between


def _alike(candidates: Sequence[Places], width: int) -> Iterator[list[int]]:
    """Group instances with equally many candidates, those with none or one aside, a block at a time."""
    groups: dict[int, list[int]] = {}
    for instance, places in enumerate(candidates):
        groups.setdefault(len(places), []).append(instance)
    for count, instances in groups.items():
        size = max(1, TOGETHER // (max(1, count) * max(1, count, width)))
        for start in range(0, len(instances) if count > 1 else 0, size):
            yield instances[start : start + size]


def _relative(values: Row, of: Places) -> Row:
    """Divide values by their mean over each instance's finds."""
    counts = np.bincount(of)
    means = np.bincount(of, values) / np.maximum(counts, 1)
    return np.asarray(values / np.where(means > 0, means, 1.0)[of])


def implausibility(task: Task, finds: Finds) -> Row:
    """Measure how far finds are from the known instances around their x."""
    result = np.empty(len(finds.rows))
    if not len(result):
        return result
    # What may not change is as far from a known instance as x is: the rest is measured for each find.
    distance, frozen = task.known.distance, task.rules.frozen
    free, kept = distance.over(np.flatnonzero(~frozen)), distance.over(np.flatnonzero(frozen))
    known = task.once("reference", lambda: task.known.sample(task.rng(), REFERENCE).rows)
    known_free, known_kept = task.once("embedded reference", lambda: (free.embed(known), kept.embed(known)))
    away_kept = kept.measure(kept.embed(task.x), known_kept)
    away = distance.joined(free.measure(free.embed(task.x), known_free), away_kept)
    embedded = free.embed(finds.rows)
    for instance, around in enumerate(nearest(away, NEAR)):
        places = finds.places(instance)
        near = free.roughly(known_free.take(around), embedded.take(places))
        result[places] = distance.joined(near, away_kept[instance, around, None]).min(axis=0)
    return result


BALANCED = Selection()
CLOSE = Selection(distance=2.0, implausibility=0.1, changes=0.2, redundancy=0.0, dispersion=0.0)
DIVERSE = Selection(
    distance=0.04, implausibility=0.05, changes=0.17, redundancy=0.5, dispersion=0.53, most=400
)
PLAUSIBLE = Selection(distance=0.2, implausibility=2.0, changes=0.12, redundancy=0.3, dispersion=1.6)
SPARSE = Selection(distance=0.8, implausibility=0.2, changes=0.8, redundancy=0.3, dispersion=0.0)
VARIED = Selection(
    distance=0.072, implausibility=0.216, changes=0.292, redundancy=0.4, dispersion=0.494, most=800
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
