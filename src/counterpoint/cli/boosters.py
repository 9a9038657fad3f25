"""XGBoost's and LightGBM's own model files as models with `predict`: from scores to labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.cli.errors import InputError, need
from counterpoint.cli.trial import try_to_open
from counterpoint.model.adapters import outputs


@dataclass(frozen=True)
class Booster:
    """A booster that answers with labels; a regressor's answers stay numbers.

    Parameters
    ----------
    score
        Gives a table's scores.
    threshold
        What a single score must exceed to be class 1; None where outputs are labels or quantities.
    is_classifier
        Whether the scores stand for classes.
    names
        The features' names, in the model's order; None if it knows none.
    count
        How many features it has.
    classes_
        The classes' names in the order of the scores; None for 0, 1, 2 …
    """

    score: Callable[[pd.DataFrame], NDArray[Any]]
    threshold: float | None
    is_classifier: bool
    names: tuple[str, ...] | None
    count: int
    classes_: Sequence[str] | None = None

    def predict(self, table: pd.DataFrame) -> NDArray[Any]:
        """Label the rows of a table.

        Examples
        --------
        >>> booster = Booster(lambda table: table["age"].to_numpy() / 100, 0.5, True, ("age",), 1)
        >>> booster.predict(pd.DataFrame({"age": [31, 67]}))
        array([0, 1])
        """
        scores = np.asarray(self.score(table))
        if not self.is_classifier:
            return outputs.scores(scores)
        if self.threshold is None and scores.ndim == 1:
            scores = scores.astype(np.int64)
        return outputs.labels(scores, self.threshold, self.classes_)


@dataclass(frozen=True)
class ProbableBooster(Booster):
    """A booster whose scores are probabilities."""

    def predict_proba(self, table: pd.DataFrame) -> NDArray[Any]:
        """Give the probability of each class.

        Examples
        --------
        >>> booster = ProbableBooster(lambda table: table["age"].to_numpy() / 100, 0.5, True, ("age",), 1)
        >>> booster.predict_proba(pd.DataFrame({"age": [25, 75]}))
        array([[0.75, 0.25],
               [0.25, 0.75]])
        """
        scores = np.asarray(self.score(table))
        return scores if scores.ndim == 2 else np.column_stack([1 - scores, scores])


def open_xgboost(path: Path, classes: Sequence[str] | None) -> Booster:
    """Open a file of `Booster.save_model` or `XGBClassifier.save_model`."""
    xgboost = need("xgboost", "An XGBoost model", "xgboost")
    try_to_open(path, "xgboost")
    booster = xgboost.Booster(model_file=str(path))
    learner = json.loads(booster.save_config())["learner"]
    goal = learner["objective"]["name"]
    thresholds = {"binary:logistic": 0.5, "binary:logitraw": 0.0}
    coded = _xgboost_categories(booster)

    def score(table: pd.DataFrame) -> NDArray[Any]:
        table = _as_categories(table, coded, "XGBoost")
        data = xgboost.DMatrix(table, enable_categorical=True, feature_names=booster.feature_names)
        return np.asarray(booster.predict(data))

    kind = ProbableBooster if goal in ("binary:logistic", "multi:softprob") else Booster
    return kind(
        score,
        thresholds.get(goal),
        goal.startswith(("binary:", "multi:")),
        tuple(booster.feature_names) if booster.feature_names else None,
        booster.num_features(),
        classes,
    )


def open_lightgbm(path: Path, classes: Sequence[str] | None) -> Booster:
    """Open a file of `Booster.save_model`."""
    lightgbm = need("lightgbm", "A LightGBM model", "lightgbm")
    try_to_open(path, "lightgbm")
    booster = lightgbm.Booster(model_file=str(path))
    goal = booster.dump_model()["objective"].split()[0]
    names = tuple(booster.feature_name())
    unnamed = names == tuple(f"Column_{index}" for index in range(len(names)))
    coded = bool(booster.pandas_categorical)

    def score(table: pd.DataFrame) -> NDArray[Any]:
        return np.asarray(booster.predict(_as_categories(table, coded, "LightGBM")))

    goals = ("binary", "cross_entropy", "multiclass", "multiclassova")
    kind = ProbableBooster if goal in ("binary", "multiclass") else Booster
    return kind(
        score,
        0.5 if goal in ("binary", "cross_entropy") else None,
        goal in goals,
        None if unnamed else names,
        len(names),
        classes,
    )


def _xgboost_categories(booster: Any) -> bool:
    """Tell whether a model knows its categories; only then are codes sure to be those it was trained on."""
    if not hasattr(booster, "get_categories"):
        return False
    known = booster.get_categories(export_to_arrow=True).to_arrow()
    return any(categories is not None for _, categories in known or ())


def _as_categories(table: pd.DataFrame, coded: bool, who: str) -> pd.DataFrame:
    """Give texts the dtype that boosters take them in; the model maps them to its own codes."""
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name].dtype)]
    if texts and not coded:
        raise InputError(
            f"The {who} file does not know the categories of the columns {texts}, so they cannot be encoded. "
            f"Give --model module:function with a function that encodes the table and asks the model."
        )
    return table.astype(dict.fromkeys(texts, "category"))
