"""What a trained convolutional network is: how an array becomes its input, and its layers.

A blueprint answers by itself, through torch. Saved, it can be rebuilt in any library that has convolutions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.torch_support import import_torch

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]
Shares = NDArray[np.float64]
Arrays = NDArray[Any]

# Instances answered at a time: few enough that every layer's output stays small and near.
BLOCK = 64


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer, in the order of axes that has the channels last.

    Parameters
    ----------
    kind
        ``"conv1d"``, ``"conv2d"``, ``"relu"``, ``"maxpool2d"``, ``"flatten"``, ``"globalmean"`` (the mean
        over all but the channels) or ``"dense"``.
    weights, biases
        What a convolution (width × inputs × outputs, or height × width × inputs × outputs) or a dense layer
        (inputs × outputs) has learned.
    padding
        ``"same"``, where a convolution pads with zeros and its output is as large as its input, or
        ``"valid"``, where it does not pad.
    size
        How many cells a side one cell of a pooling layer's output stands for.
    """

    kind: str
    weights: Floats | None = None
    biases: Floats | None = None
    padding: str | None = None
    size: int | None = None


@dataclass(frozen=True, eq=False)
class ConvBlueprint:
    """All that a trained network is: how its input is made, and its layers.

    Parameters
    ----------
    shape
        An instance's shape: (height, width) or (length,).
    classes_count
        How many classes there are.
    mean, scale
        The network's input is (x - mean) / scale, with an axis of one channel added last.
    layers
        The layers in their order; there is a softmax after the last.

    Examples
    --------
    >>> dense = Layer("dense", np.array([[0.0, 1.0]], np.float32), np.zeros(2, np.float32))
    >>> blueprint = ConvBlueprint((3,), 2, mean=4.0, scale=1.0, layers=(Layer("globalmean"), dense))
    >>> blueprint.predict_proba(np.array([[3, 4, 5], [4, 5, 6]])).round(2).tolist()
    [[0.5, 0.5], [0.27, 0.73]]
    """

    shape: tuple[int, ...]
    classes_count: int
    mean: float
    scale: float
    layers: tuple[Layer, ...]

    def predict_proba(self, X: Arrays) -> Shares:
        """Give every instance's probability of each class."""
        X = np.asarray(X)
        if X.shape[1:] != self.shape:
            raise ValueError(
                f"X must hold instances of shape {self.shape}, as the network learned from: "
                f"(n, {', '.join(map(str, self.shape))}). Got an array of shape {X.shape}."
            )
        torch = import_torch("The convolutional network")
        answers = np.empty((len(X), self.classes_count))
        with torch.inference_mode():
            for start in range(0, len(X), BLOCK):
                signal = network_input(torch, X[start : start + BLOCK], self.mean, self.scale)
                for step in self._steps:
                    signal = step(signal)
                answers[start : start + BLOCK] = signal.double().softmax(dim=1).numpy()
        return answers

    def save(self, path: str | Path) -> None:
        """Write the blueprint to an ``.npz`` file that bare numpy can read, without pickle.

        Its arrays: ``shape``, ``classes_count``, ``mean`` and ``scale`` as above; ``kinds``, the kinds of the
        layers in their order; and for each layer i (from 0) those of ``weights_<i>``, ``biases_<i>``,
        ``padding_<i>`` and ``size_<i>`` that it has.
        """
        arrays: dict[str, Arrays] = {
            "shape": np.array(self.shape),
            "classes_count": np.array(self.classes_count),
            "mean": np.array(self.mean),
            "scale": np.array(self.scale),
            "kinds": np.array([layer.kind for layer in self.layers], dtype=np.str_),
        }
        for place, layer in enumerate(self.layers):
            for name in ("weights", "biases", "padding", "size"):
                value = getattr(layer, name)
                if value is not None:
                    arrays[f"{name}_{place}"] = np.asarray(value)
        # Opened here, because numpy would add an ending to a bare name.
        with Path(path).open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)

    @cached_property
    def _steps(self) -> list[Callable[[Tensor], Tensor]]:
        """The layers as torch computes them; kept, because each has its weights in torch's order."""
        torch = import_torch("The convolutional network")
        return [STEPS[layer.kind](torch, layer) for layer in self.layers]

    def __getstate__(self) -> dict[str, Any]:
        # Functions cannot be pickled; they are made again where they are needed.
        return {name: value for name, value in self.__dict__.items() if name != "_steps"}


def network_input(torch: Any, X: Arrays, mean: float, scale: float) -> Tensor:
    """Standardise instances, and give them torch's axis of channels, which comes before the others."""
    cells = X.astype(np.float32)
    cells -= np.float32(mean)
    cells /= np.float32(scale)
    signal: Tensor = torch.from_numpy(cells).unsqueeze(1)
    # On a CPU, this order in memory is faster by half.
    return signal.contiguous(memory_format=torch.channels_last) if signal.ndim == 4 else signal


def same_padding(width: int, axes: int) -> list[int]:
    """Tell how many zeros go before and after each axis, so that a convolution keeps its size.

    Torch does this by itself, but warns of widths that are even.

    Examples
    --------
    >>> same_padding(3, axes=2), same_padding(8, axes=1)
    ([1, 1, 1, 1], [3, 4])
    """
    before = (width - 1) // 2
    return [before, width - 1 - before] * axes


def _convolution(torch: Any, layer: Layer) -> Callable[[Tensor], Tensor]:
    assert layer.weights is not None
    axes = layer.weights.ndim - 2
    weights = torch.from_numpy(np.ascontiguousarray(np.moveaxis(layer.weights, (-1, -2), (0, 1))))
    if axes == 2:
        weights = weights.contiguous(memory_format=torch.channels_last)
    biases = torch.from_numpy(layer.biases)
    convolve = getattr(torch.nn.functional, layer.kind)
    width = layer.weights.shape[0]
    if layer.padding == "valid":
        return lambda signal: convolve(signal, weights, biases)
    if width % 2:
        return lambda signal: convolve(signal, weights, biases, padding=width // 2)
    zeros, pad = same_padding(width, axes), torch.nn.functional.pad
    return lambda signal: convolve(pad(signal, zeros), weights, biases)


def _dense(torch: Any, layer: Layer) -> Callable[[Tensor], Tensor]:
    assert layer.weights is not None
    weights = torch.from_numpy(np.ascontiguousarray(layer.weights.T))
    biases = torch.from_numpy(layer.biases)
    return lambda signal: torch.nn.functional.linear(signal, weights, biases)


def _maxpool(torch: Any, layer: Layer) -> Callable[[Tensor], Tensor]:
    return lambda signal: torch.nn.functional.max_pool2d(signal, layer.size)


# Each makes what computes a layer in torch, where the channels come first.
STEPS: Mapping[str, Callable[[Any, Layer], Callable[[Tensor], Tensor]]] = {
    "conv1d": _convolution,
    "conv2d": _convolution,
    "relu": lambda torch, layer: torch.relu,
    "maxpool2d": _maxpool,
    "flatten": lambda torch, layer: lambda signal: signal.movedim(1, -1).flatten(1),
    "globalmean": lambda torch, layer: lambda signal: signal.flatten(2).mean(dim=2),
    "dense": _dense,
}
