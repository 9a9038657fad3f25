"""A Keras model as a function from arrays to labels, with any Keras backend."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterpoint.model.adapters.layouts import Array, Inputs, Layout
from counterpoint.model.adapters.network import Network, first_of
from counterpoint.model.adapters.outputs import LOGIT, PROBABILITY
from counterpoint.model.adapters.torch_model import at_rest


class KerasModel(Network):
    """A Keras model (Keras 3 with any backend, or tf.keras) as a function from arrays to labels.

    Parameters are those of `Network`. The model is called in inference mode, without dropout. Of several
    outputs, the one named logits is used, else the first.
    """

    order: ClassVar[tuple[Layout, ...]] = (
        "as given",
        "add channel last",
        "move channels last",
        "add channel first",
        "move channels first",
        "flat",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Trying the model would build it, perhaps for the wrong layout.
        if not getattr(self.model, "built", True):
            raise TypeError("The Keras model is not trained yet: it has no weights.")

    def _run(self, inputs: Inputs) -> Array:
        dtype = np.float64 if getattr(self.model, "compute_dtype", "") == "float64" else np.float32
        batch = np.array(inputs[0], dtype=dtype)
        if hasattr(self.model, "named_modules"):
            # With the torch backend, the model is a torch module, and parts written in torch follow its mode.
            with at_rest(self.model):
                outputs = self._predict(batch)
        else:
            filled = fill_up(batch)
            outputs = self._predict(filled)
            if len(outputs) == len(filled):  # else the number of outputs is wrong, which find reports
                outputs = outputs[: len(batch)]
        return outputs

    def _predict(self, batch: Array) -> Array:
        outputs = np.asarray(first_of(self.model.predict_on_batch(batch)))
        # In mixed precision they may be bfloat16, which is not a float for numpy.
        is_float = outputs.dtype.kind == "f" or outputs.dtype.name == "bfloat16"
        return outputs.astype(np.float64) if is_float else outputs

    def _last_layer(self) -> float | None:
        # Only these two kinds of model know the order of their layers; one with its own call method does not.
        layer = self.model
        while {"Sequential", "Functional"} & {kind.__name__ for kind in type(layer).__mro__}:
            if not layer.layers:
                return None
            layer = layer.layers[-1]
        name = getattr(getattr(layer, "activation", None), "__name__", "")
        return {"sigmoid": PROBABILITY, "linear": LOGIT}.get(name)


def fill_up(batch: Array) -> Array:
    """Repeat the last instance until the number of instances is a power of two.

    JAX and TensorFlow compile a model again for every number of instances that they have not seen before.

    Examples
    --------
    >>> fill_up(np.array([5.0, 6.0, 7.0]))
    array([5., 6., 7., 7.])
    """
    if not len(batch):
        return batch
    size = 1 << (len(batch) - 1).bit_length()
    return np.asarray(batch[np.minimum(np.arange(size), len(batch) - 1)])
