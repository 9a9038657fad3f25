"""Images and series: the same searches through a codec, the same promises of every answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.datasets import load_breast_cancer, load_digits

import counterpoint as cp
from counterpoint.explainers.fitting import chosen_codec

DIGITS = load_digits().images.astype(np.float32)
LABELS = load_digits().target
KNOWN, TEST = DIGITS[:600], DIGITS[600:]


class Flat:
    """Decides by the nearest class mean, whatever the shape; it counts calls and notes what it was given."""

    def __init__(self, X: NDArray[Any], y: NDArray[Any]) -> None:
        self.labels = np.unique(y)
        self.centres = np.array([X[y == label].reshape(-1, X[0].size).mean(axis=0) for label in self.labels])
        self.calls = 0
        self.shapes: set[tuple[int, ...]] = set()
        self.dtypes: set[np.dtype[Any]] = set()

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        self.calls += 1
        self.shapes.add(X.shape[1:])
        self.dtypes.add(X.dtype)
        return np.asarray(self.labels[cdist(X.reshape(len(X), -1), self.centres).argmin(axis=1)])


class Fourier:
    """A codec of a user's own."""

    def fit(self, X: NDArray[Any]) -> Fourier:
        self.length = X.shape[1]
        return self

    def encode(self, X: NDArray[Any]) -> NDArray[Any]:
        waves = np.fft.rfft(X)[:, :6]
        return np.hstack([waves.real, waves.imag])

    def decode(self, Z: NDArray[Any]) -> NDArray[Any]:
        return np.fft.irfft(Z[:, :6] + 1j * Z[:, 6:], n=self.length)


