"""Counterpoint says what would have to change for a decision to be different.

An ensemble of counterfactual explainers, for any model that can predict.

>>> import numpy as np
>>> import counterpoint as cp
>>> X = np.random.default_rng(0).normal(size=(200, 3))
>>> explanation = cp.explain(X[0], lambda rows: rows[:, 0] + rows[:, 1] > 0, X, k=3, immutable=[2])
>>> len(explanation.counterfactuals)
3
"""

from counterpoint import datasets, testing
from counterpoint.adapters import KerasModel, OnnxModel, TorchModel
from counterpoint.answers import IncompleteError
from counterpoint.blackbox import ModelError
from counterpoint.codecs import PCA, Autoencoder, Codec, Identity, Kernel
from counterpoint.ensemble import Ensemble, explain
from counterpoint.evaluation import evaluate
from counterpoint.explainers import (
    BruteForce,
    CaseBased,
    Evolution,
    Explainer,
    Guided,
    Neighbours,
    Sphere,
    Tree,
)
from counterpoint.explanation import Explanation
from counterpoint.explanations import Explanations
from counterpoint.polish import Polish
from counterpoint.problems import InvalidError, Problem
from counterpoint.saving import load, save
from counterpoint.schema import Feature, Schema
from counterpoint.selection import BALANCED, CLOSE, DIVERSE, PLAUSIBLE, SPARSE, VARIED, Selection
from counterpoint.shortfall import Shortfall, Why
from counterpoint.target import Between
from counterpoint.task import Question, Search, Task

__version__ = "0.1.0"

__all__ = [
    "BALANCED",
    "CLOSE",
    "DIVERSE",
    "PCA",
    "PLAUSIBLE",
    "SPARSE",
    "VARIED",
    "Autoencoder",
    "Between",
    "BruteForce",
    "CaseBased",
    "Codec",
    "Ensemble",
    "Evolution",
    "Explainer",
    "Explanation",
    "Explanations",
    "Feature",
    "Guided",
    "Identity",
    "IncompleteError",
    "InvalidError",
    "KerasModel",
    "Kernel",
    "ModelError",
    "Neighbours",
    "OnnxModel",
    "Polish",
    "Problem",
    "Question",
    "Schema",
    "Search",
    "Selection",
    "Shortfall",
    "Sphere",
    "Task",
    "TorchModel",
    "Tree",
    "Why",
    "datasets",
    "evaluate",
    "explain",
    "load",
    "save",
    "testing",
]
