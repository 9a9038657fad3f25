"""The facts of an answer about one instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.limits import AS_FITTED, Limits
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels, Row, Rows
from counterpoint.explanation.nearest_miss import NearestMiss
from counterpoint.explanation.shortfall import Shortfall
from counterpoint.model.target import Probability


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """The facts about one explained instance; `Explanation` documents and shows them."""

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
    classes: tuple[Any, ...] = ()
    probability: Probability | None = None
    nearest_miss: NearestMiss | None = None
    cost: NDArray[np.float64] | None = None
    limits: Limits = AS_FITTED

    def __post_init__(self) -> None:
        if len({row.tobytes() for row in self.rows}) < len(self.rows):
            raise ValueError(
                f"An answer must hold each counterfactual once, got {len(self.rows)} with duplicates."
            )

    def __len__(self) -> int:
        return len(self.rows)
