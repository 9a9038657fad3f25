"""Trees in the files of LightGBM and XGBoost: whether they are what training makes.

Both follow the numbers in a tree without looking at them. Wrong ones make them read memory that is not the
tree's, or go round in a circle for ever.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def check_lightgbm(text: str) -> None:
    r"""Refuse a LightGBM file that is cut off, or whose trees lead nowhere.

    Examples
    --------
    >>> check_lightgbm("tree\nmax_feature_idx=1\n\nTree=0\nnum_leaves=1\nleaf_value=0.5\n\nend of trees\n")
    >>> check_lightgbm("tree\nmax_feature_idx=1\n\nTree=0\nnum_leaves=1\n")
    Traceback (most recent call last):
        ...
    ValueError: it is cut off: the end of its trees is missing
    """
    head, *trees = text.split("\nTree=")
    if not trees and "\nend of trees" not in head:
        raise ValueError("it is cut off, or not a file of LightGBM")
    if "\nend of trees" not in text:
        raise ValueError("it is cut off: the end of its trees is missing")
    features = int(_fields(head).get("max_feature_idx", -1)) + 1
    for number, tree in enumerate(trees):
        _check_lightgbm_tree(_fields(tree.split("\nend of trees")[0]), number, features)
    _check_sizes(text, _fields(head))
    if "\nparameters:\n" in text and "\nend of parameters" not in text:
        raise ValueError("it is cut off: the end of its parameters is missing")
    # LightGBM looks for the name of a parameter that it does not know for ever.
    for line in text.partition("\nparameters:\n")[2].partition("\nend of parameters")[0].split("\n"):
        if line and not re.fullmatch(r"\[[a-z0-9_]+: .*\]", line):
            raise ValueError(f"{line[:50]!r} is not a parameter")


def _check_sizes(text: str, head: dict[str, str]) -> None:
    """Refuse a file whose trees do not begin where it says: LightGBM would look for the next one for ever."""
    content = text.encode()
    place = content.find(b"\nTree=") + 1
    for number, size in enumerate(_whole(head.get("tree_sizes", "")).tolist()):
        if size < 1 or content[place : place + 5] != b"Tree=":
            raise ValueError(f"tree {number} does not begin where the file says")
        place += size
    if "tree_sizes" in head and not content[place:].lstrip().startswith(b"end of trees"):
        raise ValueError("its trees do not end where the file says")


def _check_lightgbm_tree(fields: dict[str, str], number: int, features: int) -> None:
    leaves = int(fields.get("num_leaves", 0))
    values = len(fields.get("leaf_value", "").split())
    # Before any memory is asked for by the number of leaves.
    if not 1 <= leaves == values:
        raise ValueError(f"tree {number} says that it has {leaves:,} leaves, and has {values:,}")
    if leaves == 1:
        return
    left, right, feature = (_whole(fields.get(n, "")) for n in ("left_child", "right_child", "split_feature"))
    if not len(left) == len(right) == len(feature) == leaves - 1:
        raise ValueError(f"tree {number} has {leaves} leaves and {len(left)} nodes")
    # A negative child -i is leaf i - 1; every other node is the child of exactly one, made later than it.
    children = np.stack([left, right])
    inner = children >= 0
    if (children[~inner] < -leaves).any() or (children[inner] >= leaves - 1).any():
        raise ValueError(f"tree {number} leads to nodes that do not exist")
    _check_once(children, inner, number)
    if (feature < 0).any() or (feature >= features).any():
        raise ValueError(f"tree {number} asks for feature {int(feature.max())} of {features}")
    categories = int(fields.get("num_cat", 0))
    if not 0 <= categories < leaves:
        raise ValueError(f"tree {number} says that it has {categories:,} splits by category")
    if categories:
        _check_lightgbm_categories(fields, number, categories)


def _check_lightgbm_categories(fields: dict[str, str], number: int, categories: int) -> None:
    """Check where each split by category finds its set of categories."""
    starts, bits = (fields.get(name, "").split() for name in ("cat_boundaries", "cat_threshold"))
    ends = _whole(" ".join(starts))
    if len(ends) != categories + 1 or ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] != len(bits):
        raise ValueError(f"tree {number} has sets of categories that do not fit together")
    is_split = (_whole(fields.get("decision_type", "")) & 1).astype(bool)
    chosen = np.array(fields.get("threshold", "").split(), dtype=np.float64)
    if len(is_split) != len(chosen) or not ((chosen[is_split] >= 0) & (chosen[is_split] < categories)).all():
        raise ValueError(f"tree {number} asks for a set of categories that does not exist")


def check_xgboost(content: dict[str, Any]) -> None:
    """Refuse a model of XGBoost, as plain data, whose trees lead nowhere.

    Examples
    --------
    >>> check_xgboost({"learner": {"gradient_booster": {"name": "gblinear", "model": {"weights": [0.5]}}}})
    """
    learner = content["learner"]
    booster = learner["gradient_booster"]
    booster = booster.get("gbtree", booster)  # DART wraps a tree booster
    for number, tree in enumerate(booster["model"].get("trees", ())):
        features = int(tree["tree_param"]["num_feature"])
        children = np.array([tree["left_children"], tree["right_children"]], dtype=np.int64)
        inner = children >= 0
        if (
            (children >= children.shape[1]).any()
            or (inner[0] != inner[1]).any()
            or (children[inner] == 0).any()
        ):
            raise ValueError(f"tree {number} leads to nodes that do not exist")
        _check_once(children, inner, number)
        asked = np.array(tree["split_indices"], dtype=np.int64)[inner[0]]
        if (asked < 0).any() or (asked >= max(features, 1)).any():
            raise ValueError(f"tree {number} asks for feature {int(asked.max())} of {features}")


def _check_once(children: Numbers, inner: NDArray[np.bool_], number: int) -> None:
    """Refuse a tree in which a node is reached twice, or is its own ancestor."""
    reached, times = np.unique(children[inner], return_counts=True)
    if (times > 1).any() or (reached == 0).any():
        raise ValueError(f"more than one way leads to node {int(reached[np.argmax(times)])} of tree {number}")
    # Every node has one parent at most, so a node that the root does not lead to is in a circle.
    found, level = 1, np.zeros(1, dtype=np.int64)
    while len(level):
        level = children[:, level][inner[:, level]]
        found += len(level)
    if found != len(reached) + 1:
        raise ValueError(f"tree {number} goes round in a circle")


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.split("\n"))
    return {name: value for name, equals, value in pairs if equals}


def _whole(text: str) -> Numbers:
    return np.array(text.split(), dtype=np.int64)
