"""The peers of images and series on small series; only where their environments have been made."""

import numpy as np
import pytest

from counterpoint_study.models.convolution import ConvNetwork
from counterpoint_study.peers import PeerError, peers_for, run_peer_on_signals
from counterpoint_study.peers.environments import is_ready

HOURS = np.linspace(0, 6, 24)


@pytest.fixture(scope="module")
def series():
    rng = np.random.default_rng(0)
    return np.array([np.sin(HOURS + rng.uniform(0, 6)) + slope * HOURS for slope in [-0.2, 0.2] * 30])


@pytest.fixture(scope="module")
def network(series):
    pytest.importorskip("torch")
    return ConvNetwork(epochs=10, batch=16).fit(series, ["falls", "rises"] * 30)


def explain(name, model, series, X):
    environment = peers_for("series")[name].environment
    if not is_ready(environment):
        pytest.skip("the study has not made the peers' environment yet")
    y = ["falls", "rises"] * 30
    return run_peer_on_signals(name, model, series, y, X, k=1, time_limit=200.0)


@pytest.mark.parametrize("name", ["CEGP", "Wildboar"])
def test_a_peer_flips_a_decision(network, series, name):
    x = series[:1]
    found = explain(name, network, series, x)
    assert found.errors == [None]
    (answer,) = found.signals
    assert answer.shape == (1, 24)
    assert network.predict(answer) != network.predict(x)
    assert series.min() - 1e-6 <= answer.min() <= answer.max() <= series.max() + 1e-6


class Reversed:
    """A model that says the contrary of what its blueprint says."""

    def __init__(self, network):
        self.classes_ = network.classes_
        self.blueprint = network.blueprint
        self._network = network

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        return self._network.predict_proba(X)[:, ::-1]


def test_a_network_that_is_not_the_black_box_is_refused(network, series):
    with pytest.raises(PeerError, match="WACH cannot be set up: the rebuilt network's probabilities differ"):
        explain("WACH", Reversed(network), series, series[:1])
