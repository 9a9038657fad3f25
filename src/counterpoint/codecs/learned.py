"""Shared by codecs that learn: checks of their inputs, and how well they reconstruct instances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from counterpoint.codecs.base import Signals
from counterpoint.data.types import Rows

# Instances are encoded and decoded in blocks of this size, the last one padded. Then a row is always decoded
# to the same cells, bit for bit, whatever the batch: a counterfactual stays valid when it is checked again.
AT_ONCE = 128

# With fewer instances than this, no latent space can be learned.
FEWEST = 10


@dataclass(frozen=True)
class Reconstruction:
    """How well a codec reconstructs instances, in the unit of the instances.

    Parameters
    ----------
    instances
        Number of known instances used.
    epochs
        Number of passes over them.
    error
        Root mean squared error per cell. An autoencoder is measured on held-out instances.
    spread
        The same error if every instance were replaced by the mean instance.

    Examples
    --------
    >>> print(Reconstruction(instances=500, epochs=20, error=0.1, spread=0.2))
    75 % of the variance kept: RMSE 0.1, that of the mean instance 0.2 (500 instances, 20 epochs)
    """

    instances: int
    epochs: int
    error: float
    spread: float

    @property
    def explained(self) -> float:
        """The share of the variance that is kept: 1 if nothing is lost, 0 for the mean instance."""
        return 1 - (self.error / self.spread) ** 2

    def __str__(self) -> str:
        return (
            f"{self.explained:.0%} of the variance kept: RMSE {self.error:.3g}, that of the mean instance "
            f"{self.spread:.3g} ({self.instances} instances, {self.epochs} epoch{'s' * (self.epochs != 1)})"
        ).replace("% of", " % of")

    @classmethod
    def of(cls, X: Signals, again: Signals, mean: Signals, instances: int, epochs: int) -> Reconstruction:
        """Compare instances X with their reconstruction, and with the mean of the training instances."""
        return cls(instances, epochs, error=_rmse(X, again), spread=_rmse(X, mean))

    def to_array(self) -> NDArray[np.float64]:
        """Return the figures as an array, for saving."""
        return np.array([self.instances, self.epochs, self.error, self.spread])

    @classmethod
    def from_array(cls, array: NDArray[np.float64]) -> Reconstruction:
        """Turn the result of `to_array` back into a report."""
        instances, epochs, error, spread = array.tolist()
        return cls(int(instances), int(epochs), error, spread)


def in_blocks(run: Callable[[NDArray[Any]], NDArray[Any]], inputs: NDArray[Any]) -> NDArray[Any]:
    """Run a function on instances or rows in blocks of equal size.

    Examples
    --------
    >>> in_blocks(lambda rows: rows[:, :1] + len(rows), np.zeros((3, 2)))
    array([[128.],
           [128.],
           [128.]])
    """
    count = len(inputs)
    filled = np.zeros((max(1, ceil(count / AT_ONCE)) * AT_ONCE, *inputs.shape[1:]), dtype=inputs.dtype)
    filled[:count] = inputs
    parts = [run(filled[start : start + AT_ONCE]) for start in range(0, len(filled), AT_ONCE)]
    joined: NDArray[Any] = np.concatenate(parts)[:count]
    return joined


def check_known(X: Any, codec: object) -> Signals:
    """Check instances to learn from."""
    array = _check_numbers(X, "X")
    name = type(codec).__name__
    if not 2 <= array.ndim <= 4:
        raise ValueError(
            f"{name}.fit needs series (n, length) or (n, channels, length), or images (n, h, w) or "
            f"(n, h, w, c), got an array of shape {array.shape}."
        )
    if len(array) < FEWEST:
        raise ValueError(f"{name}.fit needs at least {FEWEST} instances, got {len(array)}. Give it more.")
    if bool((array == array[:1]).all()):
        raise ValueError(
            f"{name}.fit needs instances that differ, got {len(array)} that are all the same: there is "
            f"nothing to learn from them."
        )
    return array


def check_instances(X: Any, shape: tuple[int, ...], codec: object) -> Signals:
    """Check that instances to encode have the shape that was learned."""
    array = _check_numbers(X, "X")
    if array.shape[1:] != shape:
        single = array.shape == shape
        cure = "For a single instance use X[None]." if single else "Resize them, or fit a codec to them."
        raise ValueError(
            f"X must hold instances of shape {shape}, as this {type(codec).__name__} was fitted on, got an "
            f"array of shape {array.shape}. {cure}"
        )
    return array


def check_rows(Z: Any, latent: int, codec: object) -> Rows:
    """Check that rows to decode have as many latent features as were learned."""
    array = _check_numbers(Z, "Z")
    if array.ndim != 2 or array.shape[1] != latent:
        raise ValueError(
            f"Z must be rows of {latent} latent features, as {type(codec).__name__}.encode returns them, "
            f"got an array of shape {array.shape}."
        )
    return array.astype(np.float64, copy=False)


def check_fitted(codec: Any) -> None:
    """Raise an error if a codec is not fitted."""
    if not codec.is_fitted:
        raise NotFittedError(
            f"This {type(codec).__name__} is not fitted yet: call fit(X) with known instances."
        )


def _check_numbers(values: Any, name: str) -> NDArray[Any]:
    """Check that an array holds finite numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be an array of numbers, got one of dtype {array.dtype}.")
    if array.ndim == 0:
        raise ValueError(f"{name} must be an array of instances, got a single number.")
    bad = ~np.isfinite(array).all(axis=tuple(range(1, array.ndim)))
    if bad.any():
        raise ValueError(
            f"{name} must hold finite numbers, got NaN or infinity in {int(bad.sum())} of {len(array)} "
            f"instances, the first at index {int(bad.argmax())}. Fill them in or leave these instances out."
        )
    return array


def _rmse(X: Signals, again: Signals) -> float:
    """Compute the root mean squared error per cell."""
    return float(np.sqrt(np.square(np.asarray(X, dtype=np.float64) - again).mean()))
