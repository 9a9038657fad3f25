"""The facts of an answer about one instance, and why there are fewer counterfactuals than asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.blackbox import Labels
from counterpoint.schema import Row, Rows, Schema


@dataclass(frozen=True)
class Shortfall:
    """Why an answer holds fewer counterfactuals than were asked for.

    `already` is True where the instance has the decision asked for, so that nothing has to change.

    Examples
    --------
    >>> print(Shortfall(asked=5, found=2, reason="all others break a constraint."))
    Found 2 of 5: all others break a constraint.
    """

    asked: int
    found: int
    reason: str
    already: bool = False

    def __str__(self) -> str:
        return f"Found {self.found} of {self.asked}: {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """What is known of one explained instance; `Explanation` says what each fact is, and shows them."""

    schema: Schema
    row: Row
    decision: Any
    rows: Rows
    labels: Labels
    found_by: tuple[str, ...]
    k: int
    distance: NDArray[np.float64]
    shortfall: Shortfall | None = None
    model_calls: int = 0
    model_rows: int = 0
    target: str = "any other decision"
    codec: str = ""

    def __post_init__(self) -> None:
        if len({row.tobytes() for row in self.rows}) < len(self.rows):
            raise ValueError(
                f"An answer must hold each counterfactual once, got {len(self.rows)} with copies."
            )

    def __len__(self) -> int:
        return len(self.rows)
