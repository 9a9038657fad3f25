"""What a codec is: the paper's encoder ζ and decoder η, which carry the method to images and series."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from counterpoint.schema import Rows

# Instances as the caller has them: (n, length), (n, channels, length), (n, h, w) or (n, h, w, c).
Signals = NDArray[Any]


@runtime_checkable
class Codec(Protocol):
    """The way from instances to rows of continuous latent features, and back.

    Anything with these three methods is one: a trained VAE, wavelets, a projection. Where a latent feature
    stands for certain cells of an instance and for no others (a pixel, a block of time steps), the codec may
    also have `cells`; then what does not change is kept from x exactly, and regions can be immutable.

    Examples
    --------
    A codec of your own, which sees a series as its first Fourier coefficients:

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
        """Learn from known instances; one that is trained already returns itself."""
        ...

    def encode(self, X: Signals) -> Rows:
        """ζ: turn instances (n, ...) into rows (n, q) of numbers."""
        ...

    def decode(self, Z: Rows) -> Signals:
        """η: turn rows (n, q) into instances (n, ...) of the shape that `fit` saw."""
        ...


@runtime_checkable
class LocalCodec(Codec, Protocol):
    """A codec each of whose latent features stands for certain cells of an instance, and for no others."""

    @property
    def cells(self) -> NDArray[np.intp]:
        """Tell which latent feature each cell of an instance belongs to: an array of an instance's shape."""
        ...


@runtime_checkable
class SavedCodec(Codec, Protocol):
    """A codec that can be saved with an explainer: a dataclass of parameters, and arrays that it learned."""

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give all that was learned at `fit`, as arrays."""
        ...

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return a fitted codec with the same parameters, from what `arrays` gave."""
        ...
