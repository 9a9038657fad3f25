"""The states that the features of one instance can take, as far as the trees of a model tell them apart.

Between two cuts of a number nothing changes for any tree, so each interval has one value worth taking: the
admissible one nearest to x. A solver is not given values but their prices: x is at 0, higher values at what
they cost, lower ones at minus that. So its distance is ours by construction, whatever steps, costs and limits
there are, and a value that it returns is one that the column can hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Indices, Mask, Row
from counterpoint.model.trees import Structure
from counterpoint.model.trees.pruning import LEFT, RIGHT, UNKNOWN
from counterpoint.search.task import Task


class Condition(NamedTuple):
    """What holds of a place: it goes left, or right, where all up to a threshold, or below it, go left."""

    threshold: float
    is_below: bool
    is_left: bool


@dataclass(frozen=True)
class Ladder:
    """The values that a feature can take, with their places: prices upwards, minus prices downwards.

    Categories whose changes differ in price are a ladder too: in the order of their prices, all upwards.
    """

    values: Row
    places: Row
    own: int  # the index of the value that is no change, or the least
    is_coded: bool = False

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest place."""
        return float(self.places[0]), float(self.places[-1])

    def value(self, place: float) -> float:
        """Look up the value at a place."""
        return float(self.values[np.abs(self.places - place).argmin()])

    def index(self, value: float) -> int:
        """Find the value that no tree can tell from this one: the next towards x."""
        if self.is_coded:
            return int(np.flatnonzero(self.values == value)[0])
        if value >= self.values[self.own]:
            return int(np.searchsorted(self.values, value, side="right")) - 1
        return int(np.searchsorted(self.values, value, side="left"))

    def conditions(self, value: float) -> Iterator[Condition]:
        """Describe all values that no tree can tell from this one, by the cuts around it."""
        at = self.index(value)
        first, last = at > 0 and at <= self.own, at < len(self.places) - 1 and at >= self.own
        if at > self.own:
            yield Condition(float(self.places[at]), is_below=True, is_left=False)
        if first:
            yield Condition(float(self.places[at - 1]), is_below=False, is_left=False)
        if at < self.own:
            yield Condition(float(self.places[at]), is_below=False, is_left=True)
        if last:
            yield Condition(float(self.places[at + 1]), is_below=True, is_left=True)


@dataclass(frozen=True)
class Choice:
    """The categories that a feature can take, and the price of each change, which is the same for all."""

    codes: Indices
    price: float


