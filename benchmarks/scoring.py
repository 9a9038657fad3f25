"""What the quality benchmark adds to the study's yardstick: a method's means, and its closest answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.distances import changed
from counterpoint.schema import Rows
from counterpoint.study.scoring import Scene, judge, score


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


def mean_line(scene: Scene, answers: Answers) -> dict[str, Any]:
    """Take the mean of every measure over the instances; measures that do not exist for one are skipped."""
    scores = score(scene, answers.tables, answers.alike or [], answers.k)
    given = sum(each.given for each in scores)
    measures = pd.DataFrame([asdict(each.measures) for each in scores])
    return {
        "set": scene.trained.data.name,
        "k": answers.k,
        "method": answers.method,
        "instances": len(scores),
        "valid": sum(each.valid for each in scores) / given if given else float("nan"),
        "refused": sum(each.refused for each in scores),
        "errors": answers.errors,
        **measures.mean().to_dict(),
        "runtime": answers.wall_seconds,
        **_steps(scene, answers, whole=True).mean().to_dict(),
        "cpu_ms": answers.cpu_ms,
        "model_rows": answers.model_rows,
        "model_calls": answers.model_calls,
    }


def closest(scene: Scene, answers: Answers, whole: bool = True) -> NDArray[np.float64]:
    """Measure how far the closest counterfactual is, instance by instance; NaN where there is none."""
    return np.asarray(_steps(scene, answers, whole)["closest"])


def _steps(scene: Scene, answers: Answers, whole: bool) -> pd.DataFrame:
    """Measure, instance by instance, how many features change on average and how far the closest is."""
    judged = judge(scene, answers.tables, answers.k, whole)
    return pd.DataFrame([_step(scene, place, each.rows) for place, each in enumerate(judged)])


def _step(scene: Scene, place: int, rows: Rows) -> dict[str, float]:
    if not len(rows):
        return {"changed": float("nan"), "closest": float("nan")}
    x = scene.rows[place]
    return {
        "changed": float(changed(rows, x).sum(axis=1).mean()),
        "closest": float(scene.known.distance.from_x(rows, x).min()),
    }
