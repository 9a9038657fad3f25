"""Run a plan: cell by cell, on all cores, going on where an earlier run was stopped."""

from __future__ import annotations

import gc
import hashlib
import os
import platform
import random
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from types import MappingProxyType
from typing import Any

import joblib
import pandas as pd
from tqdm.auto import tqdm

import counterpoint
from counterpoint_study.cells import Done
from counterpoint_study.findings.ranks import ANOTHER, BY_DISTANCE
from counterpoint_study.methods.base import Method, Run
from counterpoint_study.methods.tables import Own, Theirs
from counterpoint_study.models.refits import Refits
from counterpoint_study.models.training import Trained, train, tuned
from counterpoint_study.peers.workers import ONE_THREAD
from counterpoint_study.plan import Job, Plan
from counterpoint_study.scenes.base import Scene
from counterpoint_study.scenes.tables import TableScene
from counterpoint_study.scoring import score

# What shows answers, and so decides none.
SHELLS = ("cli", "report", "show", "testing.py")


def run(
    plan: Plan, folder: Path, cores: int | None = None, notes: Mapping[str, Any] = MappingProxyType({})
) -> pd.DataFrame:
    """Run what has not been run yet, and return the results of the whole plan: one row an instance.

    The results are also written to ``results.parquet`` in the folder.

    Parameters
    ----------
    plan
        What to run.
    folder
        Where finished cells and the results are kept.
    cores
        How many cells run side by side; as many as there are cores if not given.
    notes
        What else the file is to say, such as the command: whoever reads it needs nothing but the file.
    """
    with _processes(cores or os.cpu_count() or 1) as pool:
        _train_all(plan, pool)
        # Named before any is run: what is edited meanwhile is not the code that runs.
        _work(plan, {job: path_of(plan, folder, job) for job in in_order(plan)}, pool)
    results = collect(plan, folder)
    results.attrs |= notes
    results.to_parquet(folder / "results.parquet", index=False)
    return results


def in_order(plan: Plan) -> list[Job]:
    """Order the runs so that no long one is left at the end, when other cores have nothing to do any more.

    Peers come first, as they may take all of their time, and then runs for more counterfactuals.
    """
    jobs = plan.jobs()
    # Otherwise in a mixed order, so that the time left can be told.
    random.Random(0).shuffle(jobs)
    return sorted(jobs, key=lambda job: (isinstance(plan.about.methods[job.method], Own), -job.k))