class States:
    """What the features of one instance can take, and what each node asks about it.

    `kept` are features that may not change, beside those that never may. `way` tells for each node which way
    every row goes, or that it depends. `threshold` and `is_below` tell how nodes compare places, `sets` which
    categories go left, and `flags` the same for categories that are a ladder, in its order.
    """

    def __init__(self, structure: Structure, task: Task, instance: int, kept: Collection[int] = ()) -> None:
        self.structure, self._task = structure, task
        self.x, self.home = task.x[instance], task.home[instance]
        self._forced = task.forced[instance]
        free = task.free & structure.asked & ~np.isnan(self.x)
        free[list(kept)] = False
        self._kept = set(kept)
        self.way = self._ways()
        self.threshold = np.zeros(len(self.way))
        self.is_below = np.zeros(len(self.way), dtype=np.uint8)
        self.sets: dict[int, Mask] = {}
        self.flags: dict[int, Mask] = {}
        bounds = task.rules.around(self.x)
        low, high = (np.broadcast_to(each, self.x.shape) for each in (bounds.low, bounds.high))
        self.of: dict[int, Ladder | Choice] = {}
        for feature in np.flatnonzero(free).tolist():
            if task.rules.is_coded[feature]:
                self.of[feature] = self._category(feature)
            else:
                self.of[feature] = self._number(feature, float(low[feature]), float(high[feature]))

    def row(self, cells: Row) -> Row:
        """Turn what a solver chose into a row."""
        row = np.array(self.home)
        for feature, states in self.of.items():
            cell = float(cells[feature])
            row[feature] = states.value(cell) if isinstance(states, Ladder) else cell
        return row

    def cells(self, row: Row) -> Row | None:
        """Turn a row into what a solver could choose, as near or nearer; None if it is not among these."""
        cells = np.zeros(len(row))
        for feature, states in self.of.items():
            value = float(row[feature])
            if np.isnan(value) or value not in self._takes(feature, value):
                return None
            cells[feature] = states.places[states.index(value)] if isinstance(states, Ladder) else value
        others = np.setdiff1d(np.arange(len(row)), list(self.of))
        asked = others[self.structure.asked[others]]
        same = (row[asked] == self.home[asked]) | (np.isnan(row[asked]) & np.isnan(self.home[asked]))
        return cells if same.all() else None

    def _takes(self, feature: int, value: float) -> Collection[float]:
        """List the categories of a feature; of a number, any value."""
        states = self.of[feature]
        if isinstance(states, Choice):
            return set(states.codes.tolist())
        return set(states.values.tolist()) if states.is_coded else {value}

    def alike(self, feature: int, code: float) -> Mask:
        """Tell which categories no tree can tell from one, by code."""
        left = self.structure.codes_left[feature][1]
        return np.asarray((left == left[:, [int(code)]]).all(axis=0))

    def distance(self, row: Row) -> float:
        """Measure the distance of a row from x, weighed by the costs."""
        return float(self._task.measure.from_x(row[None], self.x[None])[0])

    def seen(self, cells: Row) -> float:
        """Add up what changes cost."""
        total = self.unavoidable
        for feature, states in self.of.items():
            if isinstance(states, Ladder):
                total += abs(float(cells[feature]))
            elif cells[feature] != self.x[feature]:
                total += states.price
        return total

    @property
    def unavoidable(self) -> float:
        """What it costs that x must move inside its ranges, of features that no tree asks about."""
        row = np.array(self.home)
        row[list(self.of)] = self.x[list(self.of)]
        return self.distance(row)

    @property
    def gap_price(self) -> float:
        """What it costs at least if a value goes missing, or a missing one comes: that is not looked at."""
        rules = self._task.rules
        gaps = self._task.free & self.structure.asked & (np.isnan(self.x) | rules.may_lose)
        gaps[list(self._kept)] = False
        return float(np.append(self._task.measure.lost[gaps], np.inf).min())

    def _ways(self) -> NDArray[np.int8]:
        """Find out which way the instance goes at each node."""
        trees = self.structure.trees
        seen, splits = self.structure.encoding.matrix(self.home[None])[0], trees.splits
        way = np.full(len(trees.column), LEFT, dtype=np.int8)
        way[splits] = np.where(trees.goes_left(seen[trees.column[splits]], splits), LEFT, RIGHT)
        return way

    def _number(self, feature: int, low: float, high: float) -> Ladder:
        cuts = self.structure.cuts[feature]
        assert cuts is not None
        nodes = self.structure.nodes_of(feature)
        place = self.structure.place[nodes]
        is_left = np.zeros(len(cuts.below), dtype=np.bool_)
        is_left[place] = self.way[nodes] == LEFT
        values = np.where(is_left, cuts.above, cuts.below)  # across each cut
        reached = np.where(is_left, values <= high, values >= low)
        places = np.zeros(len(values))
        places[reached] = self._places(feature, values[reached])
        self.way[nodes] = np.where(reached[place], UNKNOWN, self.way[nodes])
        self.threshold[nodes] = places[place]
        self.is_below[nodes] = is_left[place]  # of what lies above x, all below its place goes left
        lower, upper = values[reached & ~is_left], values[reached & is_left]
        values = np.concatenate([lower, self.home[[feature]], upper])
        return Ladder(values, self._places(feature, values), len(lower))

    def _category(self, feature: int) -> Ladder | Choice:
        size = len(self._task.rules.schema.features[feature].categories)
        x = np.repeat(self.x[None], size, axis=0)
        codes = np.flatnonzero(self._task.rules.around(x).takes(np.arange(size, dtype=np.float64), feature))
        prices = np.abs(self._places(feature, codes.astype(np.float64)))
        order = np.argsort(prices, kind="stable")
        codes, prices = codes[order], prices[order]
        is_flat = len(np.unique(prices[codes != self.x[feature]])) < 2
        nodes, left = self.structure.codes_left[feature]
        left = left if is_flat else left[:, codes]
        some = left[:, codes] if is_flat else left
        varies = np.asarray(some.any(axis=1) & ~some.all(axis=1))
        self.way[nodes[varies]] = UNKNOWN
        found = {int(node): left[index] for index, node in enumerate(nodes.tolist()) if varies[index]}
        if is_flat:
            self.sets |= found
            return Choice(np.sort(codes), float(prices.max(initial=0.0)) or 1.0)
        self.flags |= found
        # Equal prices need different places, by less than rounding.
        places = prices + np.arange(len(prices)) * 1e-13 * prices.max()
        return Ladder(codes.astype(np.float64), places, 0, is_coded=True)

    def _places(self, feature: int, values: Row) -> Row:
        """Give values their places: their prices, negative below x."""
        chosen, own = np.array([feature]), self.x[feature]
        prices = self._task.measure.prices(values[:, None], self.x[chosen][None], chosen)[:, 0]
        return np.asarray(np.where(values < own, -prices, prices))
