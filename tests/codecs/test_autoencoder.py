"""The autoencoder: what it learns, what it promises of rows and instances, and what it refuses."""

import sys
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from counterpoint.codecs.autoencoder import Autoencoder
from counterpoint.codecs.autoencoder_layers import Layout
from counterpoint.codecs.base import LocalCodec, SavedCodec

SHORT = Autoencoder(latent=3, epochs=2, progress=False)


@pytest.fixture(scope="module")
def digits():
    return load_digits().images[:600] / 16


@pytest.fixture(scope="module")
def codec(digits):
    return Autoencoder(latent=6, epochs=40, progress=False).fit(digits)


def waves(count, *shape, seed=0):
    """Instances of any shape that differ in two ways only: a phase and a height."""
    rng = np.random.default_rng(seed)
    time = np.linspace(0, 6, int(np.prod(shape)))
    return (rng.uniform(1, 3, (count, 1)) * np.sin(time + rng.uniform(0, 3, (count, 1)))).reshape(
        count, *shape
    )


def test_it_gives_held_out_images_back(codec, digits):
    assert codec.report_.explained > 0.6
    assert codec.report_.instances == 600
    unseen = load_digits().images[600:900] / 16
    error = np.sqrt(np.square(codec.decode(codec.encode(unseen)) - unseen).mean())
    assert error < 0.7 * np.sqrt(np.square(unseen - digits.mean(axis=0)).mean())


def test_the_report_says_it_in_words(codec):
    assert " % of the variance kept: RMSE 0." in str(codec.report_)


def test_latent_features_are_standardised(codec, digits):
    rows = codec.encode(digits)
    assert rows.shape == (600, 6)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-5)


def test_close_rows_decode_alike(codec, digits):
    row = codec.encode(digits[:1])
    step = np.sqrt(np.square(codec.decode(row + 0.05) - codec.decode(row)).mean())
    assert 0 < step < codec.report_.spread / 4


@pytest.mark.parametrize("shape", [(30,), (2, 30), (9, 14), (9, 14, 3), (4, 4, 1), (4,)])
def test_every_kind_of_signal_comes_back_in_its_shape(shape):
    X = waves(40, *shape)
    codec = replace(SHORT).fit(X)
    assert codec.decode(codec.encode(X[:7])).shape == (7, *shape)


@pytest.mark.parametrize("shape", [(30,), (2, 20), (9, 10)])
def test_it_learns_from_few_instances(shape):
    X = waves(50, *shape)
    codec = Autoencoder(latent=2, epochs=200, progress=False).fit(X)
    assert codec.report_.explained > 0.8


def test_what_is_decoded_stays_in_the_range_of_its_channel():
    X = np.stack([waves(40, 16), 100 + 50 * waves(40, 16, seed=1)], axis=1)
    codec = replace(SHORT).fit(X)
    decoded = codec.decode(np.random.default_rng(0).normal(scale=50, size=(200, 3)))
    assert decoded.dtype == np.float32
    low, high = X.min(axis=(0, 2)).astype(np.float32), X.max(axis=(0, 2)).astype(np.float32)
    assert (decoded.min(axis=(0, 2)) >= low).all()
    assert (decoded.max(axis=(0, 2)) <= high).all()
    assert (decoded[:, 0].max(), decoded[:, 1].min()) == (high[0], low[1])


def test_a_row_decodes_the_same_whatever_is_decoded_with_it(codec):
    rows = np.random.default_rng(0).normal(size=(300, 6))
    together = codec.decode(rows)
    for i in (0, 127, 128, 299):
        np.testing.assert_array_equal(codec.decode(rows[i : i + 1])[0], together[i])


def test_an_instance_encodes_the_same_whatever_is_encoded_with_it(codec, digits):
    np.testing.assert_array_equal(codec.encode(digits[100:103]), codec.encode(digits)[100:103])


