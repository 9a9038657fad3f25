"""Reads the trees of scikit-learn, XGBoost and LightGBM."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoint.data.types import Row
from counterpoint.model.trees.trees import LEAF, Trees, UnreadableError, members_of

# Scores are sums of as many numbers as there are trees; each may be rounded by about this share.
ROUNDING, ROUNDING_OF_FLOAT32 = 1e-13, 1e-5

READABLE = (
    "forests, trees, gradient boosting and histogram boosting of scikit-learn, XGBoost and LightGBM, alone "
    "or as the last step of a pipeline"
)


def read_trees(model: Any) -> Trees:
    """Read the trees of a model; raise `UnreadableError` if it has none that are understood.

    Examples
    --------
    >>> read_trees(max)
    Traceback (most recent call last):
        ...
    counterpoint.model.trees.trees.UnreadableError: builtin_function_or_method is not among the models ...
    """
    for kind in type(model).__mro__:
        for prefix, read in _READERS.items():
            if f"{kind.__module__}.{kind.__name__}".startswith(prefix):
                return _read(model, read)
    raise UnreadableError(
        f"{type(model).__name__} is not among the models whose trees can be read: {READABLE}"
    )


def _read(model: Any, read: Callable[[Any], Trees]) -> Trees:
    try:
        return read(model)
    except UnreadableError:
        raise
    except Exception as error:  # other versions of a library may store trees in another way
        raise UnreadableError(f"its trees could not be read: {type(error).__name__}: {error}") from error


def _decision_tree(model: Any) -> Trees:
    return _forest_of([model], model)


def _forest(model: Any) -> Trees:
    return _forest_of(model.estimators_, model)


def _forest_of(members: Any, model: Any) -> Trees:
    """Read a forest: the score is the sum of the trees' probabilities of the second class."""
    classes = _two_classes(getattr(model, "classes_", None))
    outputs = {int(member.tree_.n_outputs) for member in members}
    if outputs != {1}:
        raise UnreadableError("the model has several outputs")
    trees = [_sklearn_tree(member.tree_, _leaves(member.tree_, classes is not None)) for member in members]
    forest = Trees.joined(trees, narrow=True, classes=classes, cut=len(trees) / 2)
    exact = bool((forest.value * 1024 == np.rint(forest.value * 1024)).all())
    return replace(forest, blur=0.0 if exact else ROUNDING * forest.largest)


def _leaves(tree: Any, is_classifier: bool) -> Row:
    values = np.asarray(tree.value)[:, 0, :]
    return np.asarray(values[:, 1] / values.sum(axis=1) if is_classifier else values[:, 0])


def _sklearn_tree(tree: Any, values: Row) -> Trees:
    left = np.asarray(tree.children_left, dtype=np.intp)
    is_leaf = left == LEAF
    missing = getattr(tree, "missing_go_to_left", None)
    return Trees(
        column=np.where(is_leaf, LEAF, tree.feature).astype(np.intp),
        threshold=np.asarray(tree.threshold, dtype=np.float64),
        nan_left=np.zeros(len(left), dtype=np.bool_) if missing is None else np.asarray(missing, np.bool_),
        left=np.where(is_leaf, 0, left),
        right=np.where(is_leaf, 0, np.asarray(tree.children_right, dtype=np.intp)),
        value=np.where(is_leaf, values, 0.0),
        roots=np.zeros(1, dtype=np.intp),
    )


def _gradient_boosting(model: Any) -> Trees:
    """Read gradient boosting of scikit-learn: with several classes, only its thresholds mean something."""
    classes = _two_classes(getattr(model, "classes_", None))
    members = np.ravel(model.estimators_)
    trees = [_sklearn_tree(each.tree_, model.learning_rate * each.tree_.value[:, 0, 0]) for each in members]
    base = 0.0
    if classes is not None:
        if not (model.init_ == "zero" or type(model.init_).__module__ == "sklearn.dummy"):
            raise UnreadableError("its first estimate (init) is a model of its own")
        base = float(model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0, 0])
    return _blurred(Trees.joined(trees, narrow=True, classes=classes, base=base), ROUNDING)


