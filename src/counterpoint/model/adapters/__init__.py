"""How to call a model: adapters for networks, so that a user can pass the network itself.

No library is imported to find out whether a model comes from it: the modules of its classes tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

from counterpoint.model.adapters.keras_model import KerasModel
from counterpoint.model.adapters.layouts import Layout
from counterpoint.model.adapters.network import Network
from counterpoint.model.adapters.onnx_model import OnnxModel
from counterpoint.model.adapters.outputs import Output
from counterpoint.model.adapters.remote import RemoteModel
from counterpoint.model.adapters.torch_model import TorchModel

__all__ = [
    "KerasModel",
    "Layout",
    "Network",
    "OnnxModel",
    "Output",
    "RemoteModel",
    "TorchModel",
    "adapting",
    "ask",
]


def ask(model: Any, example: Any) -> Callable[[Any], Any]:
    """Return a function from instances to labels.

    A Keras model, a torch module or an onnxruntime session gets an adapter: it is called in batches, in the
    layout that it expects, and its outputs are turned into labels. For any other model, its predict method
    is called, or the model itself if it has none. A torch module with its own predict method is called by
    that method.

    Parameters
    ----------
    model
        The user's model; or a `TorchModel`, `KerasModel`, `OnnxModel` or `RemoteModel` with the user's
        settings.
    example
        Known instances, in the format in which the model will get others: a table or an array (n, ...).

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> rows = np.array([[1.0, 2.0], [4.0, 3.0]])
    >>> ask(torch.nn.Identity(), rows)(rows)  # the index of the larger of two scores
    array([1, 0])
    >>> ask(lambda rows: rows[:, 0] > 3, rows)(rows)
    array([False,  True])
    """
    if isinstance(model, type):
        raise TypeError(f"model must be a fitted model, got the class {model.__name__}; create and fit one.")
    network = _network(model)
    if network is not None:
        return network.on(example)
    if isinstance(model, RemoteModel):
        return model if example is None else model.on(example)
    predict = getattr(model, "predict", None)
    if callable(predict):
        return predict  # type: ignore[no-any-return]
    if callable(model):
        return model  # type: ignore[no-any-return]
    raise TypeError(
        f"model must have a predict method or be a callable from rows to labels, got {type(model).__name__}."
    )


def adapting(asked: Any) -> Callable[[Any], Callable[[Any], Any]]:
    """Return a function that gives a model opened again the adapter, and settings, that the first one got."""
    if not isinstance(asked, Network):
        return partial(ask, example=None)
    settings = {each.name: getattr(asked, each.name) for each in fields(asked) if each.name != "model"}
    return partial(_adapted, type(asked), settings)


def _adapted(kind: type[Network], settings: dict[str, Any], model: Any) -> Network:
    return kind(model.model if isinstance(model, Network) else model, **settings)


def _network(model: Any) -> Network | None:
    """Adapt a model from a supported library."""
    if isinstance(model, Network):
        return model
    # Keras first: with the torch backend, its models are torch modules too.
    if _is_a(model, "Model", "keras", "tf_keras", "tensorflow"):
        return KerasModel(model)
    if _is_a(model, "Module", "torch") and not callable(getattr(model, "predict", None)):
        return TorchModel(model)
    return OnnxModel(model) if _is_a(model, "InferenceSession", "onnxruntime") else None


def _is_a(model: Any, name: str, *packages: str) -> bool:
    """Tell whether a model's class derives from a class with this name in one of these packages."""
    kinds = type(model).__mro__
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] in packages for kind in kinds)
