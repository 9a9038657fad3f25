"""How much a request may ask for, and how much may wait."""

from __future__ import annotations

from dataclasses import dataclass, fields

from counterpoint.explainers.run import check_k


@dataclass(frozen=True)
class Bounds:
    """The limits of a service. What exceeds one is refused with a clear 4xx, or 503 if it may be sent later.

    Parameters
    ----------
    body
        Bytes of a request.
    rows
        Rows of a request to explain.
    decisions
        Rows of a request that only asks for decisions.
    k
        Counterfactuals per row, at most 1,000.
    seconds
        The longest deadline of a request, and the deadline of those that name none.
    queue
        Requests that wait for their turn; one more is answered with 503 and Retry-After.
    wait
        For how many seconds others are waited for, to be answered in the same run. While they keep coming,
        it is up to a tenth of the time that the last run took.
    together
        The most rows of one run.

    Examples
    --------
    >>> Bounds(k=5)
    Bounds(body=10000000, rows=100, decisions=10000, k=5, seconds=30.0, queue=256, wait=0.005, together=128)
    >>> Bounds(k=0)
    Traceback (most recent call last):
        ...
    ValueError: The limit k must be positive, got 0.
    """

    body: int = 10_000_000
    rows: int = 100
    decisions: int = 10_000
    k: int = 20
    seconds: float = 30.0
    queue: int = 256
    wait: float = 0.005
    together: int = 128

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"The limit {field.name} must be positive, got {value}.")
        check_k(self.k)
