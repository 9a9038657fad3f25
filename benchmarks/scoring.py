"""One yardstick for all methods: their answers, as tables, measured by the paper's formulas.

No method's own word is taken for anything: the model labels every answer again, rows that do not flip are
no counterfactuals, and neither are rows that could not be instances at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.models import Trained
from counterpoint.distances import changed
from counterpoint.metrics import measure, nearest_alike
from counterpoint.population import Population
from counterpoint.schema import Rows, Schema

MEASURES = (
    "size",
    "act",
    "impl",
    "dis_dist",
    "dis_count",
    "div_dist",
    "div_count",
    "dipo",
    "inst",
    "runtime",
)


@dataclass(frozen=True)
class Scene:
    """A data set's model and the instances whose decisions are explained."""

    trained: Trained
    X: pd.DataFrame

    @property
    def name(self) -> str:
        """The data set's name."""
        return self.trained.data.name

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
    def decisions(self) -> NDArray[Any]:
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
class Answers:
    """What a method answered, one table an instance, and what that cost an instance on average."""

    method: str
    k: int
    tables: list[pd.DataFrame]
    cpu_ms: float
    wall_seconds: float
    model_rows: float
    model_calls: float = float("nan")
    alike: list[pd.DataFrame] | None = field(default=None, repr=False)
    errors: int = 0


@dataclass(frozen=True)
class Judged:
    """The counterfactuals in one answer, as rows, and how many rows were given and how many refused."""

    rows: Rows
    given: int
    refused: int


def judge(scene: Scene, tables: Sequence[pd.DataFrame], k: int, whole: bool = True) -> list[Judged]:
    """Keep, of the first k rows of each instance's answer, those that are instances and decided differently.

    Refused is a category that no known instance has and, with `whole`, a fraction where the data are whole.
    """
    tables = [table[:k].reset_index(drop=True) for table in tables]
    taken = [table[_are_instances(scene, table, whole)] for table in tables]
    # One call for all, as a call has a high price of its own.
    asked = pd.concat(taken)
    labels = np.asarray(scene.trained.model.predict(asked)) if len(asked) else np.empty(0)
    parts = np.split(labels, np.cumsum([len(table) for table in taken])[:-1])
    none = np.empty((0, len(scene.schema.features)))
    return [
        Judged(
            scene.loose.encode(kept)[part != decision] if len(kept) else none,
            given=len(table),
            refused=len(table) - len(kept),
        )
        for table, kept, part, decision in zip(tables, taken, parts, scene.decisions, strict=True)
    ]


def _are_instances(scene: Scene, table: pd.DataFrame, whole: bool) -> NDArray[np.bool_]:
    """Tell which rows have known categories and, with `whole`, whole numbers where the data have them."""
    stepped = [place for place, feature in enumerate(scene.schema.features) if feature.step is not None]
    taken = np.zeros(len(table), dtype=np.bool_)
    for place in range(len(table)):
        try:
            row = scene.loose.encode(table.iloc[[place]])[0, stepped]
        except (TypeError, ValueError):
            continue
        taken[place] = not whole or (row == np.rint(row)).all()
    return taken


def score(scene: Scene, answers: Answers, whole: bool = True) -> dict[str, Any]:
    """Take the mean of every measure over the instances; measures that do not exist for one are skipped."""
    k = answers.k
    judged = judge(scene, answers.tables, k, whole)
    alike = _judge_alike(scene, answers, whole)
    lines = [_score_one(scene, place, each.rows, k, alike[place]) for place, each in enumerate(judged)]
    given = sum(each.given for each in judged)
    means = pd.DataFrame(lines).mean().to_dict()
    return {
        "set": scene.name,
        "k": k,
        "method": answers.method,
        "instances": len(judged),
        "valid": sum(len(each.rows) for each in judged) / given if given else float("nan"),
        "refused": sum(each.refused for each in judged),
        "errors": answers.errors,
        **{name: means[name] for name in MEASURES},
        "runtime": answers.wall_seconds,
        "changed": means["changed"],
        "closest": means["closest"],
        "cpu_ms": answers.cpu_ms,
        "model_rows": answers.model_rows,
        "model_calls": answers.model_calls,
    }


def closest(scene: Scene, answers: Answers, whole: bool = True) -> NDArray[np.float64]:
    """Measure how far the closest counterfactual is, instance by instance; NaN where there is none."""
    judged = judge(scene, answers.tables, answers.k, whole)
    return np.array([_least_distance(scene, place, each.rows) for place, each in enumerate(judged)])


def _score_one(
    scene: Scene, place: int, rows: Rows, k: int, alike: tuple[Any, Rows] | None
) -> dict[str, float]:
    x = scene.rows[place]
    measures = measure(rows, x, scene.decisions[place], scene.known, k=k, alike=alike)
    return {
        **asdict(measures),
        "changed": float(changed(rows, x).sum(axis=1).mean()) if len(rows) else float("nan"),
        "closest": _least_distance(scene, place, rows),
    }


def _least_distance(scene: Scene, place: int, rows: Rows) -> float:
    return float(scene.known.distance.from_x(rows, scene.rows[place]).min()) if len(rows) else float("nan")


def _judge_alike(scene: Scene, answers: Answers, whole: bool) -> Sequence[tuple[Any, Rows] | None]:
    if answers.alike is None:
        return [None] * len(answers.tables)
    # They are judged by the instances' decisions, because they are decided alike.
    judged = judge(scene, answers.alike, answers.k, whole)
    found = [each.rows for each in judged]
    return list(zip(scene.schema.encode(scene.alike), found, strict=True))
