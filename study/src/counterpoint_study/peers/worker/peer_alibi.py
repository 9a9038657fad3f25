"""Alibi's three searches by gradient: CEM, CEGP (guided by prototypes) and WACH (Wachter and others).

Each gives one answer whatever k is. On the network they take its exact gradients. On any other model they
would estimate gradients from tens of thousands of questions, which takes longer than there is time, so they
are not asked about forests.

All features go in as numbers. CEM and WACH take each category's column for a number of its own, and the
category with the largest is taken for the answer; CEGP is told which columns make a category. All three take
ranges of features, so an immutable one is given a range of one value, the instance's own. Whole numbers in an
answer are rounded (see `ScaledOneHot.answers`).

Settings are the library's defaults but for these:

- CEM: a feature's range is training's, and "no information" is training's median, as in its documentation.
- CEGP: what its documentation has for mixed data (beta, c_init, c_steps, max_iterations, numbers from -1 to
  1) and for prototypes without an encoder (the nearest training instance of another class, theta).
- WACH: any probability from a half upwards will do, as a counterfactual has to flip the decision and no more.
  By default it must be 0.95, which a model that is never so sure does not reach.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .onehot import Floats, ScaledOneHot
from .rebuilt import check_rebuilt, rebuilt_layers
from .rows import Codes
from .task import Explain, Task

Found = NDArray[np.floating] | None

NO_FOREST = (
    "alibi estimates a forest's gradients from tens of thousands of questions: on german an instance takes "
    "more than 20 s"
)


def setup(task: Task) -> Explain:
    """Prepare one of the three."""
    if task.blueprint is None:
        raise NotImplementedError(NO_FOREST)
    return METHODS[task.job["method"]](task, _tensorflow())


def _cem(task: Task, tf: Any) -> Explain:
    from alibi.explainers import CEM

    space = ScaledOneHot(task.rows, task.train)
    ranges = Ranges(tf, space.width)
    shape = (1, space.width)
    explainer = CEM(_model(task, space, tf), "PN", shape, feature_range=(ranges.low, ranges.high))
    explainer.fit(space.encode(task.train), no_info_type="median")
    fixed = space.columns(_fixed(task))

    def search(row: Floats) -> Found:
        ranges.set(row, 0.0, 1.0, fixed)
        return explainer.explain(row).PN  # type: ignore[no-any-return]

    return _explain(task, space, search)


def _cegp(task: Task, tf: Any) -> Explain:
    from alibi.explainers import CounterfactualProto

    space = ScaledOneHot(task.rows, task.train, low=-1.0)
    # It moves a category along a line, so that a feature has one range, whatever it is.
    ranges = Ranges(tf, len(task.rows.columns))
    groups = {space.slice(place).start: task.rows.seen[place] for place in task.rows.categorical}
    explainer = CounterfactualProto(
        _model(task, space, tf),
        (1, space.width),
        beta=0.01,
        feature_range=(ranges.low, ranges.high),
        theta=10.0,
        cat_vars=groups or None,
        ohe=bool(groups),
        use_kdtree=True,
        max_iterations=500,
        c_init=1.0,
        c_steps=5,
    )
    explainer.fit(space.encode(task.train))
    low, high = explainer.feature_range
    fixed = _fixed(task)

    def search(row: Floats) -> Found:
        ranges.set(_on_lines(explainer, space, row), low, high, fixed)
        found = explainer.explain(row).cf
        return None if found is None else found["X"]

    return _explain(task, space, search)


def _wach(task: Task, tf: Any) -> Explain:
    from alibi.explainers import Counterfactual

    space = ScaledOneHot(task.rows, task.train)
    ranges = Ranges(tf, space.width)
    explainer = Counterfactual(
        _model(task, space, tf),
        (1, space.width),
        target_proba=0.75,
        tol=0.25,
        feature_range=(ranges.low, ranges.high),
    )
    fixed = space.columns(_fixed(task))

    def search(row: Floats) -> Found:
        ranges.set(row, 0.0, 1.0, fixed)
        found = explainer.explain(row).cf
        return None if found is None else found["X"]

    return _explain(task, space, search)


METHODS: dict[str, Callable[[Task, Any], Explain]] = {"CEM": _cem, "CEGP": _cegp, "WACH": _wach}


class Ranges:
    """Ranges of features that change from instance to instance.

    Alibi takes the ranges once, when it builds its graph, which takes seconds. So it is given variables.
    """

    def __init__(self, tf: Any, width: int) -> None:
        self.low, self.high = (_Bound(tf, np.full((1, width), value)) for value in (-1.0, 1.0))
        self._set_value = tf.compat.v1.keras.backend.set_value

    def set(self, row: Floats, low: Floats | float, high: Floats | float, fixed: Sequence[int]) -> None:
        """Let features lie between low and high, or as far out as in the row; fixed ones as in the row."""
        least, most = np.minimum(row, low), np.maximum(row, high)
        least[:, fixed] = most[:, fixed] = row[:, fixed]
        self._set_value(self.low.variable, least)
        self._set_value(self.high.variable, most)


class _Bound:
    """A variable that passes for an array: alibi looks at it as one, and copies it with its settings."""

    def __init__(self, tf: Any, first: Floats) -> None:
        self.variable = tf.compat.v1.Variable(first, dtype=tf.float32, trainable=False)
        self._first = first
        tf.register_tensor_conversion_function(
            _Bound, lambda bound, dtype=None, name=None, as_ref=False: tf.convert_to_tensor(bound.variable)
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        return np.array(self._first, dtype=dtype)

    def __deepcopy__(self, memo: object) -> _Bound:
        return self


def _explain(task: Task, space: ScaledOneHot, search: Callable[[Floats], Found]) -> Explain:
    def explain(x: Codes) -> Codes:
        found = search(space.encode(x[None]))
        return np.empty((0, len(x))) if found is None else space.answers(found, x)

    return explain


def _fixed(task: Task) -> list[int]:
    return [place for place in range(len(task.rows.columns)) if place not in task.mutable]


def _on_lines(explainer: Any, space: ScaledOneHot, row: Floats) -> Floats:
    """Return where CEGP places a row: a number where it is, a category on its feature's line."""
    codes = space.decode(row)
    placed = np.empty_like(codes)
    for place in range(codes.shape[1]):
        if place in space.rows.levels:
            placed[0, place] = explainer.d_abs[place][int(codes[0, place])]
        else:
            placed[0, place] = row[0, space.slice(place).start]
    return placed


def _model(task: Task, space: ScaledOneHot, tf: Any) -> Any:
    """Return the network in Keras."""
    assert task.blueprint is not None
    *inner, last = rebuilt_layers(task.blueprint, space)
    network = tf.keras.Sequential([tf.keras.layers.InputLayer(space.width)])
    for (weights, biases), activation in [*((layer, "relu") for layer in inner), (last, "softmax")]:
        layer = tf.keras.layers.Dense(len(biases), activation=activation)
        network.add(layer)
        layer.set_weights([weights, biases])
    check_rebuilt(task, space, network.predict)
    return network


def _tensorflow() -> Any:
    """Import TensorFlow, on one thread, and with the ways of its first version, which alibi needs."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.compat.v1.disable_v2_behavior()
    return tf