def waves(n: int, length: int = 40, channels: int | None = None, seed: int = 0) -> tuple[Any, Any]:
    """Make series of two kinds: rising and falling, with a wave on top."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    time = np.linspace(-1, 1, length)
    X = np.sin(6 * time + rng.uniform(0, 6, size=(n, 1))) + np.where(y, 1, -1)[:, None] * time
    X = X + rng.normal(0, 0.05, size=X.shape)
    return (X if channels is None else np.stack([X, *[X[:, ::-1]] * (channels - 1)], axis=1)), y


@pytest.fixture(scope="module")
def digits() -> Flat:
    return Flat(KNOWN, LABELS[:600])


CODECS = [cp.Identity(), cp.Kernel(2), cp.Kernel(4), cp.Kernel((1, 3))]


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_images_get_k_valid_answers_in_their_own_shape_and_dtype(codec: Any, digits: Flat) -> None:
    explainer = cp.Ensemble(codec=codec).fit(digits, KNOWN)
    for x, explanation in zip(TEST[:6], explainer.explain_many(TEST[:6], k=5, progress=False), strict=True):
        assert explanation.counterfactuals.shape == (5, 8, 8)
        assert explanation.counterfactuals.dtype == np.float32
        assert (explanation.x == x).all()
        assert (digits.predict(explanation.counterfactuals) != digits.predict(x[None])).all()
        assert explanation.counterfactuals.min() >= 0
        assert explanation.counterfactuals.max() <= 16
        assert len(np.unique(explanation.counterfactuals, axis=0)) == 5
    assert digits.shapes == {(8, 8)}
    assert digits.dtypes == {np.dtype(np.float32)}


def test_a_kernel_changes_whole_blocks_and_keeps_all_others_exactly(digits: Flat) -> None:
    explainer = cp.Ensemble(codec=cp.Kernel(2)).fit(digits, KNOWN)
    for explanation in explainer.explain_many(TEST[:6], k=5, progress=False):
        for other in explanation.counterfactuals:
            for i, j in np.ndindex(4, 4):
                block = (slice(2 * i, 2 * i + 2), slice(2 * j, 2 * j + 2))
                same = (other[block] == explanation.x[block]).all()
                constant = len(np.unique(other[block])) == 1
                assert same or constant


@pytest.mark.parametrize("codec", [cp.Identity(), cp.Kernel(2)], ids=repr)
def test_an_immutable_region_stays_bit_for_bit(codec: Any, digits: Flat) -> None:
    mask = np.zeros((8, 8), dtype=bool)
    mask[1:4, 2:7] = True  # cuts through blocks
    explainer = cp.Ensemble(codec=codec).fit(digits, KNOWN, immutable=mask)
    for explanation in explainer.explain_many(TEST[:4], k=3, progress=False):
        assert len(explanation) == 3
        assert (explanation.counterfactuals[:, mask] == explanation.x[mask]).all()


def test_a_codec_without_regions_refuses_an_immutable_one(digits: Flat) -> None:
    X, y = waves(60)
    with pytest.raises(ValueError, match="affects every cell, so no region can be kept"):
        cp.Ensemble(codec=Fourier()).fit(Flat(X, y), X, immutable=np.eye(1, 40, dtype=bool)[0])


def test_a_codec_of_the_users_own_explains_series() -> None:
    X, y = waves(200)
    model = Flat(X, y)
    explanation = cp.Ensemble(codec=Fourier()).fit(model, X).explain(X[0], k=4)
    assert len(explanation) == 4
    assert (model.predict(explanation.counterfactuals) != explanation.decision).all()


@pytest.mark.parametrize("channels", [1, 3])
def test_series_of_any_number_of_channels_get_a_codec_that_is_named(channels: int) -> None:
    X, y = waves(200, channels=channels)
    model = Flat(X, y)
    explainer = cp.Ensemble().fit(model, X)
    explanation = explainer.explain(X[1], k=3)
    assert explanation.counterfactuals.shape == (3, *X.shape[1:])
    assert (model.predict(explanation.counterfactuals) != explanation.decision).all()
    assert "Kernel" in repr(explainer.codec_)
    assert "Kernel" in str(explanation)


def test_fitting_again_fits_the_codec_again_and_leaves_the_callers_alone() -> None:
    X, y = waves(120)
    codec = cp.PCA(4)
    explainer = cp.Ensemble(codec=codec).fit(Flat(X, y), X)
    explainer.fit(Flat(X, y), X + 5)
    fresh = cp.Ensemble(codec=cp.PCA(4)).fit(Flat(X, y), X + 5)
    assert not codec.is_fitted
    assert (explainer.explain(X[0] + 5).rows == fresh.explain(X[0] + 5).rows).all()


def test_many_answers_about_images_are_one_frame(digits: Flat) -> None:
    many = cp.Ensemble(codec=cp.Kernel(4)).fit(digits, KNOWN).explain_many(TEST[:2], k=2, progress=False)
    assert many.frame.shape == (4, 2 + 64 + 3)
    assert many.frame.loc[3, "7,6"] == many[1].counterfactuals[1, 7, 6]


def test_square_arrays_are_images_even_without_a_codec() -> None:
    assert chosen_codec(np.zeros((5, 28, 28))) == cp.Kernel((4, 4))
    assert chosen_codec(np.zeros((5, 3, 96))) == cp.Kernel((1, 4))


@pytest.mark.parametrize(
    "table",
    [
        np.log1p(load_breast_cancer().data),
        np.sin(np.arange(40) / 5 + np.arange(100)[:, None]),
        np.random.default_rng(0).integers(1, 6, size=(100, 10)).astype(np.float64),
    ],
    ids=["logarithms", "waves", "Likert scales"],
)
def test_an_array_of_two_dimensions_is_a_table(table: np.ndarray) -> None:
    assert chosen_codec(table) is None
    explainer = cp.Neighbours().fit(lambda rows: rows[:, 0] > np.median(table[:, 0]), table)
    assert explainer.codec_ is None
    assert "x0" in explainer.explain(table[0], k=1).sentences()[0]


def test_colour_images_are_explained_channel_by_channel() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(150, 12, 12, 3)).astype(np.uint8)
    model = Flat(X, X[:, :6, :, 0].mean(axis=(1, 2)) > 127)
    explanation = cp.Ensemble().fit(model, X).explain(X[0], k=2)
    assert explanation.counterfactuals.shape == (2, 12, 12, 3)
    assert explanation.counterfactuals.dtype == np.uint8
    assert (model.predict(explanation.counterfactuals) != explanation.decision).all()


def test_a_hundred_images_take_few_model_calls(digits: Flat) -> None:
    explainer = cp.Ensemble(codec=cp.Kernel(2)).fit(digits, KNOWN)
    before = digits.calls
    many = explainer.explain_many(TEST[:100], k=5, progress=False)
    assert digits.calls - before == many.model_calls <= 30


def test_merged_and_solo_runs_give_the_same_answers(digits: Flat) -> None:
    explainer = cp.Ensemble(codec=cp.Kernel(2)).fit(digits, KNOWN)
    for x, merged in zip(TEST[:5], explainer.explain_many(TEST[:5], k=3, progress=False), strict=True):
        assert (explainer.explain(x, k=3).rows == merged.rows).all()


def test_instances_are_never_written_to(digits: Flat) -> None:
    known, x = KNOWN.copy(), TEST[0].copy()
    cp.Ensemble(codec=cp.Identity()).fit(digits, known).explain(x, k=2)
    assert (known == KNOWN).all()
    assert (x == TEST[0]).all()


def test_a_rule_sees_arrays(digits: Flat) -> None:
    def dark(candidates: NDArray[Any], x: NDArray[Any]) -> NDArray[np.bool_]:
        assert candidates.shape[1:] == x.shape[1:] == (8, 8)
        return np.asarray(candidates.sum(axis=(1, 2)) <= x.sum())

    explanation = cp.Ensemble(codec=cp.Kernel(2)).fit(digits, KNOWN, rule=dark).explain(TEST[0], k=3)
    assert (explanation.counterfactuals.sum(axis=(1, 2)) <= TEST[0].sum()).all()


def test_an_answer_survives_json(digits: Flat) -> None:
    explanation = cp.Ensemble(codec=cp.Kernel(4)).fit(digits, KNOWN).explain(TEST[0], k=3)
    again = cp.Explanation.from_json(explanation.to_json())
    assert (again.counterfactuals == explanation.counterfactuals).all()
    assert again.counterfactuals.dtype == np.float32
    assert str(again) == str(explanation)


@pytest.mark.parametrize("codec", [cp.Identity(), cp.Kernel(4)], ids=repr)
def test_an_explainer_is_saved_with_its_codec(codec: Any, digits: Flat, tmp_path: Any) -> None:
    explainer = cp.Ensemble(codec=codec).fit(digits, KNOWN)
    cp.save(explainer, tmp_path / "saved")
    again = cp.load(tmp_path / "saved", digits)
    assert (again.explain(TEST[0], k=3).rows == explainer.explain(TEST[0], k=3).rows).all()


def test_a_codec_of_the_users_own_is_given_again_on_loading(tmp_path: Any) -> None:
    X, y = waves(200)
    model, codec = Flat(X, y), Fourier().fit(X)
    explainer = cp.Ensemble(codec=codec).fit(model, X)
    cp.save(explainer, tmp_path / "saved")
    with pytest.raises(ValueError, match="give codec="):
        cp.load(tmp_path / "saved", model)
    again = cp.load(tmp_path / "saved", model, codec=codec)
    assert (again.explain(X[0], k=3).rows == explainer.explain(X[0], k=3).rows).all()


def test_every_base_explainer_takes_images(digits: Flat) -> None:
    for explainer in (cp.BruteForce(), cp.Tree(), cp.Sphere(), cp.Neighbours(), cp.CaseBased()):
        X = KNOWN[:, None]  # series of one channel would be (n, 1, 64)
        explanation = explainer.fit(digits, X.reshape(600, 1, 64)).explain(KNOWN[0].reshape(1, 64), k=2)
        assert len(explanation) == 2 or isinstance(explainer, cp.BruteForce)
        labels = digits.predict(np.concatenate([explanation.counterfactuals, explanation.x[None]]))
        assert (labels[:-1] != labels[-1]).all()


class WrongShape(Fourier):
    def decode(self, Z: NDArray[Any]) -> NDArray[Any]:
        return super().decode(Z)[:, :-1]


class Nan(Fourier):
    def decode(self, Z: NDArray[Any]) -> NDArray[Any]:
        return super().decode(Z) * np.nan


class Whole(Fourier):
    def decode(self, Z: NDArray[Any]) -> NDArray[Any]:
        return np.rint(super().decode(Z) * 10).clip(0, 255).astype(np.uint8)


def test_a_decoder_may_give_another_dtype_than_the_data_have() -> None:
    X, y = waves(60)
    assert X.min() < 0
    explanation = cp.Ensemble(codec=Whole()).fit(Flat(X, y), X).explain(X[0], k=2)
    assert explanation.counterfactuals.dtype == X.dtype
    assert explanation.counterfactuals.max(initial=0) <= X.max()


X0, Y0 = waves(60)


def fitting(codec: Any, X: Any = X0, **options: Any) -> Callable[[], Any]:
    return lambda: cp.Ensemble(codec=codec).fit(Flat(X0, Y0), X, **options)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "nan": (fitting(cp.Kernel(4), np.where(X0 > 1, np.nan, X0)), "NaN or infinite"),
    "constant": (fitting(cp.Kernel(4), X0 * 0), "X is constant"),
    "texts": (fitting(cp.Kernel(4), X0.astype(str)), "must hold numbers"),
    "one axis": (fitting(cp.Kernel(4), X0[0]), "got shape"),
    "window": (lambda: cp.Kernel(0), "whole number >= 1"),
    "axes": (fitting(cp.Kernel((2, 2))), "each of the 1 axes"),
    "fitted": (fitting(cp.Kernel(4).fit(X0[:, :9])), "fitted on other instances"),
    "shape": (fitting(WrongShape()), "must return instances of shape"),
    "decodes nan": (fitting(Nan()), "returned NaN"),
    "mask": (fitting(cp.Identity(), immutable=[3]), "mask of an instance's"),
    "frozen": (fitting(cp.Identity(), immutable=np.ones(40, bool)), "Every cell"),
    "ranges": (fitting(cp.Identity(), ranges={0: (0, 1)}), "Leave ranges out"),
    "no codec": (fitting("kernel"), "must have the methods fit, encode"),
}


@pytest.mark.parametrize(("make", "message"), BAD.values(), ids=BAD)
def test_bad_input_to_fit_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros(39), r"one instance of the shape of the known ones, \(40,\)"),
        (np.full(40, np.nan), "missing or infinite"),
        (np.full(40, 255.0), "Scale it in the same way"),
        (np.array(["a"] * 40), "must hold numbers"),
    ],
)
def test_bad_input_to_explain_is_named(x: Any, message: str) -> None:
    explainer = cp.Ensemble(codec=cp.Kernel(4)).fit(Flat(X0, Y0), X0)
    with pytest.raises((TypeError, ValueError), match=message):
        explainer.explain(x)


def test_a_constant_image_can_be_explained(digits: Flat) -> None:
    explanation = (
        cp.Ensemble(codec=cp.Kernel(4)).fit(digits, KNOWN).explain(np.zeros((8, 8), np.float32), k=3)
    )
    assert len(explanation) == 3


@st.composite
def problems(draw: st.DrawFn) -> tuple[Any, Any, Any, Any]:
    """Draw instances of some shape and dtype, a model, a codec and a mask."""
    shape = draw(st.sampled_from([(12,), (2, 9), (6, 5), (5, 4, 3)]))
    dtype = draw(st.sampled_from([np.uint8, np.int16, np.float32, np.float64]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    X = (rng.uniform(0, 200, size=(60, *shape)) - (0 if dtype == np.uint8 else 90)).astype(dtype)
    weights = rng.normal(size=shape)
    middle = float(np.median((X * weights).sum(axis=tuple(range(1, X.ndim)))))

    def model(instances: NDArray[Any]) -> NDArray[np.bool_]:
        assert instances.shape[1:] == shape
        assert instances.dtype == dtype
        return np.asarray((instances * weights).sum(axis=tuple(range(1, instances.ndim))) > middle)

    codec = draw(st.sampled_from([cp.Identity(), cp.Kernel(2), cp.Kernel([1] * (len(shape) - 1) + [3])]))
    mask = rng.uniform(size=shape) < draw(st.sampled_from([0.0, 0.3]))
    return X, model, codec, mask


@given(problems(), st.integers(1, 6))
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_promises_hold_for_signals(problem: Any, k: int) -> None:
    X, model, codec, mask = problem
    explainer = cp.Ensemble(codec=codec, size=5).fit(model, X, immutable=mask)
    for x, explanation in zip(X[:3], explainer.explain_many(X[:3], k=k, progress=False), strict=True):
        found = explanation.counterfactuals
        assert len(found) <= k
        assert (explanation.shortfall is None) == (len(found) == k)
        assert found.dtype == X.dtype
        if not len(found):
            continue
        assert (model(found) != model(x[None])).all()
        assert (found[:, mask] == x[mask]).all()
        assert len(np.unique(found.reshape(len(found), -1), axis=0)) == len(found)
        assert found.min() >= min(X.min(), x.min())
        assert found.max() <= max(X.max(), x.max())
