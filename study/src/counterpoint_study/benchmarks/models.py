"""The model that every benchmark explains: a forest of 100 trees, trained once per data set and cached."""

from __future__ import annotations

from typing import Any

import counterpoint as cp
from counterpoint_study.models import training
from counterpoint_study.models.training import Trained

SEED = 0
TREES = 100


def train(name: str) -> Trained:
    """Train the model of a data set, or read it from the cache."""
    # Not the study's tuned forest: the authors' figures are for one with 100 trees.
    trained = training.train(name, "forest", SEED, {"n_estimators": TREES})
    assert isinstance(trained, Trained)
    return trained


def fit(trained: Trained, model: Any = None) -> cp.Explainer:
    """Fit the ensemble with its defaults to the trained model, or to one that stands for it."""
    asked = trained.model if model is None else model
    return cp.Ensemble(seed=SEED).fit(asked, trained.known, immutable=trained.data.immutable)
