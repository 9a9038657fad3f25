"""The study's side of the workers: start them, answer their questions, replace those that hang or die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path

import numpy as np

from counterpoint_study.peers.coding import Codes
from counterpoint_study.peers.environments import environment_python
from counterpoint_study.peers.errors import PeerError
from counterpoint_study.peers.oracle import Oracle
from counterpoint_study.peers.registry import WORKER, Peer
from counterpoint_study.peers.worker.messages import Message, receive, send

# How long a set-up may take, and how long a worker that is over its limit may take to say so.
SETUP_SECONDS = 900.0
GRACE = 5.0

# One thread for everyone, so that methods are compared by their work and two can run side by side.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "TF_NUM_INTRAOP_THREADS",
        "TF_NUM_INTEROP_THREADS",
    ),
    "1",
)
_SETTINGS = {
    **ONE_THREAD,
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "CUDA_VISIBLE_DEVICES": "-1",
    "MPLBACKEND": "Agg",
    # Some peers walk through sets of texts, whose order would differ from run to run.
    "PYTHONHASHSEED": "0",
}


class DeathError(Exception):
    """The worker's process ended by itself."""


class HangError(Exception):
    """The worker did not keep to its limit."""


class Worker:
    """A running worker.

    Parameters
    ----------
    python
        The interpreter of the peer's environment.
    folder
        The job's folder, which also takes what the worker prints.
    oracle
        Answers the worker's questions.
    """

    def __init__(self, python: Path, folder: Path, oracle: Oracle) -> None:
        self.oracle = oracle
        self.setup_seconds = 0.0
        self._log = folder / "log.txt"
        self._connection, theirs = Pipe()
        command = [str(python), "-s", str(WORKER), str(folder), str(theirs.fileno())]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(theirs.fileno(),),
                env=_environment(),
                start_new_session=True,
            )
        theirs.close()

    def set_up(self, name: str) -> None:
        """Wait until the peer is ready, and answer what it asks meanwhile."""
        try:
            message = self._until(("ready", "failed"), SETUP_SECONDS)
        except DeathError as problem:
            raise self._error(f"{name} died when it was set up: {problem}") from None
        except HangError:
            raise self._error(f"{name} was not set up within {SETUP_SECONDS:g} s.") from None
        if message.kind == "failed":
            raise self._error(f"{name} cannot be set up: {message.header['reason']}")
        self.setup_seconds = float(message.header["cpu"])

    def explain(self, instance: int, time_limit: float) -> Message:
        """Have an instance explained, and answer what the peer asks meanwhile."""
        try:
            send(self._connection, kind="explain", instance=instance)
        except OSError:
            raise DeathError(self._end()) from None
        return self._until(("done",), time_limit + GRACE)

    def close(self) -> None:
        """End the process, whatever it is doing, and all that it has started."""
        self._connection.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _until(self, kinds: tuple[str, ...], seconds: float) -> Message:
        """Answer questions until a message of another kind comes; neither they nor the way here count."""
        deadline, paused = time.monotonic() + seconds, 0.0
        while True:
            message = self._receive(deadline + paused)
            if message.kind in kinds:
                return message
            asked = time.monotonic()
            self._answer(message)
            paused = float(message.header["paused"]) + time.monotonic() - asked

    def _receive(self, deadline: float) -> Message:
        try:
            if not self._connection.poll(max(deadline - time.monotonic(), 0.0)):
                raise HangError
            return receive(self._connection)
        except (EOFError, OSError):  # also "got end of file during message"
            raise DeathError(self._end()) from None

    def _answer(self, question: Message) -> None:
        # A worker that died meanwhile is noticed when its next message is waited for.
        with suppress(ConnectionError):
            try:
                reply = self.oracle.answer(str(question.header["want"]), question.array)
            except Exception as problem:
                send(self._connection, kind="error", reason=f"{type(problem).__name__}: {problem}")
            else:
                send(self._connection, reply.array, kind="answer", wall=reply.wall, cpu=reply.cpu)

    def _end(self) -> str:
        """Tell how the process ended."""
        try:
            code = self._process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            return "it closed its connection."
        if code < 0:
            return f"its process was ended by {signal.Signals(-code).name}."
        return f"its process ended with code {code}: {self._last_line()}"

    def _last_line(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it printed nothing."

    def _error(self, message: str) -> PeerError:
        error = PeerError(message)
        # In tracebacks, but not in tables.
        error.add_note(self._log.read_text(errors="replace")[-3000:])
        return error


def _environment() -> dict[str, str]:
    """Make the worker's environment variables, without any that would change what it imports."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**own, **_SETTINGS}


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


class Workers:
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

    def explain(
        self, count: int, budget: float, alike: bool = False
    ) -> tuple[list[Outcome], list[Outcome | None]]:
        """Explain instances until there are none left, or no seconds; and those alike, if there are any.

        The job's instances alike come after the `count` instances themselves. Each is explained right after
        its own instance, if that was answered. Its seconds count too, but it is never left out for lack of
        them: an answer whose instability is not known would count as the worst.
        """
        outcomes: list[Outcome] = []
        near: list[Outcome | None] = []
        try:
            while len(outcomes) < count and budget > 0:
                place = len(outcomes)
                outcome, seconds = self._timed(place)
                outcomes.append(outcome)
                budget -= seconds
                near.append(None)
                if alike and len(outcome.answers):
                    near[place], seconds = self._timed(count + place)
                    budget -= seconds
        finally:
            self._dismiss()
        return outcomes, near

    def _timed(self, instance: int) -> tuple[Outcome, float]:
        """Explain one instance; the seconds are without the set-up of a worker."""
        worker = self._ready()
        began = time.monotonic()
        return self._explain(worker, instance), time.monotonic() - began

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
            error: str | None = self._failed(problem)
        else:
            self._finished_one = True
            answers = done.array.reshape(-1, answers.shape[1])
            wall, cpu, error = done.header["wall"], done.header["cpu"], done.header["error"]
        return Outcome(answers, wall, cpu, self._oracle.calls - calls, self._oracle.rows - rows, error)

    def _failed(self, problem: DeathError | HangError) -> str:
        """Dismiss a worker that failed, and say why; give up if none has ever done better."""
        self._dismiss()
        if isinstance(problem, HangError):
            return f"TimeLimit: time limit of {self._time_limit:g} s, and it did not stop by itself"
        self._deaths += 1
        if self._deaths >= DEATHS and not self._finished_one:
            raise PeerError(f"{self._peer.name} dies of every instance: {problem}")
        return f"Died: {problem}"