def _histogram_boosting(model: Any) -> Trees:
    classes = _two_classes(getattr(model, "classes_", None))
    trees = [_histogram_tree(each) for stage in model._predictors for each in stage]
    base = float(np.ravel(model._baseline_prediction)[0])
    return _blurred(Trees.joined(trees, classes=classes, base=base), ROUNDING)


def _histogram_tree(predictor: Any) -> Trees:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(np.bool_)
    by_set = np.flatnonzero(nodes["is_categorical"].astype(np.bool_) & ~is_leaf).tolist()
    return Trees(
        column=np.where(is_leaf, LEAF, nodes["feature_idx"]).astype(np.intp),
        threshold=np.where(is_leaf, 0.0, nodes["num_threshold"]),
        nan_left=nodes["missing_go_to_left"].astype(np.bool_),
        left=np.where(is_leaf, 0, nodes["left"]).astype(np.intp),
        right=np.where(is_leaf, 0, nodes["right"]).astype(np.intp),
        value=np.where(is_leaf, nodes["value"], 0.0),
        roots=np.zeros(1, dtype=np.intp),
        sets={
            node: members_of(predictor.raw_left_cat_bitsets[int(nodes["bitset_idx"][node])])
            for node in by_set
        },
    )


def _xgboost(model: Any) -> Trees:
    """Read XGBoost through its own JSON, which holds the same for all of its versions."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    learner = json.loads(bytes(booster.save_raw(raw_format="json")))["learner"]
    if learner["gradient_booster"]["name"] != "gbtree":
        raise UnreadableError(f"its booster is {learner['gradient_booster']['name']}, and must be gbtree")
    stored = learner["gradient_booster"]["model"]
    trees = [_xgboost_tree(tree) for tree in stored["trees"]]
    best = getattr(booster, "best_iteration", None) if "best_iteration" in booster.attributes() else None
    if best is not None:
        trees = trees[: int(stored["iteration_indptr"][best + 1])]
    is_binary = learner["objective"]["name"] == "binary:logistic"
    classes, base = None, 0.0
    if is_binary:
        classes = _two_classes(getattr(model, "classes_", np.array([0, 1])))
        share = float(np.float32(learner["learner_model_param"]["base_score"].strip("[]")))
        base = float(np.log(share / (1 - share)))
    return _blurred(
        Trees.joined(trees, strict=True, narrow=True, classes=classes, base=base), ROUNDING_OF_FLOAT32
    )


def _xgboost_tree(tree: dict[str, Any]) -> Trees:
    left = np.array(tree["left_children"], dtype=np.intp)
    right = np.array(tree["right_children"], dtype=np.intp)
    # The text has few digits; the numbers are those of float32.
    numbers = np.array(tree["split_conditions"], dtype=np.float32).astype(np.float64)
    is_leaf = left == LEAF
    nan_left = np.array(tree["default_left"], dtype=np.bool_)
    sets = _xgboost_sets(tree)
    # A set holds the categories that go right: with its children exchanged, they go left.
    swapped = np.isin(np.arange(len(left)), list(sets))
    left, right = np.where(swapped, right, left), np.where(swapped, left, right)
    return Trees(
        column=np.where(is_leaf, LEAF, np.array(tree["split_indices"], dtype=np.intp)),
        threshold=np.where(is_leaf, 0.0, numbers),
        nan_left=nan_left ^ swapped,
        left=np.where(is_leaf, 0, left),
        right=np.where(is_leaf, 0, right),
        value=np.where(is_leaf, numbers, 0.0),
        roots=np.zeros(1, dtype=np.intp),
        sets=sets,
    )


def _xgboost_sets(tree: dict[str, Any]) -> dict[int, frozenset[int]]:
    parts = zip(
        tree.get("categories_nodes", ()),
        tree.get("categories_segments", ()),
        tree.get("categories_sizes", ()),
        strict=True,
    )
    return {int(node): frozenset(tree["categories"][start : start + size]) for node, start, size in parts}


def _lightgbm(model: Any) -> Trees:
    """Read LightGBM through the text that it saves."""
    booster = getattr(model, "booster_", model)
    head, *texts = booster.model_to_string().split("\nTree=")
    objective = _fields(head).get("objective", "").split()
    trees = [_lightgbm_tree(_fields(text.split("\nend of trees")[0])) for text in texts]
    classes = None
    if objective[:1] == ["binary"]:
        classes = _two_classes(getattr(model, "classes_", np.array([0, 1])))
    return _blurred(Trees.joined(trees, classes=classes), ROUNDING)


def _lightgbm_tree(fields: dict[str, str]) -> Trees:
    """Read one tree: inner nodes first, then leaves, which LightGBM counts down from -1."""
    if fields.get("is_linear") == "1":
        raise UnreadableError("its leaves hold linear models (linear_tree)")
    leaves = _numbers(fields, "leaf_value")
    left, right = (_numbers(fields, name).astype(np.intp) for name in ("left_child", "right_child"))
    inner, count = len(left), len(leaves)
    kinds = _numbers(fields, "decision_type").astype(np.intp)
    threshold = _numbers(fields, "threshold")
    # Bit 0: by category; bit 1: missing goes left; bits 2 and 3: 0 if there is no missing, 1 if it is zero.
    if ((kinds >> 2) & 3 == 1).any():
        raise UnreadableError("it takes zero as missing (zero_as_missing)")
    none_missing = (kinds >> 2) & 3 == 0
    by_set = (kinds & 1).astype(np.bool_)
    nan_left = np.where(none_missing, threshold >= 0, (kinds >> 1) & 1 == 1) & ~by_set
    children = [np.where(side >= 0, side, inner + ~side) for side in (left, right)]
    nothing = np.zeros(count)
    return Trees(
        column=np.append(_numbers(fields, "split_feature"), nothing + LEAF).astype(np.intp),
        threshold=np.append(threshold, nothing),
        nan_left=np.append(nan_left, nothing).astype(np.bool_),
        left=np.append(children[0], nothing).astype(np.intp),
        right=np.append(children[1], nothing).astype(np.intp),
        value=np.append(np.zeros(inner), leaves),
        roots=np.zeros(1, dtype=np.intp),
        sets=_lightgbm_sets(fields, np.flatnonzero(by_set).tolist(), threshold),
    )


def _lightgbm_sets(fields: dict[str, str], nodes: list[int], which: Row) -> dict[int, frozenset[int]]:
    starts, words = (_numbers(fields, name).astype(np.int64) for name in ("cat_boundaries", "cat_threshold"))
    return {
        node: members_of(words[starts[int(which[node])] : starts[int(which[node]) + 1]]) for node in nodes
    }


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.split("\n"))
    return {name: value for name, equals, value in pairs if equals}


def _numbers(fields: dict[str, str], name: str) -> Row:
    return np.array(fields.get(name, "").split(), dtype=np.float64)


def _blurred(trees: Trees, rounding: float) -> Trees:
    return replace(trees, blur=rounding * max(1.0, trees.largest))


def _two_classes(classes: Any) -> tuple[Any, Any] | None:
    """Return the names of two classes; None if there are more, or none."""
    if classes is None or np.ndim(classes) != 1 or len(classes) != 2:
        return None
    first, second = np.asarray(classes).tolist()
    return first, second


_READERS: dict[str, Callable[[Any], Trees]] = {
    "sklearn.tree._classes.DecisionTree": _decision_tree,
    "sklearn.tree._classes.ExtraTree": _decision_tree,
    "sklearn.ensemble._forest.RandomForest": _forest,
    "sklearn.ensemble._forest.ExtraTrees": _forest,
    "sklearn.ensemble._gb.GradientBoosting": _gradient_boosting,
    "sklearn.ensemble._hist_gradient_boosting": _histogram_boosting,
    "xgboost.sklearn.XGBRF": _xgboost,
    "xgboost.sklearn.XGB": _xgboost,
    "xgboost.core.Booster": _xgboost,
    "lightgbm.sklearn.LGBM": _lightgbm,
    "lightgbm.basic.Booster": _lightgbm,
}
