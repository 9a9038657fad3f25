"""Trees without the nodes whose answer is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Indices
from counterpoint.model.trees.trees import LEAF, Trees

UNKNOWN, RIGHT, LEFT = -1, 0, 1


@dataclass(frozen=True)
class Pruned:
    """What is left of trees: for each node its index in them and its children here, and the roots."""

    nodes: Indices
    left: Indices
    right: Indices
    roots: Indices


def prune(trees: Trees, way: NDArray[np.int8]) -> Pruned:
    """Leave out nodes that every row passes in the same way: `way` says where, or that it is not known.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from counterpoint.model.trees.readers import read_trees
    >>> trees = read_trees(DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 0]))
    >>> way = np.full(len(trees.column), UNKNOWN, dtype=np.int8)
    >>> len(prune(trees, way).nodes)
    5
    >>> way[0] = LEFT
    >>> len(prune(trees, way).nodes)
    1
    """
    every = np.arange(len(trees.column))
    target = np.where(way == LEFT, trees.left, np.where(way == RIGHT, trees.right, every))
    target = np.where(trees.column == LEAF, every, target)
    while (target != target[target]).any():
        target = target[target]
    left, right, roots = target[trees.left], target[trees.right], target[trees.roots]
    nodes, tree = _reached(trees, left, right, roots)
    order = np.argsort(tree, kind="stable")  # a tree's nodes lie together, its root first
    nodes = nodes[order]
    place = np.zeros(len(every), dtype=np.intp)
    place[nodes] = np.arange(len(nodes))
    return Pruned(nodes, place[left[nodes]], place[right[nodes]], place[roots])


def _reached(trees: Trees, left: Indices, right: Indices, roots: Indices) -> tuple[Indices, Indices]:
    """List the nodes that the roots lead to, level by level, and the tree of each."""
    level, tree = roots, np.arange(len(roots))
    nodes, of = [level], [tree]
    while len(level):
        inner = trees.column[level] != LEAF
        tree = np.tile(tree[inner], 2)
        level = np.concatenate([left[level[inner]], right[level[inner]]])
        nodes.append(level)
        of.append(tree)
    return np.concatenate(nodes), np.concatenate(of)
