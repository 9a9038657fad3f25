"""Keras models given as they are, on torch's backend."""

import os

import numpy as np
import pandas as pd
import pytest

from counterpoint.model.adapters import KerasModel, ask

# Keras' own call of numpy, on torch's backend.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

RNG = np.random.default_rng(0)
IMAGES = RNG.uniform(size=(50, 12, 10))
COLOURS = RNG.uniform(size=(50, 12, 10, 3))
SERIES = RNG.normal(size=(50, 40))
ROWS = RNG.normal(size=(50, 4))


@pytest.fixture(scope="module")
def keras(tmp_path_factory):
    os.environ.setdefault("KERAS_BACKEND", "torch")
    os.environ.setdefault("KERAS_HOME", str(tmp_path_factory.mktemp("keras")))
    import keras

    keras.utils.set_random_seed(0)
    return keras


def keras_sequential(keras, shape, *layers, units=3, activation=None):
    flat = keras.layers.Flatten()
    return keras.Sequential([keras.Input(shape), *layers, flat, keras.layers.Dense(units, activation)])


@pytest.mark.parametrize(
    ("shape", "X", "laid_out"),
    [
        ((12, 10, 1), IMAGES, IMAGES[..., None]),
        ((12, 10, 3), COLOURS, COLOURS),
        ((12, 10, 3), COLOURS.transpose(0, 3, 1, 2), COLOURS),
        ((40, 1), SERIES, SERIES[..., None]),
        ((12, 10), IMAGES.transpose(0, 2, 1), IMAGES),
        ((4,), ROWS, ROWS),
        ((120,), IMAGES, IMAGES.reshape(50, 120)),
    ],
    ids=["grey", "colour", "channels first", "series", "aeon", "table", "flat"],
)
def test_keras_layouts(keras, shape, X, laid_out):
    convolution = {1: [], 2: [keras.layers.Conv1D(4, 3)], 3: [keras.layers.Conv2D(4, 3)]}[len(shape)]
    model = keras_sequential(keras, shape, *convolution)
    expected = model.predict(laid_out, verbose=0).argmax(axis=1)
    labels = ask(model, X)(X)
    assert (labels == expected).all()
    assert (ask(KerasModel(model, batch=7), X)(X) == labels).all()
    assert len(ask(model, X)(X[:0])) == 0


def test_keras_is_asked_as_at_prediction(keras):
    model = keras_sequential(keras, (4,), keras.layers.Dense(8), keras.layers.Dropout(0.5))
    model.train()
    ready = ask(model, ROWS)
    assert isinstance(ready, KerasModel)
    assert (ready(ROWS) == ready(ROWS)).all()
    assert model.training
    assert all(weight.grad is None for weight in model.parameters())


def test_keras_binary_outputs(keras):
    sigmoid = keras_sequential(keras, (4,), units=1, activation="sigmoid")
    linear = keras_sequential(keras, (4,), units=1)
    linear.set_weights(sigmoid.get_weights())
    assert (ask(sigmoid, ROWS).threshold, ask(linear, ROWS).threshold) == (0.5, 0)
    assert (ask(sigmoid, ROWS)(ROWS) == ask(linear, ROWS)(ROWS)).all()
    inputs = keras.Input((4,))
    functional = keras.Model(inputs, keras.layers.Activation("sigmoid")(linear(inputs)))
    assert ask(functional, ROWS).threshold == 0.5
    assert (ask(functional, ROWS)(ROWS) == ask(linear, ROWS)(ROWS)).all()
    scores = ask(KerasModel(linear, output="scores"), ROWS)(ROWS)
    np.testing.assert_allclose(scores, linear.predict(ROWS, verbose=0)[:, 0], rtol=1e-5)


def test_keras_with_a_call_of_its_own_and_several_outputs(keras):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = keras.layers.Dense(2)

        def call(self, inputs):
            scores = self.layer(inputs)
            return {"features": inputs, "logits": scores}

    model = Own()
    with pytest.raises(TypeError, match="Keras model is not trained yet"):
        ask(model, ROWS)
    expected = keras.ops.convert_to_numpy(model(ROWS)["logits"].detach()).argmax(axis=1)
    assert (ask(model, pd.DataFrame(ROWS, columns=list("abcd")))(ROWS) == expected).all()


def test_keras_misfit(keras):
    with pytest.raises(TypeError, match=r"KerasModel cannot be called with instances of shape \(4,\)"):
        ask(keras_sequential(keras, (7,)), ROWS)
