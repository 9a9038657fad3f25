"""The study's convolutional network for images and series: it learns in torch, and is kept as a blueprint."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted
from tqdm.auto import tqdm

from counterpoint._util.torch_support import import_torch, reproducible
from counterpoint_study.models.conv_blueprint import Arrays, ConvBlueprint, Shares, network_input
from counterpoint_study.models.conv_module import SERIES, SERIES_HEADS, learned_layers, untrained

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

__all__ = ["ConvBlueprint", "ConvNetwork"]

# The part of the training after which the learning rate is at its highest; from there it falls to 0.
WARM_UP = 0.2


class ConvNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of images (n, height, width) or series (n, length) by convolutions.

    Images go through three convolutions of 3 × 3 with 32, 64 and 64 channels, the first two followed by
    pooling, and a dense layer of 128. Series go through three convolutions of widths 8, 5 and 3 with 16, 32
    and 64 channels, and the mean over time, unless others are asked for. Each convolution has its batch norm.

    All cells are standardised by one mean and one scale. The same data, settings and seed give the same
    network, and torch's own random state is left as it was.

    Parameters
    ----------
    epochs, batch
        How often every instance is seen, and how many are seen at a time.
    learning_rate, weight_decay
        Settings of the optimiser, AdamW; the rate is the highest of a schedule that rises and falls.
    dropout
        Share of what the convolutions give that is left out at random while learning. After an image's dense
        layer, half is.
    shift
        Every time it is seen, an instance is moved by up to so many cells along each of its axes.
    convolutions
        A series' convolutions in their order, each as (channels, width).
    series_head
        What follows them: ``"globalmean"``, the mean over time, for which it matters little when something
        is seen, or ``"flatten"``, every moment with weights of its own, for series that are aligned in time.
    seed
        Decides the first weights, the order of the instances, their shifts and what is left out.

    Examples
    --------
    >>> hours = np.linspace(0, 6, 24)
    >>> X = np.array([np.sin(hours + start) + slope * hours for start in range(8) for slope in (-1, 1)])
    >>> network = ConvNetwork(epochs=15, batch=8).fit(X, ["falls", "rises"] * 8)
    >>> network.predict(X[:2])
    array(['falls', 'rises'], dtype='<U5')
    """

    def __init__(
        self,
        epochs: int = 10,
        batch: int = 64,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-2,
        dropout: float = 0.25,
        shift: int = 0,
        convolutions: Sequence[tuple[int, int]] = SERIES,
        series_head: str = SERIES_HEADS[0],
        seed: int = 0,
    ) -> None:
        self.epochs = epochs
        self.batch = batch
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.shift = shift
        self.convolutions = convolutions
        self.series_head = series_head
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from instances and their labels."""
        X = _signals(X)
        check_consistent_length(X, y)
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, got only {self.classes_.tolist()}.")
        mean, scale = float(X.mean(dtype=np.float64)), float(X.std(dtype=np.float64)) or 1.0
        torch = import_torch("The convolutional network")
        with reproducible(torch, self.seed):
            module = untrained(
                torch, X.shape[1:], len(self.classes_), self.dropout, self.convolutions, self.series_head
            )
            self._learn(torch, module, network_input(torch, X, mean, scale), torch.from_numpy(labels))
        self.blueprint_ = ConvBlueprint(X.shape[1:], len(self.classes_), mean, scale, learned_layers(module))
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Label every instance with its likeliest class."""
        places = self.predict_proba(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[places]
        return labels

    def predict_proba(self, X: ArrayLike) -> Shares:
        """Give every instance's probability of each class, in the order of `classes_`."""
        return self.blueprint().predict_proba(np.asarray(X))

    def blueprint(self) -> ConvBlueprint:
        """Give what was learned, for use elsewhere."""
        check_is_fitted(self, "blueprint_")
        blueprint: ConvBlueprint = self.blueprint_
        return blueprint

    def _learn(self, torch: Any, module: Module, signals: Tensor, labels: Tensor) -> None:
        """Find the weights, with a progress bar."""
        module.train()
        optimiser = torch.optim.AdamW(
            module.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay, fused=True
        )
        steps = self.epochs * len(_batches(torch, len(signals), self.batch))
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimiser, self.learning_rate, total_steps=steps + 1, pct_start=WARM_UP
        )
        with tqdm(total=steps, desc="training", unit="batch", file=sys.stderr, leave=False) as bar:
            for places in self._places(torch, len(signals)):
                seen = _shifted(torch, signals[places], self.shift)
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(module(seen), labels[places]).backward()
                optimiser.step()
                schedule.step()
                bar.update()

    def _places(self, torch: Any, count: int) -> Iterator[Tensor]:
        """Go through the instances in batches, in another order each time."""
        for _ in range(self.epochs):
            yield from _batches(torch, count, self.batch)


def _signals(X: ArrayLike) -> Arrays:
    """Check that instances are what the network can learn from."""
    X = np.asarray(X)
    if X.ndim not in (2, 3):
        raise ValueError(
            f"X must be images (n, height, width) or series (n, length), got an array of shape {X.shape}."
        )
    if not np.isfinite(X).all():
        raise ValueError("X must hold finite numbers only, got some that are missing or infinite.")
    return X


def _batches(torch: Any, count: int, size: int) -> list[Tensor]:
    """Deal the places 0, 1, ... to batches at random; all are of about the same size.

    A small last one would have a batch norm of its own, and one of a single instance would have none.
    """
    batches: list[Tensor] = list(torch.randperm(count).tensor_split(max(1, round(count / size))))
    return batches


def _shifted(torch: Any, signals: Tensor, most: int) -> Tensor:
    """Move each instance by up to so many cells along each of its axes; what comes in is the border's."""
    for axis in range(2, signals.ndim if most else 2):
        length = signals.shape[axis]
        moves = torch.randint(-most, most + 1, (len(signals), 1))
        sources = (torch.arange(length) + moves).clamp(0, length - 1)
        others = [1] * (signals.ndim - 2)
        others[axis - 2] = length
        sources = sources.reshape(len(signals), 1, *others).expand(signals.shape)
        signals = signals.gather(axis, sources)
    return signals
