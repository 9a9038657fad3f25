"""S: selects k counterfactuals out of many, close to x and different from each other.

The objective starts from the paper's: f(S), how many found rows are covered by the neighbourhoods of the
chosen, minus c(S), what the chosen cost. Here the cost also has a part for plausibility and one for the
number of changes, and `redundancy` and `dispersion` add terms about pairs. Where some rows were rounded, the
others cost more. Cost-scaled greedy chooses k, or all candidates if there are fewer. What that guarantees,
among the candidates considered:

- With `repeat`, and without redundancy and dispersion, which `BALANCED` and `CLOSE` do not have:
  f(S) − c(S) ≥ ½ f(T) − c(T) for every set T with as many members as S. A smaller T may be better, because S
  is filled up to k whatever that costs.
- Otherwise, as in all named settings, which prefer different actions: nothing about the whole set. Each
  choice is the best addition to those before it, at twice its cost.

The paper's own selection, which may choose fewer, is `selection.density`; its bound is about all sets of at
most k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.duplicates import distinct
from counterpoint._util.narrow import count_of_each
from counterpoint._util.row_blocks import CELLS, in_blocks
from counterpoint.data.distance import Distance, Embedded, changed
from counterpoint.data.types import Indices, Mask, Row, Rows
from counterpoint.search.actions import action_ids, cheapest_actions, directions, is_minimal
from counterpoint.search.grouped import cheapest_of_each, nearest
from counterpoint.search.pool import Finds
from counterpoint.search.task import Task
from counterpoint.selection.greedy import cost_scaled_greedy, neighbourhoods, on_one_way, ways

# Instance × candidate × feature, or × candidate.
Stack = NDArray[np.float64]

# Instances are processed together as long as their arrays have at most this many cells.
TOGETHER = 4 * CELLS

# Plausibility is measured against this many known instances near x, from a sample of this size.
NEAR = 100
REFERENCE = 5_000

# If there is room for several answers, the nearest of all is one of them: what being it is worth.
NEAREST_OF_ALL = 2e4

# The cost of numbers that were not rounded where others were: a rounded variant comes first.
UNROUNDED = 4e4

# The cost of changing several features where one is enough, of each further change, and of an action that
# holds another counterfactual's and more, as multiples of the price per changed feature. A single change that
# is very far or very implausible loses against several that are not.
SEVERAL = 8.0
FURTHER = 4.0
NOT_MINIMAL = 16.0

# The cost of a pair of categories that no known instance has: more than that of a repeated action.
NEVER_SEEN = 1e10

# If more features than this change on average, as in images, each change costs less.
MANY = 8


@dataclass(frozen=True)
class Traits:
    """What finds are priced by: measured when it is asked for, once for all settings that price it."""

    task: Task
    finds: Finds

    @cached_property
    def action(self) -> Indices:
        """The number of the action of each find."""
        return action_ids(self.task, self.finds.rows, self.finds.instance)

    @cached_property
    def changes(self) -> Row:
        """How many features change."""
        return self.task.count_changes(self.finds.rows, self.finds.instance).astype(np.float64)

    @cached_property
    def distance(self) -> Row:
        """How far finds are from x."""
        return self.task.distance(self.finds.rows, self.finds.instance)

    @cached_property
    def implausibility(self) -> Row:
        """How far finds are from the known instances near x."""
        return implausibility(self.task, self.finds)

    @cached_property
    def never_seen(self) -> Mask:
        """Which finds have a pair of categories that no known instance has."""
        return self.task.known.combinations.never_seen(self.finds.rows, self.task.x, self.finds.instance)


@dataclass(frozen=True)
class Selection:
    """What makes a good set of counterfactuals.

    Benefits and costs share one unit: covering a whole neighbourhood that no other choice covers is worth 1.

    Parameters
    ----------
    distance
        The paper's λ: the price of being as far from x as the pool is on average.
    implausibility
        The price of being as far from the nearest known instance as the pool is on average.
    changes
        The price per changed feature. If the pool changes more than eight features on average, the price is
        reduced so that this average costs as much as eight. Where several answers are wanted, changing more
        than one feature costs multiples of it.
    redundancy
        The price of lying beyond another choice, or before it: the same changes taken further, or with more
        changes added. It makes each answer a distinct action.
    dispersion
        The value of being as far from the other choices as the members of the pool are from each other on
        average, plus the same value for differing from them in as many features as the pool does from x. It
        makes answers as different as possible, however far they are from x.
    neighbours
        The paper's h: how many members of the pool a choice covers. None means the size of the pool divided
        by k, so that coverage measures diversity for a pool of any size.
    repeat
        Whether several answers may be one action: the same features, numbers the same way. If not, variants
        of an action are chosen only when no other actions are left.
    needless
        Whether answers may hold changes that are not needed for the flip, because they make them more
        plausible. If not, actions that need fewer changes come first.
    rounding
        Whether numbers are rounded where that costs hardly more change.
    most
        At most this many members of the pool are considered, the cheapest ones.

    Examples
    --------
    >>> Selection(distance=2.0).distance
    2.0
    """

    distance: float = 5.0
    implausibility: float = 8.0
    changes: float = 2.0
    redundancy: float = 0.0
    dispersion: float = 0.0
    neighbours: int | None = None
    repeat: bool = False
    needless: bool = False
    rounding: bool = True
    most: int = 120

    def __post_init__(self) -> None:
        for name in ("distance", "implausibility", "changes", "redundancy", "dispersion"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"Selection.{name} must be at least 0, got {getattr(self, name)}.")
        if self.most < 1 or (self.neighbours is not None and self.neighbours < 1):
            raise ValueError("Selection.most and Selection.neighbours must be at least 1.")

    @property
    def wants_ends(self) -> bool:
        """Whether the ends of ranges are wanted: being apart is worth far more than being close."""
        return self.dispersion > 2 * self.distance + self.implausibility

    @property
    def with_fewest_changes(self) -> Selection:
        """The same setting, if the number of changes mattered more than anything else."""
        return replace(self, changes=self.changes + 2 * self._largest_price)

    @property
    def wants_nearest(self) -> bool:
        """Whether nothing but the distance has a price."""
        return not (self.implausibility or self.changes or self.redundancy or self.dispersion)

    @property
    def _largest_price(self) -> float:
        return max(self.distance, self.implausibility, self.changes, self.dispersion)

    def select(self, task: Task, finds: Finds, k: int, traits: Traits | None = None) -> list[Indices]:
        """Choose at most k finds per instance; returns their indices.

        `traits` are those of the finds, if they were measured before.
        """
        traits = traits or Traits(task, finds)
        cost, action = self.costs(traits), traits.action
        if self.rounding:
            cost += UNROUNDED * ~finds.settled
        prefers_few = k > 1 and not self.repeat and not self.needless
        if prefers_few:
            cost[cheapest_of_each(traits.distance, finds.instance, 1)] -= NEAREST_OF_ALL
        considered = self._considered(cost, action, finds, max(self.most, k))
        ends = np.searchsorted(finds.instance[considered], np.arange(1, len(task)))
        chosen = np.split(considered, ends)
        for instances in _alike(chosen, task.x.shape[1]):
            indices = np.stack([chosen[instance] for instance in instances])
            same, prices = None if self.repeat else action[indices], cost[indices]
            rows = finds.rows.take(indices, axis=0)
            if prefers_few:
                prices = prices + self._of_size(task, instances, rows)
            picks = self._choose(task, task.home[instances], rows, prices, same, k)
            for instance, pick in zip(instances, picks, strict=True):
                chosen[instance] = chosen[instance][pick[pick >= 0]]
        return chosen

    def shortlist(self, task: Task, finds: Finds, count: int, traits: Traits) -> Indices:
        """Choose the finds that are likely to be selected, at most so many per instance.

        If what lies between answers has no price, these are the cheapest of each action. That takes a small
        part of the time of `select`.
        """
        if self.redundancy or self.dispersion:
            return np.concatenate([np.empty(0, dtype=np.intp), *self.select(task, finds, count, traits)])
        cost, further = self.costs(traits), np.maximum(traits.changes - 1, 0)
        cost += self.changes * (SEVERAL * (further > 0) + FURTHER * further)
        cost[cheapest_of_each(traits.distance, finds.instance, 1)] -= NEAREST_OF_ALL
        return self._considered(cost, traits.action, finds, count)

    def costs(self, traits: Traits) -> Row:
        """Compute the cost of each find from distance, implausibility and number of changes."""
        instance, counts = traits.finds.instance, traits.changes
        cost = self.changes * np.minimum(counts, MANY * _relative(counts, instance))
        cost = cost + self.distance * _relative(traits.distance, instance)
        if self.implausibility:
            cost += self.implausibility * _relative(traits.implausibility, instance)
        return np.asarray(cost + NEVER_SEEN * traits.never_seen)

    def _considered(self, cost: Row, action: Indices, finds: Finds, most: int) -> Indices:
        """Keep the cheapest finds of each instance, of as many actions as possible unless they may repeat."""
        if self.repeat:
            return cheapest_of_each(cost, finds.instance, most)
        return cheapest_actions(cost, action, finds.instance, most)

    def _of_size(self, task: Task, instances: Sequence[int], rows: Stack) -> Rows:
        """Compute what candidates cost for changing more than others."""
        ranks, x = task.rules.ranks, task.home[instances]
        ways = directions(ranks(rows), ranks(x)[:, None], task.is_category)[..., ~task.rules.frozen]
        further = np.maximum(count_of_each(ways != 0) - 1, 0)
        larger = SEVERAL * (further > 0) + FURTHER * further + NOT_MINIMAL * ~is_minimal(ways)
        return np.asarray(self.changes * larger)

    def _choose(
        self, task: Task, x: Rows, rows: Stack, cost: Rows, action: Indices | None, k: int
    ) -> Indices:
        """Choose for instances that have the same number of candidates."""
        count, distance = rows.shape[1], task.known.distance.over(np.flatnonzero(~task.rules.frozen))
        embedded = distance.embed(rows.reshape(-1, rows.shape[2]))
        own = [embedded.part(slice(start, start + count)) for start in range(0, len(rows) * count, count)]
        away = np.stack([distance.roughly(each, each) for each in own])
        h = min(count, self.neighbours or max(2, round(count / k)))
        x, rows = task.rules.ranks(x), task.rules.ranks(rows)
        pairs = self._between(x, rows, away, task.is_category, h, k)
        return cost_scaled_greedy(
            neighbourhoods(away, h), cost * h, k, fill=True, between=pairs, action=action
        )

    def _between(
        self, x: Rows, rows: Stack, away: Stack, is_category: Mask, h: int, k: int
    ) -> Callable[[Indices], Rows] | None:
        """Make a function that tells how a choice changes the worth of the others.

        Redundant candidates lose, far and different ones gain.
        """
        if not self.redundancy and not self.dispersion:
            return None
        differs = changed(rows, x[:, None])
        moving = np.flatnonzero(differs.any(axis=(0, 1)))
        # Features come first, so that operations per feature run along contiguous candidates.
        values = np.ascontiguousarray(rows.T[moving].swapaxes(1, 2))
        shifts = np.where(differs.T[moving].swapaxes(1, 2), values - x.T[moving, :, None], 0.0)
        ahead = ways(shifts, is_category[moving])
        values = np.where(np.isnan(values), np.inf, values)  # missing equals missing
        apart = np.array([each.mean() or 1.0 for each in away])[:, None]
        changes = np.array([each.mean() or 1.0 for each in differs.sum(axis=2)])[:, None]
        each = np.arange(len(x))

        def between(chosen: Indices) -> Rows:
            unlike = (values != values[:, each, chosen][..., None]).sum(axis=0)
            spread = away[each, chosen] / apart + unlike / changes
            redundant = on_one_way(ahead, chosen)
            return np.asarray(h * (self.dispersion * spread / max(1, k - 1) - self.redundancy * redundant))

        return between


def _alike(candidates: Sequence[Indices], width: int) -> Iterator[list[int]]:
    """Group instances with the same number of candidates, in blocks; those with none or one are skipped."""
    groups: dict[int, list[int]] = {}
    for instance, indices in enumerate(candidates):
        groups.setdefault(len(indices), []).append(instance)
    for count, instances in groups.items():
        size = max(1, TOGETHER // (max(1, count) * max(1, count, width)))
        for start in range(0, len(instances) if count > 1 else 0, size):
            yield instances[start : start + size]


def _relative(values: Row, instance: Indices) -> Row:
    """Divide values by their mean over each instance's finds."""
    counts = np.bincount(instance)
    means = np.bincount(instance, values) / np.maximum(counts, 1)
    return np.asarray(values / np.where(means > 0, means, 1.0)[instance])


