"""What counts as a different decision, and how it is described."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import counterpoint as cp
from loans import grade, people, probability, refused


def is_high(output):
    return output > 0.5


def is_above(low, output):
    return output > low


class Exceeds:
    def __call__(self, output):
        return output > 0.5


WORDS = {
    "lambda": (lambda output: output > 0.5, "what the given function accepts"),
    "named": (is_high, "is_high"),
    "partial": (partial(is_above, 0.5), "is_above"),
    "partial of a lambda": (
        partial(lambda output, low: output > low, low=0.5),
        "what the given function accepts",
    ),
    "object": (Exceeds(), "Exceeds"),
    "interval": (cp.Between(low=0.5), "Between(low=0.5, high=inf)"),
}


@pytest.fixture(scope="module")
def explainer():
    X = np.random.default_rng(0).random((100, 2))
    return cp.Neighbours().fit(lambda rows: rows[:, 0], X)


@pytest.mark.parametrize(("target", "words"), WORDS.values(), ids=WORDS)
def test_a_test_of_the_output_is_named_in_words(explainer, target, words):
    low, high = np.array([0.1, 0.1]), np.array([0.9, 0.1])
    answer = explainer.explain(low, k=2, target=target)
    assert answer.target == words
    assert f"Wanted: {words}   Found: 2 of 2" in str(answer)
    assert explainer.explain(high, k=2, target=target).shortfall == cp.Shortfall(
        2, 0, cp.Why.ALREADY, target=words
    )


def test_classes_are_named():
    X = np.random.default_rng(0).random((100, 2))
    explainer = cp.Neighbours().fit(lambda rows: np.digitize(rows[:, 0], [0.3, 0.6]), X)
    assert explainer.explain(np.array([0.1, 0.1])).target == "any other decision"
    assert explainer.explain(np.array([0.1, 0.1]), target=[2, 1]).target == "1 or 2"


@pytest.mark.parametrize(
    "target",
    ["C", ["C", "D"], {"C", "D"}, ("D",), np.array(["C", "D"])],
    ids=["one", "list", "set", "tuple", "array"],
)
def test_a_class_or_several(target):
    X = people()
    explanation = cp.Ensemble().fit(grade, X).explain(X[grade(X) == "A"].iloc[0], target=target)
    assert len(explanation) == 5
    assert set(explanation.decisions) <= ({target} if isinstance(target, str) else set(target))


def test_any_other_decision_is_the_default():
    X = people()
    explanation = cp.Ensemble().fit(grade, X).explain(X[grade(X) == "B"].iloc[0], k=10)
    assert "B" not in explanation.decisions
    assert explanation.target == "any other decision"


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (
            lambda frame: np.column_stack([1 - probability(frame), probability(frame)]),
            lambda p: p[:, 1] >= 0.7,
        ),
        (probability, lambda p: p >= 0.7),
        (probability, cp.Between(low=0.7)),
        (lambda frame: pd.Series(probability(frame)), cp.Between(0.7, 1)),
    ],
    ids=["two columns", "one column", "interval", "series"],
)
def test_a_probability_threshold(model, target):
    X = people()
    explanation = cp.Ensemble().fit(model, X).explain(X[probability(X) < 0.5].iloc[0], target=target)
    assert len(explanation) == 5
    assert (probability(explanation.counterfactuals) >= 0.7).all()


def test_an_interval_for_a_regressor():
    X = people()[["age", "income"]]
    model = LinearRegression().fit(X, X["income"] * 2 + X["age"])
    explanation = cp.Ensemble().fit(model, X).explain(X.iloc[0], target=cp.Between(100, 110))
    assert len(explanation) == 5
    assert model.predict(explanation.counterfactuals).min() >= 100
    assert model.predict(explanation.counterfactuals).max() <= 110


def test_an_x_that_already_is_what_is_asked_for_gets_an_empty_answer_that_says_so(fitted):
    explanation = fitted.explain(refused().iloc[0], target="refused")
    assert len(explanation) == 0
    assert "already" in str(explanation.shortfall)


def test_the_order_of_a_set_of_classes_does_not_matter():
    X = people()
    explainer, x = cp.Ensemble().fit(grade, X), X[grade(X) == "A"].iloc[0]
    assert (
        explainer.explain(x, target=["D", "C"]).to_json() == explainer.explain(x, target=("C", "D")).to_json()
    )


def test_a_number_needs_a_target_that_says_which_numbers_count():
    X = people()[["age", "income"]]
    regressor = LinearRegression().fit(X, X["income"])
    for explainer in (cp.Ensemble().fit(regressor, X), cp.Tree().fit(probability, people())):
        x = people().iloc[0] if explainer.fitted_.schema.names[2:] else X.iloc[0]
        for target in (None, 0.7):
            with pytest.raises(
                ValueError, match=r"outputs are numbers, not decisions.*target=cp.Between\(low, high\)"
            ):
                explainer.explain(x, target=target)


@pytest.mark.parametrize("ends", [(2, 1), (np.nan, 1), ("a", "b"), (None, 3)])
def test_intervals_that_hold_nothing(ends):
    with pytest.raises(ValueError, match="Between needs numbers with low <= high, got"):
        cp.Between(*ends)
