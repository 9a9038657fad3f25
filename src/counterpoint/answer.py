"""The facts of an answer about one instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.blackbox import Labels
from counterpoint.schema import Row, Rows, Schema
from counterpoint.shortfall import Shortfall


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
