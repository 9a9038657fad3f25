"""Peers on images and series: the same processes, limits and accounts as on tables, with a real process."""

from pathlib import Path

import numpy as np
import pytest

from counterpoint_study.peers import PEERS, Peer, PeerError, peers_for, run_peer_on_signals
from counterpoint_study.peers.coding import Shape
from counterpoint_study.peers.registry import TABLES, find_peer
from counterpoint_study.peers.worker.peer_alibi_signals import sample

MODULE = Path(__file__).with_name("signal_peer_for_tests.py")
IMAGES = np.linspace(0, 1, 4 * 6, dtype=np.float32).reshape(4, 2, 3)


class Bright:
    """Tells bright images or series from dark ones."""

    classes_ = np.array(["dark", "bright"])

    def __init__(self):
        self.asked = []

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        self.asked.append(X)
        bright = X.reshape(len(X), -1).mean(axis=1) > 0.5
        return np.where(bright[:, None], [0.2, 0.8], [0.9, 0.1])


class Network(Bright):
    """One with weights to save."""

    def blueprint(self):
        return self

    def save(self, path):
        np.savez(path, weights=np.array([7.0]))


def run(what, X, train=IMAGES, model=None, gradient=False, **options):
    model = Bright() if model is None else model
    peer = Peer(what, str(MODULE), environment=None, library="tests 1", gradient=gradient)
    return run_peer_on_signals(peer, model, train, model.predict(train), X, **{"k": 2, **options})


# -- answers ---


def test_answers_have_the_instances_shape_and_dtype():
    model = Bright()
    found = run("nearest", IMAGES[:2], model=model)
    assert found.errors == [None, None]
    assert [answer.shape for answer in found.signals] == [(2, 2, 3), (2, 2, 3)]
    assert np.array_equal(found.signals[0], IMAGES[2:])
    assert all(array.dtype == np.float32 for array in [*found.signals, *model.asked])
    assert all(asked.shape[1:] == (2, 3) for asked in model.asked)
    assert (found.calls, found.rows) == ([2, 2], [5, 5])


def test_series_of_floats_come_back_to_the_last_digit():
    series = np.random.default_rng(0).normal(0.5, 0.2, (20, 7))
    found = run("nearest", series[:1], train=series, k=20)
    rows = {row.tobytes() for row in series}
    assert found.signals[0].dtype == np.float64
    assert {row.tobytes() for row in found.signals[0]} <= rows


def test_fractions_stay_where_the_data_are_whole():
    pixels = np.array([[0, 0], [3, 2]], dtype=np.uint8)
    whole = run("nearest", pixels[:1], train=pixels).signals[0]
    halves = run("halfway", pixels[:1], train=pixels).signals[0]
    assert (whole.dtype, whole.tolist()) == (np.uint8, [[3, 2]])
    assert halves.tolist() == [[1.5, 1.0]]


def test_a_worker_is_told_the_shape_the_classes_and_all_training_instances():
    (answer,) = run("terms", IMAGES[:1], k=1).answers
    assert answer.ravel().tolist() == [2, 3, 4, 2, 2, 0]


def test_the_networks_weights_reach_the_peer():
    found = run("network", IMAGES[:1], model=Network(), gradient=True)
    assert np.array_equal(found.signals[0], np.full((1, 2, 3), 7.0))


# -- troubles ---


def test_a_question_about_another_shape_costs_the_instance():
    found = run("too short", IMAGES[:1])
    expected = "ModelFailed: CodeError: An instance has 6 cells, and these codes have the shape (1, 5)."
    assert found.errors == [expected]
    assert found.signals[0].shape == (0, 2, 3)


def test_gradients_need_a_network():
    with pytest.raises(PeerError, match="nearest must differentiate the model, which has no gradients"):
        run("nearest", IMAGES[:1], gradient=True)


def test_instances_must_have_the_shape_of_training():
    with pytest.raises(ValueError, match=r"shape of X_train's, \(2, 3\), got \(3, 2\)"):
        run("nearest", IMAGES.reshape(4, 3, 2))


@pytest.mark.parametrize(
    ("train", "error", "message"),
    [
        (np.zeros(4), ValueError, r"at least one dimension, got the shape \(4,\)"),
        (np.array([["a", "b"]]), TypeError, "X_train must hold numbers, got <U1"),
    ],
)
def test_what_is_no_signal_is_refused(train, error, message):
    with pytest.raises(error, match=message):
        Shape.of(train, train)


# -- who takes what ---


def test_a_peer_is_found_among_those_that_take_the_data():
    assert find_peer("CEM", "tables") is PEERS["CEM"]
    assert find_peer("CEM", "images") is find_peer("CEM", "series") is not PEERS["CEM"]
    with pytest.raises(ValueError, match="There is no peer 'Wildboar' for images"):
        run_peer_on_signals("Wildboar", None, IMAGES, None, IMAGES, k=1)


def test_every_peer_has_its_files():
    for kind in ("images", "series"):
        own = [path for peer in peers_for(kind).values() for path in peer.files]
        assert [path for path in own if not path.exists()] == []
        assert "convolution.py" in {path.name for path in own}


def test_the_files_of_peers_on_tables_hold_nothing_that_is_for_signals_only():
    for peer in PEERS.values():
        assert peer.takes == TABLES
        names = {path.name for path in peer.files}
        assert names.isdisjoint({"convolution.py", "peer_alibi_signals.py", "peer_wildboar.py"})


def test_a_sample_keeps_the_share_of_every_class():
    labels = np.random.default_rng(0).choice(3, 5000, p=[0.5, 0.3, 0.2])
    chosen = sample(labels, 1000)
    assert len(chosen) == len(set(chosen)) == 1000
    assert np.allclose(np.bincount(labels[chosen]) / 1000, np.bincount(labels) / 5000, atol=2e-3)
    assert sample(labels[:50], 1000).tolist() == list(range(50))
