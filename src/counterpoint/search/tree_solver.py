"""The nearest row that the trees of a model decide otherwise, with a proof, by treecf's branch and bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Indices, Mask, Row
from counterpoint.model.trees import Structure
from counterpoint.model.trees.pruning import prune
from counterpoint.model.trees.trees import LEAF
from counterpoint.search.task import Task
from counterpoint.search.tree_states import Choice, Ladder, States

WORD = 64
# The solver takes no infinite time.
LONG = 1e9
# The parts of the distance of a known row within which a nearer one is looked for, one after another.
SHARES = (0.25, 0.5, 0.75, 1.0)


class Interval(NamedTuple):
    """The scores that are wanted, both ends included."""

    low: float
    high: float


@dataclass(frozen=True)
class Solution:
    """The best row found for an instance, if any, its distance, and a distance that no row undercuts.

    Both distances are infinite if it is proven that there is no row, and equal if the row is the nearest.
    """

    row: Row | None
    distance: float
    lower: float


def wanted_scores(structure: Structure, task: Task, strictly: bool) -> Interval | None:
    """Tell which scores flip the decision; None if none does.

    Where rounding blurs scores, `strictly` leaves out those that may not flip; otherwise they are in.
    """
    trees = structure.trees
    assert trees.classes is not None
    first, second = (bool(task.flips(np.array([each]))[0]) for each in trees.classes)
    far, blur = 2 * trees.largest + 1, trees.blur if strictly else -trees.blur
    if first and second:
        return Interval(-far, far)
    if second:
        return Interval(trees.cut + blur if blur else float(np.nextafter(trees.cut, np.inf)), far)
    return Interval(-far, trees.cut - blur) if first else None


def solve(
    states: States,
    interval: Interval,
    steps: int,
    seconds: float = np.inf,
    best: Row | None = None,
    without: Sequence[Row] = (),
) -> Solution:
    """Find the nearest row whose score lies in an interval, within a number of steps and a time.

    `best` is a row that is known to have such a score. The search looks near x first and then further away,
    each time with so many steps: so a lower bound is known when it has to end. `without` are rows that are
    left out, with all that no tree can tell from them.
    """
    search = _Search(states, interval, steps, monotonic() + seconds, without)
    known = None if best is None else states.cells(best)
    if known is None:
        known, _, is_complete = search.run()
        if known is None or is_complete:
            return _solution(states, known, np.inf if is_complete else 0.0)
    lower, most = 0.0, states.seen(known) - states.unavoidable
    for share in SHARES:
        cells, cost, is_complete = search.run(known, share * most)
        is_nearer = cost < share * most
        known = cells if is_nearer else known
        if is_complete:
            lower = cost if is_nearer else share * most
        if is_nearer or not is_complete:
            break
    return _solution(states, known, lower + states.unavoidable)


def _solution(states: States, cells: Row | None, lower: float) -> Solution:
    """Make what was found a row; what comes or goes missing was not looked at, and counts as a bound."""
    lower = min(lower, states.gap_price)
    if cells is None:
        return Solution(None, np.inf, lower)
    row = states.row(cells)
    return Solution(row, states.distance(row), min(lower, states.seen(cells)))


class _Search:
    """One problem as treecf takes it."""

    def __init__(
        self, states: States, interval: Interval, steps: int, deadline: float, without: Sequence[Row]
    ) -> None:
        self._core = treecf_core()
        away = 2 * (states.structure.trees.largest + 1) * (1 if interval.low < -interval.high else -1)
        nodes = _Nodes.of(states)
        for row in without:
            nodes = nodes.joined(_marking(states, row, away))
        ensemble = nodes.ensemble(self._core, states)
        self._problem = ensemble, _constraints(states), _start(states), *interval
        self._weights, self._steps, self._deadline = _weights(states), steps, deadline

    def run(self, known: Row | None = None, most: float | None = None) -> tuple[Any, float, bool]:
        """Look for a row nearer than a distance; without one, the result is `known`, at that distance.

        The last part of the result tells whether nothing was left to look at.
        """
        width = len(self._weights)
        plain = np.zeros(width)
        cells, cost, _, stats, _, _ = self._core.solve_exact_raw(
            *self._problem,
            np.ones(width),
            self._weights,
            0.0,
            plain.astype(np.uint8),
            plain,
            plain,
            node_budget=self._steps,
            time_budget_s=min(max(0.0, self._deadline - monotonic()), LONG),
            incumbent_cost=most,
            incumbent_row=known,
            search="refine",
        )
        return None if cells is None else np.asarray(cells), np.inf if cost is None else cost, bool(stats[5])


def _start(states: States) -> Row:
    start = np.zeros(len(states.x))
    for feature, each in states.of.items():
        if isinstance(each, Choice):
            start[feature] = states.x[feature]
    return start


def _weights(states: States) -> Row:
    weights = np.ones(len(states.x))
    for feature, each in states.of.items():
        if isinstance(each, Choice):
            weights[feature] = each.price
    return weights


@dataclass(frozen=True)
class _Nodes:
    """Trees as the solver takes them; `sets` holds the categories that go left, None for a threshold."""

    feature: Indices
    threshold: Row
    is_below: NDArray[np.uint8]
    left: Indices
    right: Indices
    value: Row
    roots: Indices
    sets: tuple[Mask | None, ...]

    @classmethod
    def of(cls, states: States) -> _Nodes:
        """Take the trees of a model, as far as they are not decided."""
        trees = states.structure.trees
        pruned = prune(trees, states.way)
        nodes = pruned.nodes
        column = trees.column[nodes]
        taken = cls(
            np.where(column == LEAF, LEAF, states.structure.owner[np.maximum(column, 0)]),
            states.threshold[nodes],
            states.is_below[nodes],
            pruned.left,
            pruned.right,
            np.where(column == LEAF, trees.value[nodes], 0.0),
            pruned.roots,
            tuple(states.sets.get(node) for node in nodes.tolist()),
        )
        flags = {place: states.flags[n] for place, n in enumerate(nodes.tolist()) if n in states.flags}
        return _Expansion(taken, states, flags).nodes() if flags else taken

    def joined(self, other: _Nodes) -> _Nodes:
        """Add further trees."""
        start = len(self.feature)
        moved = replace(other, left=other.left + start, right=other.right + start, roots=other.roots + start)
        names = [field.name for field in fields(self) if field.name != "sets"]
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(self, name), getattr(moved, name)]) for name in names
        }
        return _Nodes(**arrays, sets=(*self.sets, *other.sets))

    def ensemble(self, core: Any, states: States) -> Any:
        """Hand the trees to the solver."""
        return core.RustEnsemble(
            self.feature.astype(np.int32),
            self.threshold,
            self.is_below,
            np.zeros(len(self.feature), dtype=np.uint8),
            self.left.astype(np.uint32),
            self.right.astype(np.uint32),
            self.value,
            self.roots.astype(np.uint32),
            states.structure.trees.base,
            "identity",
            len(states.x),
            **self._packed(_sizes(states)),
        )

    def _packed(self, sizes: dict[int, int]) -> dict[str, Any]:
        """Write the categories that go left as bits, and how many categories features have."""
        if not sizes:
            return {}
        has_set = np.array([each is not None for each in self.sets], dtype=np.bool_)
        words = [_bits(each) for each in self.sets if each is not None]
        return {
            "node_set": np.where(has_set, np.cumsum(has_set) - 1, -1).astype(np.int32),
            "set_offsets": np.cumsum([0, *(len(each) for each in words)]).astype(np.uint32),
            "set_words": np.concatenate([np.empty(0, dtype=np.uint64), *words]),
            "cat_idx": np.array(list(sizes), dtype=np.uint32),
            "cat_card": np.array(list(sizes.values()), dtype=np.uint32),
        }


class _Expansion:
    """Trees in which nodes that ask for a set of categories on a ladder ask for places instead.

    Each such node becomes one node per place at which the answer changes. What hangs below is repeated, but
    only as far as it can still be reached.
    """

    def __init__(self, nodes: _Nodes, states: States, flags: dict[int, Mask]) -> None:
        self._nodes, self._states, self._flags = nodes, states, flags
        self._made: list[tuple[int, float, int, int, int, float, Mask | None]] = []

    def nodes(self) -> _Nodes:
        """Expand all trees."""
        roots = [self._copy(root, {}) for root in self._nodes.roots.tolist()]
        feature, threshold, is_below, left, right, value, sets = zip(*self._made, strict=True)
        return _Nodes(
            np.array(feature, dtype=np.intp),
            np.array(threshold),
            np.array(is_below, dtype=np.uint8),
            np.array(left, dtype=np.intp),
            np.array(right, dtype=np.intp),
            np.array(value),
            np.array(roots, dtype=np.intp),
            sets,
        )

    def _copy(self, node: int, within: dict[int, tuple[int, int]]) -> int:
        """Copy a node and all below it, as far as the indices of ladders lie within limits."""
        nodes, feature = self._nodes, int(self._nodes.feature[node])
        if node in self._flags:
            first, last = within.get(feature, (0, len(self._flags[node]) - 1))
            flags = self._flags[node][first : last + 1]
            if flags.all() or not flags.any():
                return self._copy(int((nodes.left if flags[0] else nodes.right)[node]), within)
            cut = first + int(np.argmax(flags != flags[0]))
            ladder = self._states.of[feature]
            assert isinstance(ladder, Ladder)
            made = self._make(feature, float(ladder.places[cut]), 1, 0.0, None)
            left = self._copy(node, {**within, feature: (first, cut - 1)})
            right = self._copy(node, {**within, feature: (cut, last)})
            return self._join(made, left, right)
        made = self._make(
            feature,
            float(nodes.threshold[node]),
            int(nodes.is_below[node]),
            float(nodes.value[node]),
            nodes.sets[node],
        )
        if feature == LEAF:
            return made
        return self._join(
            made, self._copy(int(nodes.left[node]), within), self._copy(int(nodes.right[node]), within)
        )

    def _make(self, feature: int, threshold: float, below: int, value: float, members: Mask | None) -> int:
        self._made.append((feature, threshold, below, 0, 0, value, members))
        return len(self._made) - 1

    def _join(self, node: int, left: int, right: int) -> int:
        feature, threshold, below, _, _, value, members = self._made[node]
        self._made[node] = feature, threshold, below, left, right, value, members
        return node


def _marking(states: States, row: Row, value: float) -> _Nodes:
    """Make a tree that adds a value to the score of a row, and of all that no tree can tell from it."""
    asked: list[tuple[int, float, bool, bool, Mask | None]] = []
    for feature, each in states.of.items():
        if isinstance(each, Choice):
            asked.append((feature, 0.0, False, True, states.alike(feature, row[feature])))
        else:
            asked += [(feature, *condition, None) for condition in each.conditions(float(row[feature]))]
    count = len(asked)
    is_left = np.array([left for _, _, _, left, _ in asked], dtype=np.bool_)
    # The nodes one after another, each with the next or a leaf of 0; then the marked leaf, then the others.
    after, other = np.arange(1, count + 1), np.arange(count + 1, 2 * count + 1)
    leaves = count + 1
    return _Nodes(
        np.array([*(feature for feature, *_ in asked), *[LEAF] * leaves], dtype=np.intp),
        np.array([*(threshold for _, threshold, *_ in asked), *[0.0] * leaves]),
        np.array([*(below for _, _, below, *_ in asked), *[0] * leaves], dtype=np.uint8),
        np.append(np.where(is_left, after, other), np.zeros(leaves)).astype(np.intp),
        np.append(np.where(is_left, other, after), np.zeros(leaves)).astype(np.intp),
        np.array([*[0.0] * count, value, *[0.0] * (leaves - 1)]),
        np.zeros(1, dtype=np.intp),
        (*(members for *_, members in asked), *[None] * leaves),
    )


def _sizes(states: States) -> dict[int, int]:
    """Count the categories of each feature that has some."""
    left = states.structure.codes_left
    return {f: left[f][1].shape[1] for f, each in states.of.items() if isinstance(each, Choice)}


def _constraints(states: States) -> Any:
    """Tell the solver what may change, and how far."""
    from treecf import AllowedCategories, Freeze, Range
    from treecf.backends.genetic_rust import build_rust_constraints
    from treecf.constraints.compile import compile_constraints
    from treecf.ir.model import CategoricalFeature

    names = [f"f{index}" for index in range(len(states.x))]
    limits: list[Any] = []
    for feature, name in enumerate(names):
        each = states.of.get(feature)
        if each is None:
            limits.append(Freeze(name))
        elif isinstance(each, Ladder):
            limits.append(Range(name, *each.ends))
        else:
            limits.append(AllowedCategories(name, each.codes.tolist()))
    sizes = {feature: CategoricalFeature(size) for feature, size in _sizes(states).items()}
    return build_rust_constraints(compile_constraints(limits, names, sizes))


def treecf_core() -> Any:
    """Import treecf's solver."""
    try:
        import treecf._treecf_core as core
    except ImportError as error:
        raise ImportError("Exact needs treecf: pip install 'counterpoint[exact]'") from error
    return core


def _bits(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Pack flags into words of 64 bits.

    Examples
    --------
    >>> _bits(np.array([True, False, True]))
    array([5], dtype=uint64)
    """
    padded = np.zeros(-(-len(flags) // WORD) * WORD, dtype=np.uint8)
    padded[: len(flags)] = flags
    return np.packbits(padded, bitorder="little").view(np.uint64)
