"""One yardstick for all methods: their answers measured by the paper's formulas.

No method's own word is taken for anything: the model labels every answer again, what does not flip is no
counterfactual, and neither is what could not be an instance at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.blackbox import Labels
from counterpoint.metrics import Measures, measure, nearest_alike
from counterpoint.population import Population
from counterpoint.schema import Rows, Schema
from counterpoint.study.blackboxes import Trained

# Instances, or a method's answer to one: a data frame, or an array of images or series.
Instances: TypeAlias = Any


class AnyScene(Protocol):
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

    def take(self, X: Instances, places: NDArray[np.intp]) -> Instances:
        """Keep some of the instances."""
        ...


@dataclass(frozen=True)
class Scene:
    """A black box for a table and the instances whose decisions are explained."""

    trained: Trained
    X: pd.DataFrame

    @property
    def key(self) -> str:
        """Names the data set, the black box and what is known, for caches."""
        return self.trained.key

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

    def take(self, X: pd.DataFrame, places: NDArray[np.intp]) -> pd.DataFrame:
        """Keep some of the instances."""
        return X.iloc[places].reset_index(drop=True)

    def _encoded(self, table: pd.DataFrame) -> Any:
        """Read one row; None if it holds what no instance can."""
        try:
            return self.loose.encode(table)[0]
        except (TypeError, ValueError):
            return None


@dataclass(frozen=True)
class Judged:
    """The counterfactuals in one answer, as rows, and how many were given and how many refused."""

    rows: Rows
    given: int
    refused: int


@dataclass(frozen=True)
class Score:
    """One answer measured: rows given, valid ones, rows that are no instances, and the measures."""

    given: int
    valid: int
    refused: int
    measures: Measures


def score(
    scene: AnyScene, answers: Sequence[Instances], alike: Sequence[Instances], k: int, whole: bool = True
) -> list[Score]:
    """Measure a method's answers to the first instances of a scene, and to those alike, for `inst`.

    There may be fewer answers than instances, and fewer of those alike than of the instances themselves.
    """
    judged, judged_alike = judge(scene, answers, k, whole), judge(scene, alike, k, whole)
    x_alike = scene.encode(scene.alike[: len(alike)]) if len(alike) else scene.rows[:0]
    scores = []
    for place, each in enumerate(judged):
        near = (x_alike[place], judged_alike[place].rows) if place < len(alike) else None
        measures = measure(each.rows, scene.rows[place], scene.decisions[place], scene.known, k=k, alike=near)
        scores.append(Score(each.given, len(each.rows), each.refused, measures))
    return scores


def judge(scene: AnyScene, answers: Sequence[Instances], k: int, whole: bool = True) -> list[Judged]:
    """Keep, of the first k of each instance's answer, those that are instances and decided differently.

    With `whole`, a fraction where the data are whole is rounded first, as a user would have to. Refused is
    what `read` of the scene leaves out. Those alike are judged by the instances' own decisions, because they
    are decided alike.
    """
    stepped = [place for place, each in enumerate(scene.schema.features) if each.step is not None and whole]
    rows = [scene.read(answer[:k]) for answer in answers]
    for each in rows:
        each[:, stepped] = np.rint(each[:, stepped])
    asked = np.concatenate([scene.rows[:0], *rows])
    # One call for all, as a call has a high price of its own.
    labels = scene.label(asked) if len(asked) else np.empty(0)
    parts = np.split(labels, np.cumsum([len(each) for each in rows])[:-1])
    return [
        Judged(each[part != decision], given=len(answer[:k]), refused=len(answer[:k]) - len(each))
        for answer, each, part, decision in zip(answers, rows, parts, scene.decisions, strict=False)
    ]
