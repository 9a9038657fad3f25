"""The model that every benchmark explains, trained once a data set and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import joblib
import numpy as np
import sklearn

import counterpoint as cp
from benchmarks.results import CACHE
from counterpoint.datasets import load_table
from counterpoint.files import replacing
from counterpoint.study.blackboxes import Trained, build

T = TypeVar("T")

SEED = 0
TREES = 100


def train(name: str) -> Trained:
    """Train the model of a data set, or take it from the cache."""
    data = load_table(name, seed=SEED)
    # Not the study's tuned forest: the authors' figures are of one with 100 trees.
    forest = build("forest", data.categorical, {"n_estimators": TREES}, SEED)
    inputs = (data.X_train, data.y_train, data.categorical, sklearn.__version__, repr(forest))
    key = f"{name}-{joblib.hash(inputs)[:12]}"
    model = cached(f"model-{key}", lambda: forest.fit(data.X_train, data.y_train))
    accuracy = float(np.mean(model.predict(data.X_test) == data.y_test.to_numpy()))
    return Trained(data, "forest", model, accuracy, key)


def fit(trained: Trained, model: Any = None) -> cp.Explainer:
    """Fit the ensemble as it comes to the trained model, or to one that stands for it."""
    asked = trained.model if model is None else model
    return cp.Ensemble(seed=SEED).fit(asked, trained.known, immutable=trained.data.immutable)


def cached(name: str, make: Callable[[], T], fresh: bool = False) -> T:
    """Take a thing from the benchmarks' cache; make it first if it is not there, or must be fresh."""
    path = CACHE / f"{name}.joblib"
    if path.exists() and not fresh:
        return cast(T, joblib.load(path))
    thing = make()
    CACHE.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        joblib.dump(thing, file)
    return thing
