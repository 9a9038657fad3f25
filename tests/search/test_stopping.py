"""A search that nobody waits for any more ends at its next model call."""

import threading

import numpy as np
import pytest

import counterpoint as cp
from counterpoint.search.stopping import StoppedError, stopping

X = np.random.default_rng(0).normal(size=(200, 4))


def test_it_stops_between_two_model_calls_and_the_next_question_is_answered_as_before() -> None:
    calls = 0

    def model(rows: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return rows.sum(axis=1) > 0

    explainer = cp.Ensemble().fit(model, X)
    whole = explainer.explain(X[0], k=3)
    calls = 0
    with stopping(lambda: calls >= 3), pytest.raises(StoppedError, match="no longer wanted"):
        explainer.explain(X[0], k=3)
    assert calls == 3 < whole.model_calls
    assert (explainer.explain(X[0], k=3).rows == whole.rows).all()


def test_it_stops_this_thread_only() -> None:
    explainer = cp.Ensemble().fit(lambda rows: rows.sum(axis=1) > 0, X)
    answers: list[int] = []
    with stopping(lambda: True):
        other = threading.Thread(target=lambda: answers.append(len(explainer.explain(X[0], k=3))))
        other.start()
        other.join(60)
    assert answers == [3]
