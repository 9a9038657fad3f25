"""The black box as a worker sees it: a question sent to the study's process, and its answer."""

from __future__ import annotations

from contextlib import AbstractContextManager
from multiprocessing.connection import Connection

import numpy as np
from numpy.typing import NDArray

from .limits import Clock
from .messages import receive, send
from .rows import Codes


class ModelFailed(BaseException):
    """The model raised. Not an `Exception`, so that no peer takes it for an answer it can do without."""


class BlackBox:
    """The model behind the two methods that peers call.

    A peer is charged the seconds that the model itself takes, but neither the way there and back nor turning
    codes into what the model takes.

    Attributes
    ----------
    n_classes
        How many classes there are. A label is a class's number, from 0.
    failure
        What the model raised, if it did since it was last set to None.
    """

    def __init__(self, connection: Connection, clock: Clock, n_classes: int) -> None:
        self.n_classes = n_classes
        self.failure: str | None = None
        self._connection = connection
        self._clock = clock

    def predict(self, codes: Codes) -> NDArray[np.int64]:
        """Return the number of each row's class."""
        return self._ask("labels", codes)[:, 0].astype(np.int64)

    def predict_proba(self, codes: Codes) -> NDArray[np.float64]:
        """Return each row's probability of each class."""
        return self._ask("probabilities", codes)

    def bridge(self) -> AbstractContextManager[None]:
        """Charge nothing for the block: for conversions that no user of the peer would need."""
        return self._clock.paused()

    def _ask(self, want: str, codes: Codes) -> NDArray[np.float64]:
        with self._clock.paused():
            codes = np.asarray(codes, dtype=np.float64)
            if not len(codes):
                return np.empty((0, self.n_classes if want == "probabilities" else 1))
            send(self._connection, codes, kind="ask", want=want, paused=self._clock.pause)
            answer = receive(self._connection)
            if answer.kind == "error":
                self.failure = str(answer.header["reason"])
                raise ModelFailed(self.failure)
            self._clock.add(answer.header["wall"], answer.header["cpu"])
            return answer.array
