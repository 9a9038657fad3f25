"""Principal components: a linear codec that learns quickly and does not need torch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import decomposition

from counterpoint.codecs.base import Signals
from counterpoint.codecs.learned import (
    Reconstruction,
    check_fitted,
    check_instances,
    check_known,
    check_rows,
    in_blocks,
)
from counterpoint.data.types import Rows

# If the number of latent features is not given: enough to keep this share of the variance, up to this many.
SHARE = 0.9
LARGEST = 32

# At most this many known instances are used; more would hardly change the components.
MOST = 20_000


@dataclass
class PCA:
    """Images or series as weights of their principal components, each weight with mean 0 and deviation 1.

    It learns quickly, does not need torch, and accepts instances of any shape. With the same small number of
    features, an `Autoencoder` keeps more of images. With only a hundred series, PCA keeps more of them from
    about eight features upwards. Decoded values stay within the range of values seen, per cell.

    Parameters
    ----------
    latent
        Number of components. If not given, enough to keep 90 % of the variance, at most 32.
    seed
        Decides which instances are used if there are more than 20,000.

    Attributes
    ----------
    report_
        How well the known instances are reconstructed, a `Reconstruction`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> waves = np.sin(np.linspace(0, 6, 32) + rng.uniform(0, np.pi, size=(200, 1)))
    >>> codec = PCA(latent=2).fit(waves)
    >>> codec.encode(waves).shape, codec.decode(codec.encode(waves)).shape
    ((200, 2), (200, 32))
    >>> round(codec.report_.explained, 3)
    1.0
    """

    latent: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.latent is not None and (not isinstance(self.latent, int | np.integer) or self.latent < 1):
            raise ValueError(f"PCA.latent must be a whole number >= 1, or None, got {self.latent!r}.")

    @property
    def is_fitted(self) -> bool:
        """Whether the components are known."""
        return hasattr(self, "spread_")

    def fit(self, X: Signals) -> Self:
        """Learn the components from known instances."""
        known = check_known(X, self)
        known = known[np.random.default_rng(self.seed).permutation(len(known))[:MOST]]
        flat = known.reshape(len(known), -1).astype(np.float64)
        most = min(len(flat) - 1, flat.shape[1])
        if self.latent is not None and self.latent > most:
            raise ValueError(
                f"PCA.latent must be at most {most} for {len(flat)} instances of {flat.shape[1]} cells, "
                f"got {self.latent}."
            )
        learned = decomposition.PCA(self.latent or min(LARGEST, most), random_state=self.seed).fit(flat)
        count = self.latent or _enough(learned.explained_variance_ratio_)
        self.shape_ = known.shape[1:]
        self.mean_, self.low_, self.high_ = learned.mean_, flat.min(axis=0), flat.max(axis=0)
        self.components_ = learned.components_[:count]
        self.spread_ = _not_zero(((flat - self.mean_) @ self.components_.T).std(axis=0))
        again = self.decode(self.encode(known))
        self.report_ = Reconstruction.of(known, again, known.mean(axis=0), len(known), epochs=1)
        return self

    def encode(self, X: Signals) -> Rows:
        """ζ: turn instances into rows of component weights."""
        check_fitted(self)
        X = check_instances(X, self.shape_, self)
        return in_blocks(self._weigh, X.reshape(len(X), -1).astype(np.float64))

    def decode(self, Z: Rows) -> Signals:
        """η: turn rows of weights into instances, in float32."""
        check_fitted(self)
        rows = check_rows(Z, len(self.components_), self)
        return in_blocks(self._add_up, rows).reshape(len(rows), *self.shape_)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything that was learned."""
        check_fitted(self)
        return {
            "shape": np.array(self.shape_, dtype=np.int64),
            "mean": self.mean_,
            "low": self.low_,
            "high": self.high_,
            "components": self.components_,
            "spread": self.spread_,
            "report": self.report_.to_array(),
        }

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return a fitted codec from the result of `arrays`."""
        codec = replace(self)
        codec.shape_ = tuple(arrays["shape"].tolist())
        for name in ("mean", "low", "high", "components", "spread"):
            setattr(codec, f"{name}_", np.array(arrays[name]))
        codec.report_ = Reconstruction.from_array(arrays["report"])
        return codec

    def _weigh(self, cells: Rows) -> Rows:
        weights: Rows = (cells - self.mean_) @ self.components_.T / self.spread_
        return weights

    def _add_up(self, weights: Rows) -> NDArray[np.float32]:
        cells = (weights * self.spread_) @ self.components_ + self.mean_
        return np.asarray(np.clip(cells, self.low_, self.high_), dtype=np.float32)


def _enough(shares: NDArray[np.float64]) -> int:
    """Count the components needed to keep enough of the variance."""
    return min(int(np.searchsorted(np.cumsum(shares), SHARE)) + 1, len(shares))


def _not_zero(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Do not scale components along which nothing varies: what is left there is rounding error."""
    return np.where(spread > 1e-9 * spread.max(), spread, 1.0)
