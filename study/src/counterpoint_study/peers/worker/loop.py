"""A worker's life: set the peer up, then explain one instance after another as the study asks for them."""

from __future__ import annotations

import importlib.util
import random
import sys
import traceback
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from .blackbox import BlackBox, ModelFailed
from .limits import Clock, TimeLimit
from .messages import receive, send
from .rows import Codes
from .task import Explain, Task, read_job, read_task

# These say what is wrong by their message alone.
SPOKEN = (RuntimeError, ValueError, NotImplementedError)


def main(folder: Path, descriptor: int) -> None:
    """Do the job in the folder, over an open connection to the study."""
    warnings.simplefilter("ignore")
    connection: Connection = Connection(descriptor)
    clock = Clock()
    job = read_job(folder)
    model = BlackBox(connection, clock, job["n_classes"])
    task, instances = read_task(folder, job, model)
    try:
        clock.start()
        _seed(task.seed)
        explain = _load(Path(job["module"])).setup(task)
        clock.stop()
    except (Exception, ModelFailed) as problem:
        traceback.print_exc()
        send(connection, kind="failed", reason=_reason(problem))
        return
    send(connection, kind="ready", cpu=clock.cpu)
    _serve(connection, task, explain, instances, clock)


def _serve(connection: Connection, task: Task, explain: Explain, instances: Codes, clock: Clock) -> None:
    while True:
        try:
            instance = int(receive(connection).header["instance"])
        except EOFError:  # the study has no more, or has ended
            return
        # By instance, so that an answer does not depend on the instances before it.
        _seed(task.seed + instance)
        answers, error = _explain(task, explain, instances[instance], clock)
        send(connection, answers, kind="done", wall=clock.wall, cpu=clock.cpu, error=error)


def _explain(task: Task, explain: Explain, x: Codes, clock: Clock) -> tuple[Codes, str | None]:
    """Return the answers for one instance. What goes wrong costs this instance only."""
    task.model.failure = None
    try:
        clock.start(float(task.job["time_limit"]))
        answers = explain(x.copy())
        clock.stop()
        answers = _checked(answers, len(x))[: task.k]
    except (Exception, TimeLimit, ModelFailed) as problem:
        clock.stop()
        return np.empty((0, len(x))), f"{type(problem).__name__}: {problem}"
    return answers, None if task.model.failure is None else f"ModelFailed: {task.model.failure}"


def _checked(answers: Any, width: int) -> Codes:
    rows = np.asarray(answers, dtype=np.float64)
    if rows.size == 0:
        return np.empty((0, width))
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(f"the peer answered with an array of shape {rows.shape}, not with rows of {width}")
    return rows


def _load(path: Path) -> ModuleType:
    """Import a peer's module by its file."""
    spec = importlib.util.spec_from_file_location(f"{__package__}.{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _seed(seed: int) -> None:
    """Seed the global generators, which are what the peers draw from."""
    seed %= 2**32
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    if torch := sys.modules.get("torch"):
        torch.manual_seed(seed)
    if tensorflow := sys.modules.get("tensorflow"):
        tensorflow.random.set_seed(seed)


def _reason(problem: BaseException) -> str:
    text = " ".join(str(problem).split())
    return text if type(problem) in SPOKEN and text else f"{type(problem).__name__}: {text}"
