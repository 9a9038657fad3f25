"""One peer, one model, and the rows, images or series to explain: answers, and what each cost."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from counterpoint_study.peers.coding import Codebook, Codes, Shape, Signals
from counterpoint_study.peers.job import Job
from counterpoint_study.peers.oracle import Oracle
from counterpoint_study.peers.registry import Kind, Peer, find_peer
from counterpoint_study.peers.workers import Outcome, Workers


@dataclass(frozen=True, eq=False)
class Answered:
    """What a peer answered and what it cost, one entry an instance, in the order of X.

    Where there was a budget of time, there may be fewer entries than instances.

    Attributes
    ----------
    name, k
        As asked.
    outcomes
        What became of each instance.
    near
        What became of the one alike each of them; None where there is none, or none was asked.
    setup_seconds
        CPU time to import and set up the peer, once for all instances.
    """

    name: str
    k: int
    outcomes: Sequence[Outcome] = field(repr=False)
    near: Sequence[Outcome | None] = field(repr=False)
    setup_seconds: float

    @property
    def answers(self) -> list[Codes]:
        """At most k counterfactuals an instance as rows of codes; none where the peer found none."""
        return [each.answers for each in self.outcomes]

    @property
    def near_answers(self) -> list[Codes]:
        """The same for the instances alike; none where the instance itself has none."""
        return [own.answers[:0] if each is None else each.answers for own, each in self._pairs]

    @property
    def _pairs(self) -> list[tuple[Outcome, Outcome | None]]:
        return list(zip(self.outcomes, self.near, strict=True))

    @property
    def wall_seconds(self) -> list[float]:
        """Wall time for the instance: the peer's own and the model's, but not to talk to each other."""
        return [each.wall for each in self.outcomes]

    @property
    def cpu_seconds(self) -> list[float]:
        """CPU time, likewise; NaN where the peer's process did not live to tell."""
        return [each.cpu for each in self.outcomes]

    @property
    def calls(self) -> list[int]:
        """How often the peer asked the model."""
        return [each.calls for each in self.outcomes]

    @property
    def rows(self) -> list[int]:
        """About how many rows it asked the model in all."""
        return [each.rows for each in self.outcomes]

    @property
    def errors(self) -> list[str | None]:
        """Why there is no answer: the peer raised (DiCE does if it finds none), ran out of time or died."""
        return [each.error for each in self.outcomes]


def carried_out(
    job: Job, oracle: Oracle, X_train: Any, y_train: ArrayLike, asked: Sequence[Any], budget: float | None
) -> tuple[list[Outcome], list[Outcome | None], float]:
    """Have a peer explain instances, and those alike if these are the second of what is asked.

    Returns what became of each, of the one alike it, and the CPU seconds of the set-up. One process does
    both: to set a peer up takes longer than many an answer.
    """
    with tempfile.TemporaryDirectory(prefix="peer-") as name_of_folder:
        folder = Path(name_of_folder)
        job.write(folder, oracle, X_train, y_train, asked)
        workers = Workers(job.peer, folder, oracle, job.time_limit)
        seconds = np.inf if budget is None else budget
        outcomes, near = workers.explain(len(asked[0]), seconds, alike=len(asked) > 1)
    return outcomes, near, workers.setup_seconds


def _asked(X: Any, alike: Any) -> list[Any]:
    if alike is None:
        return [X]
    if len(alike) != len(X):
        raise ValueError(f"alike must have one instance for each of X, {len(X)}, got {len(alike)}.")
    return [X, alike]


@dataclass(frozen=True, eq=False)
class PeerRun(Answered):
    """What a peer answered about rows of a table; see `Answered` for what it cost.

    Attributes
    ----------
    codebook
        What the codes in `answers` stand for.
    """

    codebook: Codebook = field(repr=False)

    @property
    def tables(self) -> list[pd.DataFrame]:
        """The answers in the columns and dtypes of the training data.

        A column of integers is one of floats where the peer put fractions into it, and a category that does
        not exist is missing.
        """
        return [self.codebook.decode(each) for each in self.answers]

    @property
    def near_tables(self) -> list[pd.DataFrame]:
        """The answers for the instances alike, likewise."""
        return [self.codebook.decode(each) for each in self.near_answers]


