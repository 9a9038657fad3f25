"""Run a plan: cell by cell, on all cores, going on where an earlier run was stopped."""

from __future__ import annotations

import hashlib
import os
import platform
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
from tqdm.auto import tqdm

import counterpoint
from counterpoint.study import store
from counterpoint.study.blackboxes import train
from counterpoint.study.methods import METHODS, Own, Run, Theirs
from counterpoint.study.plan import Job, Plan
from counterpoint.study.scoring import Scene, score

# One thread a cell, so that cells side by side do not take each other's time.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def run(plan: Plan, folder: Path, cores: int | None = None) -> pd.DataFrame:
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
    """
    _train_all(plan)
    jobs = plan.jobs()
    # In a mixed order, so that slow and quick cells alternate and the time left can be told.
    random.Random(0).shuffle(jobs)
    _work(plan, folder, jobs, cores or os.cpu_count() or 1)
    results = collect(plan, folder)
    results.to_parquet(folder / "results.parquet", index=False)
    return results


def _train_all(plan: Plan) -> None:
    """Train all black boxes first: they are kept, and the cells find them."""
    pairs = [(name, kind) for name in plan.sets for kind in plan.black_boxes]
    for name, kind in tqdm(pairs, desc="black boxes", file=sys.stderr, leave=False):
        train(name, kind, seed=plan.seed)


def _work(plan: Plan, folder: Path, jobs: list[Job], cores: int) -> None:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        # Spawned, because a fork would copy the threads' locks of torch in whatever state they are.
        with (
            ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool,
            tqdm(total=len(jobs), desc="cells", file=sys.stderr, smoothing=0.05) as bar,
        ):
            futures = {pool.submit(work, plan, folder, job): job for job in jobs}
            for future in as_completed(futures):
                future.result()
                bar.set_postfix_str(str(futures[future]))
                bar.update()
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def work(plan: Plan, folder: Path, job: Job) -> None:
    """Run one cell and keep it, unless that was done before. What fails is kept as a reason."""
    scene = _scene(plan, job.set, job.black_box)
    path = _path(plan, folder, job)
    columns = list(scene.X.columns)
    done = store.load(path, columns)
    if done is None or done.failure is not None:
        try:
            answered = METHODS[job.method].run(scene, job.k, plan.limits, plan.seed)
        except Exception as error:  # whatever a method does, it costs its own cell only
            store.save(path, store.Done(Run([], [], []), {}, f"{type(error).__name__}: {error}"))
            return
        done = store.Done(store.through_disk(answered, columns), {})
    missing = [k for k in job.ks if k not in done.scores]
    if missing:
        scores = {k: score(scene, done.run.tables, done.run.alike, k) for k in missing}
        store.save(path, replace(done, scores={**done.scores, **scores}))


def collect(plan: Plan, folder: Path) -> pd.DataFrame:
    """Gather the cells of a plan that have been run, one row an instance; a cell that failed has one row.

    The frame's ``attrs`` say with which versions and on what machine.
    """
    rows = [row for job in plan.jobs() for row in _rows_of(plan, folder, job)]
    results = pd.DataFrame(rows)
    results.attrs = {"versions": versions(), "machine": machine(), "plan": asdict(plan)}
    return results


def _rows_of(plan: Plan, folder: Path, job: Job) -> Iterator[dict[str, Any]]:
    scene = _scene(plan, job.set, job.black_box)
    done = store.load(_path(plan, folder, job), list(scene.X.columns))
    if done is None:
        return
    method = METHODS[job.method]
    named = {"set": job.set, "black_box": job.black_box, "method": job.method}
    last = {"seed": plan.seed, "library": method.library}
    for k in job.ks:
        if done.failure is not None:
            yield {**named, "k": k, "instance": -1, "error": done.failure, **last}
        # A failed cell has no scores.
        for place, (each, cost) in enumerate(zip(done.scores.get(k, []), done.run.costs, strict=False)):
            counts = {"given": each.given, "valid": each.valid, "refused": each.refused}
            measured = {**asdict(each.measures), **asdict(cost)}
            yield {**named, "k": k, "instance": place, **counts, **measured, **last}


@cache
def _scene(plan: Plan, name: str, kind: str) -> Scene:
    trained = train(name, kind, seed=plan.seed)
    return Scene(trained, trained.instances(plan.instances))


def _path(plan: Plan, folder: Path, job: Job) -> Path:
    """Name a cell's file after all that decides its answers."""
    scene = _scene(plan, job.set, job.black_box)
    method = METHODS[job.method]
    limits = plan.limits if isinstance(method, Theirs) else None
    what = (scene.trained.key, scene.X, job.k, plan.seed, limits, repr(method), _sources(job.method))
    words = (job.set, job.black_box, job.method.replace(" ", "_"), f"k{job.k}", joblib.hash(what)[:12])
    return folder / "cells" / ("-".join(words) + ".json")


@cache
def _sources(method: str) -> str:
    """Hash the code that answers: a peer's adapter and pins, or this library's own modules."""
    found = METHODS[method]
    package = Path(counterpoint.__file__).parent
    if isinstance(found, Own):
        files = [path for path in package.rglob("*.py") if "study" not in path.relative_to(package).parts]
    else:
        assert isinstance(found, Theirs)
        files = found.peer.files
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()


def versions() -> dict[str, str]:
    """Tell the versions of what the study's own process runs on."""
    names = ("counterpoint", "numpy", "scipy", "scikit-learn", "pandas", "torch")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}


def machine() -> dict[str, Any]:
    """Tell what the study was run on."""
    return {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}
