"""The codec interface: the paper's encoder ζ and decoder η, which extend the method to images and series."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Rows

# Instances in the caller's format: (n, length), (n, channels, length), (n, h, w) or (n, h, w, c).
Signals = NDArray[Any]


@runtime_checkable
class Codec(Protocol):
    """Converts instances to rows of continuous latent features, and back.

    Anything with these three methods is a codec: a trained VAE, wavelets, a projection. If each latent
    feature stands for certain cells of an instance and no others (a pixel, a block of time steps), the codec
    may also have `cells`. Then unchanged cells keep x's values exactly, and regions can be immutable.

    Examples
    --------
    A custom codec, which represents a series by its first Fourier coefficients:

    >>> class Fourier:
    ...     def fit(self, X):
    ...         self.length = X.shape[1]
    ...         return self
    ...     def encode(self, X):
    ...         waves = np.fft.rfft(X)[:, :8]
    ...         return np.hstack([waves.real, waves.imag])
    ...     def decode(self, Z):
    ...         return np.fft.irfft(Z[:, :8] + 1j * Z[:, 8:], n=self.length)
    >>> isinstance(Fourier(), Codec)
    True
    """

    def fit(self, X: Signals) -> Self:
        """Learn from known instances; a codec that is already trained may return itself."""
        ...

    def encode(self, X: Signals) -> Rows:
        """ζ: turn instances (n, ...) into rows (n, q) of numbers."""
        ...

    def decode(self, Z: Rows) -> Signals:
        """η: turn rows (n, q) into instances (n, ...) of the shape that `fit` saw."""
        ...


@runtime_checkable
class LocalCodec(Codec, Protocol):
    """A codec whose latent features each stand for certain cells of an instance, and no others."""

    @property
    def cells(self) -> NDArray[np.intp]:
        """The latent feature that each cell belongs to: an array with the shape of an instance."""
        ...


@runtime_checkable
class SavedCodec(Codec, Protocol):
    """A codec that can be saved with an explainer: a dataclass of parameters, and the arrays it learned."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything that `fit` learned, as arrays."""
        ...

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return a fitted codec with the same parameters, from the result of `arrays`."""
        ...
