"""Pictures of what the methods answer: a few instances of each data set beside everyone's answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.show.plots import Views, gallery
from counterpoint_study.page.styles import in_order
from counterpoint_study.plan import Job, Plan
from counterpoint_study.runner import read_cell, scene_of
from counterpoint_study.scenes.signals import SignalScene
from counterpoint_study.scoring import judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 5
"""So many instances of a data set are shown."""


def galleries(plan: Plan, folder: Path) -> dict[str, Figure]:
    """Draw a gallery for each data set of images or series; tables have none.

    Each method shows the first counterfactual of its answer for the smallest k; what is none is left out.
    """
    pairs = [(name, box) for name in plan.sets for box in plan.black_boxes]
    scenes = {(name, box): scene_of(plan, name, box) for name, box in pairs}
    return {
        name: _gallery(plan, folder, name, box, scene)
        for (name, box), scene in scenes.items()
        if isinstance(scene, SignalScene)
    }


def _gallery(plan: Plan, folder: Path, name: str, box: str, scene: SignalScene) -> Figure:
    jobs = {job.method: job for job in reversed(plan.jobs()) if (job.set, job.black_box) == (name, box)}
    methods = in_order(list(jobs))
    columns = [_views(plan, folder, jobs[method], scene) for method in methods]
    return gallery(list(zip(*columns, strict=True)), methods)


def _views(plan: Plan, folder: Path, job: Job, scene: SignalScene) -> list[Views]:
    """Look at a method's first counterfactual of each instance that is shown."""
    done = read_cell(plan, folder, job)
    answers: Any = [] if done is None else done.run.answers[:SHOWN]
    rows = [each.rows[:1] for each in judge(scene, answers, min(job.ks))]
    rows += [scene.rows[:0]] * (min(SHOWN, len(scene.X)) - len(rows))
    return [_view(scene, place, found) for place, found in enumerate(rows)]


def _view(scene: SignalScene, place: int, found: Any) -> Views:
    away = np.sqrt(np.square(found - scene.rows[place]).sum(axis=1))
    decisions = scene.label(found) if len(found) else scene.decisions[:0]
    kind = scene.trained.data.kind
    return Views(kind, scene.X[place], scene.decode(found), scene.decisions[place], decisions, away)
