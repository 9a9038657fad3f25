"""The model that every benchmark explains, trained once a data set and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

import joblib
import numpy as np
import pandas as pd
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from benchmarks.results import CACHE
from counterpoint.datasets import Dataset, load

T = TypeVar("T")

SEED = 0
TREES = 100


@dataclass(frozen=True)
class Trained:
    """A data set and the model trained on its training part; `key` names both, for caches."""

    data: Dataset
    model: Pipeline
    key: str

    @property
    def known(self) -> pd.DataFrame:
        """The known instances: what the model was trained on."""
        return self.data.X_train

    @cached_property
    def schema(self) -> cp.Schema:
        """What the known instances show of each feature, with the paper's immutable ones."""
        return cp.Schema.infer(self.known, categorical=self.data.categorical, immutable=self.data.immutable)

    def fit(self, explainer: cp.Explainer | None = None, model: Any = None) -> cp.Explainer:
        """Fit an explainer, by default the ensemble as it comes, to the model or one that stands for it."""
        explainer = cp.Ensemble(seed=SEED) if explainer is None else explainer
        return explainer.fit(model or self.model, self.known, immutable=self.data.immutable)

    def instances(self, count: int) -> pd.DataFrame:
        """Draw test instances; a smaller draw is the beginning of a larger one."""
        test = self.data.X_test
        for name in self.data.categorical:
            # No explainer here takes a category that the known instances do not have.
            test = test[test[name].isin(self.known[name].unique())]
        order = np.random.default_rng(SEED).permutation(len(test))
        if count > len(order):
            raise ValueError(f"{self.data.name} has {len(order)} test instances, {count} were asked for.")
        return test.iloc[order[:count]].reset_index(drop=True)


def train(name: str) -> Trained:
    """Train the model of a data set, or take it from the cache."""
    data = load(name, seed=SEED)
    pipeline = _pipeline(data)
    inputs = (data.X_train, data.y_train, data.categorical, sklearn.__version__, repr(pipeline))
    key = f"{name}-{joblib.hash(inputs)[:12]}"
    model = cached(f"model-{key}", lambda: pipeline.fit(data.X_train, data.y_train))
    return Trained(data, model, key)


def cached(name: str, make: Callable[[], T], fresh: bool = False) -> T:
    """Take a thing from the benchmarks' cache; make it first if it is not there, or must be fresh."""
    path = CACHE / f"{name}.joblib"
    if path.exists() and not fresh:
        return cast(T, joblib.load(path))
    thing = make()
    CACHE.mkdir(parents=True, exist_ok=True)
    # Under another name first, so that a run that is stopped here leaves no half of a file.
    part = path.with_suffix(".part")
    joblib.dump(thing, part)
    part.replace(path)
    return thing


def _pipeline(data: Dataset) -> Pipeline:
    encoder = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((encoder, list(data.categorical)), remainder="passthrough")
    return make_pipeline(columns, RandomForestClassifier(TREES, random_state=SEED))
