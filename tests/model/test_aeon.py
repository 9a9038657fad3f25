"""aeon's classifiers of series, as they are. `make test` runs this where aeon is: it needs an older numpy."""

from __future__ import annotations

import numpy as np
import pytest

import counterpoint as cp

pytest.importorskip("aeon", reason="aeon has an environment of its own: make aeon")
pytestmark = pytest.mark.filterwarnings("ignore")  # numba's


def waves(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Make series of two channels and two kinds: rising and falling, with a wave on top."""
    rng = np.random.default_rng(0)
    y = np.array(["falls", "rises"])[rng.integers(2, size=n)]
    time = np.linspace(-1, 1, 40)
    X = np.sin(6 * time + rng.uniform(0, 6, size=(n, 1))) + np.where(y == "rises", 1, -1)[:, None] * time
    return np.stack([X, X[:, ::-1]], axis=1), y


@pytest.mark.parametrize("channels", [1, 2])
def test_an_aeon_classifier_needs_no_glue(channels: int) -> None:
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

    X, y = waves(60)
    model = KNeighborsTimeSeriesClassifier(distance="euclidean").fit(X[:, :channels], y)
    explanation = cp.Ensemble(size=5).fit(model, X[:, :channels]).explain(X[0, :channels], k=3)
    assert explanation.counterfactuals.shape == (3, channels, 40)
    assert (model.predict(explanation.counterfactuals) != explanation.decision).all()


def test_series_of_two_dimensions_are_known_by_their_model() -> None:
    from aeon.classification.distance_based import KNeighborsTimeSeriesClassifier

    X, y = waves(60)
    rough = np.random.default_rng(0).permutation(X[:, 0].T).T  # no two neighbours are alike
    model = KNeighborsTimeSeriesClassifier(distance="euclidean").fit(rough, y)
    explainer = cp.Ensemble(size=5).fit(model, rough)
    assert isinstance(explainer.codec_, cp.Kernel)
    explanation = explainer.explain(rough[0], k=2)
    assert explanation.counterfactuals.shape == (2, 40)
    assert (model.predict(explanation.counterfactuals) != explanation.decision).all()
