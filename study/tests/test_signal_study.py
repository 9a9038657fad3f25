"""The study on arrays: what counts as an answer, who is known, and codecs that are trained once."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

import counterpoint as cp
from counterpoint_study.methods.base import Limits
from counterpoint_study.methods.signals import ON_IMAGES, ON_SERIES, OwnOnSignals
from counterpoint_study.models import codecs
from counterpoint_study.scenes import signals as signal_scene
from counterpoint_study.scoring import judge, score
from made_up_signals import scene, series

LIMITS = Limits()


def flipped(place: int) -> NDArray[Any]:
    """The instance at a place, the other way round: what rose falls."""
    return scene().X[place][None, ::-1]


# --- what counts -----------------------------------------------------------------------------------------


def test_what_flips_counts_and_what_does_not_is_no_counterfactual() -> None:
    (judged,) = judge(scene(), [np.concatenate([flipped(0), scene().X[:1]])], k=5)
    assert (judged.given, judged.refused, len(judged.rows)) == (2, 0, 1)


def test_only_the_first_k_count() -> None:
    (judged,) = judge(scene(), [np.concatenate([scene().X[:1], flipped(0)])], k=1)
    assert (judged.given, len(judged.rows)) == (1, 0)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_cell_without_a_finite_number_is_refused(wrong: float) -> None:
    answer = flipped(0).copy()
    answer[0, 3] = wrong
    (judged,) = judge(scene(), [answer], k=5)
    assert (judged.given, judged.refused, len(judged.rows)) == (1, 1, 0)


def test_an_answer_without_any_scores_zero_in_size_and_nothing_in_distance() -> None:
    none = scene().X[:0]
    first, second = score(scene(), [none, flipped(1)], [none, none], k=2)
    assert (first.given, first.measures.size, second.measures.size) == (0, 0, 0.5)
    assert np.isnan(first.measures.dis_dist)
    assert np.isnan(second.measures.inst)


def test_values_beyond_the_datas_are_labelled_and_measured_as_they_are() -> None:
    far = 100 * flipped(0)
    (judged,) = judge(scene(), [far], k=1)
    (scored,) = score(scene(), [far], [], k=1)
    assert np.array_equal(judged.rows, far.astype(np.float64))
    away = np.linalg.norm(far[0].astype(np.float64) - scene().X[0].astype(np.float64))
    assert scored.measures.dis_dist == pytest.approx(away)


def test_values_are_taken_as_the_model_sees_them() -> None:
    answer = flipped(0).astype(np.float64) + 1e-12
    (judged,) = judge(scene(), [answer], k=1)
    assert np.array_equal(judged.rows, flipped(0).astype(np.float64))


def test_measures_are_euclidean_over_cells() -> None:
    some = scene()
    answer = np.concatenate([flipped(0), some.X[0][None, ::-1] * 2])
    (scored,) = score(some, [answer], [flipped(0)], k=4)
    known, rows = some.trained.data.X_train.astype(float), answer.astype(float)
    nearest = [np.linalg.norm(known - row, axis=1).min() for row in rows]
    assert scored.measures.size == 0.5
    assert scored.measures.impl == pytest.approx(np.mean(nearest))
    assert scored.measures.div_dist == pytest.approx(np.linalg.norm(rows[0] - rows[1]) / 2)
    assert np.isfinite(scored.measures.inst)


def test_those_alike_are_known_and_decided_alike() -> None:
    some = scene()
    assert (some.trained.model.predict(some.alike) == some.decisions).all()
    assert all((some.signals == each).all(axis=1).any() for each in some.alike)


# --- who is known ----------------------------------------------------------------------------------------


def test_of_many_a_sample_is_known_with_its_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_scene, "MOST_KNOWN", 20)
    one, two = scene(), scene()
    assert one.signals.shape == (20, 16)
    assert np.array_equal(one.signals, two.signals)
    assert (one.labels == one.trained.model.predict(one.signals)).all()
    assert len(one.known.rows) == 20
    monkeypatch.setattr(signal_scene, "MOST_KNOWN", 30)
    assert scene().key != one.key


def test_of_few_all_are_known() -> None:
    some = scene()
    assert some.signals is some.trained.data.X_train


# --- methods ---------------------------------------------------------------------------------------------


def test_everyone_of_the_paper_is_there() -> None:
    assert list(ON_IMAGES) == [
        *("Counterpoint", "Counterpoint I", "Counterpoint K4", "Counterpoint K7"),
        *("ECE (paper)", "ECE_I (paper)", "ECE_K4 (paper)", "ECE_K7 (paper)"),
        *("CEM", "CEGP", "WACH"),
    ]
    assert set(ON_IMAGES) < set(ON_SERIES)


def test_our_ensemble_answers_with_arrays_that_flip() -> None:
    some = scene()
    run = OwnOnSignals("ours", cp.Ensemble(codec=cp.Kernel(4))).run(some, 3, LIMITS, seed=0)
    assert [answer.shape[1:] for answer in run.answers] == [(16,)] * 3
    judged = judge(some, run.answers, k=3)
    assert [len(each.rows) for each in judged] == [3, 3, 3]
    assert len(run.alike) == len(run.costs) == 3
    assert all(cost.runtime > 0 and cost.model_rows > 0 for cost in run.costs)


def test_a_set_may_have_a_codec_of_its_own() -> None:
    method = OwnOnSignals("ours", cp.Ensemble(codec=cp.Kernel(4)), {"toy": cp.Kernel(2)})
    assert method.fitted(scene(), seed=0).codec.window == 2
    for name in ("Counterpoint K4", "ECE_K4 (paper)"):
        power = ON_SERIES[name]
        assert isinstance(power, OwnOnSignals)
        assert power.codecs["power"].window == 2


@dataclass
class Costly:
    """A codec that counts how often it is trained."""

    seed: int = 0
    trainings: ClassVar[list[int]] = field(default=[])

    def fit(self, X: NDArray[Any]) -> "Costly":
        self.trainings.append(self.seed)
        self.mean_ = X.mean(axis=0)
        return self

    def encode(self, X: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(X - self.mean_, dtype=np.float64)

    def decode(self, Z: NDArray[np.float64]) -> NDArray[Any]:
        return np.asarray(Z + self.mean_)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"mean": self.mean_}

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> "Costly":
        again = Costly(self.seed)
        again.mean_ = arrays["mean"]
        return again


def test_a_codec_is_trained_once_for_each_seed_and_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codecs, "cache_folder", lambda: tmp_path)
    X = series(10, seed=0)
    untrained = Costly()
    first = codecs.trained_codec(untrained, "toy", X, seed=3)
    again = codecs.trained_codec(untrained, "toy", X, seed=3)
    assert Costly.trainings == [3]
    assert np.array_equal(first.encode(X), again.encode(X))
    assert not hasattr(untrained, "mean_")
    codecs.trained_codec(untrained, "toy", X, seed=4)
    codecs.trained_codec(untrained, "toy", X + 1, seed=3)
    assert Costly.trainings == [3, 4, 3]
    assert sorted(path.suffix for path in (tmp_path / "codecs").iterdir()) == [".npz"] * 3
