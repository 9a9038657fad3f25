"""What to call to ask a model: adapters for networks, so that a user passes the model itself.

Nothing here imports a library to find out whether a model comes from it: its classes' modules tell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from counterpoint.adapters.keras_model import KerasModel
from counterpoint.adapters.layouts import Layout
from counterpoint.adapters.network import Network
from counterpoint.adapters.onnx_model import OnnxModel
from counterpoint.adapters.outputs import Output
from counterpoint.adapters.torch_model import TorchModel

__all__ = ["KerasModel", "Layout", "Network", "OnnxModel", "Output", "TorchModel", "ask"]


def ask(model: Any, example: Any) -> Callable[[Any], Any]:
    """Find what to call with instances to get their labels.

    A Keras model, a torch module and an onnxruntime session are adapted: in batches, laid out as they want
    it, and their outputs turned into labels. Of anything else its predict method is called, or it itself if
    it has none. A torch module with a predict method of its own is asked by that.

    Parameters
    ----------
    model
        The user's model; or a `TorchModel`, `KerasModel` or `OnnxModel` with settings of the user's.
    example
        Known instances, in the form in which the model will be given others: a table or an array (n, ...).

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> rows = np.array([[1.0, 2.0], [4.0, 3.0]])
    >>> ask(torch.nn.Identity(), rows)(rows)  # the place of the greater of two scores
    array([1, 0])
    >>> ask(lambda rows: rows[:, 0] > 3, rows)(rows)
    array([False,  True])
    """
    if isinstance(model, type):
        raise TypeError(f"model must be a fitted model, got the class {model.__name__}; make and fit one.")
    network = _network(model)
    if network is not None:
        return network.on(example)
    predict = getattr(model, "predict", None)
    if callable(predict):
        return predict  # type: ignore[no-any-return]
    if callable(model):
        return model  # type: ignore[no-any-return]
    raise TypeError(
        f"model must have a predict method or be a callable from rows to labels, got {type(model).__name__}."
    )


def _network(model: Any) -> Network | None:
    """Adapt a model of a library that is known here."""
    if isinstance(model, Network):
        return model
    # Keras first: on torch's backend its models are torch modules, too.
    if _is_a(model, "Model", "keras", "tf_keras", "tensorflow"):
        return KerasModel(model)
    if _is_a(model, "Module", "torch") and not callable(getattr(model, "predict", None)):
        return TorchModel(model)
    return OnnxModel(model) if _is_a(model, "InferenceSession", "onnxruntime") else None


def _is_a(model: Any, name: str, *packages: str) -> bool:
    """Tell whether a model's class derives from one of this name in one of these packages."""
    kinds = type(model).__mro__
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] in packages for kind in kinds)
