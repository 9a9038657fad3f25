"""The autoencoder's network: convolutions that halve, dense layers, and one convolution that draws blocks.

It is stated as functions of its weights, so that what was learned is plain arrays, and so that torch's global
random state, which torch's own layers draw their first weights from, is neither used nor changed. A series is
an image one cell high: there is one network for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from counterpoint.codecs.base import Signals

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["image", "series"]
Maps = NDArray[np.float32]  # instance × channel × height × width
Weights = dict[str, "Tensor"]

# The paper's authors have convolutions of 32 and 64 channels and dense layers of 16. Half the channels learn
# as much in half the time, and wide dense layers, which cost little, leave less error.
CHANNELS = (16, 32)
ENCODER = (128,)
DECODER = (64, 256)

# Two convolutions that halve: a place stands for so many cells along an axis, and is drawn as such a block.
BLOCK = 4

# Two-dimensional instances are taken for images from this side length on, and for series of channels below.
SIDE = 8


@dataclass(frozen=True)
class Layout:
    """What instances look like, and how they lie as images of channels.

    Examples
    --------
    >>> Layout.of((28, 28)).places
    (7, 7)
    >>> Layout.of((3, 150)).kind
    'series'
    """

    shape: tuple[int, ...]
    kind: Kind

    @classmethod
    def of(cls, shape: tuple[int, ...], kind: Kind | None = None) -> Layout:
        """Tell images and series apart by their shape, or take the caller's word for it."""
        axes = len(shape)
        guess: Kind = "series" if axes == 1 or (axes == 2 and min(shape) < SIDE) else "image"
        layout = cls(tuple(shape), kind or guess)
        allowed = {"image": "(h, w) or (h, w, c)", "series": "(length,) or (channels, length)"}
        if axes not in {"image": (2, 3), "series": (1, 2)}[layout.kind]:
            raise ValueError(
                f"An instance of kind {layout.kind!r} must be of shape {allowed[layout.kind]}, got {shape}."
            )
        sides = (layout.width,) if layout.kind == "series" else (layout.height, layout.width)
        if min(shape) < 1 or min(sides) < BLOCK:
            what = "An image's sides" if layout.kind == "image" else "A series' length"
            raise ValueError(
                f"{what} must be at least {BLOCK}, got an instance of shape {shape}, taken for kind "
                f"{layout.kind!r}. Say kind='image' or kind='series' if it is the other, or use PCA, which "
                f"takes any shape."
            )
        return layout

    @property
    def channels(self) -> int:
        """How many values a cell has."""
        if self.kind == "series":
            return self.shape[0] if len(self.shape) == 2 else 1
        return self.shape[2] if len(self.shape) == 3 else 1

    @property
    def height(self) -> int:
        """How many cells high an instance is; series are one cell high."""
        return 1 if self.kind == "series" else self.shape[0]

    @property
    def width(self) -> int:
        """How many cells wide an instance is, or how many time steps long."""
        return self.shape[-1] if self.kind == "series" else self.shape[1]

    @property
    def kernel(self) -> tuple[int, int]:
        """Sides of a convolution."""
        return (1, 5) if self.kind == "series" else (3, 3)

    @property
    def block(self) -> tuple[int, int]:
        """How many cells a place stands for."""
        return (1, BLOCK) if self.kind == "series" else (BLOCK, BLOCK)

    @property
    def places(self) -> tuple[int, int]:
        """How many places high and wide an instance is after the convolutions."""
        return ceil(self.height / self.block[0]), ceil(self.width / self.block[1])

    def to_maps(self, X: Signals) -> NDArray[Any]:
        """Lay instances as images of channels."""
        if self.kind == "series":
            return X.reshape(len(X), self.channels, 1, self.width)
        return X.reshape(len(X), self.height, self.width, self.channels).transpose(0, 3, 1, 2)

    def from_maps(self, maps: NDArray[Any]) -> Signals:
        """Turn what `to_maps` gave back into instances."""
        lying = maps if self.kind == "series" else maps.transpose(0, 2, 3, 1)
        return lying.reshape(len(maps), *self.shape)


