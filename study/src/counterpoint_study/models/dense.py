"""The study's dense network: it learns in torch, and answers from its blueprint without torch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from counterpoint._util.torch_support import import_torch, one_thread_of
from counterpoint_study.models.dense_blueprint import Blueprint, Column, Floats

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Blueprint", "Column", "DenseNetwork"]


class DenseNetwork(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of dense layers, with ReLU between them, that takes a table as it is.

    Numbers are standardised, and every category of the training table becomes a 0 or 1. The same data,
    settings and seed give the same network, and torch's own random state is neither used nor changed.

    Parameters
    ----------
    hidden
        Sizes of the hidden layers.
    dropout
        Share of each hidden layer that is left out at random while learning.
    learning_rate, weight_decay
        Settings of the optimiser, AdamW.
    epochs, batch
        How often every row is seen, and how many are seen at a time.
    seed
        Decides the first weights, the order of the rows and what is left out.

    Examples
    --------
    >>> frame = pd.DataFrame({"age": [20, 30, 50, 60] * 8, "sex": ["female", "male"] * 16})
    >>> network = DenseNetwork(hidden=(8,), epochs=60, learning_rate=0.05).fit(frame, frame["age"] > 40)
    >>> network.predict(pd.DataFrame({"age": [25, 55], "sex": ["male", "male"]}))
    array([False,  True])
    """

    def __init__(
        self,
        hidden: Sequence[int] = (128, 64),
        dropout: float = 0.0,
        learning_rate: float = 1e-3,
        epochs: int = 30,
        batch: int = 64,
        weight_decay: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.hidden = hidden
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch = batch
        self.weight_decay = weight_decay
        self.seed = seed

    def fit(self, frame: pd.DataFrame, y: ArrayLike) -> Self:
        """Learn from a table and the label of each of its rows."""
        check_consistent_length(frame, y)
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold at least two classes, got only {self.classes_.tolist()}.")
        columns = tuple(Column.of(frame[name]) for name in frame.columns)
        untrained = Blueprint(columns, ())
        self.blueprint_ = Blueprint(columns, self._learn(untrained.encode(frame), labels))
        return self

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """Label every row with its likeliest class."""
        places = self.predict_proba(frame).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[places]
        return labels

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """Give every row's probability of each class, in the order of `classes_`."""
        return self.blueprint().predict_proba(frame)

    def blueprint(self) -> Blueprint:
        """Give what was learned, for use elsewhere."""
        check_is_fitted(self, "blueprint_")
        blueprint: Blueprint = self.blueprint_
        return blueprint

    def _learn(self, inputs: Floats, labels: NDArray[np.intp]) -> tuple[tuple[Floats, Floats], ...]:
        """Find the layers' weights."""
        torch = import_torch("Training the network")
        generator = torch.Generator().manual_seed(self.seed)
        sizes = [inputs.shape[1], *self.hidden, len(self.classes_)]
        with one_thread_of(torch):
            layers = [_layer(torch, *pair, generator) for pair in pairwise(sizes)]
            optimiser = torch.optim.AdamW(
                [part for layer in layers for part in layer],
                lr=self.learning_rate,
                weight_decay=self.weight_decay,
                fused=True,
            )
            rows, answers = torch.from_numpy(inputs).float(), torch.from_numpy(labels)
            for _ in range(self.epochs):
                for places in torch.randperm(len(rows), generator=generator).split(self.batch):
                    scores = self._scores(torch, rows[places], layers, generator)
                    optimiser.zero_grad()
                    torch.nn.functional.cross_entropy(scores, answers[places]).backward()
                    optimiser.step()
        return tuple((_array(weights), _array(biases)) for weights, biases in layers)

    def _scores(
        self, torch: Any, signal: Tensor, layers: list[tuple[Tensor, Tensor]], generator: Any
    ) -> Tensor:
        """Run rows through the layers while learning, so with parts of them left out."""
        *inner, (weights, biases) = layers
        for inner_weights, inner_biases in inner:
            signal = (signal @ inner_weights + inner_biases).relu()
            if self.dropout:
                # By hand, because torch's own dropout draws from its global random state.
                kept = torch.rand(signal.shape, generator=generator) >= self.dropout
                signal = signal * (kept / (1 - self.dropout))
        return signal @ weights + biases


def _layer(torch: Any, inputs: int, outputs: int, generator: Any) -> tuple[Tensor, Tensor]:
    """Draw a layer's first weights, as spread out as suits a ReLU; the biases begin at 0."""
    weights = torch.randn(inputs, outputs, generator=generator) * (2 / max(inputs, 1)) ** 0.5
    return weights.requires_grad_(), torch.zeros(outputs, requires_grad=True)


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().numpy().astype(np.float64)
    return array
