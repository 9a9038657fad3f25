"""Answers on the edge of a decision: every one flips alone, with the other answers, and in any batch."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp


def scorecard(seed: int, kind: Any = LogisticRegression) -> tuple[np.ndarray, Any]:
    """Make whole numbers and weights of one decimal: many sums are exactly on the edge, but for rounding."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 20, (1000, 8))
    weights = rng.normal(size=8).round(1)
    model = kind()
    model.n_features_in_, model.classes_ = 8, np.array([0, 1])
    model.intercept_ = np.array([-np.median(X @ weights).round(1)])
    model.coef_ = weights if kind is LinearRegression else weights[None]
    return X, model


def flips_alone(model: Any, answer: cp.Explanation) -> list[bool]:
    return [bool(model.predict(row[None])[0] != answer.decision) for row in answer.counterfactuals]


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("selection", [cp.BALANCED, cp.CLOSE], ids=["balanced", "close"])
def test_answers_of_a_scorecard_flip_alone_and_together(dtype: Any, selection: cp.Selection) -> None:
    for seed in range(1, 4):
        X, card = scorecard(seed)
        X = X.astype(dtype)
        answers = cp.Ensemble(selection=selection).fit(card, X).explain_many(X[:60], progress=False)
        assert sum(map(len, answers)) >= 295
        for answer in answers:
            assert all(flips_alone(card, answer))
            assert (card.predict(answer.counterfactuals) != answer.decision).all()


def test_a_number_on_the_end_of_an_interval_is_in_it_alone_too() -> None:
    for seed in range(3):
        X, line = scorecard(seed, LinearRegression)
        low = np.quantile(line.predict(X), 0.6).round(1)
        below = X[line.predict(X) < low][:50]
        explainer = cp.Ensemble().fit(line, X)
        for answer in explainer.explain_many(below, target=cp.Between(low=low), progress=False):
            assert len(answer) == 5
            assert all(line.predict(row[None])[0] >= low for row in answer.counterfactuals)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, "Int64", "int64[pyarrow]"], ids=str)
def test_whole_numbers_of_any_library_can_be_moved_off_the_edge(library: Any) -> None:
    X, card = scorecard(1)
    names = list("abcdefgh")
    dtype = library if isinstance(library, str) else None
    table = (
        pd.DataFrame(X, columns=names, dtype=dtype) if dtype else library(dict(zip(names, X.T, strict=True)))
    )

    class Model:
        def predict(self, rows: Any) -> np.ndarray:
            return card.predict(rows.to_numpy().astype(np.float64))

        def decision_function(self, rows: Any) -> np.ndarray:
            return card.decision_function(rows.to_numpy().astype(np.float64))

    answers = cp.Ensemble(selection=cp.CLOSE).fit(Model(), table).explain_many(table[:60], progress=False)
    for answer in answers:
        plain = answer.counterfactuals.to_numpy().astype(np.float64)
        assert all(card.predict(row[None])[0] != answer.decision for row in plain)


def test_categories_alone_can_be_on_the_edge_too() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.choice(["a", "b", "c", "d"], (600, 9)), columns=list("pqrstuvwx"))
    model = make_pipeline(make_column_transformer((OneHotEncoder(), list(X))), LogisticRegression())
    model.fit(X, rng.random(600) < 0.5)
    model[-1].coef_ = rng.choice([-0.3, -0.2, -0.1, 0.1, 0.2, 0.3], model[-1].coef_.shape)
    model[-1].intercept_ = np.zeros(1)
    answers = cp.Ensemble(selection=cp.CLOSE).fit(model, X).explain_many(X[:60], progress=False)
    assert sum(map(len, answers)) > 200
    for answer in answers:
        rows = [answer.counterfactuals.iloc[[i]] for i in range(len(answer))]
        assert all(model.predict(row)[0] != answer.decision for row in rows)


class Counting:
    """Counts the calls of a model, and lets its scores be seen if it is told to."""

    def __init__(self, decide: Any, scores: Any = None) -> None:
        self.decide, self.calls = decide, 0
        if scores is not None:
            self.predict_proba = partial(self.counted, scores)

    def predict(self, table: pd.DataFrame) -> np.ndarray:
        return self.counted(self.decide, table)

    def counted(self, function: Any, table: pd.DataFrame) -> np.ndarray:
        self.calls += 1
        return np.asarray(function(table))


def loans() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"age": rng.integers(18, 80, 400), "income": rng.gamma(4, 10, 400)})


@pytest.mark.parametrize("shows_scores", [False, True])
def test_an_ordinary_model_is_asked_once_more(shows_scores: bool) -> None:
    X = loans()
    forest = RandomForestClassifier(21, random_state=0).fit(X, X["age"] + X["income"] > 80)
    model = Counting(forest.predict, forest.predict_proba if shows_scores else None)
    explainer = cp.Neighbours().fit(model, X)
    model.calls = 0
    answers = explainer.explain_many(X[:50], progress=False)
    assert model.calls == answers.model_calls == 3  # about x, about the neighbours, and about the answers
    assert sum(map(len, answers)) == 250


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_a_limit_of_a_rule_is_kept_as_an_answer(dtype: Any) -> None:
    """At 65 the decision changes, in any batch: it lies on the edge, and nothing nearer flips."""
    X = loans().astype({"age": dtype})
    model = Counting(lambda table: table["age"] >= 65)
    explainer = cp.BruteForce(bins=62).fit(model, X, schema=cp.Schema.infer(X).replace("age", step=1))
    answers = explainer.explain_many(X[X["age"] < 60][:50], k=1, progress=False)
    assert (answers.frame["age"] == 65).all()


def test_a_model_without_scores_is_looked_at_by_moving_rows() -> None:
    X, card = scorecard(1)
    X = X.astype(np.float64)
    answers = cp.Ensemble(selection=cp.CLOSE).fit(lambda rows: card.predict(rows), X)
    for answer in answers.explain_many(X[:60], progress=False):
        assert len(answer) == 5
        assert all(flips_alone(card, answer))


def test_limits_of_rows_hold_with_the_check() -> None:
    X, card = scorecard(1)
    explainer = cp.Ensemble(size=5).fit(card, X)
    for most in (5, 40, 400):
        answers = explainer.explain_many(X[:10], max_rows=most, progress=False)
        assert all(answer.model_rows <= most + 1 for answer in answers)
