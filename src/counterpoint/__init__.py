"""Counterpoint says what would have to change for a decision to be different.

An ensemble of counterfactual explainers, for any model that can predict.

>>> import numpy as np
>>> import counterpoint as cp
>>> X = np.random.default_rng(0).normal(size=(200, 3))
>>> explanation = cp.explain(X[0], lambda rows: rows[:, 0] + rows[:, 1] > 0, X, k=3, immutable=[2])
>>> len(explanation.counterfactuals)
3
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterpoint import datasets as datasets
    from counterpoint import scale as scale
    from counterpoint import testing as testing
    from counterpoint._util.damage import DamagedError
    from counterpoint.codecs import PCA, Autoencoder, Codec, Identity, Kernel
    from counterpoint.data.constraint import Constraint, ConstraintKind
    from counterpoint.data.costs import Cost
    from counterpoint.data.links import implies
    from counterpoint.data.problems import InvalidError, Problem
    from counterpoint.data.schema import Feature, Schema
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
    from counterpoint.explainers.ensemble import Ensemble, explain
    from counterpoint.explainers.exact import Exact
    from counterpoint.explainers.run import IncompleteError
    from counterpoint.explanation.explanation import Explanation
    from counterpoint.explanation.explanations import Explanations
    from counterpoint.explanation.nearest_miss import NearestMiss
    from counterpoint.explanation.ranges import Range, Ranges
    from counterpoint.explanation.relaxation import Relaxation
    from counterpoint.explanation.shortfall import Shortfall
    from counterpoint.metrics.evaluate import evaluate
    from counterpoint.model.adapters import KerasModel, OnnxModel, RemoteModel, TorchModel
    from counterpoint.model.errors import ModelError
    from counterpoint.model.target import Between, Probability
    from counterpoint.saving import load, save
    from counterpoint.search.bound import Bound
    from counterpoint.search.margin import SAFE, Margin
    from counterpoint.search.polish import Polish
    from counterpoint.search.task import Question, Search, Task
    from counterpoint.search.why import Why
    from counterpoint.selection.selection import (
        BALANCED,
        CLOSE,
        DIVERSE,
        PLAUSIBLE,
        SPARSE,
        VARIED,
        Selection,
    )

__version__ = "0.1.0"

# fmt: off
__all__ = [
    "BALANCED", "CLOSE", "DIVERSE", "PCA", "PLAUSIBLE", "SAFE", "SPARSE", "VARIED", "Autoencoder",
    "Between", "Bound", "BruteForce", "CaseBased", "Codec", "Constraint", "ConstraintKind", "Cost",
    "DamagedError", "Ensemble", "Evolution", "Exact", "Explainer", "Explanation", "Explanations", "Feature",
    "Guided", "Identity", "IncompleteError", "InvalidError", "KerasModel", "Kernel", "Margin", "ModelError",
    "NearestMiss", "Neighbours", "OnnxModel", "Polish", "Probability", "Problem", "Question", "Range",
    "Ranges", "Relaxation", "RemoteModel", "Schema", "Search", "Selection", "Shortfall", "Sphere", "Task",
    "TorchModel", "Tree", "Why", "datasets", "evaluate", "explain", "implies", "load", "save", "scale",
    "testing",
]
# fmt: on

# Where each public name lives. It is imported when it is first used, so that `import counterpoint` is quick.
_NAMES = {
    "_util.damage": "DamagedError",
    "codecs": "Autoencoder Codec Identity Kernel PCA",
    "data.costs": "Cost",
    "data.constraint": "Constraint ConstraintKind",
    "data.links": "implies",
    "data.problems": "InvalidError Problem",
    "data.schema": "Feature Schema",
    "explainers": "BruteForce CaseBased Evolution Explainer Guided Neighbours Sphere Tree",
    "explainers.ensemble": "Ensemble explain",
    "explainers.exact": "Exact",
    "explainers.run": "IncompleteError",
    "explanation.explanation": "Explanation",
    "explanation.explanations": "Explanations",
    "explanation.nearest_miss": "NearestMiss",
    "explanation.ranges": "Range Ranges",
    "explanation.relaxation": "Relaxation",
    "explanation.shortfall": "Shortfall",
    "metrics.evaluate": "evaluate",
    "model.adapters": "KerasModel OnnxModel RemoteModel TorchModel",
    "model.errors": "ModelError",
    "model.target": "Between Probability",
    "saving": "load save",
    "search.bound": "Bound",
    "search.margin": "SAFE Margin",
    "search.polish": "Polish",
    "search.task": "Question Search Task",
    "search.why": "Why",
    "selection.selection": "BALANCED CLOSE DIVERSE PLAUSIBLE SPARSE Selection VARIED",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in ("datasets", "mlflow", "scale", "testing"):
        return import_module(f"counterpoint.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'counterpoint' has no attribute {name!r}")
    value = getattr(import_module(f"counterpoint.{_HOMES[name]}"), name)
    globals()[name] = value  # the next time it is found at once
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
