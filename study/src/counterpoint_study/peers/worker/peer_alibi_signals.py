"""Alibi's CEM, CEGP and WACH on images and series, with the exact gradients of the study's network.

Each gives one answer whatever k is. A value may lie anywhere in the range of the training data. An instance
goes in as a flat row, because CEGP's trees of training instances take nothing else; the network gives it its
shape back. None of the three has an autoencoder: it is optional, and would be a model of its own to train.

Settings are those of alibi's documentation for images of digits:

- CEM: 10 weights of 1,000 steps each, and "no information" is half a range below the darkest value, so that
  an image can only grow brighter. A series has no background: there it is training's median, as in the
  documentation of other data.
- CEGP: 5 weights of 500 steps each, and theta for prototypes without an encoder: the nearest training
  instance of another class. Of more than 2,000 training instances, the trees hold a sample with the same
  share of every class.
- WACH: the defaults, but for the target: any probability from a half upwards will do, as a counterfactual
  has to flip the decision and no more. By default it must be 0.95.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .convolution import check_rebuilt, rebuilt
from .rows import Codes
from .task import Explain, Task

Found = NDArray[np.floating] | None

TREES_HOLD = 2_000


@dataclass(frozen=True)
class Ground:
    """What all three search on: the network for flat rows, and the terms that they must keep to."""

    network: Any
    low: float
    high: float
    width: int

    @classmethod
    def of(cls, task: Task) -> Ground:
        """Rebuild the network, and look at the training data."""
        return cls(_flat(task), float(task.train.min()), float(task.train.max()), task.train.shape[1])

    @property
    def terms(self) -> dict[str, Any]:
        """The arguments that all three have: the shape of a row, and the range of its values."""
        return {"shape": (1, self.width), "feature_range": (self.low, self.high)}


def setup(task: Task) -> Explain:
    """Prepare one of the three."""
    search = METHODS[task.job["method"]](task, Ground.of(task))

    def explain(x: Codes) -> Codes:
        found = search(x[None])
        return np.empty((0, len(x))) if found is None else _answer(found, x)

    return explain


def _cem(task: Task, ground: Ground) -> Callable[[Codes], Found]:
    from alibi.explainers import CEM

    below = ground.low - (ground.high - ground.low) / 2
    explainer = CEM(ground.network, "PN", c_init=1.0, c_steps=10, no_info_val=below, **ground.terms)
    if len(task.job["shape"]) == 1:
        explainer.fit(task.train, no_info_type="median")
    return lambda row: explainer.explain(row).PN


def _cegp(task: Task, ground: Ground) -> Callable[[Codes], Found]:
    from alibi.explainers import CounterfactualProto

    explainer = CounterfactualProto(
        ground.network,
        use_kdtree=True,
        theta=10.0,
        c_init=1.0,
        c_steps=5,
        max_iterations=500,
        **ground.terms,
    )
    explainer.fit(task.train[sample(task.labels, TREES_HOLD)])
    return lambda row: _cf(explainer.explain(row))


def _wach(task: Task, ground: Ground) -> Callable[[Codes], Found]:
    from alibi.explainers import Counterfactual

    explainer = Counterfactual(ground.network, target_proba=0.75, tol=0.25, **ground.terms)
    return lambda row: _cf(explainer.explain(row))


METHODS: dict[str, Callable[[Task, Ground], Callable[[Codes], Found]]] = {
    "CEM": _cem,
    "CEGP": _cegp,
    "WACH": _wach,
}


def sample(labels: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """Choose instances, at most about so many, with the same share of every class.

    Examples
    --------
    >>> labels = np.repeat([0, 1], [300, 100])
    >>> chosen = sample(labels, 40)
    >>> np.bincount(labels[chosen]).tolist()
    [30, 10]
    """
    step = max(len(labels) / count, 1.0)
    by_class = np.argsort(labels, kind="stable")
    return np.sort(by_class[np.arange(0, len(labels), step).astype(np.intp)])


def _cf(explanation: Any) -> Found:
    found: Found = None if explanation.cf is None else explanation.cf["X"]
    return found


def _answer(found: NDArray[np.floating], x: Codes) -> Codes:
    """Return what was found; what alibi, which computes in float32, left alone keeps its very value."""
    flat = np.asarray(found, dtype=np.float64).reshape(1, -1)
    return np.where(flat == x.astype(np.float32), x, flat)


def _flat(task: Task) -> Any:
    """Return the network in Keras for flat rows, after a check that it answers as the black box does."""
    tf = _tensorflow()
    shape = task.job["shape"]
    network = rebuilt(Path(task.job["folder"]) / "convolution.npz")
    check_rebuilt(
        network,
        task.train.reshape(-1, *shape),
        lambda signals: task.model.predict_proba(signals.reshape(len(signals), -1)),
    )
    reshape = tf.keras.layers.Reshape((*shape, 1), input_shape=(task.train.shape[1],))
    return tf.keras.Sequential([reshape, network])


def _tensorflow() -> Any:
    """Import TensorFlow, on one thread, and with the ways of its first version, which alibi needs."""
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.compat.v1.disable_v2_behavior()
    return tf
