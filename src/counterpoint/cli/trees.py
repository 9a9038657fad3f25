"""Decision trees of scikit-learn in a model from a file: whether they are what training makes.

scikit-learn follows the numbers in a tree without looking at them. A file with wrong ones could make it read
memory that is not the tree's, or go round in a circle for ever. So they are checked before a tree is asked.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import repeat
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree

from counterpoint.cli.errors import InputError

# The one type in a forest that skops leaves to the user to trust, because it cannot look into it.
TREE = "sklearn.tree._tree.Tree"
# What belongs to the program and not to the model; through these one would get to all there is.
_PROGRAM = (type, ModuleType, FunctionType, BuiltinFunctionType)
# Ensembles that look at a table themselves and then give it to their trees unseen.
_UNCHECKED = BaseForest | BaseGradientBoosting | IsolationForest
_LEAF = -1


def check_trees(model: Any, name: str = "The model") -> None:
    """Refuse a model that holds a malformed tree, wherever it sits.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    >>> check_trees({"a pipeline": [tree]})
    >>> tree.tree_.children_left[0] = 0
    >>> check_trees(tree)
    Traceback (most recent call last):
        ...
    counterpoint.cli.errors.InputError: The model holds a malformed decision tree: node 0 ... again.
    """
    for thing in _reachable(model):
        wrong = _wrong_tree(thing) if isinstance(thing, Tree) else _wrong_width(thing)
        if wrong:
            raise InputError(
                f"{name} holds a malformed decision tree: {wrong}. No training makes such a tree: the file "
                f"is damaged or was tampered with. Save the model again."
            )


def _reachable(model: Any) -> Iterator[Any]:
    """Go through all that a model holds, each thing once."""
    waiting, seen = [model], {id(model): model}
    while waiting:
        thing = waiting.pop()
        yield thing
        for held in _held(thing):
            if id(held) not in seen and not isinstance(held, _PROGRAM):
                seen[id(held)] = held  # kept, so that its id is not given to another
                waiting.append(held)


def _held(thing: Any) -> list[Any]:
    # Arrays do not tell the garbage collector what they hold.
    if isinstance(thing, np.ndarray):
        return thing.ravel().tolist() if thing.dtype.hasobject else []
    return gc.get_referents(thing)


def _wrong_tree(tree: Tree) -> str:
    """Say what is wrong with a tree; nothing if all is well."""
    count, room = tree.node_count, tree.capacity
    if not 1 <= count <= room:  # before anything else: the tree's arrays are as long as it says
        return f"it says that it has {count:,} nodes, and has {room:,}"
    if tree.n_outputs < 1 or tree.max_n_classes < 1:
        return f"it says that it has {tree.n_outputs} outputs of {tree.max_n_classes} classes"
    nodes = np.arange(count)
    children = np.stack([tree.children_left, tree.children_right])
    inner = (children != _LEAF).any(axis=0)
    inside = ((children > nodes) & (children < count)).all(axis=0)
    if (inner & ~inside).any():
        node = int(np.argmax(inner & ~inside))
        left, right = children[:, node]
        return (
            f"node {node} of {count} leads to {left} and {right}, which must be later nodes, so that none is "
            f"reached again"
        )
    reached, times = np.unique(children[:, inner], return_counts=True)
    if (times > 1).any():
        return f"more than one way leads to node {reached[times > 1][0]}"
    unknown = inner & ((tree.feature < 0) | (tree.feature >= tree.n_features))
    if unknown.any():
        node = int(np.argmax(unknown))
        return f"node {node} asks for feature {tree.feature[node]} of {tree.n_features}"
    depth = _depth(children)
    return f"it says that it is {tree.max_depth} deep, and is {depth}" if depth > tree.max_depth else ""


def _depth(children: Any) -> int:
    """Count the steps from the root to the farthest leaf, all nodes of a level at once."""
    depth, level = -1, np.zeros(1, dtype=np.intp)
    while len(level):
        depth += 1
        level = children[:, level].ravel()
        level = level[level != _LEAF]
    return depth


def _wrong_width(thing: Any) -> str:
    """Say whether an estimator would give a tree other than the number of features that it asks for."""
    if not isinstance(thing, BaseDecisionTree | _UNCHECKED):
        return ""
    given = getattr(thing, "n_features_in_", None)  # without which it takes a table of any width
    members = getattr(thing, "estimators_", ())
    members = members.ravel().tolist() if isinstance(members, np.ndarray) else members
    chosen = getattr(thing, "estimators_features_", None)
    widths = repeat(given) if chosen is None or given is None else (min(given, len(each)) for each in chosen)
    for holder, width in ((thing, given), *zip(members, widths, strict=False)):
        tree = getattr(holder, "tree_", None)
        if isinstance(tree, Tree) and tree.n_features != width:
            return f"it asks about {tree.n_features} features, and is given {width}"
    return ""
