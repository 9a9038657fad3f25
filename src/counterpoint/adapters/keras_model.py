"""A Keras model as a function from arrays to labels, on any of Keras' backends."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterpoint.adapters.layouts import Array, Inputs, Layout
from counterpoint.adapters.network import Network, first_of
from counterpoint.adapters.outputs import LOGIT, PROBABILITY
from counterpoint.adapters.torch_model import at_rest


class KerasModel(Network):
    """A Keras model (keras 3 on any backend, or tf.keras) as a function from arrays to labels.

    Parameters are those of `Network`. It is asked as at prediction, so without dropout. Of several
    outputs the one named logits counts, else the first.
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
        # Trying the model would build it, perhaps for a wrong layout.
        if not getattr(self.model, "built", True):
            raise TypeError("The Keras model is not trained yet: it has no weights.")

    def _run(self, inputs: Inputs) -> Array:
        dtype = np.float64 if getattr(self.model, "compute_dtype", "") == "float64" else np.float32
        batch = np.array(inputs[0], dtype=dtype)
        if hasattr(self.model, "named_modules"):
            # On torch's backend the model is a torch module too, and parts written in torch follow its mode.
            with at_rest(self.model):
                outputs = self._predict(batch)
        else:
            filled = fill_up(batch)
            outputs = self._predict(filled)
            if len(outputs) == len(filled):  # else it is no answer to so many, and find will say so
                outputs = outputs[: len(batch)]
        return outputs

    def _predict(self, batch: Array) -> Array:
        outputs = np.asarray(first_of(self.model.predict_on_batch(batch)))
        # In mixed precision they may be bfloat16, which numpy does not count as a float.
        is_float = outputs.dtype.kind == "f" or outputs.dtype.name == "bfloat16"
        return outputs.astype(np.float64) if is_float else outputs

    def _last_layer(self) -> float | None:
        # Only these two kinds of model know their layers' order; one with a call of its own does not.
        layer = self.model
        while {"Sequential", "Functional"} & {kind.__name__ for kind in type(layer).__mro__}:
            if not layer.layers:
                return None
            layer = layer.layers[-1]
        name = getattr(getattr(layer, "activation", None), "__name__", "")
        return {"sigmoid": PROBABILITY, "linear": LOGIT}.get(name)


def fill_up(batch: Array) -> Array:
    """Repeat the last instance until there are a power of two.

    Jax and tensorflow compile a model anew for every number of instances that they have not seen yet.

    Examples
    --------
    >>> fill_up(np.array([5.0, 6.0, 7.0]))
    array([5., 6., 7., 7.])
    """
    if not len(batch):
        return batch
    size = 1 << (len(batch) - 1).bit_length()
    return np.asarray(batch[np.minimum(np.arange(size), len(batch) - 1)])