def test_nothing_becomes_nothing(codec):
    assert codec.decode(np.empty((0, 6))).shape == (0, 8, 8)
    assert codec.encode(np.empty((0, 8, 8))).shape == (0, 6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int64", "bool"])
def test_any_numbers_are_taken(digits, dtype):
    X = (digits[:50] * 16 > 8) if dtype == "bool" else (digits[:50] * 16).astype(dtype)
    fitted = replace(SHORT).fit(X)
    same = fitted.encode(X.astype(np.float64))
    np.testing.assert_allclose(fitted.encode(X), same, atol=1e-5)


def test_the_same_seed_gives_the_same_codec(digits):
    first, second, other = (Autoencoder(latent=2, epochs=2, seed=seed, progress=False) for seed in (1, 1, 2))
    rows = first.fit(digits).encode(digits)
    np.testing.assert_array_equal(second.fit(digits).encode(digits), rows)
    assert not np.allclose(other.fit(digits).encode(digits), rows)


def test_fitting_again_begins_anew(digits):
    codec = replace(SHORT).fit(waves(40, 12))
    assert codec.fit(digits) is codec
    np.testing.assert_array_equal(codec.encode(digits), replace(SHORT).fit(digits).encode(digits))


def test_the_state_of_torch_and_numpy_is_left_alone(digits):
    torch.manual_seed(5)
    np.random.seed(5)  # noqa: NPY002
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    replace(SHORT).fit(digits).encode(digits)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads
    assert np.random.get_state()[2] == np.random.RandomState(5).get_state()[2]  # noqa: NPY002


def test_it_survives_a_file_without_pickle(codec, digits):
    file = BytesIO()
    np.savez(file, allow_pickle=False, **codec.arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        again = Autoencoder(latent=6, epochs=40).with_arrays(dict(arrays))
    assert again == codec
    assert again.report_ == codec.report_
    np.testing.assert_array_equal(again.encode(digits), codec.encode(digits))
    np.testing.assert_array_equal(again.decode(again.encode(digits)), codec.decode(codec.encode(digits)))


def test_it_is_a_codec_whose_features_stand_for_no_certain_cells(codec):
    assert isinstance(codec, SavedCodec)
    assert not isinstance(codec, LocalCodec)


def test_codecs_of_the_same_parameters_are_equal(codec):
    assert Autoencoder(latent=6, epochs=40, progress=True) == codec
    assert Autoencoder(latent=6, epochs=41) != codec
    assert not replace(codec).is_fitted
    assert codec.is_fitted


def test_training_stops_when_nothing_is_gained():
    noise = np.random.default_rng(0).normal(size=(60, 16))
    codec = Autoencoder(latent=2, epochs=300, patience=0.05, progress=False).fit(noise)
    assert codec.report_.epochs < 200


def test_no_more_than_most_are_used(digits):
    assert replace(SHORT, most=100).fit(digits).report_.instances == 100


def test_progress_is_shown_on_stderr_only_if_wanted(capsys):
    replace(SHORT, progress=True).fit(waves(20, 12))
    assert "Autoencoder" in capsys.readouterr().err
    replace(SHORT, progress=False).fit(waves(20, 12))
    assert capsys.readouterr() == ("", "")


def test_a_channel_that_never_varies_is_kept():
    X = np.stack([waves(40, 16), np.full((40, 16), 7.0)], axis=1)
    codec = replace(SHORT).fit(X)
    np.testing.assert_array_equal(codec.decode(codec.encode(X))[:, 1], 7)


@pytest.mark.parametrize(
    ("shape", "kind", "expected"),
    [
        ((100,), None, "series"),
        ((28, 28), None, "image"),
        ((3, 100), None, "series"),
        ((100, 7), None, "series"),
        ((32, 32, 3), None, "image"),
        ((12, 100), "series", "series"),
        ((5, 5), "image", "image"),
    ],
)
def test_images_and_series_are_told_apart(shape, kind, expected):
    assert Layout.of(shape, kind).kind == expected


def test_layouts_turn_instances_around_and_back():
    X = np.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    layout = Layout((3, 4, 5), "image")
    maps = layout.to_maps(X)
    assert maps.shape == (2, 5, 3, 4)
    assert maps[1, 4, 2, 3] == X[1, 2, 3, 4]
    np.testing.assert_array_equal(layout.from_maps(maps), X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(20), r"Autoencoder\.fit needs series .* got an array of shape \(20,\)"),
        (np.zeros((9, 8, 8)), r"at least 10 instances, got 9"),
        (np.ones((20, 8, 8)), r"20 that are all the same"),
        (np.full((20, 8), np.nan), r"NaN or infinity in 20 of 20 instances, the first at index 0"),
        (waves(20, 3), r"A series' length must be at least 4, got an instance of shape \(3,\)"),
        (waves(20, 2, 8, 3), r"An image's sides must be at least 4, .*\(2, 8, 3\)"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        replace(SHORT).fit(X)


def test_texts_are_refused():
    with pytest.raises(TypeError, match="X must be an array of numbers, got one of dtype <U1"):
        replace(SHORT).fit(np.full((20, 8), "a"))


@pytest.mark.parametrize(("shape", "kind"), [((30,), "image"), ((8, 8, 3), "series")])
def test_a_kind_that_does_not_fit_the_shape_is_refused(shape, kind):
    with pytest.raises(ValueError, match=f"of kind '{kind}' must be of shape"):
        replace(SHORT, kind=kind).fit(waves(20, *shape))


def test_instances_of_another_shape_are_refused(codec):
    with pytest.raises(ValueError, match=r"of shape \(8, 8\), as this Autoencoder .* got .*\(5, 9, 8\)"):
        codec.encode(np.zeros((5, 9, 8)))
    with pytest.raises(ValueError, match=r"X\[None\]"):
        codec.encode(np.zeros((8, 8)))
    with pytest.raises(ValueError, match=r"rows of 6 latent features.*\(2, 5\)"):
        codec.decode(np.zeros((2, 5)))
    with pytest.raises(ValueError, match=r"Z must hold finite numbers, .* the first at index 1"):
        codec.decode(np.array([[0.0] * 6, [np.nan] * 6]))


@pytest.mark.parametrize("call", ["encode", "decode", "arrays"])
def test_an_untrained_one_says_so(call):
    arguments = [] if call == "arrays" else [np.zeros((1, 4))]
    with pytest.raises(NotFittedError, match=r"This Autoencoder is not fitted yet: call fit\(X\)"):
        getattr(Autoencoder(), call)(*arguments)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("latent", 0),
        ("latent", 2.5),
        ("epochs", 0),
        ("batch", 1),
        ("most", 5),
        ("kind", "video"),
        ("patience", 0),
        ("noise", 1),
    ],
)
def test_parameters_out_of_range_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"Autoencoder\.{name} must be .*got"):
        Autoencoder(**{name: value})


def test_without_torch_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"Autoencoder needs torch: pip install 'counterpoint\[torch\]'"):
        replace(SHORT).fit(waves(20, 12))