def run_peer(
    name: str | Peer,
    model: Any,
    X_train: pd.DataFrame,
    y_train: ArrayLike,
    X: pd.DataFrame,
    *,
    k: int,
    immutable: Sequence[str],
    categorical: Sequence[str],
    alike: pd.DataFrame | None = None,
    seed: int = 0,
    time_limit: float = 30.0,
    budget: float | None = None,
) -> PeerRun:
    """Explain the rows of `X` with a peer, which runs in a process and an environment of its own.

    Parameters
    ----------
    name
        A name in `PEERS`, or a peer of one's own.
    model
        A fitted model that takes frames like `X_train`: ``predict``, ``predict_proba`` and ``classes_``.
    X_train, y_train
        What the model was trained on.
    X
        The instances to explain.
    k
        Counterfactuals asked for an instance.
    immutable, categorical
        Names of columns. The columns that are not categorical must hold numbers.
    alike
        One instance for each of `X`, which is explained right after it if that has an answer.
    seed
        The instance in row i is explained with the random seed ``seed + i``, and those alike with the seeds
        after these.
    time_limit
        Wall seconds after which an instance is given up.
    budget
        Wall seconds for all instances and those alike, set-up not counted, after which no further one is
        begun.

    Raises
    ------
    PeerError
        If the peer cannot be installed or set up, or dies before it has finished anything.

    Examples
    --------
    >>> run_peer("none", None, None, None, None, k=1, immutable=[], categorical=[])
    Traceback (most recent call last):
        ...
    ValueError: There is no peer 'none' for tables. Known: DiCE random, ...
    """
    job = Job(find_peer(name, "tables"), k, seed, time_limit, tuple(immutable), tuple(categorical))
    asked = _asked(X, alike)
    codebook = Codebook.of(X_train, pd.concat(asked), categorical)
    found = carried_out(job, Oracle(model, codebook), X_train, y_train, asked, budget)
    return PeerRun(job.peer.name, k, *found, codebook)


@dataclass(frozen=True, eq=False)
class SignalRun(Answered):
    """What a peer answered about images or series; see `Answered` for what it cost.

    Attributes
    ----------
    shape
        What the flat rows in `answers` stand for.
    """

    shape: Shape = field(repr=False)

    @property
    def signals(self) -> list[Signals]:
        """The answers, for each instance an array (found, *shape) in the training data's dtype.

        Where the data are whole numbers and the peer answers with fractions, they are floats.
        """
        return [self.shape.decode(each) for each in self.answers]

    @property
    def near_signals(self) -> list[Signals]:
        """The answers for the instances alike, likewise."""
        return [self.shape.decode(each) for each in self.near_answers]


def run_peer_on_signals(
    name: str | Peer,
    model: Any,
    X_train: Signals,
    y_train: ArrayLike,
    X: Signals,
    *,
    k: int,
    alike: Signals | None = None,
    seed: int = 0,
    time_limit: float = 30.0,
    budget: float | None = None,
) -> SignalRun:
    """Explain images or series with a peer, which runs in a process and an environment of its own.

    Parameters
    ----------
    name
        A name in ``peers_for("images")`` or ``peers_for("series")``, or a peer of one's own.
    model
        A fitted model that takes arrays like `X_train`: ``predict``, ``predict_proba`` and ``classes_``.
    X_train, y_train
        What the model was trained on: images (n, h, w) or (n, h, w, c), or series (n, length).
    X
        The instances to explain, in the same shape.
    k
        Counterfactuals asked for an instance.
    alike
        One instance for each of `X`, which is explained right after it if that has an answer.
    seed
        Instance i is explained with the random seed ``seed + i``, and those alike with the seeds after these.
    time_limit
        Wall seconds after which an instance is given up.
    budget
        Wall seconds for all instances and those alike, set-up not counted, after which no further one is
        begun.

    Raises
    ------
    PeerError
        If the peer cannot be installed or set up, or dies before it has finished anything.

    Examples
    --------
    >>> series = np.zeros((4, 24))
    >>> run_peer_on_signals("NICE", None, series, None, series, k=1)
    Traceback (most recent call last):
        ...
    ValueError: There is no peer 'NICE' for series. Known: ...
    """
    X_train = np.asarray(X_train)
    asked = _asked(np.asarray(X), alike)
    shape = Shape.of(X_train, np.concatenate(asked))
    kind: Kind = "series" if len(shape.cells) == 1 else "images"
    job = Job(find_peer(name, kind), k, seed, time_limit)
    found = carried_out(job, Oracle(model, shape), X_train, y_train, asked, budget)
    return SignalRun(job.peer.name, k, *found, shape)
