"""Error messages for bad questions."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import counterpoint as cp
from counterpoint.scale.work import Work
from counterpoint.web.limits import Bounds
from counterpoint.web.page.session import Session
from loans import ENSEMBLE_AND_PARTS, decide, people, refused

BAD_ASKS = {
    "k = 0": ({"k": 0}, ValueError, "k must be at least 1, got 0"),
    "k < 0": ({"k": -3}, ValueError, "k must be at least 1, got -3"),
    "k too large": ({"k": 10**9}, ValueError, "k must be at most 1,000, got 1,000,000,000. Ask for fewer"),
    "k half": ({"k": 2.5}, TypeError, "k must be a whole number, got 2.5"),
    "k as a text": ({"k": "5"}, TypeError, "k must be a whole number, got '5'"),
    "k true": ({"k": True}, TypeError, "k must be a whole number, got True"),
    "k none": ({"k": None}, TypeError, "k must be a whole number, got None"),
    "no changes": ({"max_changes": 0}, ValueError, "max_changes must be at least 1, got 0"),
    "no rows": ({"max_rows": 0}, ValueError, "max_rows must be at least 1, got 0"),
    "no time": ({"max_seconds": 0}, ValueError, "max_seconds must be positive, got 0"),
    "time as a text": ({"max_seconds": "1"}, TypeError, "max_seconds must be a number.*got '1'"),
    "unknown target": (
        {"target": "maybe"},
        ValueError,
        r"target must be among the model's decisions \['granted', 'refused'\], got \['maybe'\]",
    ),
    "some unknown targets": ({"target": ["granted", "maybe"]}, ValueError, r"got \['maybe'\]"),
    "no target": ({"target": []}, ValueError, r"target must be among the model's decisions.*got \[\]"),
    "interval of texts": (
        {"target": cp.Between(0, 1)},
        ValueError,
        "Between needs one number per row, got outputs of <U",
    ),
    "target of the wrong shape": (
        {"target": lambda labels: True},
        ValueError,
        r"target must return one truth value per row: it was given 1 outputs, got shape \(\)",
    ),
    "target of scores": (
        {"target": lambda labels: np.full(len(labels), 0.5)},
        ValueError,
        r"target must return one truth value per row.*got shape \(1,\) of float64",
    ),
}


@pytest.mark.parametrize("name", BAD_ASKS)
def test_bad_questions(name, fitted):
    asked, kind, message = BAD_ASKS[name]
    with pytest.raises(kind, match=f"(?s){message}"):
        fitted.explain(refused().iloc[0], **asked)


def test_a_k_that_is_too_large_is_refused_wherever_it_is_given(fitted):
    for ask in (
        lambda k: fitted.explain_many(people()[:2], k, progress=False),
        lambda k: fitted.explain_frame(people()[:2], k),
        lambda k: cp.evaluate(fitted, people()[:2], k=[1, k]),
        lambda k: Work.of(fitted, k, None, {}),
        lambda k: Bounds(k=k),
        lambda k: Session.of(fitted, k=k),
    ):
        with pytest.raises(ValueError, match=r"k must be at most 1,000, got 1,001\. Ask for fewer"):
            ask(1_001)


def test_the_largest_k_is_answered_within_bounds(fitted):
    answer = fitted.explain(refused().iloc[0], 1_000, max_rows=500)
    assert 0 < len(answer) < 1_000
    assert answer.model_rows <= 501
    assert answer.shortfall.found == len(answer)


@pytest.mark.parametrize("explainer", ENSEMBLE_AND_PARTS, ids=lambda each: type(each).__name__)
def test_an_unfitted_explainer_says_so(explainer):
    message = rf"This {type(explainer).__name__} is not fitted yet: call fit\(model, X\)"
    for call in (explainer.clone().explain, explainer.clone().explain_many):
        with pytest.raises(NotFittedError, match=message):
            call(people()[:1])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            lambda candidates, x: [True],
            r"rule must return one truth value a candidate: \d+ candidates, got shape \(1,\)",
        ),
        (lambda candidates, x: True, r"rule must return one truth value a candidate.*shape \(\)"),
        (lambda candidates, x: candidates["age"], r"rule must return one truth value a candidate.*of int64"),
    ],
)
def test_a_rule_that_returns_something_else(rule, message):
    with pytest.raises(ValueError, match=message):
        cp.Ensemble().fit(decide, people(), rule=rule).explain(refused().iloc[0])


def test_a_rule_that_raises_keeps_its_error():
    with pytest.raises(KeyError, match="wages"):
        cp.Ensemble().fit(decide, people(), rule=lambda candidates, x: candidates["wages"] > 0).explain(
            refused().iloc[0]
        )


@pytest.mark.parametrize("explainers", [cp.Tree(), [cp.Tree], ["tree"]], ids=["one", "a class", "a text"])
def test_an_ensemble_of_something_else_is_refused(explainers):
    with pytest.raises(TypeError, match=r"Ensemble.explainers must .*got"):
        cp.Ensemble(explainers)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match=r"seed must be .*-1"):
        cp.Ensemble(seed=-1).fit(decide, people())
