"""The convolutional network while it learns: a torch module, and the layers to be kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint_study.models.conv_blueprint import Floats, Layer, same_padding

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

# Channels of an image's convolutions, their width, and the size of the dense layer after them.
IMAGE_CHANNELS, IMAGE_WIDTH, DENSE = (32, 64, 64), 3, 128
POOLED = 2

# Channels and width of each of a series' convolutions.
SERIES = ((16, 8), (32, 5), (64, 3))

# What may follow a series' convolutions: the mean over time, or every moment with weights of its own.
SERIES_HEADS = ("globalmean", "flatten")

# Share of the dense layer that is left out at random.
DENSE_DROPOUT = 0.5


def untrained(
    torch: Any,
    shape: tuple[int, ...],
    classes: int,
    dropout: float,
    convolutions: Sequence[tuple[int, int]] = SERIES,
    head: str = SERIES_HEADS[0],
) -> Module:
    """Make a network for images (height, width) or series (length,), with first weights drawn at random.

    A series' `convolutions`, each with its channels and width, and the `head` after them can be chosen.
    """
    if len(shape) == 1:
        return _for_series(torch.nn, shape[0], classes, dropout, convolutions, head)
    return _for_images(torch.nn, shape, classes, dropout).to(memory_format=torch.channels_last)


def learned_layers(module: Module) -> tuple[Layer, ...]:
    """List the layers of a trained network, each batch norm folded into its convolution."""
    layers: list[Layer] = []
    for part in module.children():
        name = type(part).__name__
        if name in ("Conv1d", "Conv2d"):
            layers.append(_convolution(part))
        elif name in ("BatchNorm1d", "BatchNorm2d"):
            layers[-1] = _folded(layers[-1], part)
        elif name == "ReLU":
            layers.append(Layer("relu"))
        elif name == "MaxPool2d":
            layers.append(Layer("maxpool2d", size=int(part.kernel_size)))
        elif name == "AdaptiveAvgPool1d":
            layers.append(Layer("globalmean"))
        elif name == "Flatten" and layers[-1].kind != "globalmean":
            layers.append(Layer("flatten"))
        elif name == "Linear":
            layers.append(_dense(part, layers))
    return tuple(layers)


def _for_images(nn: Any, shape: tuple[int, ...], classes: int, dropout: float) -> Any:
    parts: list[Any] = []
    inputs = 1
    for place, channels in enumerate(IMAGE_CHANNELS):
        convolution = nn.Conv2d(inputs, channels, IMAGE_WIDTH, padding=IMAGE_WIDTH // 2, bias=False)
        parts += [convolution, nn.BatchNorm2d(channels)]
        if place < POOLED:
            # Before the ReLU, which then has less to do, with the same outcome.
            parts.append(nn.MaxPool2d(2))
        parts.append(nn.ReLU())
        inputs = channels
    cells = np.prod([length // 2**POOLED for length in shape])
    parts += [nn.Dropout(dropout), nn.Flatten(), nn.Linear(inputs * int(cells), DENSE), nn.ReLU()]
    return nn.Sequential(*parts, nn.Dropout(DENSE_DROPOUT), nn.Linear(DENSE, classes))


def _for_series(
    nn: Any, length: int, classes: int, dropout: float, convolutions: Sequence[tuple[int, int]], head: str
) -> Any:
    parts: list[Any] = []
    inputs = 1
    for channels, width in convolutions:
        parts += [nn.ConstantPad1d(same_padding(width, axes=1), 0.0), nn.Conv1d(inputs, channels, width)]
        parts += [nn.BatchNorm1d(channels), nn.ReLU(), nn.Dropout(dropout)]
        inputs = channels
    if head == "globalmean":
        parts.append(nn.AdaptiveAvgPool1d(1))
    elif head == "flatten":
        inputs *= length
    else:
        raise ValueError(f"series_head must be one of {list(SERIES_HEADS)}, got {head!r}.")
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(inputs, classes))


def _convolution(part: Any) -> Layer:
    """Put the channels last; every convolution here keeps its input's size."""
    weights = np.moveaxis(_array(part.weight), (0, 1), (-1, -2))
    biases = np.zeros(weights.shape[-1], np.float32) if part.bias is None else _array(part.bias)
    return Layer(f"conv{weights.ndim - 2}d", np.ascontiguousarray(weights), biases, padding="same")


def _folded(layer: Layer, norm: Any) -> Layer:
    """Have a convolution do what its batch norm does: shift and scale each channel."""
    assert layer.weights is not None
    assert layer.biases is not None
    factors = _array(norm.weight) / np.sqrt(_array(norm.running_var) + np.float32(norm.eps))
    biases = (layer.biases - _array(norm.running_mean)) * factors + _array(norm.bias)
    return replace(layer, weights=layer.weights * factors, biases=biases)


def _dense(part: Any, before: list[Layer]) -> Layer:
    """Put the inputs in the order that they have where channels are last."""
    weights = _array(part.weight).T
    if before[-1].kind == "flatten":
        channels = next(layer.biases for layer in reversed(before) if layer.biases is not None).size
        weights = weights.reshape(channels, -1, weights.shape[1]).swapaxes(0, 1).reshape(weights.shape)
    return Layer("dense", np.ascontiguousarray(weights), _array(part.bias))


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().numpy().copy()
    return array
