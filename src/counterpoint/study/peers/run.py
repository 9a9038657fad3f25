"""One peer, one model and the rows of a table to explain: answers, and what each cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from numpy.typing import ArrayLike

from counterpoint.study.peers.answered import Answered, carried_out
from counterpoint.study.peers.codebook import Codebook
from counterpoint.study.peers.job import Job
from counterpoint.study.peers.oracle import Oracle
from counterpoint.study.peers.registry import Peer, find_peer


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
    ValueError: There is no peer 'none' for tables. Known: DiCE random, ...
    """
    job = Job(find_peer(name, "tables"), k, seed, time_limit, tuple(immutable), tuple(categorical))
    codebook = Codebook.of(X_train, X, categorical)
    outcomes, setup_seconds = carried_out(job, Oracle(model, codebook), X_train, y_train, X, budget)
    return PeerRun(job.peer.name, k, outcomes, setup_seconds, codebook)
