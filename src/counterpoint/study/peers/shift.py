"""All instances of a job: one worker after another, each until it has finished, hangs or dies."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from counterpoint.study.peers.coding import Codes
from counterpoint.study.peers.environments import environment_python
from counterpoint.study.peers.errors import PeerError
from counterpoint.study.peers.host import DeathError, HangError, Worker
from counterpoint.study.peers.oracle import Oracle
from counterpoint.study.peers.registry import Peer

# A peer is given up when so many workers have died before any of them has finished an instance.
DEATHS = 2


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of one instance; see `PeerRun`."""

    answers: Codes
    wall: float
    cpu: float
    calls: int
    rows: int
    error: str | None


class Shift:
    """The workers that do a job, one at a time.

    Parameters
    ----------
    peer
        Who does it.
    folder
        The job's folder.
    oracle
        Answers the workers' questions.
    time_limit
        Wall seconds after which an instance is given up.

    Attributes
    ----------
    setup_seconds
        CPU time of the last set-up.
    """

    def __init__(self, peer: Peer, folder: Path, oracle: Oracle, time_limit: float) -> None:
        self.setup_seconds = 0.0
        self._peer = peer
        self._folder = folder
        self._oracle = oracle
        self._time_limit = time_limit
        self._worker: Worker | None = None
        self._deaths = 0
        self._finished_one = False

    def explain(self, count: int, budget: float) -> list[Outcome]:
        """Explain instances until there are none left, or no seconds."""
        outcomes: list[Outcome] = []
        try:
            while len(outcomes) < count and budget > 0:
                worker = self._ready()
                began = time.monotonic()
                outcomes.append(self._explain(worker, len(outcomes)))
                budget -= time.monotonic() - began
        finally:
            self._dismiss()
        return outcomes

    def _ready(self) -> Worker:
        """Take the worker there is, or a new one."""
        if self._worker is None:
            name = self._peer.environment
            python = Path(sys.executable) if name is None else environment_python(name)
            self._worker = Worker(python, self._folder, self._oracle)
            self._worker.set_up(self._peer.name)
            self.setup_seconds = self._worker.setup_seconds
        return self._worker

    def _dismiss(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None

    def _explain(self, worker: Worker, instance: int) -> Outcome:
        """Explain one instance; a worker that fails at it costs this instance only."""
        calls, rows = self._oracle.calls, self._oracle.rows
        answers, cpu, began = np.empty((0, self._oracle.codebook.width)), np.nan, time.monotonic()
        try:
            done = worker.explain(instance, self._time_limit)
        except (DeathError, HangError) as problem:
            wall = min(time.monotonic() - began, self._time_limit)
            error: str | None = self._mourn(problem)
        else:
            self._finished_one = True
            answers = done.array.reshape(-1, answers.shape[1])
            wall, cpu, error = done.header["wall"], done.header["cpu"], done.header["error"]
        return Outcome(answers, wall, cpu, self._oracle.calls - calls, self._oracle.rows - rows, error)

    def _mourn(self, problem: DeathError | HangError) -> str:
        """Dismiss a worker that failed, and say why; give up if none has ever done better."""
        self._dismiss()
        if isinstance(problem, HangError):
            return f"TimeLimit: time limit of {self._time_limit:g} s, and it did not stop by itself"
        self._deaths += 1
        if self._deaths >= DEATHS and not self._finished_one:
            raise PeerError(f"{self._peer.name} dies of every instance: {problem}")
        return f"Died: {problem}"
