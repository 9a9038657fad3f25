"""The proven nearest answer, compared with all rows that there are."""

from itertools import product
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import counterpoint as cp

CATEGORIES = ["job", "town"]
NUMBERS = ["age", "savings", "debt"]


def table(seed: int, count: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 6, count),
            "savings": rng.integers(0, 9, count),
            "debt": rng.integers(0, 4, count),
            "job": rng.choice(list("abc"), count),
            "town": rng.choice(list("uv"), count),
        }
    )


def labels(X: pd.DataFrame, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    points = X["savings"] - X["debt"] * 1.5 + (X["job"] == "a") * 2 + rng.normal(size=len(X))
    return (points > np.median(points)).astype(int).to_numpy()


def model(kind: str, X: pd.DataFrame, y: Any) -> Any:
    encoded = (
        make_column_transformer((OneHotEncoder(), CATEGORIES), remainder="passthrough"),
        make_column_transformer((OrdinalEncoder(), CATEGORIES), (StandardScaler(), NUMBERS)),
    )
    trees = {
        "forest": RandomForestClassifier(6, random_state=0),
        "forest of fractions": RandomForestClassifier(6, min_samples_leaf=4, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=6, random_state=0),
        "xgboost": xgboost.XGBClassifier(n_estimators=6, max_depth=3, random_state=0),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=6, min_child_samples=5, verbose=-1, random_state=0),
    }
    return make_pipeline(encoded[len(kind) % 2], trees[kind]).fit(X, y)


KINDS = ("forest", "forest of fractions", "boosting", "xgboost", "lightgbm")

constraints = st.fixed_dictionaries(
    {},
    optional={
        "immutable": st.lists(st.sampled_from([*NUMBERS, *CATEGORIES]), max_size=2, unique=True),
        "increase": st.just(["savings"]),
        "decrease": st.just(["debt"]),
        "ranges": st.sampled_from([{"age": (1, 4)}, {"job": ["a", "b"]}, {"savings": (4, 12)}]),
        "max_change": st.sampled_from([{"savings": 2}, {"age": "50%"}]),
        "costs": st.sampled_from(
            [
                {"savings": 3.0},
                {"debt": cp.Cost(up=1, down=4)},
                {"job": cp.Cost(changes={("a", "b"): 3, ("c", "a"): float("inf")})},
            ]
        ),
        "order": st.just({"job": ["c", "a", "b"]}),
    },
)


def every_distance(explainer: cp.Explainer, x: pd.DataFrame, fitted_model: Any) -> Any:
    """Measure all admissible rows that flip, in order of their distance."""
    fitted = explainer.fitted_
    row = fitted.schema.encode(x)
    decision = fitted_model.predict(x)
    task = fitted.task(row, decision, (0,))
    values = []
    for index, feature in enumerate(fitted.schema.features):
        if feature.is_categorical:
            values.append(np.arange(len(feature.categories), dtype=float))
        else:
            values.append(np.arange(fitted.rules.low[index], fitted.rules.high[index] + 1))
            values[-1] = np.unique(np.append(values[-1], row[0, index]))
    rows = np.array(list(product(*values)))
    rows = rows[task.admissible(rows, np.zeros(len(rows), dtype=np.intp))]
    rows = rows[fitted_model.predict(fitted.schema.decode(rows)) != decision[0]] if len(rows) else rows
    return np.sort(task.measure.from_x(rows, row)), rows[np.argsort(task.measure.from_x(rows, row))]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=12, derandomize=True)
@given(seed=st.integers(0, 30), place=st.integers(0, 79), given_constraints=constraints)
def test_none_of_all_rows_is_nearer(
    kind: str, seed: int, place: int, given_constraints: dict[str, Any]
) -> None:
    X = table(seed)
    trained = model(kind, X, labels(X, seed))
    if set(given_constraints.get("immutable", ())) & {
        name
        for key in ("increase", "decrease", "ranges", "max_change", "costs", "order")
        for name in given_constraints.get(key, ())
    }:
        given_constraints = {key: given_constraints[key] for key in ("immutable",)}
    exact = cp.Exact(start=cp.Neighbours()).fit(trained, X, **given_constraints)
    x = X.iloc[[place]]
    answer = exact.explain(x, k=1)
    distances, _ = every_distance(exact, x, trained)
    found = answer.distance if answer.cost is None else answer.cost
    assert answer.bound is not None
    if len(distances):
        assert answer.bound.lower <= distances[0] + 1e-9
        assert len(answer) == 1
        if answer.bound.is_proven:
            np.testing.assert_allclose(found[0], distances[0])
        assert (trained.predict(answer.counterfactuals) != trained.predict(x)).all()
    else:
        assert not len(answer)
        if answer.bound.is_proven:
            assert answer.shortfall is not None
            assert answer.shortfall.why in (cp.Why.PROVEN, cp.Why.NOT_ALLOWED)
    by_price = "order" in given_constraints or "job" in given_constraints.get("costs", ())
    if kind == "forest" and not by_price:
        assert answer.bound.is_proven
