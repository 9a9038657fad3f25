"""A torch module as a function from arrays to labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np

from counterpoint._util.torch_support import import_torch
from counterpoint.model.adapters.layouts import Array, Inputs, Layout
from counterpoint.model.adapters.network import Network, first_of
from counterpoint.model.adapters.outputs import LOGIT, PROBABILITY

# Layers after the last one with weights that do not change the meaning of a single output.
IDLE = {"Dropout", "Flatten", "Identity", "Unflatten"}


class TorchModel(Network):
    """A torch module, TorchScript's included, as a function from arrays to labels.

    Parameters are those of `Network`. The module is called without gradients, in evaluation mode (its mode
    is restored afterwards), on the device and in the dtype of its parameters. Integers stay integers if the
    first layer is an embedding. Of several outputs, the one named logits is used, else the first.

    Examples
    --------
    >>> import torch
    >>> layers = [torch.nn.Conv2d(1, 3, 5), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()]
    >>> images = np.random.default_rng(0).uniform(size=(4, 28, 28))
    >>> model = TorchModel(torch.nn.Sequential(*layers), classes=["bag", "coat", "shoe"]).on(images)
    >>> model.layout, model(images).shape
    ('add channel first', (4,))
    """

    order: ClassVar[tuple[Layout, ...]] = (
        "as given",
        "add channel first",
        "move channels first",
        "add channel last",
        "move channels last",
        "flat",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        lazy = import_torch("TorchModel").nn.parameter.is_lazy
        # Trying the module would fix the shapes, perhaps for the wrong layout.
        if any(lazy(tensor) for tensor in self.model.parameters()):
            raise TypeError("The torch module is not trained yet: it has parameters without a shape.")

    def _run(self, inputs: Inputs) -> Array:
        torch = import_torch("TorchModel")
        device, dtype = self._home()
        kept = inputs[0].dtype.kind in "iu" and self._starts_with_embedding()
        # A copy, because torch rejects or warns about arrays that are read-only or have negative strides.
        batch = torch.from_numpy(np.array(inputs[0], dtype=np.int64 if kept else np.float64, order="C"))
        with torch.no_grad(), at_rest(self.model):
            outputs = first_of(self.model(batch.to(device=device, dtype=None if kept else dtype)))
        if not isinstance(outputs, torch.Tensor):
            raise TypeError(f"the module returned a {type(outputs).__name__}, not a tensor")
        outputs = outputs.detach().cpu()
        # numpy has no bfloat16.
        return np.asarray((outputs.double() if outputs.is_floating_point() else outputs).numpy())

    def _home(self) -> tuple[Any, Any]:
        """Find the device and the dtype of the module's parameters."""
        tensors = [*self.model.parameters(), *self.model.buffers()]
        floats = [tensor for tensor in tensors if tensor.is_floating_point()]
        dtype = floats[0].dtype if floats else import_torch("TorchModel").float32
        return (tensors[0].device if tensors else "cpu"), dtype

    def _starts_with_embedding(self) -> bool:
        leaves = (part for part in self.model.modules() if not any(True for _ in part.children()))
        return _name(next(leaves)).startswith("Embedding")

    def _last_layer(self) -> float | None:
        # Only the layers of a Sequential are certain to run in the listed order.
        part = self.model
        while _name(part) == "Sequential":
            layers = [layer for layer in part.children() if _name(layer) not in IDLE]
            if not layers:
                return None
            part = layers[-1]
        return {"Sigmoid": PROBABILITY, "Linear": LOGIT}.get(_name(part))


@contextmanager
def at_rest(module: Any) -> Iterator[None]:
    """Put a module into evaluation mode, and restore the mode of each of its parts afterwards."""
    # A frozen TorchScript module has no mode.
    modes = [(part, part.training) for part in module.modules() if hasattr(part, "training")]
    if not any(training for _, training in modes):
        yield
        return
    module.eval()
    try:
        yield
    finally:
        # First with its own method, which may do more than set the mode, then the parts that differ.
        module.train(modes[0][1])
        for part, training in modes:
            part.training = training


def _name(module: Any) -> str:
    """Return the name of a module's class; a TorchScript module keeps the name of its original."""
    return str(getattr(module, "original_name", type(module).__name__))
