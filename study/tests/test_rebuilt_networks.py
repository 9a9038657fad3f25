"""The network rebuilt for peers that differentiate it, and the rows of numbers they work on."""

import numpy as np
import pandas as pd
import pytest

from counterpoint_study.models.dense import DenseNetwork
from counterpoint_study.peers.coding import Codebook
from counterpoint_study.peers.oracle import Oracle
from counterpoint_study.peers.worker import peer_alibi, peer_ceml, peer_dice_gradient
from counterpoint_study.peers.worker.onehot import ScaledOneHot
from counterpoint_study.peers.worker.rebuilt import check_rebuilt, rebuilt_layers, torch_layers
from counterpoint_study.peers.worker.rows import Rows
from counterpoint_study.peers.worker.task import Task

CATEGORICAL = ["job", "town"]


class Direct:
    """The black box of a task, asked without a process in between."""

    def __init__(self, oracle):
        self.oracle = oracle
        self.n_classes = len(oracle.classes)

    def predict_proba(self, codes):
        return self.oracle.answer("probabilities", codes).array


def people(count=120):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "job": rng.choice(["cook", "clerk", "smith"], count),
            "age": rng.integers(18, 80, count),
            "town": rng.choice(["A", "B"], count),
            "income": rng.normal(3000.0, 900.0, count).round(2),
        }
    )


def make_task(classes=2, blueprint=True):
    frame = people()
    labels = (frame["income"].rank() * classes / (len(frame) + 1)).astype(int)
    network = DenseNetwork(hidden=(8, 6), epochs=5).fit(frame, labels)
    codebook = Codebook.of(frame, frame, CATEGORICAL)
    rows = Rows([column.plain() for column in codebook.columns])
    job = {"method": "any", "k": 1, "seed": 0, "time_limit": 1.0, "immutable": ["age"]}
    model = Direct(Oracle(network, codebook))
    plan = network.blueprint() if blueprint else None
    return Task(model, rows, codebook.encode(frame), labels.to_numpy(), plan, job)


@pytest.fixture(scope="module")
def task():
    return make_task()


def probabilities(layers, encoded):
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        return torch_layers(layers)(torch.tensor(encoded, dtype=torch.float32)).softmax(dim=-1).numpy()


@pytest.mark.parametrize("order", [None, [3, 1, 0, 2]])
@pytest.mark.parametrize("low", [0.0, -1.0])
def test_the_rebuilt_network_answers_as_the_black_box_does(task, order, low):
    space = ScaledOneHot(task.rows, task.train, order=order, low=low)
    layers = rebuilt_layers(task.blueprint, space)
    answers = probabilities(layers, space.encode(task.train))
    assert np.allclose(answers, task.model.predict_proba(task.train), atol=1e-5)
    check_rebuilt(task, space, lambda encoded: probabilities(layers, encoded))


def test_a_rebuilt_network_that_differs_is_refused(task):
    space = ScaledOneHot(task.rows, task.train)
    (weights, biases), *rest = rebuilt_layers(task.blueprint, space)
    with pytest.raises(RuntimeError, match="probabilities differ by"):
        check_rebuilt(task, space, lambda rows: probabilities([(weights + 0.1, biases), *rest], rows))


def test_a_network_that_answers_with_nothing_is_refused(task):
    space = ScaledOneHot(task.rows, task.train)
    with pytest.raises(RuntimeError, match="nan"):
        check_rebuilt(task, space, lambda rows: np.full((len(rows), 2), np.nan))


def test_rows_lie_in_the_range_asked_for_and_come_back(task):
    space = ScaledOneHot(task.rows, task.train, order=[2, 3, 1, 0], low=-1.0)
    encoded = space.encode(task.train)
    assert encoded.shape == (len(task.train), space.width) == (120, 3 + 1 + 2 + 1)
    numbers = encoded[:, space.columns([1, 3])]
    assert np.allclose(numbers.min(axis=0), -1.0)
    assert np.allclose(numbers.max(axis=0), 1.0)
    assert np.allclose(encoded[:, space.slice(0)].sum(axis=1), 1.0)
    assert np.allclose(space.decode(encoded), task.train)


def test_what_a_peer_left_alone_keeps_its_very_value(task):
    space = ScaledOneHot(task.rows, task.train)
    for x in task.train[:20]:
        assert np.array_equal(space.answers(space.encode(x[None]).astype(np.float32), x), x[None])


def test_an_answer_has_whole_numbers_and_one_category(task):
    space = ScaledOneHot(task.rows, task.train)
    x = task.train[0]
    moved = space.encode(x[None])
    moved[0, space.slice(1)] += 0.111
    moved[0, space.slice(0)] = [0.2, 0.1, 0.6]
    (answer,) = space.answers(moved, x)
    assert answer[1] == np.rint(answer[1]) != x[1]
    assert answer[0] == 2
    assert np.array_equal(answer[[2, 3]], x[[2, 3]])


def test_a_category_that_training_lacks_stays_if_it_is_left_alone(task):
    rows = Rows(
        [
            {"name": "job", "levels": ["cook", "smith", "king"], "seen": 2, "whole": False},
            {"name": "age", "levels": None, "seen": 2, "whole": True},
        ]
    )
    space = ScaledOneHot(rows, np.array([[0.0, 20.0], [1.0, 40.0]]))
    king = np.array([2.0, 30.0])
    assert space.encode(king[None]).tolist() == [[0.0, 0.0, 0.5]]
    assert space.answers(np.array([[0.0, 0.0, 1.0]]), king).tolist() == [[2.0, 40.0]]


def test_a_feature_with_one_value_does_no_harm():
    rows = Rows([{"name": "age", "levels": None, "seen": 1, "whole": True}])
    space = ScaledOneHot(rows, np.array([[30.0], [30.0]]))
    assert space.decode(space.encode(np.array([[30.0]]))).tolist() == [[30.0]]


def test_dice_gradient_refuses_three_classes():
    with pytest.raises(NotImplementedError, match="two classes only"):
        peer_dice_gradient.setup(make_task(classes=3))


@pytest.mark.parametrize("peer", [peer_alibi, peer_ceml, peer_dice_gradient])
def test_what_must_differentiate_refuses_a_model_without_gradients(peer):
    with pytest.raises(NotImplementedError):
        peer.setup(make_task(blueprint=False))


def test_dice_cannot_confuse_the_columns_it_is_given(task):
    frames = peer_dice_gradient.Frames(task)
    frame = frames.frame(task.train)
    assert list(frame.columns) == ["f0001", "f0003", "f0000", "f0002"]
    assert set(frame["f0002"]) == {"0000", "0001"}
    assert frame["f0001"].dtype == np.int64
