"""Torch modules given as they are: their layouts, and how they are asked."""

import numpy as np
import pytest
import torch
from torch import nn

from counterpoint.model.adapters import TorchModel, ask

RNG = np.random.default_rng(0)
IMAGES = RNG.uniform(size=(50, 12, 10))
COLOURS = RNG.uniform(size=(50, 12, 10, 3))
SERIES = RNG.normal(size=(50, 40))
ROWS = RNG.normal(size=(50, 4))


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


def conv2d(channels, classes=3):
    return nn.Sequential(
        nn.Conv2d(channels, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, classes)
    )


def conv1d(channels, classes=3):
    return nn.Sequential(
        nn.Conv1d(channels, 4, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(16, classes)
    )


def by_hand(module, array):
    with torch.no_grad():
        return module.eval()(torch.tensor(array, dtype=torch.float32)).numpy()


# Layouts


@pytest.mark.parametrize(
    ("module", "X", "laid_out"),
    [
        (conv2d(1), IMAGES, IMAGES[:, None]),
        (conv2d(1), IMAGES[..., None], IMAGES[:, None]),
        (conv2d(3), COLOURS, COLOURS.transpose(0, 3, 1, 2)),
        (conv2d(3), COLOURS.transpose(0, 3, 1, 2), COLOURS.transpose(0, 3, 1, 2)),
        (conv1d(1), SERIES, SERIES[:, None]),
        (conv1d(10), IMAGES.transpose(0, 2, 1), IMAGES.transpose(0, 2, 1)),
        (nn.Sequential(nn.Flatten(), nn.Linear(120, 3)), IMAGES, IMAGES),
        (nn.Linear(120, 3), IMAGES, IMAGES.reshape(50, 120)),
        (nn.Linear(4, 3), ROWS, ROWS),
    ],
    ids=[
        "grey",
        "grey with channel",
        "colour",
        "channels first",
        "series",
        "channels",
        "flatten",
        "flat",
        "table",
    ],
)
def test_torch_layouts(module, X, laid_out):
    expected = by_hand(module, laid_out).argmax(axis=1)
    assert (ask(module, X)(X) == expected).all()


@pytest.mark.parametrize("channels", [2, 3])
def test_instances_are_not_taken_for_channels(channels):
    with pytest.raises(TypeError, match=r"instances of shape \(12, 10\)"):
        ask(conv2d(channels), IMAGES)


class Recurrent(nn.Module):
    """Reads a series step by step; in torch a matrix is one series, whose steps would be the instances."""

    def __init__(self, inputs):
        super().__init__()
        self.cell = nn.GRU(inputs, 5, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, batch):
        states = self.cell(batch)[0]
        return self.head(states[:, -1] if batch.ndim == 3 else states)


def test_instances_are_not_taken_for_steps():
    assert TorchModel(Recurrent(1)).on(SERIES).layout == "add channel last"
    assert TorchModel(Recurrent(40)).on(SERIES).layout == "add channel first"


def test_a_misfit_says_what_was_tried_and_why():
    with pytest.raises(TypeError) as caught:
        ask(conv2d(4), COLOURS)
    text = str(caught.value)
    assert "TorchModel cannot be called with instances of shape (12, 10, 3)" in text
    assert "as given, (3, 12, 10, 3): RuntimeError" in text
    assert "move channels first, (3, 3, 12, 10): RuntimeError: Given groups=1" in text


def test_a_layout_of_ones_own():
    module = nn.Sequential(nn.Flatten(), nn.Linear(360, 3))
    expected = by_hand(module, COLOURS.transpose(0, 3, 1, 2)).argmax(axis=1)
    assert (ask(TorchModel(module, layout="move channels first"), COLOURS)(COLOURS) == expected).all()
    with pytest.raises(TypeError, match="move channels last"):
        ask(TorchModel(conv2d(3), layout="move channels last"), COLOURS)


# How it is asked


def test_every_part_is_put_back_into_its_mode():
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3)).train()
    module[1].eval()
    before = [part.training for part in module.modules()]
    mean = module[1].running_mean.clone()
    model = ask(module, ROWS)
    assert (model(ROWS) == model(ROWS)).all()  # no dropout
    assert [part.training for part in module.modules()] == before == [True, True, False, True, True]
    assert (module[1].running_mean == mean).all()


