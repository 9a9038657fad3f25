"""What a change costs: weights for the distance, by feature, direction and transition.

A cost multiplies a feature's part of the distance in every search, in polish and in the selection. The
distance that answers show, and the metrics, stay unweighted.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Indices, Mask, Row, Rows


@dataclass(frozen=True)
class Cost:
    """What it costs to change a feature, relative to what the same change costs by default.

    Parameters
    ----------
    up, down
        For numbers and ordered categories: what it costs to raise and to lower the value. ``inf`` for never.
    changes
        For categories: what it costs to change from one to another, as ``{(old, new): cost}``.
    otherwise
        What all other changes between categories cost; None for `up` and `down`.

    Examples
    --------
    >>> Cost(up=1, down=4)
    Cost(up=1.0, down=4.0, changes=(), otherwise=None)
    >>> Cost(changes={("clerk", "manager"): 3}, otherwise=float("inf")).of("manager", "clerk")
    inf
    """

    up: float = 1.0
    down: float = 1.0
    changes: Any = ()
    otherwise: float | None = None

    def __post_init__(self) -> None:
        changes = self.changes.items() if isinstance(self.changes, Mapping) else self.changes
        if not all(isinstance(pair, tuple) and len(pair) == 2 for pair, _ in changes):
            raise TypeError(f"Cost.changes must map pairs (old, new) to costs, got {self.changes!r}.")
        read = tuple((pair, _positive(price, f"changes[{pair!r}]")) for pair, price in changes)
        object.__setattr__(self, "changes", read)
        for name in ("up", "down", "otherwise"):
            value = getattr(self, name)
            if value is not None or name != "otherwise":
                object.__setattr__(self, name, _positive(value, name))

    @classmethod
    def read(cls, cost: Any) -> Cost:
        """Read what a caller gives: a number for every change, or a `Cost`.

        Examples
        --------
        >>> Cost.read(5) == Cost(up=5, down=5)
        True
        """
        return cost if isinstance(cost, Cost) else cls(up=cost, down=cost)

    def of(self, old: Any, new: Any, rises: bool = True) -> float:
        """Look up the cost of a change between categories."""
        for pair, price in self.changes:
            if pair == (old, new):
                return float(price)
        other = self.up if rises else self.down
        return other if self.otherwise is None else self.otherwise

    @property
    def is_plain(self) -> bool:
        """Whether changes cost what they cost by default."""
        return self == PLAIN

    @property
    def has_table(self) -> bool:
        """Whether it is about transitions between categories."""
        return bool(self.changes) or self.otherwise is not None

    @property
    def categories(self) -> list[Any]:
        """The categories it names."""
        return [category for pair, _ in self.changes for category in pair]

    @property
    def never_rises(self) -> bool:
        """Whether no value may rise."""
        return not self.has_table and np.isinf(self.up)

    @property
    def never_falls(self) -> bool:
        """Whether no value may fall."""
        return not self.has_table and np.isinf(self.down)

    @property
    def is_never(self) -> bool:
        """Whether no change is possible at all."""
        if not self.has_table:
            return self.never_rises and self.never_falls
        other = max(self.up, self.down) if self.otherwise is None else self.otherwise
        return bool(np.isinf([other, *(price for _, price in self.changes)]).all())


def _positive(value: Any, name: str) -> float:
    """Read a cost, and refuse what is none."""
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise TypeError(f"Cost.{name} must be a number, got {value!r}.")
    if not float(value) > 0:
        raise ValueError(f"Cost.{name} must be positive, got {value}. A cost below 1 makes changes cheaper.")
    return float(value)


PLAIN = Cost()


@dataclass(frozen=True)
class Costs:
    """The costs of all features as arrays."""

    up: Row
    down: Row
    tables: tuple[tuple[int, Rows], ...] = ()  # features with a table of costs: old × new category

    @classmethod
    def of(cls, costs: Sequence[tuple[Cost, tuple[Any, ...]]]) -> Costs | None:
        """Gather the cost of each feature, given with its categories; None if all are plain.

        What never happens gets a finite cost here, so that prices stay finite; the constraints forbid it.
        """
        if all(cost.is_plain for cost, _ in costs):
            return None
        ends = np.array([(cost.up, cost.down) for cost, _ in costs], dtype=np.float64)
        up, down = np.where(np.isinf(ends), np.where(np.isinf(ends[:, ::-1]), 1.0, ends[:, ::-1]), ends).T
        tables = [(i, table(cost, known)) for i, (cost, known) in enumerate(costs) if cost.has_table]
        finite = [(i, np.where(np.isinf(each), 1.0, each)) for i, each in tables]
        for i, each in finite:
            up[i] = down[i] = each.mean()
        return cls(np.ascontiguousarray(up), np.ascontiguousarray(down), tuple(finite))

    @cached_property
    def key(self) -> Hashable:
        """Equal for equal costs."""
        return self.up.tobytes(), self.down.tobytes(), tuple((i, each.tobytes()) for i, each in self.tables)

    @cached_property
    def mean(self) -> Row:
        """The cost of each feature whatever the direction."""
        return np.asarray((self.up + self.down) / 2)

    def relative(self, rows: Rows, x: Rows, features: Indices | slice) -> Rows:
        """Compute what each change from x costs, relative to the mean of its feature."""
        up, down, mean = self.up[features], self.down[features], self.mean[features]
        missing: Mask = np.isnan(rows) | np.isnan(x)
        factor = np.where(missing, np.maximum(up, down), np.where(rows >= x, up, down))
        width = len(self.up)
        indices = np.arange(width)[features]
        for feature, each in self.tables:
            columns = np.flatnonzero(indices == feature)
            if len(columns):
                old, new = (np.broadcast_to(part, factor.shape)[..., columns] for part in (x, rows))
                last = len(each) - 1  # a category that is new in x is immutable, and costs nothing
                codes = [np.clip(part, 0, last).astype(np.intp) for part in (old, new)]
                factor[..., columns] = each[codes[0], codes[1]]
        return np.asarray(factor / mean)


def table(cost: Cost, categories: Sequence[Any]) -> NDArray[np.float64]:
    """Lay out the costs between categories: old × new; nothing to stay.

    Examples
    --------
    >>> table(Cost(changes={("a", "b"): 3}), ["a", "b"])
    array([[1., 3.],
           [1., 1.]])
    """
    every = range(len(categories))
    prices = [
        [1.0 if i == j else cost.of(categories[i], categories[j], rises=j > i) for j in every] for i in every
    ]
    return np.array(prices, dtype=np.float64)