@contextmanager
def _processes(cores: int) -> Iterator[ProcessPoolExecutor]:
    """Make processes with one thread each, so that cells side by side do not take each other's time."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        # Spawned, because a fork would copy the threads' locks of torch in whatever state they are.
        with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
            yield pool
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _train_all(plan: Plan, pool: ProcessPoolExecutor) -> None:
    """Train all black boxes and codecs, then all refits: they are kept, and the cells find them."""
    pairs = [(name, kind) for name in plan.sets for kind in plan.black_boxes]
    _finish({pool.submit(_prepare, plan, *pair): " ".join(pair) for pair in pairs}, "black boxes")
    turns = [(*pair, turn) for pair in pairs for turn in range(plan.refits)]
    _finish({pool.submit(_refit, plan, *each): " ".join(each[:2]) for each in turns}, "refits")


def _prepare(plan: Plan, name: str, kind: str) -> None:
    scene = scene_of(plan, name, kind)
    for method in plan.methods:
        plan.about.methods[method].prepare(scene, plan.seed)


def _refit(plan: Plan, name: str, kind: str, turn: int) -> None:
    scene = scene_of(plan, name, kind)
    assert isinstance(scene.trained, Trained)
    refits_of(plan, scene.trained).train([turn])


def _work(plan: Plan, paths: Mapping[Job, Path], pool: ProcessPoolExecutor) -> None:
    _finish({pool.submit(work, plan, job, path): str(job) for job, path in paths.items()}, "cells")


def _finish(futures: Mapping[Future[None], str], what: str) -> None:
    """Wait for all, and show how many are done and which was the last."""
    with tqdm(total=len(futures), desc=what, file=sys.stderr, smoothing=0.05, leave=what == "cells") as bar:
        for future in as_completed(futures):
            future.result()
            bar.set_postfix_str(futures[future])
            bar.update()


def work(plan: Plan, job: Job, path: Path) -> None:
    """Run one cell and keep it under a path, unless that was done before. What fails is kept as a reason."""
    scene = scene_of(plan, job.set, job.black_box)
    cells = plan.about.cells(scene)
    done = cells.load(path)
    if done is None or done.failure is not None:
        # Explainers of images are large, and refer to themselves: they are gone only when looked for.
        gc.collect()
        try:
            answered = plan.about.methods[job.method].run(scene, job.k, plan.limits, plan.seed)
            done = Done(cells.as_kept(answered), {})
        except Exception as error:  # whatever a method does, it costs its own cell only
            cells.save(path, Done(Run([], [], []), {}, f"{type(error).__name__}: {error}"))
            return
    # Answers do not depend on the refits, but scores do.
    known = done.scores if done.refits == plan.refits else {}
    missing = [k for k in job.ks if k not in known]
    if missing:
        scores = {k: score(scene, done.run.answers, done.run.alike, k) for k in missing}
        cells.save(path, replace(done, scores={**known, **scores}, refits=plan.refits))


def collect(plan: Plan, folder: Path) -> pd.DataFrame:
    """Gather the cells of a plan that have been run, one row an instance; a cell that failed has one row.

    The frame's ``attrs`` say with which versions and on what machine.
    """
    rows = [row for job in plan.jobs() for row in _rows_of(plan, folder, job)]
    results = pd.DataFrame(rows)
    results.attrs = {"versions": versions(), "machine": machine(), "plan": asdict(plan)}
    return results


def read_cell(plan: Plan, folder: Path, job: Job) -> Done | None:
    """Read a cell; None if it has not been run."""
    cells = plan.about.cells(scene_of(plan, job.set, job.black_box))
    return cells.load(path_of(plan, folder, job))


def _rows_of(plan: Plan, folder: Path, job: Job) -> Iterator[dict[str, Any]]:
    done = read_cell(plan, folder, job)
    if done is None:
        return
    method = plan.about.methods[job.method]
    named = {"set": job.set, "black_box": job.black_box, "method": job.method}
    last = {"seed": plan.seed, "share": plan.share, "library": method.library}
    for k in job.ks:
        if done.failure is not None:
            yield {**named, "k": k, "instance": -1, "error": done.failure, **last}
        # A failed cell has no scores.
        for place, (each, cost) in enumerate(zip(done.scores.get(k, []), done.run.costs, strict=False)):
            counts = {"given": each.given, "valid": each.valid, "refused": each.refused}
            again = asdict(each.quantiles)
            measured = {**asdict(each.measures), **{f"{n}{ANOTHER}": again[n] for n in BY_DISTANCE}}
            measured |= {"survival": each.survival, **asdict(cost)}
            yield {**named, "k": k, "instance": place, **counts, **measured, **last}


@cache
def scene_of(plan: Plan, name: str, kind: str) -> Scene:
    """Set the scene of a data set and a kind of black box."""
    trained = train(name, kind, seed=plan.seed)
    scene = plan.about.scene(trained, trained.instances(plan.instances))
    if not isinstance(scene, TableScene):
        return scene
    return replace(scene, share=plan.share, others=refits_of(plan, scene.trained))


def refits_of(plan: Plan, trained: Trained) -> Refits:
    """Tell which other models a black box's answers are judged by too."""
    return Refits(trained, tuned(trained.data.name, trained.kind), plan.seed, plan.refits)


def path_of(plan: Plan, folder: Path, job: Job) -> Path:
    """Name a cell's file after all that decides its answers."""
    scene = scene_of(plan, job.set, job.black_box)
    method = plan.about.methods[job.method]
    limits = asdict(plan.limits) if isinstance(method, Theirs) else None
    what = (scene.key, scene.X, job.k, plan.seed, limits, method.identity, _sources(_files(method)))
    words = (job.set, job.black_box, job.method.replace(" ", "_"), f"k{job.k}", joblib.hash(what)[:12])
    return folder / "cells" / ("-".join(words) + plan.about.cells(scene).suffix)


def _files(method: Method) -> tuple[Path, ...]:
    """List the code that answers: a peer's adapter and pins, or this library's own modules."""
    if isinstance(method, Own):
        return _own_files()
    assert isinstance(method, Theirs)
    return tuple(method.peer.files)


@cache
def _own_files() -> tuple[Path, ...]:
    package = Path(counterpoint.__file__).parent
    parts = {path: path.relative_to(package).parts[0] for path in package.rglob("*.py")}
    return tuple(path for path, part in parts.items() if part not in SHELLS)


@cache
def _sources(files: tuple[Path, ...]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


def versions() -> dict[str, str]:
    """Tell the versions of what the study's own process runs on."""
    names = ("counterpoint", "numpy", "scipy", "scikit-learn", "pandas", "torch")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def machine() -> dict[str, Any]:
    """Tell what the study was run on."""
    return {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}