def test_the_mode_is_put_back_after_an_error():
    module = nn.Linear(4, 3).train()
    with pytest.raises(RuntimeError):
        ask(module, ROWS)(ROWS[:, :2])
    assert module.training


class Spy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.seen = []

    def forward(self, batch):
        self.seen.append((len(batch), batch.dtype, torch.is_grad_enabled(), self.training))
        return self.layer(batch)


def test_batches_without_gradients_in_the_dtype_of_the_parameters():
    spy = Spy()
    model = ask(TorchModel(spy, batch=20), ROWS)
    spy.seen.clear()
    model(ROWS)
    assert spy.seen == [(size, torch.float32, False, False) for size in (20, 20, 10)]
    double = Spy().double()
    ask(double, ROWS.astype(np.float32))
    assert {dtype for _, dtype, _, _ in double.seen} == {torch.float64}


@pytest.mark.parametrize("batch", [1, 7, 49, 50, 51])
def test_batches_do_not_change_labels(batch):
    module = conv2d(1)
    expected = by_hand(module, IMAGES[:, None]).argmax(axis=1)
    labels = ask(TorchModel(module, batch=batch), IMAGES)(IMAGES)
    assert (labels == expected).all()
    assert len(ask(TorchModel(module, batch=batch), IMAGES)(IMAGES[:0])) == 0


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X[::-1],
        lambda X: X.astype(np.float16),
        lambda X: (100 * X).astype(np.uint8),
        lambda X: np.broadcast_to(X[:1], X.shape),
        lambda X: X[:1],
    ],
    ids=["backwards", "half", "bytes", "read-only", "one"],
)
def test_arrays_of_every_kind(form):
    module, X = conv2d(1), form(IMAGES)
    before = X.copy()
    assert (ask(module, X)(X) == by_hand(module, X[:, None].copy()).argmax(axis=1)).all()
    assert (before == X).all()


def test_small_floats():
    module = nn.Linear(4, 3)
    expected = by_hand(module, ROWS).argmax(axis=1)
    assert (ask(module.bfloat16(), ROWS)(ROWS) == expected).mean() > 0.9


def test_whole_numbers_stay_whole_for_an_embedding():
    words = RNG.integers(0, 20, size=(50, 6))
    module = nn.Sequential(nn.Embedding(20, 4), nn.Flatten(), nn.Linear(24, 3))
    with torch.no_grad():
        expected = module(torch.tensor(words)).argmax(axis=1).numpy()
    assert (ask(module, words)(words) == expected).all()


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_torchscript():
    module = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.9), nn.Linear(8, 1)).train()
    expected = (by_hand(module, ROWS)[:, 0] > 0).astype(int)
    scripted = torch.jit.script(module.train())
    assert (ask(scripted, ROWS)(ROWS) == expected).all()
    assert scripted.training
    assert TorchModel(scripted).on(ROWS).threshold == 0
    for other in (
        torch.jit.freeze(torch.jit.script(module.eval())),
        torch.jit.trace(module, torch.ones(2, 4)),
    ):
        assert (ask(other, ROWS)(ROWS) == expected).all()


def test_a_module_with_a_predict_method_is_asked_by_it():
    class Wrapped(Spy):
        def predict(self, rows):
            return np.where(rows[:, 0] > 0, "up", "down")

    assert set(ask(Wrapped(), ROWS)(ROWS)) == {"up", "down"}
    assert set(ask(TorchModel(Wrapped()), ROWS)(ROWS)) <= {0, 1, 2}


def test_an_untrained_module():
    with pytest.raises(TypeError, match="not trained yet"):
        ask(nn.Sequential(nn.LazyLinear(3)), ROWS)
