"""What the quality benchmark adds to the study's yardstick: a method's means, and its closest answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.distance import changed
from counterpoint.data.types import Rows
from counterpoint_study.methods.base import Run
from counterpoint_study.scenes.tables import TableScene
from counterpoint_study.scoring import judge, score


@dataclass(frozen=True)
class Answers:
    """What a method answered and what each answer cost, and the number of its model calls."""

    method: str
    k: int
    run: Run
    model_calls: float

    @property
    def cpu_ms(self) -> float:
        """CPU time per instance; those whose process died before it could tell are left out."""
        return float(np.nanmean([cost.cpu for cost in self.run.costs])) * 1000


def mean_line(scene: TableScene, answers: Answers) -> dict[str, Any]:
    """Take the mean of every measure over the instances; measures that do not exist for one are skipped."""
    run = answers.run
    scores = score(scene, run.answers, run.alike, answers.k)
    given = sum(each.given for each in scores)
    measures = pd.DataFrame([asdict(each.measures) for each in scores])
    return {
        "set": scene.trained.data.name,
        "k": answers.k,
        "method": answers.method,
        "instances": len(scores),
        "valid": sum(each.valid for each in scores) / given if given else float("nan"),
        "refused": sum(each.refused for each in scores),
        "errors": sum(cost.error is not None for cost in run.costs),
        **measures.mean().to_dict(),
        "runtime": float(np.mean([cost.runtime for cost in run.costs])),
        **_steps(scene, answers, whole=True).mean().to_dict(),
        "cpu_ms": answers.cpu_ms,
        "model_rows": float(np.mean([cost.model_rows for cost in run.costs])),
        "model_calls": answers.model_calls,
    }


def closest(scene: TableScene, answers: Answers, whole: bool = True) -> NDArray[np.float64]:
    """Measure how far the closest counterfactual is, instance by instance; NaN where there is none."""
    return np.asarray(_steps(scene, answers, whole)["closest"])


def _steps(scene: TableScene, answers: Answers, whole: bool) -> pd.DataFrame:
    """Measure, instance by instance, how many features change on average and how far the closest is."""
    judged = judge(scene, answers.run.answers, answers.k, whole)
    return pd.DataFrame([_step(scene, index, each.rows) for index, each in enumerate(judged)])


def _step(scene: TableScene, index: int, rows: Rows) -> dict[str, float]:
    if not len(rows):
        return {"changed": float("nan"), "closest": float("nan")}
    x = scene.rows[index]
    return {
        "changed": float(changed(rows, x).sum(axis=1).mean()),
        "closest": float(scene.known.distance.from_x(rows, x).min()),
    }
