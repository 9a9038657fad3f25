"""A scene: a black box and the instances whose decisions are explained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.known import Population
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels, Rows
from counterpoint_study.scenes.quantiles import Quantiles

# Instances, or a method's answer to one: a data frame, or an array of images or series.
Instances: TypeAlias = Any


class Scene(Protocol):
    """A black box and the instances whose decisions are explained, tables or arrays."""

    @property
    def trained(self) -> Any:
        """The data set and the black box."""
        ...

    @property
    def X(self) -> Instances:  # noqa: N802
        """The instances."""
        ...

    @property
    def key(self) -> str:
        """Names the data set, the black box and what is known, for caches."""
        ...

    @property
    def schema(self) -> Schema:
        """What the features are, and which may change."""
        ...

    @property
    def rows(self) -> Rows:
        """The instances as rows."""
        ...

    @property
    def decisions(self) -> Labels:
        """What the model says of the instances."""
        ...

    @property
    def known(self) -> Population:
        """The known instances, with the model's labels."""
        ...

    @property
    def quantiles(self) -> Quantiles:
        """The known instances by the ranks of their numbers, to measure with another distance."""
        ...

    @property
    def given(self) -> Instances:
        """The known instances that methods are given: all, or a sample if the size of X is studied."""
        ...

    @property
    def alike(self) -> Instances:
        """For each instance the closest known one that is decided alike, for the instability measure."""
        ...

    def encode(self, X: Instances) -> Rows:
        """Turn instances into rows."""
        ...

    def read(self, answer: Instances) -> Rows:
        """Read what can be an instance in a method's answer."""
        ...

    def label(self, rows: Rows) -> Labels:
        """Ask the model."""
        ...

    def label_by_others(self, rows: Rows) -> Iterator[Labels]:
        """Ask other models, such as this one trained again, one after the other; there may be none."""
        ...

    def take(self, X: Instances, places: NDArray[np.intp]) -> Instances:
        """Keep some of the instances."""
        ...
