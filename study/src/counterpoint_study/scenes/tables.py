"""The scene for tables: answers are data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.known import Population
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels, Rows
from counterpoint.metrics.measures import nearest_alike
from counterpoint_study.models.training import Trained
from counterpoint_study.scenes.quantiles import Quantiles

# Which known instances are in a sample; the same for every method and seed.
_SAMPLE_SEED = 0


@dataclass(frozen=True)
class TableScene:
    """A black box for a table and the instances whose decisions are explained.

    Methods are given a `share` of the known instances; the measures always use all of them. Survival is
    measured with `others`: models of the same data, which methods never see.
    """

    trained: Trained
    X: pd.DataFrame
    share: float = 1.0
    others: Iterable[Any] = ()

    @property
    def key(self) -> str:
        """Names the data set, the black box and what is known, for caches."""
        return self.trained.key if self.share == 1 else f"{self.trained.key}-{self.share}"

    @cached_property
    def _sample(self) -> NDArray[np.intp]:
        """Which known instances methods are given; a smaller sample is part of a larger one."""
        count = len(self.trained.known)
        order = np.random.default_rng(_SAMPLE_SEED).permutation(count)
        return np.sort(order[: max(1, round(self.share * count))])

    @property
    def given(self) -> pd.DataFrame:
        """The known instances that methods are given."""
        return self.trained.known.iloc[self._sample]

    @property
    def given_labels(self) -> Any:
        """The true labels of those, for peers that ask for them."""
        return self.trained.data.y_train.iloc[self._sample]

    @property
    def schema(self) -> Schema:
        """What the features are, and which may change."""
        return self.trained.schema

    @cached_property
    def loose(self) -> Schema:
        """The same with all numbers as floats: it reads a peer's fractions where `schema` refuses them."""
        known, categorical = self.trained.known, list(self.trained.data.categorical)
        return Schema.infer(known.astype(dict.fromkeys(known.columns.drop(categorical), float)))

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
        """All known instances, with the model's labels."""
        rows = self.encode(self.trained.known)
        return Population.of(self.schema, rows, np.asarray(self.trained.model.predict(self.trained.known)))

    @cached_property
    def quantiles(self) -> Quantiles:
        """The known instances by the ranks of their numbers, to measure with another distance."""
        return Quantiles.of(self.known)

    @cached_property
    def alike(self) -> pd.DataFrame:
        """For each instance the closest known one that is decided alike, for the instability measure."""
        return self.schema.decode(self.known.rows[nearest_alike(self.rows, self.decisions, self.known)])

    def encode(self, X: pd.DataFrame) -> Rows:
        """Turn instances into rows."""
        return self.schema.encode(X)

    def read(self, answer: pd.DataFrame) -> Rows:
        """Read the rows of a table that can be instances.

        Those that cannot hold a category that no known instance has, or lack a number.
        """
        found = [self._encoded(answer.iloc[[place]]) for place in range(len(answer))]
        return np.array([row for row in found if row is not None]).reshape(-1, len(self.schema.features))

    def label(self, rows: Rows) -> Labels:
        """Ask the model."""
        return np.asarray(self.trained.model.predict(self.loose.decode(rows)))

    def label_by_others(self, rows: Rows) -> Iterator[Labels]:
        """Ask the other models, one after the other."""
        table = self.loose.decode(rows)
        for model in self.others:
            yield np.asarray(model.predict(table))

    def take(self, X: pd.DataFrame, places: NDArray[np.intp]) -> pd.DataFrame:
        """Keep some of the instances."""
        return X.iloc[places].reset_index(drop=True)

    def _encoded(self, table: pd.DataFrame) -> Any:
        """Read one row; None if it holds what no instance can."""
        try:
            return self.loose.encode(table)[0]
        except (TypeError, ValueError):
            return None