def implausibility(task: Task, finds: Finds) -> Row:
    """Measure how far finds are from the known instances near their x, weighed by the costs of changes.

    What is easy to change may differ more from what is known than what is hard to change.
    """
    result = np.empty(len(finds.rows))
    if not len(result):
        return result
    near, width = task.here("near", lambda: _Near.of(task)), task.x.shape[1]
    for instance, (start, stop) in enumerate(pairwise(finds.starts.tolist())):
        if start != stop:
            result[start:stop] = in_blocks(width, near.least(instance), finds.rows[start:stop])
    return result


@dataclass(frozen=True)
class _Near:
    """The known instances near each x; finds of several rounds and settings are measured against them.

    Features that may not change are as far from a known instance as x's: only the rest differs per find.
    """

    distance: Distance  # over all features
    free: Distance  # over those that may change
    x: Embedded
    known: Embedded
    around: list[Indices]  # the known instances near each x; of those equal in these features, the nearest
    kept: list[Row]  # how far each of them is in features that may not change

    @classmethod
    def of(cls, task: Task) -> _Near:
        """Find the known instances near each x of a task, in a sample of them."""
        distance, frozen = task.measure, task.rules.frozen
        free, kept = distance.over(np.flatnonzero(~frozen)), distance.over(np.flatnonzero(frozen))
        rows = task.learned("reference", lambda: task.known.sample(task.rng(), REFERENCE).rows)
        known_free, known_kept = task.learned(
            ("embedded reference", task.costs_key), lambda: (free.embed(rows), kept.embed(rows))
        )
        x, away_kept = free.embed(task.x), kept.measure(kept.embed(task.x), known_kept)
        away = distance.joined(free.measure(x, known_free), away_kept)
        around = nearest(away, NEAR)
        instance = np.repeat(np.arange(len(task)), around.shape[1])
        kept_away = np.take_along_axis(away_kept, around, 1).ravel()
        # Many are equal in what may change: of those, only the nearest in the rest counts.
        near = rows.take(around.ravel(), axis=0).compress(~frozen, axis=1)
        _, same = distinct(near, instance, np.arange(len(near)))
        first = np.sort(cheapest_of_each(kept_away, same, 1))
        ends = np.searchsorted(instance[first], np.arange(1, len(task)))
        places, aways = np.split(around.ravel()[first], ends), np.split(kept_away[first], ends)
        return cls(distance, free, x, known_free, places, aways)

    def least(self, instance: int) -> Callable[[Rows], Row]:
        """Make what measures how far finds of an instance are from the nearest of its known ones."""
        measured = self.free.near(
            self.known.take(self.around[instance]), self.x.part(slice(instance, instance + 1))
        )
        beyond = self.kept[instance][:, None]

        def least(rows: Rows) -> Row:
            return np.asarray(self.distance.joined(measured(self.free.embed(rows)), beyond).min(axis=0))

        return least


BALANCED = Selection()
CLOSE = Selection(distance=10.0, implausibility=0.5, changes=0.5)
DIVERSE = Selection(
    distance=0.04, implausibility=0.05, changes=0.17, redundancy=0.5, dispersion=0.53, most=400
)
PLAUSIBLE = Selection(
    distance=0.2, implausibility=2.0, changes=0.12, redundancy=0.3, dispersion=1.6, needless=True
)
NEAREST = Selection(distance=100.0, implausibility=0.0, changes=0.0, repeat=True, rounding=False)
SPARSE = Selection(distance=1.0, implausibility=0.2, changes=10.0, redundancy=0.3)
VARIED = Selection(
    distance=0.07, implausibility=0.22, changes=0.29, redundancy=0.4, dispersion=0.49, most=800
)

NAMED: Mapping[str, Selection] = {
    "balanced": BALANCED,
    "close": CLOSE,
    "diverse": DIVERSE,
    "nearest": NEAREST,
    "plausible": PLAUSIBLE,
    "sparse": SPARSE,
    "varied": VARIED,
}
"""The settings by name; the first is the default."""
