"""What is asked of a model that is given as it is: what outputs mean, frames, and what needs no adapter."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from counterpoint.model import adapters
from counterpoint.model.adapters import TorchModel, ask

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(50, 4))


def by_hand(module, array):
    with torch.no_grad():
        return module.eval()(torch.tensor(array, dtype=torch.float32)).numpy()


# What outputs mean


class Forward(nn.Module):
    """A module of which nothing is known but what it returns."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, batch):
        return self.function(batch)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: x[:, 0], ROWS[:, 0] > 0),
        (lambda x: x[:, :1], ROWS[:, 0] > 0),
        (lambda x: x[:, 0].sigmoid(), ROWS[:, 0] > 0),
        (lambda x: x.softmax(dim=1), ROWS.argmax(axis=1)),
        (lambda x: x.argmax(dim=1) + 5, ROWS.argmax(axis=1) + 5),
        (lambda x: x[:, 0] > 1, ROWS[:, 0] > 1),
        (lambda x: (x[:, :2], x[:, 2:]), ROWS[:, :2].argmax(axis=1)),
        (lambda x: {"loss": x[:, :2], "logits": x[:, 2:]}, ROWS[:, 2:].argmax(axis=1)),
    ],
    ids=["logits", "column", "probabilities", "classes", "labels", "bools", "several", "named"],
)
def test_outputs(function, expected):
    assert (ask(Forward(function), ROWS)(ROWS) == expected).all()


def test_the_last_layer_decides_the_threshold_where_it_is_certain():
    small = nn.Sequential(nn.Linear(4, 1))
    with torch.no_grad():
        small[0].weight.zero_()
        small[0].bias.fill_(0.3)  # as a logit this is class 1, as a probability class 0
    assert (ask(small, ROWS)(ROWS) == 1).all()
    assert (ask(nn.Sequential(small, nn.Flatten(0)), ROWS)(ROWS) == 1).all()
    assert (
        ask(nn.Sequential(nn.Sequential(Forward(lambda x: x - 5), nn.Linear(4, 1)), nn.Sigmoid()), ROWS)
    ).threshold == 0.5
    assert (ask(Forward(small), ROWS)(ROWS) == 0).all()


def test_the_threshold_is_decided_once_on_known_instances():
    model = ask(Forward(lambda x: x[:, 0]), ROWS)
    assert model(np.full((3, 4), 0.3)).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"threshold=0\.5 for probabilities"):
        TorchModel(Forward(lambda x: x[:, 0]))(ROWS)
    assert TorchModel(Forward(lambda x: x[:, 0]), threshold=2)(np.array([[1.5], [2.5]])).tolist() == [0, 1]


def test_scores_stay_for_regressors():
    module = nn.Linear(4, 1)
    price = ask(TorchModel(module, output="scores"), ROWS)(ROWS)
    np.testing.assert_allclose(price, by_hand(module, ROWS)[:, 0], rtol=1e-5)
    assert ask(TorchModel(nn.Linear(4, 3), output="scores"), ROWS)(ROWS).shape == (50, 3)


def test_names_of_classes():
    model = TorchModel(nn.Identity(), classes=["a", "b", "c", "d"])
    assert (ask(model, ROWS)(ROWS) == np.array(list("abcd"))[ROWS.argmax(axis=1)]).all()
    assert list(model.classes_) == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="must name the model's 4 classes"):
        TorchModel(nn.Identity(), classes=["a", "b"])(ROWS)
    with pytest.raises(ValueError, match="labels 7 to 7"):
        TorchModel(Forward(lambda x: (0 * x[:, 0] + 7).long()), classes=["a", "b"])(ROWS)


def test_nan_is_no_decision():
    model = ask(nn.Identity(), ROWS)
    with pytest.raises(ValueError, match="NaN for 1 of 2 instances"):
        model(np.array([[1.0, 2.0], [np.nan, 0.0]]))


def test_settings_are_checked():
    with pytest.raises(ValueError, match=r"TorchModel\.batch must be at least 1, got 0"):
        TorchModel(nn.Identity(), batch=0)
    with pytest.raises(ValueError, match=r"TorchModel\.layout must be None or one of"):
        TorchModel(nn.Identity(), layout="nchw")
    with pytest.raises(ValueError, match='must be "labels" or "scores"'):
        TorchModel(nn.Identity(), output="logits")
    with pytest.raises(ValueError, match="at least one instance"):
        ask(nn.Identity(), ROWS[:0])


def test_labels_that_depend_on_the_other_instances_are_refused():
    with pytest.raises(TypeError, match="depends on the other instances"):
        ask(Forward(lambda rows: rows - rows.mean(dim=0)), ROWS)


# Frames


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
def test_frames_of_numbers(form):
    columns = {"age": [31, 45, 28], "income": [1.5, 2.5, 0.5], "owner": [True, False, True]}
    expected = np.column_stack([np.array(values, dtype=float) for values in columns.values()]).argmax(axis=1)
    assert (ask(nn.Identity(), form(columns))(form(columns)) == expected).all()


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame])
def test_frames_with_texts_are_refused(form):
    with pytest.raises(TypeError, match="columns that are not numbers: job, region"):
        ask(nn.Identity(), form({"job": ["clerk", "cook"], "age": [31, 45], "region": ["1", "2"]}))


def test_frames_with_missing_bools():
    frame = pd.DataFrame({"owner": pd.array([True, None], dtype="boolean"), "age": [0.5, 0.5]})
    model = ask(Forward(lambda x: x.nan_to_num(7)), frame)
    assert model(frame).tolist() == [0, 0]


# Everything else


def test_estimators_and_callables_stay_as_they_are():
    model = LogisticRegression().fit(ROWS, ROWS[:, 0] > 0)
    assert ask(model, ROWS) == model.predict
    function = np.sum
    assert ask(function, ROWS) is function


def test_what_cannot_be_asked():
    with pytest.raises(TypeError, match="got the class LogisticRegression"):
        ask(LogisticRegression, ROWS)
    with pytest.raises(TypeError, match="got the class Linear"):
        ask(nn.Linear, ROWS)
    with pytest.raises(
        TypeError, match="must have a predict method or be a callable from rows to labels, got dict"
    ):
        ask({}, ROWS)


def test_no_library_is_imported_to_tell_models_apart(monkeypatch):
    for name in ("torch", "keras", "tensorflow", "onnxruntime"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it is an error
    for place, path in enumerate(sorted(Path(adapters.__file__).parent.glob("*.py"))):
        spec = importlib.util.spec_from_file_location(f"fresh{place}", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
    assert ask(len, ROWS) is len
    with pytest.raises(ImportError, match=r"pip install 'counterpoint\[torch\]'"):
        ask(nn.Identity(), ROWS)
