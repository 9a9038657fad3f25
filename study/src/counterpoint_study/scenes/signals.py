"""The scene for images and series: answers are arrays, measured cell by cell with the Euclidean distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.distance import Euclidean
from counterpoint.data.known import Population
from counterpoint.data.schema import Schema
from counterpoint.data.signals import signal_schema
from counterpoint.data.types import Labels, Rows
from counterpoint.metrics.measures import nearest_alike
from counterpoint_study.models.training import TrainedOnArrays
from counterpoint_study.scenes.quantiles import Quantiles

MOST_KNOWN = 10_000
"""Of a larger training part, so many are known: to every method, and to every measure."""

# Which of them; the same for every method, black box and seed.
_SAMPLE_SEED = 0

Signals = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SignalScene:
    """A black box for arrays and the instances whose decisions are explained: (n, h, w) or (n, length).

    A row has one number a cell. Values keep the data's dtype, because that is what the model sees, and are
    not clipped: an answer beyond the data's range is labelled and measured as it is, and is the further away
    for it. What has a cell without a finite number is no instance.
    """

    trained: TrainedOnArrays
    X: Signals

    @property
    def key(self) -> str:
        """Names the data set, the black box and what is known, for caches."""
        return f"{self.trained.key}-{len(self.signals)}"

    @cached_property
    def signals(self) -> Signals:
        """The known instances: the training part or, if it is larger than `MOST_KNOWN`, a sample of it."""
        return self._known_part(self.trained.data.X_train)

    @cached_property
    def labels(self) -> Labels:
        """The true labels of the known instances."""
        return self._known_part(self.trained.data.y_train)

    @cached_property
    def schema(self) -> Schema:
        """One feature a cell, all of which may change."""
        return signal_schema(self.signals)

    @cached_property
    def rows(self) -> Rows:
        """The instances as rows."""
        return self.encode(self.X)

    @cached_property
    def decisions(self) -> Labels:
        """What the model says of the instances."""
        return np.asarray(self.trained.model.predict(self.X))

    @cached_property
    def known(self) -> Population:
        """The known instances as rows, with the model's labels."""
        labels = np.asarray(self.trained.model.predict(self.signals))
        return Population(self.schema, self.encode(self.signals), labels, Euclidean.of(self.rows.shape[1]))

    @property
    def given(self) -> Signals:
        """The known instances that methods are given."""
        return self.signals

    @cached_property
    def quantiles(self) -> Quantiles:
        """The known instances by the ranks of their numbers, to measure with another distance."""
        return Quantiles.of(self.known)

    @cached_property
    def alike(self) -> Signals:
        """For each instance the closest known one that is decided alike, for the instability measure."""
        return self.signals[nearest_alike(self.rows, self.decisions, self.known)]

    def encode(self, X: Signals) -> Rows:
        """Lay the cells of each instance in a row."""
        return X.reshape(len(X), prod(X.shape[1:])).astype(np.float64)

    def read(self, answer: Signals) -> Rows:
        """Read what can be an instance in a method's answer: all its cells are finite numbers."""
        rows = self.encode(np.asarray(answer, dtype=self.X.dtype))
        return rows[np.isfinite(rows).all(axis=1)]

    def label(self, rows: Rows) -> Labels:
        """Ask the model."""
        return np.asarray(self.trained.model.predict(self.decode(rows)))

    def label_by_others(self, rows: Rows) -> Iterator[Labels]:
        """Ask nobody: the networks for arrays are not trained again."""
        return iter(())

    def decode(self, rows: Rows) -> Signals:
        """Turn rows back into instances."""
        return rows.reshape(-1, *self.X.shape[1:]).astype(self.X.dtype)

    def take(self, X: Signals, places: NDArray[np.intp]) -> Signals:
        """Keep some of the instances."""
        return X[places]

    def _known_part(self, training: Signals) -> Signals:
        if len(training) <= MOST_KNOWN:
            return training
        order = np.random.default_rng(_SAMPLE_SEED).permutation(len(training))
        return training[np.sort(order[:MOST_KNOWN])]
