"""Limits on changes, rows and time, and answers with fewer than k counterfactuals."""

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from loans import ENSEMBLE_AND_PARTS, decide, people, probability, refused


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("explainer", ENSEMBLE_AND_PARTS, ids=lambda each: type(each).__name__)
def test_no_more_features_change_than_allowed(explainer, most):
    x = refused().iloc[0]
    explanation = explainer.clone().fit(decide, people()).explain(x, k=10, max_changes=most)
    changed = explanation.changes.groupby("counterfactual").size()
    assert (changed <= most).all()
    assert explanation.shortfall is None or explanation.shortfall.reason


def test_the_model_is_given_no_more_rows_than_allowed(fitted):
    for most in (1, 20, 300):
        explanation = fitted.explain(refused().iloc[0], k=400, max_rows=most)
        assert explanation.model_rows <= most + 1  # and x itself
        assert "model row" in explanation.shortfall.reason
    assert len(explanation) > 0


def test_a_slow_model_is_not_asked_after_the_time_is_up():
    def slow(frame):
        time.sleep(0.15 if len(frame) != 200 else 0)
        return decide(frame)

    explainer = cp.Ensemble().fit(slow, people())
    start = time.monotonic()
    explanation = explainer.explain(refused().iloc[0], k=1000, max_seconds=0.2)
    assert time.monotonic() - start < 2
    assert "time limit" in str(explanation.shortfall)
    assert (explanation.decisions == "granted").all()


@pytest.mark.parametrize("explainer", ENSEMBLE_AND_PARTS, ids=lambda each: type(each).__name__)
def test_where_none_exists_the_answer_is_empty_and_says_why(explainer):
    X = people()
    explainer = explainer.clone().fit(decide, X, immutable=["age", "income", "job"])
    start = time.monotonic()
    explanation = explainer.explain(refused().iloc[0], k=3)
    assert time.monotonic() - start < 10
    assert len(explanation) == 0
    assert explanation.counterfactuals.columns.tolist() == X.columns.tolist()
    assert explanation.shortfall.found == 0
    assert explanation.shortfall.reason in str(explanation)


def test_a_rule_that_allows_nothing_leaves_nothing():
    explainer = cp.Ensemble().fit(
        decide, people(), rule=lambda candidates, x: np.zeros(len(candidates), dtype=bool)
    )
    explanation = explainer.explain(refused().iloc[0])
    assert len(explanation) == 0
    assert explanation.shortfall is not None


def test_a_class_that_no_known_instance_has_may_be_asked_for():
    @dataclass
    class Model:
        classes_ = np.array(["granted", "refused", "special"])

        def predict(self, frame):
            return np.where(frame["income"].to_numpy() > 1e6, "special", decide(frame))

    for explainer in ENSEMBLE_AND_PARTS:
        explanation = explainer.clone().fit(Model(), people()).explain(refused().iloc[0], target="special")
        assert len(explanation) == 0
        assert explanation.shortfall is not None


@pytest.mark.parametrize("explainer", ENSEMBLE_AND_PARTS, ids=lambda each: type(each).__name__)
def test_a_threshold_that_nothing_reaches_may_be_asked_for(explainer):
    X = people()
    explanation = explainer.clone().fit(probability, X).explain(X.iloc[0], target=cp.Between(low=2))
    assert len(explanation) == 0
    assert explanation.shortfall is not None


def test_hundreds_may_be_asked_for(fitted):
    assert len(fitted.explain(refused().iloc[0], k=300)) == 300


def test_fewer_than_k_is_no_error():
    X = pd.DataFrame({"a": [0, 1, 2, 3] * 10, "b": ["x", "y"] * 20})
    explanation = cp.Ensemble().fit(lambda frame: frame["a"] > 2, X).explain(X.iloc[0], k=10)
    assert 1 <= len(explanation) <= 2  # a = 3 with b = "x", or with "y"
    assert explanation.shortfall.asked == 10
