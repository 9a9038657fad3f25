"""One peer, one model and images or series to explain: answers, and what each cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from counterpoint.study.peers.answered import Answered, carried_out
from counterpoint.study.peers.job import Job
from counterpoint.study.peers.oracle import Oracle
from counterpoint.study.peers.registry import Kind, Peer, find_peer
from counterpoint.study.peers.shapes import Shape, Signals


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


def run_peer_on_signals(
    name: str | Peer,
    model: Any,
    X_train: Signals,
    y_train: ArrayLike,
    X: Signals,
    *,
    k: int,
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
    seed
        Instance i is explained with the random seed ``seed + i``.
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
    >>> series = np.zeros((4, 24))
    >>> run_peer_on_signals("NICE", None, series, None, series, k=1)
    Traceback (most recent call last):
        ...
    ValueError: There is no peer 'NICE' for series. Known: ...
    """
    X_train, X = np.asarray(X_train), np.asarray(X)
    shape = Shape.of(X_train, X)
    kind: Kind = "series" if len(shape.cells) == 1 else "images"
    job = Job(find_peer(name, kind), k, seed, time_limit)
    outcomes, setup_seconds = carried_out(job, Oracle(model, shape), X_train, y_train, X, budget)
    return SignalRun(job.peer.name, k, outcomes, setup_seconds, shape)
