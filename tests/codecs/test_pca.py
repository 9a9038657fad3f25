"""Principal components as a codec."""

from io import BytesIO

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from counterpoint.codecs.base import LocalCodec, SavedCodec
from counterpoint.codecs.pca import PCA


@pytest.fixture(scope="module")
def digits():
    return load_digits().images[:600] / 16


def flat_signals(shape, seed=0):
    """Instances that lie in a plane: sums of a constant and two patterns."""
    rng = np.random.default_rng(seed)
    weights, patterns = rng.normal(size=(80, 2)), rng.normal(size=(2, *shape))
    return 5 + np.tensordot(weights, patterns, axes=1)


@pytest.mark.parametrize("shape", [(30,), (2, 30), (9, 7), (4, 5, 3), (2,)])
def test_what_lies_in_a_plane_is_kept_by_two_components(shape):
    X = flat_signals(shape)
    codec = PCA(latent=2).fit(X)
    again = codec.decode(codec.encode(X))
    assert again.dtype == np.float32
    np.testing.assert_allclose(again, X, rtol=1e-4, atol=1e-4)
    assert codec.report_.explained == pytest.approx(1)


def test_rows_are_standardised_and_uncorrelated(digits):
    rows = PCA(latent=5).fit(digits).encode(digits)
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(np.cov(rows.T, bias=True), np.eye(5), atol=1e-9)


def test_by_default_it_keeps_nine_tenths_of_the_variance(digits):
    variances = np.square(np.linalg.svd((digits - digits.mean(axis=0)).reshape(600, -1), compute_uv=False))
    needed = int((np.cumsum(variances) / variances.sum() < 0.9).sum()) + 1
    codec = PCA().fit(digits)
    assert codec.encode(digits).shape == (600, needed)
    assert codec.report_.explained >= 0.9


def test_by_default_it_keeps_32_components_at_most():
    noise = np.random.default_rng(0).normal(size=(300, 100))
    assert PCA().fit(noise).encode(noise).shape == (300, 32)


def test_components_along_which_nothing_varies_do_no_harm():
    X = flat_signals((30,))
    codec = PCA(latent=6).fit(X)
    assert np.abs(codec.encode(X)[:, 2:]).max() < 1e-9
    np.testing.assert_allclose(codec.decode(codec.encode(X)), X, rtol=1e-4, atol=1e-4)


def test_each_cell_stays_in_the_range_seen_there(digits):
    decoded = PCA(latent=5).fit(digits).decode(np.random.default_rng(0).normal(scale=30, size=(200, 5)))
    assert (decoded >= digits.min(axis=0)).all()
    assert (decoded <= digits.max(axis=0)).all()
    assert decoded.max() == digits.max()


def test_a_row_decodes_the_same_whatever_is_decoded_with_it(digits):
    codec = PCA(latent=5).fit(digits)
    rows = np.random.default_rng(0).normal(size=(300, 5))
    together = codec.decode(rows)
    for i in (0, 127, 128, 299):
        np.testing.assert_array_equal(codec.decode(rows[i : i + 1])[0], together[i])
    assert codec.decode(rows[:0]).shape == (0, 8, 8)


def test_it_survives_a_file_without_pickle(digits):
    codec = PCA().fit(digits)
    file = BytesIO()
    np.savez(file, allow_pickle=False, **codec.arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        again = PCA().with_arrays(dict(arrays))
    assert again.is_fitted
    assert (again, again.report_) == (codec, codec.report_)
    np.testing.assert_array_equal(again.decode(again.encode(digits)), codec.decode(codec.encode(digits)))


def test_it_is_a_codec_whose_features_stand_for_no_certain_cells():
    assert isinstance(PCA(), SavedCodec)
    assert not isinstance(PCA(), LocalCodec)
    assert PCA(3) == PCA(3) != PCA(4)


def test_fitting_again_begins_anew(digits):
    codec = PCA(latent=2).fit(flat_signals((30,)))
    assert codec.fit(digits) is codec
    np.testing.assert_array_equal(codec.encode(digits), PCA(latent=2).fit(digits).encode(digits))


def test_wrong_input_is_refused(digits):
    codec = PCA(latent=5).fit(digits)
    with pytest.raises(ValueError, match=r"of shape \(8, 8\), as this PCA was fitted on.*\(5, 9, 8\)"):
        codec.encode(np.zeros((5, 9, 8)))
    with pytest.raises(ValueError, match=r"rows of 5 latent features.*\(2, 4\)"):
        codec.decode(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="at least 10 instances, got 9"):
        PCA().fit(digits[:9])
    with pytest.raises(ValueError, match="all the same"):
        PCA().fit(np.ones((20, 8)))
    with pytest.raises(NotFittedError, match="This PCA is not fitted yet"):
        PCA().encode(digits)


def test_latent_out_of_range_is_refused(digits):
    with pytest.raises(ValueError, match=r"PCA\.latent must be a whole number >= 1"):
        PCA(latent=0)
    with pytest.raises(
        ValueError, match=r"PCA\.latent must be at most 19 for 20 instances of 64 cells, got 20"
    ):
        PCA(latent=20).fit(digits[:20])
