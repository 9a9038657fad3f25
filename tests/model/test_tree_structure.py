"""What is read of models made of trees: their decisions, and the values worth trying."""

from collections.abc import Callable
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp
from counterpoint.data.schema import Schema
from counterpoint.model.trees import Structure, UnreadableError, read_structure

NUMBERS, CATEGORIES = ["age", "income", "rate"], ["job", "own"]


def people(count: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, count),
            "income": rng.lognormal(8, 1, count),
            "rate": rng.normal(size=count).astype("float32"),
            "job": rng.choice(list("abcd"), count),
            "own": rng.choice(["yes", "no"], count),
        }
    )


def decisions(X: pd.DataFrame) -> Any:
    noise = np.random.default_rng(1).normal(size=len(X)) / 2
    points = X["age"] / 40 + X["income"].fillna(4000) / 4000 + X["rate"] + (X["job"] == "a") + noise
    return (points > 2.8).astype(int).to_numpy()


def onehot() -> Any:
    return make_column_transformer((OneHotEncoder(), CATEGORIES), remainder="passthrough")


def ordinal() -> Any:
    return make_column_transformer((OrdinalEncoder(), CATEGORIES), (StandardScaler(), NUMBERS))


def imputed() -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_column_transformer((OneHotEncoder(drop="first"), CATEGORIES), (numbers, NUMBERS))


MODELS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(8, random_state=0),
    "fractions": lambda: RandomForestClassifier(
        8, min_samples_leaf=3, class_weight="balanced", random_state=0
    ),
    "extra trees": lambda: ExtraTreesClassifier(5, random_state=0),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=8, random_state=0),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1, random_state=0),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=8, n_jobs=1, random_state=0),
}

# LightGBM warns about the names that scikit-learn's steps leave out.
QUIET = pytest.mark.filterwarnings("ignore:X does not have valid feature names")
FEW = ("forest", "lightgbm", "xgboost")


def read(model: Any, X: Any) -> tuple[Structure, Any]:
    schema = Schema.infer(X)
    rows = schema.encode(X)
    return read_structure(model, schema, rows), rows


@QUIET
@pytest.mark.parametrize(
    ("name", "steps"),
    [(name, onehot) for name in MODELS] + [(name, steps) for name in FEW for steps in (ordinal, imputed)],
)
def test_trees_decide_as_the_model_does(name: str, steps: Callable[[], Any]) -> None:
    X = people()
    model = make_pipeline(steps(), MODELS[name]()).fit(X, decisions(X))
    structure, rows = read(model, X)
    assert structure.is_true(rows, model.predict(X))
    assert not structure.is_true(rows, 1 - model.predict(X))


@QUIET
@pytest.mark.parametrize("steps", [onehot, ordinal])
@pytest.mark.parametrize("name", FEW)
def test_nothing_changes_between_two_cuts_and_something_does_across_one(
    name: str, steps: Callable[[], Any]
) -> None:
    X = people()
    model = make_pipeline(steps(), MODELS[name]()).fit(X, decisions(X))
    structure, rows = read(model, X)
    for feature in range(3):
        cuts = structure.cuts[feature]
        assert cuts is not None
        kept = np.isfinite(cuts.below) & np.isfinite(cuts.above)
        below, above = cuts.below[kept], cuts.above[kept]

        def leaves(values: Any, feature: int = feature) -> Any:
            tried = np.repeat(rows[:1], len(values), axis=0)
            tried[:, feature] = values
            matrix, trees = structure.encoding.matrix(tried), structure.trees
            asks = np.flatnonzero(structure.owner[np.maximum(trees.column, 0)] == feature)
            asks = asks[trees.column[asks] >= 0]
            nodes, count = np.tile(asks, len(values)), len(asks)
            row = np.repeat(np.arange(len(values)), count)
            return trees.goes_left(matrix[row, trees.column[nodes]], nodes).reshape(len(values), count)

        assert (leaves(above[:-1]) == leaves(below[1:])).all()
        assert (leaves(below) != leaves(above)).any(axis=1).all()
        if feature == 0:
            np.testing.assert_array_equal(above, below + 1)


@QUIET
def test_dummies_and_missing_numbers_are_followed() -> None:
    X = people()
    dummies = pd.get_dummies(X, dtype=int)
    structure, rows = read(
        forest := RandomForestClassifier(8, random_state=0).fit(dummies, decisions(X)), dummies
    )
    assert structure.encoding.schema.names == ("age", "income", "rate", "job", "own")
    assert structure.is_true(rows, forest.predict(dummies))
    X.loc[::5, "income"] = np.nan
    for name in ("forest", "xgboost", "lightgbm"):
        model = make_pipeline(onehot(), MODELS[name]()).fit(X, decisions(X))
        structure, rows = read(model, X)
        assert structure.is_true(rows, model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype", random_state=0),
        lightgbm.LGBMClassifier(
            n_estimators=8, verbose=-1, min_child_samples=5, cat_smooth=1, random_state=0
        ),
        xgboost.XGBClassifier(n_estimators=8, enable_categorical=True, random_state=0),
    ],
)
def test_categories_that_a_model_splits_itself_are_followed(model: Any) -> None:
    X = people().astype(dict.fromkeys(CATEGORIES, "category"))
    structure, rows = read(model.fit(X, decisions(X)), X)
    assert structure.trees.sets
    assert structure.is_true(rows, model.predict(X))


def test_xgboost_stops_at_its_best_iteration() -> None:
    X, y = people()[NUMBERS], decisions(people())
    model = xgboost.XGBClassifier(n_estimators=80, early_stopping_rounds=2, random_state=0)
    model.fit(X[:100], y[:100], eval_set=[(X[100:], y[100:])], verbose=False)
    structure, rows = read(model, X)
    assert len(structure.trees.roots) == model.best_iteration + 1 < 200
    assert structure.is_true(rows, model.predict(X))


def test_several_classes_have_thresholds_but_no_two_decisions() -> None:
    X = people()[NUMBERS]
    structure, _ = read(RandomForestClassifier(5, random_state=0).fit(X, np.arange(len(X)) % 3), X)
    assert structure.trees.classes is None
    assert len(structure.worth_trying(1)) > 5


def test_a_model_that_cannot_be_followed_is_refused() -> None:
    X = people()[NUMBERS]
    y = decisions(people())
    with pytest.raises(UnreadableError, match="LogisticRegression is not among the models"):
        read(LogisticRegression(max_iter=5000).fit(X, y), X)
    with pytest.raises(UnreadableError, match="PCA, a step before its trees, is not known"):
        read(make_pipeline(PCA(2), DecisionTreeClassifier()).fit(X, y), X)


def test_searches_are_told_what_is_worth_trying() -> None:
    X = people()
    model = make_pipeline(onehot(), MODELS["forest"]()).fit(X, decisions(X))
    fitted = cp.Ensemble(size=2).fit(model, X).fitted_
    task = fitted.task(fitted.known.rows[:1], model.predict(X[:1]), (0,))
    ages = task.worth_trying(0)
    assert ages is not None
    assert (ages == np.rint(ages)).all()
    assert (np.diff(ages) > 0).all()
    assert task.worth_trying(3) is None
    other = cp.Ensemble(size=2).fit(lambda X: X["age"] > 40, X).fitted_
    assert other.task(fitted.known.rows[:1], np.array([True]), (0,)).worth_trying(0) is None
