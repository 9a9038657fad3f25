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
from counterpoint.bounds import Mask
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

    Refused is a category that no known instance has and, with `whole`, a fraction where the data are whole.
    Those alike are judged by the instances' own decisions, because they are decided alike.
    """
    tables = [table[:k].reset_index(drop=True) for table in tables]
    taken = [table[_are_instances(scene, table, whole)] for table in tables]
    asked = pd.concat(taken) if taken else scene.X[:0]
    # One call for all, as a call has a high price of its own.
    labels = np.asarray(scene.trained.model.predict(asked)) if len(asked) else np.empty(0)
    parts = np.split(labels, np.cumsum([len(table) for table in taken])[:-1])
    none = np.empty((0, len(scene.schema.features)))
    return [
        Judged(
            scene.loose.encode(kept)[part != decision] if len(kept) else none,
            given=len(table),
            refused=len(table) - len(kept),
        )
        for table, kept, part, decision in zip(tables, taken, parts, scene.decisions, strict=False)
    ]


def _are_instances(scene: Scene, table: pd.DataFrame, whole: bool) -> Mask:
    """Tell which rows have known categories and, with `whole`, whole numbers where the data have them."""
    stepped = [place for place, feature in enumerate(scene.schema.features) if feature.step is not None]
    taken = np.zeros(len(table), dtype=np.bool_)
    for place in range(len(table)):
        row = _encoded(scene, table.iloc[[place]])
        taken[place] = row is not None and (not whole or (row[stepped] == np.rint(row[stepped])).all())
    return taken


def _encoded(scene: Scene, table: pd.DataFrame) -> Any:
    """Read one row; None if it holds what no instance can."""
    try:
        return scene.loose.encode(table)[0]
    except (TypeError, ValueError):
        return None
