"""ECE: a convolutional autoencoder, whose latent features describe an instance as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil, cos, pi
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from counterpoint._util.torch_support import import_torch, one_thread_of
from counterpoint.codecs import autoencoder_layers as layers
from counterpoint.codecs.autoencoder_layers import Kind, Layout, Maps, Weights
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

if TYPE_CHECKING:
    from torch import Tensor

# If the number of epochs is not given: enough for this many updates of the weights, up to this many epochs. A
# network memorises a hundred series well before, and reconstructs them worse if training continues.
UPDATES = 5_000
EPOCHS = 300
LEARNING_RATE = 2e-3
WARM_UP = 0.05  # share of the training in which the learning rate rises; after that, it falls
HELD_OUT = 0.1


@dataclass
class Autoencoder:
    """Images or series as a few latent features learned by a neural network; needs torch.

    Latent features have mean 0 and standard deviation 1 over the known instances. Noise is added to them
    during training, so that close rows decode to similar instances, with few gaps between the known ones: a
    search moves among instances that look real. Decoded values stay within the range seen, per channel.

    The same data, parameters and seed give the same codec. Torch's global random state is neither used nor
    changed. A trained codec can be used in any number of ensembles.

    Parameters
    ----------
    latent
        Number of latent features. More features keep more of an instance; fewer make a smaller search space.
    kind
        ``"image"`` for (h, w) or (h, w, c), ``"series"`` for (length,) or (channels, length). If not given,
        instances with two axes are images if both axes are at least 8 long.
    epochs
        Maximum number of passes over the instances. If not given, enough for 5,000 updates, at most 300.
    batch
        Number of instances per update; smaller if there are few instances.
    patience
        Training stops when the held-out error has not fallen for this share of the epochs.
    noise
        Standard deviation of the noise added to latent features during training.
    most
        Maximum number of known instances used, drawn at random. A tenth of them is held out, to decide when
        to stop and for `report_`.
    seed
        Seed of everything random.
    progress
        Show a progress bar.

    Attributes
    ----------
    report_
        How well held-out instances are reconstructed, a `Reconstruction`.

    Examples
    --------
    >>> phase = np.random.default_rng(0).uniform(0, np.pi, size=(200, 1))
    >>> waves = np.sin(np.linspace(0, 6, 32) + phase)
    >>> codec = Autoencoder(latent=2, epochs=60, progress=False).fit(waves)
    >>> codec.encode(waves).shape, codec.decode(codec.encode(waves)).shape
    ((200, 2), (200, 32))
    >>> codec.report_.explained > 0.9
    True
    """

    latent: int = 4
    kind: Kind | None = None
    epochs: int | None = None
    batch: int = 64
    patience: float = 0.3
    noise: float = 0.1
    most: int = 20_000
    seed: int = 0
    progress: bool = field(default=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, least in {"latent": 1, "batch": 2, "most": 10, "epochs": 1}.items():
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | np.integer) or value < least):
                raise ValueError(f"Autoencoder.{name} must be a whole number >= {least}, got {value!r}.")
        if self.kind not in (None, "image", "series"):
            raise ValueError(f"Autoencoder.kind must be 'image', 'series' or None, got {self.kind!r}.")
        if not 0 < self.patience <= 1:
            raise ValueError(f"Autoencoder.patience must be in (0, 1], got {self.patience}.")
        if not 0 <= self.noise < 1:
            raise ValueError(f"Autoencoder.noise must be in [0, 1), got {self.noise}.")

    @property
    def is_fitted(self) -> bool:
        """Whether it is trained."""
        return hasattr(self, "weights_")

    def fit(self, X: Signals) -> Self:
        """Train on known instances; a codec that is already trained is trained again from the start."""
        known = check_known(X, self)
        layout = Layout.of(known.shape[1:], self.kind)
        # If training is interrupted, the codec must not count as trained.
        self.__dict__.pop("weights_", None)
        order = np.random.default_rng(self.seed).permutation(len(known))[: self.most]
        known = layout.to_maps(known[order])
        low, high = known.min(axis=(0, 2, 3), keepdims=True), known.max(axis=(0, 2, 3), keepdims=True)
        self.layout_, self.low_, self.high_ = layout, low.astype(np.float32), high.astype(np.float32)
        maps = self._scaled(known)
        held_out = max(1, round(HELD_OUT * len(maps)))
        trained, epochs = self._train(maps[held_out:], maps[:held_out])
        self.weights_ = {name: weights.detach().numpy() for name, weights in trained.items()}
        self._standardise(maps)
        held = layout.from_maps(known[:held_out])
        mean = layout.from_maps(known[held_out:].mean(axis=0, keepdims=True))
        self.report_ = Reconstruction.of(held, self.decode(self.encode(held)), mean, len(maps), epochs)
        return self

    def encode(self, X: Signals) -> Rows:
        """ζ: turn instances into rows of latent features."""
        check_fitted(self)
        X = check_instances(X, self.layout_.shape, self)
        latents = self._run(layers.encode, self._scaled(self.layout_.to_maps(X)))
        rows: Rows = (latents.astype(np.float64) - self.center_) / self.spread_
        return rows

    def decode(self, Z: Rows) -> Signals:
        """η: turn rows of latent features into instances, in float32."""
        check_fitted(self)
        rows = check_rows(Z, self.latent, self)
        maps = self._run(layers.decode, rows.astype(np.float32))
        maps = maps * (self.high_ - self.low_) + self.low_
        return self.layout_.from_maps(np.clip(maps, self.low_, self.high_))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything that was learned."""
        check_fitted(self)
        return {
            "shape": np.array(self.layout_.shape, dtype=np.int64),
            "low": self.low_,
            "high": self.high_,
            "center": self.center_,
            "spread": self.spread_,
            "report": self.report_.to_array(),
            **{f"network.{name}": weights for name, weights in self.weights_.items()},
        }

    def with_arrays(self, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return a fitted codec from the result of `arrays`."""
        codec = replace(self)
        codec.layout_ = Layout.of(tuple(arrays["shape"].tolist()), self.kind)
        codec.low_, codec.high_ = np.array(arrays["low"]), np.array(arrays["high"])
        codec.center_, codec.spread_ = np.array(arrays["center"]), np.array(arrays["spread"])
        codec.report_ = Reconstruction.from_array(arrays["report"])
        codec.weights_ = {
            name.removeprefix("network."): np.array(weights)
            for name, weights in arrays.items()
            if name.startswith("network.")
        }
        return codec

    def _scaled(self, maps: NDArray[Any]) -> Maps:
        """Scale values to [0, 1], per channel."""
        width = self.high_ - self.low_
        scaled: Maps = ((maps - self.low_) / np.where(width > 0, width, 1)).astype(np.float32)
        return scaled

    def _standardise(self, maps: Maps) -> None:
        """Learn the mean and deviation of latents, because the decoder was trained on standardised ones."""
        latents = self._run(layers.encode, maps).astype(np.float64)
        spread = latents.std(axis=0)
        self.center_, self.spread_ = latents.mean(axis=0), np.where(spread > 0, spread, 1)

    def _train(self, maps: Maps, held_out: Maps) -> tuple[Weights, int]:
        """Find the weights that reconstruct held-out instances best, and how many epochs it took."""
        torch = import_torch("Autoencoder")
        generator = torch.Generator().manual_seed(self.seed)
        batch = min(self.batch, max(2, len(maps) // 2))
        updates = len(maps) // batch
        epochs = self.epochs or min(EPOCHS, ceil(UPDATES / updates))
        with one_thread_of(torch):
            training = _Training(self, torch.from_numpy(maps), batch, generator)
            best, best_epoch, weights = np.inf, 0, training.weights
            bar = tqdm(
                range(epochs), desc="Autoencoder", unit="epoch", leave=False, disable=not self.progress
            )
            for epoch in bar:
                training.run(epoch * updates, epochs * updates)
                error = training.error(torch.from_numpy(held_out))
                bar.set_postfix(held_out=f"{error:.4f}", refresh=False)
                if error < best:
                    best, best_epoch = error, epoch
                    weights = {name: part.detach().clone() for name, part in training.weights.items()}
                elif epoch - best_epoch > self.patience * epochs:
                    break
            bar.close()
        return weights, best_epoch + 1

    def _run(self, network: Callable[..., Tensor], inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Run one half of the network on inputs."""
        torch = import_torch("Autoencoder")
        weights = {name: torch.from_numpy(array) for name, array in self.weights_.items()}
        with torch.inference_mode(), one_thread_of(torch):
            return in_blocks(
                lambda part: network(torch, weights, self.layout_, torch.from_numpy(part)).numpy(), inputs
            )


class _Training:
    """A network in training: its weights, the optimiser, and the mean and deviation of its latents."""

    def __init__(self, codec: Autoencoder, maps: Tensor, batch: int, generator: Any) -> None:
        torch = self.torch = import_torch("Autoencoder")
        self.layout, self.noise, self.batch, self.maps = codec.layout_, codec.noise, batch, maps
        self.generator = generator
        self.weights = layers.first_weights(torch, self.layout, codec.latent, generator)
        self.optimiser = torch.optim.Adam(list(self.weights.values()), fused=True)
        self.center, self.variance = torch.zeros(codec.latent), torch.ones(codec.latent)

    def run(self, done: int, updates: int) -> None:
        """Learn from every instance once; `done` of all `updates` were made before."""
        order = self.torch.randperm(len(self.maps), generator=self.generator)
        for i in range(len(self.maps) // self.batch):
            for group in self.optimiser.param_groups:
                group["lr"] = LEARNING_RATE * _pace((done + i) / updates)
            self._update(self.maps[order[i * self.batch : (i + 1) * self.batch]])

    def error(self, maps: Tensor) -> float:
        """Measure the root mean squared error on instances, without noise."""
        with self.torch.inference_mode():
            return float(self._loss(maps, noise=0, learning=False).sqrt())

    def _update(self, maps: Tensor) -> None:
        loss = self._loss(maps, self.noise, learning=True)
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()

    def _loss(self, maps: Tensor, noise: float, learning: bool) -> Tensor:
        """Return the mean squared error of instances passed through standardised, noisy latents.

        Without standardising, the network would escape the noise by spreading its latents.
        """
        functional = self.torch.nn.functional
        latents = layers.encode(self.torch, self.weights, self.layout, maps)
        rows = functional.batch_norm(latents, self.center, self.variance, training=learning)
        rows = rows + noise * self.torch.randn(rows.shape, generator=self.generator)
        loss: Tensor = functional.mse_loss(layers.decode(self.torch, self.weights, self.layout, rows), maps)
        return loss


def _pace(done: float) -> float:
    """Return the learning rate at a share of the training: a linear rise, then a half-cosine fall."""
    if done < WARM_UP:
        return (done + 0.01) / (WARM_UP + 0.01)
    return (1 + cos(pi * (done - WARM_UP) / (1 - WARM_UP))) / 2
