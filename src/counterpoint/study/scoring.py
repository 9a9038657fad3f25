"""One yardstick for all methods: their answers, as tables, measured by the paper's formulas.

No method's own word is taken for anything: the model labels every answer again, rows that do not flip are
no counterfactuals, and neither are rows that could not be instances at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.blackbox import Labels
from counterpoint.metrics import Measures, measure, nearest_alike
from counterpoint.population import Population
from counterpoint.schema import Rows, Schema
from counterpoint.study.blackboxes import Trained


@dataclass(frozen=True)
class Scene:
    """A black box and the instances whose decisions are explained."""

    trained: Trained
    X: pd.DataFrame

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
        return self.schema.encode(self.X)

    @cached_property
    def decisions(self) -> Labels:
        """What the model says of the instances."""
        return np.asarray(self.trained.model.predict(self.X))

    @cached_property
    def known(self) -> Population:
        """All known instances, with the model's labels."""
        rows = self.schema.encode(self.trained.known)
        return Population.of(self.schema, rows, np.asarray(self.trained.model.predict(self.trained.known)))

    @cached_property
    def alike(self) -> pd.DataFrame:
        """For each instance the closest known one that is decided alike, for the instability measure."""
        return self.schema.decode(self.known.rows[nearest_alike(self.rows, self.decisions, self.known)])


@dataclass(frozen=True)
class Judged:
    """The counterfactuals in one answer, as rows, and how many rows were given and how many refused."""

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
    scene: Scene, tables: Sequence[pd.DataFrame], alike: Sequence[pd.DataFrame], k: int, whole: bool = True
) -> list[Score]:
    """Measure a method's answers to the first instances of a scene, and to those alike, for `inst`.

    There may be fewer tables than instances, and fewer of those alike than of the instances themselves.
    """
    judged, judged_alike = judge(scene, tables, k, whole), judge(scene, alike, k, whole)
    x_alike = scene.schema.encode(scene.alike[: len(alike)]) if len(alike) else scene.rows[:0]
    scores = []
    for place, each in enumerate(judged):
        near = (x_alike[place], judged_alike[place].rows) if place < len(alike) else None
        measures = measure(each.rows, scene.rows[place], scene.decisions[place], scene.known, k=k, alike=near)
        scores.append(Score(each.given, len(each.rows), each.refused, measures))
    return scores


def judge(scene: Scene, tables: Sequence[pd.DataFrame], k: int, whole: bool = True) -> list[Judged]:
    """Keep, of the first k rows of each instance's answer, those that are instances and decided differently.

    With `whole`, a fraction where the data are whole is rounded first, as a user would have to. Refused is a
    row with a category that no known instance has, or without a number. Those alike are judged by the
    instances' own decisions, because they are decided alike.
    """
    stepped = [place for place, each in enumerate(scene.schema.features) if each.step is not None and whole]
    rows = [_read(scene, table[:k], stepped) for table in tables]
    asked = np.concatenate([scene.rows[:0], *rows])
    # One call for all, as a call has a high price of its own.
    labels = np.asarray(scene.trained.model.predict(scene.loose.decode(asked))) if len(asked) else np.empty(0)
    parts = np.split(labels, np.cumsum([len(each) for each in rows])[:-1])
    return [
        Judged(each[part != decision], given=len(table[:k]), refused=len(table[:k]) - len(each))
        for table, each, part, decision in zip(tables, rows, parts, scene.decisions, strict=False)
    ]


def _read(scene: Scene, table: pd.DataFrame, stepped: list[int]) -> Rows:
    """Read the rows of a table that can be instances, and round what is whole in the data."""
    found = [_encoded(scene, table.iloc[[place]]) for place in range(len(table))]
    rows = np.array([row for row in found if row is not None]).reshape(-1, len(scene.schema.features))
    rows[:, stepped] = np.rint(rows[:, stepped])
    return rows


def _encoded(scene: Scene, table: pd.DataFrame) -> Any:
    """Read one row; None if it holds what no instance can."""
    try:
        return scene.loose.encode(table)[0]
    except (TypeError, ValueError):
        return None
