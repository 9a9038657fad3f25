"""Wildboar's prototype counterfactuals for series, which ask any model for labels and nothing else.

A series is moved towards training series of the other class, drawn anew for each step, until the model says
that class. Settings are the library's defaults. It has to be told the class, which is here the model's second
likeliest. Its other methods need a forest or a nearest-neighbour model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blackbox import BlackBox
from .rows import Codes
from .task import Explain, Task


def setup(task: Task) -> Explain:
    """Prepare the search, which works on flat rows, as series are."""
    from wildboar.explain.counterfactual import PrototypeCounterfactual

    if len(task.job["shape"]) != 1:
        raise ValueError(f"It explains series of the shape (length,), not {tuple(task.job['shape'])}.")
    train = np.asarray(task.train, dtype=np.float64)
    estimator = Estimator(task.model, train.shape[1])

    def explain(x: Codes) -> Codes:
        # Set up anew, as it draws its random numbers' seed then, and the worker's seed is the instance's.
        explainer = PrototypeCounterfactual()
        explainer.fit(estimator, train, task.labels)
        target = np.argsort(task.model.predict_proba(x[None])[0])[-2:-1]
        answer = explainer.explain(x[None], target)
        # After its last step it returns where it is, be it of the other class or not.
        return np.asarray(answer[task.model.predict(answer) == target], dtype=np.float64)

    return explain


class Estimator:
    """The black box as wildboar wants it: a fitted estimator that can be copied."""

    def __init__(self, model: BlackBox, length: int) -> None:
        self.n_features_in_ = length
        self.classes_ = np.arange(model.n_classes)
        self._model = model

    def fit(self, X: Codes, y: Any) -> Estimator:
        """Return the estimator, which is fitted already."""
        return self

    def predict(self, X: Codes) -> NDArray[np.int64]:
        """Return the number of each row's class."""
        return self._model.predict(X)

    def predict_proba(self, X: Codes) -> NDArray[np.float64]:
        """Return each row's probability of each class."""
        return self._model.predict_proba(X)

    def __deepcopy__(self, memo: object) -> Estimator:
        # A copy could not share the connection to the model.
        return self
