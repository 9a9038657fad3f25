"""What `fit` asks the model about the known instances."""

from time import sleep

import numpy as np
import pytest

import counterpoint as cp


class Counting:
    def __init__(self, seconds: float = 0.0) -> None:
        self.sizes: list[int] = []
        self.seconds = seconds

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        self.sizes.append(len(rows))
        sleep(self.seconds * len(rows))
        return rows[:, 0] > 0


def table(size: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(size, 3))


def test_only_known_instances_that_are_kept_are_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoint.explainers.fitting.MOST", 2_000)
    model = Counting()
    explainer = cp.Neighbours().fit(model, table(9_000))
    assert sum(model.sizes) == len(explainer.fitted_.known.rows) == 2_000


def test_a_rare_decision_is_looked_for_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("counterpoint.explainers.fitting.MOST", 2_000)
    X = table(9_000)
    rare = int(np.argmax(X[:, 0]))
    explainer = cp.Neighbours().fit(lambda rows: rows[:, 0] >= X[rare, 0], X)
    known = explainer.fitted_.known
    assert len(known.rows) == 2_000
    assert known.labels.sum() == 1
    assert len(explainer.explain(X[0], k=1)) == 1


def test_a_slow_model_shows_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("counterpoint.explainers.fitting.LONG", 0.1)
    monkeypatch.setattr("counterpoint.explainers.fitting.EXAMPLES", 100)
    for progress in (True, False):
        cp.Neighbours().fit(Counting(seconds=0.001), table(500), progress=progress)
        assert ("learning" in capsys.readouterr().err) is progress


def test_a_quick_model_is_asked_twice_and_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    model = Counting()
    cp.Neighbours().fit(model, table(5_000))
    assert model.sizes == [1_000, 4_000]
    assert not capsys.readouterr().err
