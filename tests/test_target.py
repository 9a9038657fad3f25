"""What counts as a different decision, in the words that people read."""

from functools import partial

import numpy as np
import pytest

import counterpoint as cp


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
