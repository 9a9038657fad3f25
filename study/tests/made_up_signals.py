"""A made-up data set of series and its black box, for the tests of the study on arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.datasets.arrays import ArrayDataset
from counterpoint_study.models.training import TrainedOnArrays
from counterpoint_study.scenes.signals import SignalScene


class Rising:
    """Says 1 of a series whose second half is higher than its first, and 0 of others."""

    classes_ = np.array([0, 1])

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        half = X.shape[1] // 2
        return (X[:, half:].mean(axis=1) > X[:, :half].mean(axis=1)).astype(np.int64)


def series(count: int, seed: int) -> NDArray[np.float32]:
    """Smooth series of 16 steps."""
    rng = np.random.default_rng(seed)
    steps = np.linspace(-1, 1, 16)
    slopes, heights = rng.normal(size=(2, count, 1))
    return (slopes * steps + heights + 0.1 * rng.normal(size=(count, 16))).astype(np.float32)


def scene(instances: int = 3) -> SignalScene:
    train, test = series(60, seed=0), series(20, seed=1)
    model = Rising()
    data = ArrayDataset("toy", "series", train, model.predict(train), test, model.predict(test))
    return SignalScene(TrainedOnArrays(data, "network", model, 1.0, "toy"), test[:instances])
