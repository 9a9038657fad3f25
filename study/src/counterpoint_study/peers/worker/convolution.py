"""The study's convolutional network, rebuilt in Keras, so that a peer can take its exact gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# As many instances are compared, and their probabilities may differ by so much: float32 is no better.
COMPARED = 200
TOLERANCE = 1e-4

Arrays = Mapping[str, NDArray[Any]]


def rebuilt(path: Path) -> Any:
    """Return a Keras model from instances as they are, with a last axis of one channel, to probabilities.

    So it takes (n, height, width, 1) or (n, length, 1). It is of the TensorFlow that has been imported:
    who needs the ways of its first version chooses them before.

    Parameters
    ----------
    path
        The file that the study's network wrote (`study.conv_blueprint.ConvBlueprint.save` tells its keys).
    """
    import tensorflow as tf

    with np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    model = tf.keras.Sequential([tf.keras.layers.InputLayer((*arrays["shape"].tolist(), 1))])
    mean, scale = float(arrays["mean"]), float(arrays["scale"])
    model.add(tf.keras.layers.Rescaling(1 / scale, offset=-mean / scale))
    for place, kind in enumerate(arrays["kinds"].tolist()):
        _add(tf, model, kind, arrays, place)
    model.add(tf.keras.layers.Softmax())
    return model


def check_rebuilt(
    model: Any, X: NDArray[Any], predict_proba: Callable[[NDArray[Any]], NDArray[np.floating]]
) -> None:
    """Raise an error if a rebuilt network does not answer as the black box does.

    Parameters
    ----------
    model
        What `rebuilt` returned.
    X
        Instances without the axis of channels, of which the first are compared.
    predict_proba
        Asks the black box for its probabilities of such instances.
    """
    X = X[:COMPARED]
    answers = model.predict(X[..., None].astype(np.float32), verbose=0)
    worst = float(np.abs(answers - predict_proba(X)).max())
    if not worst <= TOLERANCE:
        raise RuntimeError(
            f"the rebuilt network's probabilities differ by {worst:.2g} from the black box's, "
            f"more than {TOLERANCE:g}"
        )


def _add(tf: Any, model: Any, kind: str, arrays: Arrays, place: int) -> None:
    """Add a layer, with its weights where it has some."""
    layer = LAYERS[kind](tf.keras.layers, arrays, place)
    model.add(layer)
    if f"weights_{place}" in arrays:
        layer.set_weights([arrays[f"weights_{place}"], arrays[f"biases_{place}"]])


def _convolution(layer: Any, arrays: Arrays, place: int) -> Any:
    *widths, _, channels = arrays[f"weights_{place}"].shape
    return layer(channels, widths, padding=str(arrays[f"padding_{place}"]))


# Each makes the Keras layer of a kind.
LAYERS: Mapping[str, Callable[[Any, Arrays, int], Any]] = {
    "conv1d": lambda layers, arrays, place: _convolution(layers.Conv1D, arrays, place),
    "conv2d": lambda layers, arrays, place: _convolution(layers.Conv2D, arrays, place),
    "relu": lambda layers, arrays, place: layers.ReLU(),
    "maxpool2d": lambda layers, arrays, place: layers.MaxPooling2D(int(arrays[f"size_{place}"])),
    "flatten": lambda layers, arrays, place: layers.Flatten(),
    "globalmean": lambda layers, arrays, place: layers.GlobalAveragePooling1D(),
    "dense": lambda layers, arrays, place: layers.Dense(arrays[f"biases_{place}"].size),
}
