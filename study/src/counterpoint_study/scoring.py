"""One yardstick for all methods: their answers measured by the paper's formulas.

No method's own word is taken for anything: the model labels every answer again, what does not flip is no
counterfactual, and neither is what could not be an instance at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpoint.data.types import Row, Rows
from counterpoint.metrics.measures import Measures, measure
from counterpoint_study.scenes.base import Instances, Scene


@dataclass(frozen=True)
class Judged:
    """The counterfactuals in one answer, as rows, and how many were given and how many refused."""

    rows: Rows
    given: int
    refused: int


@dataclass(frozen=True)
class Score:
    """One answer measured: rows given, valid ones, rows that are no instances, and the measures.

    `quantiles` holds the measures of the same answer under a distance that no method searches with; only
    those that depend on a distance mean anything there. `survival` is the share of valid rows × other models
    of the scene that give a decision as wanted; NaN without a valid row or without other models.
    """

    given: int
    valid: int
    refused: int
    measures: Measures
    quantiles: Measures
    survival: float = np.nan


def score(
    scene: Scene, answers: Sequence[Instances], alike: Sequence[Instances], k: int, whole: bool = True
) -> list[Score]:
    """Measure a method's answers to the first instances of a scene, and to those alike, for `inst`.

    There may be fewer answers than instances, and fewer of those alike than of the instances themselves.
    """
    judged, judged_alike = judge(scene, answers, k, whole), judge(scene, alike, k, whole)
    x_alike = scene.encode(scene.alike[: len(alike)]) if len(alike) else scene.rows[:0]
    scores = []
    for place, (each, survival) in enumerate(zip(judged, _survivals(scene, judged), strict=True)):
        near = (x_alike[place], judged_alike[place].rows) if place < len(alike) else None
        x, decision = scene.rows[place], scene.decisions[place]
        measures = measure(each.rows, x, decision, scene.known, k=k, alike=near)
        again = _by_quantiles(scene, each.rows, place, k, near)
        scores.append(Score(each.given, len(each.rows), each.refused, measures, again, survival))
    return scores


def _by_quantiles(scene: Scene, rows: Rows, place: int, k: int, near: tuple[Row, Rows] | None) -> Measures:
    """Measure an answer with numbers as ranks."""
    shares = scene.quantiles.shares
    alike = None if near is None else (shares(near[0][None])[0], shares(near[1]))
    x = shares(scene.rows[[place]])[0]
    return measure(shares(rows), x, scene.decisions[place], scene.quantiles.known, k=k, alike=alike)


def _survivals(scene: Scene, judged: Sequence[Judged]) -> list[float]:
    """Measure for each instance how many of its counterfactuals are decided as wanted by other models too."""
    counts = [len(each.rows) for each in judged]
    if not sum(counts):
        return [np.nan] * len(judged)
    rows = np.concatenate([each.rows for each in judged])
    decisions = np.repeat(scene.decisions[: len(judged)], counts)
    flips = np.array([labels != decisions for labels in scene.label_by_others(rows)]).reshape(-1, len(rows))
    parts = np.split(flips, np.cumsum(counts)[:-1], axis=1)
    return [float(part.mean()) if part.size else np.nan for part in parts]


def judge(scene: Scene, answers: Sequence[Instances], k: int, whole: bool = True) -> list[Judged]:
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
