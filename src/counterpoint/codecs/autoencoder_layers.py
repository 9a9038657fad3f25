"""The autoencoder's network: strided convolutions, dense layers, and one convolution that draws blocks.

The network is written as functions of its weights. So the learned state is plain arrays, and torch's global
random state, from which torch's own layers draw their initial weights, is neither used nor changed. A series
is treated as an image one cell high, so there is one network for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from counterpoint.codecs.base import Signals
from counterpoint.data.signals import is_image

if TYPE_CHECKING:
    from torch import Tensor

Kind = Literal["image", "series"]
Maps = NDArray[np.float32]  # instance × channel × height × width
Weights = dict[str, "Tensor"]

# The paper's authors use convolutions with 32 and 64 channels and dense layers of 16. Half the channels learn
# as much in half the time, and wide dense layers cost little and reduce the error.
CHANNELS = (16, 32)
ENCODER = (128,)
DECODER = (64, 256)

# Two convolutions with stride 2: a position stands for this many cells per axis, and is drawn as one block.
BLOCK = 4


@dataclass(frozen=True)
class Layout:
    """The shape of instances, and their layout as images with channels.

    Examples
    --------
    >>> Layout.of((28, 28)).map_sides
    (7, 7)
    >>> Layout.of((3, 150)).kind
    'series'
    """

    shape: tuple[int, ...]
    kind: Kind

    @classmethod
    def of(cls, shape: tuple[int, ...], kind: Kind | None = None) -> Layout:
        """Tell images from series by their shape, unless the caller says which they are."""
        axes = len(shape)
        layout = cls(tuple(shape), kind or ("image" if is_image(shape) else "series"))
        allowed = {"image": "(h, w) or (h, w, c)", "series": "(length,) or (channels, length)"}
        if axes not in {"image": (2, 3), "series": (1, 2)}[layout.kind]:
            raise ValueError(
                f"An instance of kind {layout.kind!r} must be of shape {allowed[layout.kind]}, got {shape}."
            )
        sides = (layout.width,) if layout.kind == "series" else (layout.height, layout.width)
        if min(shape) < 1 or min(sides) < BLOCK:
            what = "An image's sides" if layout.kind == "image" else "A series' length"
            raise ValueError(
                f"{what} must be at least {BLOCK}, got an instance of shape {shape}, read as kind "
                f"{layout.kind!r}. Give kind='image' or kind='series' if this is wrong, or use PCA, which "
                f"accepts any shape."
            )
        return layout

    @property
    def channels(self) -> int:
        """The number of values per cell."""
        if self.kind == "series":
            return self.shape[0] if len(self.shape) == 2 else 1
        return self.shape[2] if len(self.shape) == 3 else 1

    @property
    def height(self) -> int:
        """The height of an instance in cells; 1 for series."""
        return 1 if self.kind == "series" else self.shape[0]

    @property
    def width(self) -> int:
        """The width of an instance in cells, or its length in time steps."""
        return self.shape[-1] if self.kind == "series" else self.shape[1]

    @property
    def kernel(self) -> tuple[int, int]:
        """The sides of a convolution's kernel."""
        return (1, 5) if self.kind == "series" else (3, 3)

    @property
    def block(self) -> tuple[int, int]:
        """The height and width, in cells, of the block that a position stands for."""
        return (1, BLOCK) if self.kind == "series" else (BLOCK, BLOCK)

    @property
    def map_sides(self) -> tuple[int, int]:
        """The height and width of an instance after the convolutions."""
        return ceil(self.height / self.block[0]), ceil(self.width / self.block[1])

    def to_maps(self, X: Signals) -> NDArray[Any]:
        """Lay out instances as images with channels."""
        if self.kind == "series":
            return X.reshape(len(X), self.channels, 1, self.width)
        return X.reshape(len(X), self.height, self.width, self.channels).transpose(0, 3, 1, 2)

    def from_maps(self, maps: NDArray[Any]) -> Signals:
        """Turn the result of `to_maps` back into instances."""
        lying = maps if self.kind == "series" else maps.transpose(0, 2, 3, 1)
        return lying.reshape(len(maps), *self.shape)


def first_weights(torch: Any, layout: Layout, latent: int, generator: Any) -> Weights:
    """Draw the initial weights.

    Biases are drawn too: a decoder with few inputs whose ReLUs all bend at 0 would learn much more slowly.
    """
    maps = CHANNELS[-1] * prod(layout.map_sides)
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
    """Run rows through the decoder: dense layers give every position, a convolution draws its block."""
    signal = _dense(torch, weights, "decode", len(DECODER) + 1, rows).relu()
    signal = signal.reshape(len(rows), CHANNELS[-1], *layout.map_sides)
    drawn = _convolve(torch, weights, "draw0", layout, signal, (1, 1))
    (high, wide), (down, across) = layout.block, layout.map_sides
    cells = drawn.reshape(len(rows), layout.channels, high, wide, down, across).permute(0, 1, 4, 2, 5, 3)
    maps = cells.reshape(len(rows), layout.channels, down * high, across * wide)
    # Sides that are not a multiple of a block are drawn up to the next multiple.
    return maps[..., : layout.height, : layout.width]


def _convolve(
    torch: Any, weights: Weights, name: str, layout: Layout, signal: Tensor, stride: tuple[int, int]
) -> Tensor:
    """Apply one convolution, padded so that only the stride reduces the size."""
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
