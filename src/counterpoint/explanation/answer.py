"""The facts of an answer about one instance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.limits import AS_FITTED, Limits
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels, Row, Rows
from counterpoint.explanation.nearest_miss import NearestMiss
from counterpoint.explanation.ranges import Ranges
from counterpoint.explanation.shortfall import Shortfall
from counterpoint.model.target import Probability
from counterpoint.search.bound import Bound


class Asked(Protocol):
    """Asks a question again."""

    def relax(self, explanation: Any, keep: Iterable[Any], max_seconds: float | None) -> Any:
        """Find the fewest constraints whose release gives an answer."""
        ...

    def ranges(self, explanations: Any, max_seconds: float | None) -> list[Ranges]:
        """Find how far the changed values of answers can move."""
        ...


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
    may_hold_needless: bool = False
    classes: tuple[Any, ...] = ()
    probability: Probability | None = None
    nearest_miss: NearestMiss | None = None
    cost: NDArray[np.float64] | None = None
    limits: Limits = AS_FITTED
    bound: Bound | None = None
    widened: Ranges | None = None
    _asked: Asked | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if len({row.tobytes() for row in self.rows}) < len(self.rows):
            raise ValueError(
                f"An answer must hold each counterfactual once, got {len(self.rows)} with duplicates."
            )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the explainer, and with it the model, when an answer is copied or pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "_asked"}

    def __len__(self) -> int:
        return len(self.rows)
