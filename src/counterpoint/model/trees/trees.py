"""The trees of a model as flat arrays, whatever library they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.read_only import make_read_only
from counterpoint.data.types import Indices, Mask, Row, Rows

LEAF = -1


class UnreadableError(ValueError):
    """A model whose trees cannot be read, or are not understood; the message says why."""


@dataclass(frozen=True)
class Trees:
    """All nodes of all trees, one after another.

    A row goes left at a node if its value in the node's column is at most the threshold, or below it where
    splits are `strict`, or one of the node's `sets` where it has one. The score of a row is `base` plus the
    values of the leaves it ends in.

    Attributes
    ----------
    column
        The column that each node asks about; -1 for a leaf.
    threshold, nan_left, left, right, value
        Of each node: its threshold, whether a missing value goes left, its children, and what a leaf adds.
    roots
        The first node of each tree.
    strict
        Whether a value equal to the threshold goes right.
    narrow
        Whether the model rounds its inputs to float32 before it compares them.
    classes
        The decision if the score is at most `cut`, and the decision above it; None where that is not how the
        model decides, because it has more than two classes or returns numbers.
    blur
        How far rounding may move a score; 0 if sums of leaves are exact.
    sets
        The categories that go left, by node; for nodes without a threshold.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from counterpoint.model.trees.readers import read_trees
    >>> trees = read_trees(DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"]))
    >>> trees.threshold[trees.column >= 0], trees.classes
    (array([0.5]), ('no', 'yes'))
    >>> trees.scores(np.array([[0.2], [0.9]]))
    array([0., 1.])
    """

    column: Indices
    threshold: Row
    nan_left: Mask
    left: Indices
    right: Indices
    value: Row
    roots: Indices
    strict: bool = False
    narrow: bool = False
    base: float = 0.0
    cut: float = 0.0
    classes: tuple[Any, Any] | None = None
    blur: float = 0.0
    sets: dict[int, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        make_read_only(self)

    @classmethod
    def joined(cls, trees: Sequence[Trees], **facts: Any) -> Trees:
        """Lay trees one after another."""
        if not trees:
            raise UnreadableError("the model holds no trees")
        starts = np.cumsum([0, *(len(tree.column) for tree in trees)])[:-1]
        moved = [tree._moved(int(start)) for tree, start in zip(trees, starts, strict=True)]
        names = ("column", "threshold", "nan_left", "left", "right", "value", "roots")
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(tree, name) for tree in moved]) for name in names
        }
        sets = {node: members for tree in moved for node, members in tree.sets.items()}
        return replace(trees[0], **arrays, sets=sets, **facts)

    def _moved(self, start: int) -> Trees:
        children = {name: getattr(self, name) + start for name in ("left", "right", "roots")}
        return replace(self, **children, sets={node + start: members for node, members in self.sets.items()})

    @property
    def splits(self) -> Indices:
        """The nodes that are not leaves."""
        return np.flatnonzero(self.column != LEAF)

    def goes_left(self, values: Row, nodes: Indices) -> Mask:
        """Tell for pairs of a value and a node whether the value goes left."""
        with np.errstate(over="ignore"):
            seen = values.astype(np.float32).astype(np.float64) if self.narrow else values
        threshold = self.threshold[nodes]
        left = seen < threshold if self.strict else seen <= threshold
        left = np.where(np.isnan(seen), self.nan_left[nodes], left)
        if self.sets:
            for place in np.flatnonzero(np.isin(nodes, list(self.sets))).tolist():
                if not np.isnan(seen[place]):
                    left[place] = float(seen[place]) in self.sets[int(nodes[place])]
        return np.asarray(left)

    def scores(self, matrix: Rows) -> Row:
        """Compute the score of each row of what the trees are given."""
        total = np.full(len(matrix), self.base)
        for root in self.roots.tolist():
            node = np.full(len(matrix), root)
            going = np.flatnonzero(self.column[node] != LEAF)
            while len(going):
                here = node[going]
                left = self.goes_left(matrix[going, self.column[here]], here)
                node[going] = np.where(left, self.left[here], self.right[here])
                going = going[self.column[node[going]] != LEAF]
            total += self.value[node]
        return total

    @property
    def largest(self) -> float:
        """The largest absolute score that is possible, or more."""
        leaves = np.where(self.column == LEAF, np.abs(self.value), 0.0)
        each = np.maximum.reduceat(leaves, self.roots)
        return float(abs(self.base) + abs(self.cut) + each.sum())


def members_of(words: NDArray[Any], bits: int = 32) -> frozenset[int]:
    """List the positions of the bits that are set.

    Examples
    --------
    >>> sorted(members_of(np.array([5, 1])))
    [0, 2, 32]
    """
    return frozenset(
        place * bits + bit
        for place, word in enumerate(words.tolist())
        for bit in range(bits)
        if int(word) >> bit & 1
    )
