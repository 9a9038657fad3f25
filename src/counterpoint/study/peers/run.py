"""One peer, one model and the instances to explain: answers, and what each cost."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from counterpoint.study.peers.codebook import Codebook, Codes
from counterpoint.study.peers.job import Job
from counterpoint.study.peers.oracle import Oracle
from counterpoint.study.peers.registry import PEERS, Peer
from counterpoint.study.peers.shift import Shift


@dataclass(frozen=True, eq=False)
class PeerRun:
    """What a peer answered and what it cost, one entry an instance, in the order of X.

    Where there was a budget of time, there may be fewer entries than instances.

    Attributes
    ----------
    name, k
        As asked.
    answers
        At most k counterfactuals an instance as rows of codes (`codebook`); none where the peer found none.
    wall_seconds, cpu_seconds
        Time for the instance: the peer's own and the model's, but not what it takes them to talk to each
        other. The CPU time is NaN where the peer's process did not live to tell.
    calls, rows
        How often the peer asked the model, and about how many rows in all.
    errors
        Why there is no answer, where the peer raised (DiCE does when it finds none), ran out of time or died.
    setup_seconds
        CPU time to import and set up the peer, once for all instances.
    codebook
        What the codes stand for.
    """

    name: str
    k: int
    answers: list[Codes]
    wall_seconds: list[float]
    cpu_seconds: list[float]
    calls: list[int]
    rows: list[int]
    errors: list[str | None]
    setup_seconds: float
    codebook: Codebook = field(repr=False)

    @property
    def tables(self) -> list[pd.DataFrame]:
        """The answers in the columns and dtypes of the training data.

        A column of integers is one of floats where the peer put fractions into it, and a category that does
        not exist is missing.
        """
        return [self.codebook.decode(each) for each in self.answers]


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
    seed
        The instance in row i is explained with the random seed ``seed + i``.
    time_limit
        Wall seconds after which an instance is given up.
    budget
        Wall seconds for all instances, set-up not counted, after which no further one is begun.

    Raises
    ------
    PeerError
        If the peer cannot be installed or set up, or dies before it has finished anything.

    Examples
    --------
    >>> run_peer("none", None, None, None, None, k=1, immutable=[], categorical=[])
    Traceback (most recent call last):
        ...
    ValueError: There is no peer 'none'. Known: DiCE random, ...
    """
    job = Job(_find(name), k, tuple(immutable), tuple(categorical), seed, time_limit)
    codebook = Codebook.of(X_train, X, categorical)
    oracle = Oracle(model, codebook)
    with tempfile.TemporaryDirectory(prefix="peer-") as name_of_folder:
        folder = Path(name_of_folder)
        job.write(folder, oracle, X_train, y_train, X)
        shift = Shift(job.peer, folder, oracle, time_limit)
        outcomes = shift.explain(len(X), np.inf if budget is None else budget)
    return PeerRun(
        name=job.peer.name,
        k=k,
        answers=[each.answers for each in outcomes],
        wall_seconds=[each.wall for each in outcomes],
        cpu_seconds=[each.cpu for each in outcomes],
        calls=[each.calls for each in outcomes],
        rows=[each.rows for each in outcomes],
        errors=[each.error for each in outcomes],
        setup_seconds=shift.setup_seconds,
        codebook=codebook,
    )


def _find(peer: str | Peer) -> Peer:
    if isinstance(peer, Peer):
        return peer
    if peer not in PEERS:
        raise ValueError(f"There is no peer {peer!r}. Known: {', '.join(PEERS)}.")
    return PEERS[peer]