def first_weights(torch: Any, layout: Layout, latent: int, generator: Any) -> Weights:
    """Draw the weights that training begins with.

    Biases are drawn too: a decoder of few inputs whose ReLUs all bend at 0 would learn far more slowly.
    """
    maps = CHANNELS[-1] * prod(layout.places)
    encoder = (maps, *ENCODER, latent)
    decoder = (latent, *DECODER, maps)
    shapes = {
        **_conv_shapes("halve", (layout.channels, *CHANNELS), layout.kernel),
        **_dense_shapes("encode", encoder),
        **_dense_shapes("decode", decoder),
        **_conv_shapes("draw", (CHANNELS[-1], layout.channels * prod(layout.block)), layout.kernel),
    }
    weights: Weights = {}
    for name, shape in shapes.items():
        reach = prod(shape[1:]) ** -0.5
        for part, size in (("weights", shape), ("biases", shape[:1])):
            drawn = (2 * torch.rand(size, generator=generator) - 1) * reach
            weights[f"{name}.{part}"] = drawn.requires_grad_()
    return weights


def encode(torch: Any, weights: Weights, layout: Layout, maps: Tensor) -> Tensor:
    """Run maps through the encoder."""
    stride = (1, 2) if layout.kind == "series" else (2, 2)
    signal = maps
    for i in range(len(CHANNELS)):
        signal = _convolve(torch, weights, f"halve{i}", layout, signal, stride).relu()
    return _dense(torch, weights, "encode", len(ENCODER) + 1, signal.flatten(1))


def decode(torch: Any, weights: Weights, layout: Layout, rows: Tensor) -> Tensor:
    """Run rows through the decoder: dense layers give every place, a convolution draws its block of cells."""
    signal = _dense(torch, weights, "decode", len(DECODER) + 1, rows).relu()
    signal = signal.reshape(len(rows), CHANNELS[-1], *layout.places)
    drawn = _convolve(torch, weights, "draw0", layout, signal, (1, 1))
    (high, wide), (down, across) = layout.block, layout.places
    cells = drawn.reshape(len(rows), layout.channels, high, wide, down, across).permute(0, 1, 4, 2, 5, 3)
    maps = cells.reshape(len(rows), layout.channels, down * high, across * wide)
    # Sides that are no multiple of a block are drawn up to the next one.
    return maps[..., : layout.height, : layout.width]


def _convolve(
    torch: Any, weights: Weights, name: str, layout: Layout, signal: Tensor, stride: tuple[int, int]
) -> Tensor:
    """Apply one convolution, padded so that only the stride makes its output smaller."""
    padding = (layout.kernel[0] // 2, layout.kernel[1] // 2)
    result: Tensor = torch.nn.functional.conv2d(
        signal, weights[f"{name}.weights"], weights[f"{name}.biases"], stride=stride, padding=padding
    )
    return result


def _dense(torch: Any, weights: Weights, name: str, count: int, signal: Tensor) -> Tensor:
    """Apply dense layers, with ReLU between them."""
    for i in range(count):
        signal = signal.relu() if i else signal
        signal = torch.nn.functional.linear(
            signal, weights[f"{name}{i}.weights"], weights[f"{name}{i}.biases"]
        )
    return signal


def _dense_shapes(name: str, sizes: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {f"{name}{i}": (sizes[i + 1], sizes[i]) for i in range(len(sizes) - 1)}


def _conv_shapes(name: str, sizes: tuple[int, ...], kernel: tuple[int, int]) -> dict[str, tuple[int, ...]]:
    return {f"{name}{i}": (sizes[i + 1], sizes[i], *kernel) for i in range(len(sizes) - 1)}
