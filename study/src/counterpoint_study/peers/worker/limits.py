"""The clock a peer is charged by. It can be stopped for what is not the peer's work, and it rings."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class TimeLimit(BaseException):
    """The instance's time is up. Not an `Exception`, so that no peer's own handler swallows it."""


class Clock:
    """Wall and CPU seconds charged since `start`; after `limit` wall seconds it raises `TimeLimit`.

    Only one clock at a time can have a limit, and only in the main thread: there is one alarm a process.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.start()
    >>> with clock.paused():
    ...     time.sleep(0.01)
    >>> clock.add(wall=5.0, cpu=4.0)
    >>> clock.stop()
    >>> 5 <= clock.wall < 5.01, clock.cpu < 4.01
    (True, True)
    """

    # An alarm that goes off inside a destructor is lost, so it goes off again after so many seconds.
    AGAIN = 1.0

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0
        self.pause = 0.0
        self._depth = 0
        self._limited = False
        self._running = False

    def start(self, limit: float | None = None) -> None:
        """Begin at zero."""
        self.pause = 0.0
        self._depth = 0
        self._limited = limit is not None
        self._running = True
        self.wall, self.cpu = -time.perf_counter(), -time.process_time()
        if limit is not None:
            signal.signal(signal.SIGALRM, _ringing(limit))
            signal.setitimer(signal.ITIMER_REAL, limit, self.AGAIN)

    def stop(self) -> None:
        """End, and leave the seconds in `wall` and `cpu`. A clock that stands still stays as it is."""
        if self._limited:
            # Here the alarm may still go off, which leaves the clock running: then stop it again.
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        if self._running:
            self._running = self._limited = False
            self.add(time.perf_counter(), time.process_time())

    def add(self, wall: float, cpu: float) -> None:
        """Charge seconds that were spent elsewhere."""
        self.wall += wall
        self.cpu += cpu

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Charge nothing for the block, and let no alarm go off in it."""
        self._depth += 1
        outermost = self._depth == 1
        left = signal.setitimer(signal.ITIMER_REAL, 0.0)[0] if outermost and self._limited else 0.0
        wall, cpu, charged = time.perf_counter(), time.process_time(), self.wall
        try:
            yield
        finally:
            self._depth -= 1
            if outermost:
                left -= self.wall - charged
                took = time.perf_counter() - wall
                self.pause += took
                self.add(-took, cpu - time.process_time())
                if self._limited:
                    signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6), self.AGAIN)


def _ringing(limit: float) -> Callable[[int, object], None]:
    def ring(signum: int, frame: object) -> None:
        raise TimeLimit(f"time limit of {limit:g} s")

    return ring
