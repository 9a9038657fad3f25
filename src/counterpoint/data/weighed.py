"""The distance, weighed by what changes cost."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from counterpoint.data.costs import Costs
from counterpoint.data.distance import EVERY, Distance, Embedded
from counterpoint.data.types import Rows


@dataclass(frozen=True)
class Weighed(Distance):
    """The distance of a search whose changes have costs.

    From x, each change costs what its direction or transition says. Between any two rows, where no one is x,
    each feature has the mean of its costs.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.data.costs import Cost
    >>> from counterpoint.data.schema import Schema
    >>> people = pd.DataFrame({"age": [20, 30, 40]})
    >>> rows = np.array([[20.0], [30.0], [40.0]])
    >>> plain = Distance.fit(Schema.infer(people), rows)
    >>> costs = Costs.of([(Cost(up=1, down=4), ())])
    >>> Weighed.of(plain, costs).from_x(rows, np.array([30.0]))
    array([4., 0., 1.])
    """

    costs: Costs | None = None

    @classmethod
    def of(cls, distance: Distance, costs: Costs) -> Self:
        """Weigh a distance."""
        scales = {field.name: getattr(distance, field.name) for field in fields(Distance)}
        scales |= {name: scales[name] * costs.mean for name in ("weight", "lost")}
        return cls(**scales, costs=costs)

    def measure(self, a: Embedded, b: Embedded) -> Rows:
        """Measure the distance of every row of a from every row of b, both embedded."""
        if not len(self.categorical):
            return super().measure(a, b)
        weights = self.weight[self.categorical]
        total: Rows = cdist(a.codes, b.codes, "hamming", w=weights)
        total *= weights.sum()
        if len(self.continuous):
            total += cdist(a.numbers, b.numbers, "cityblock")
        return total

    def prices(self, rows: Rows, x: Rows, features: NDArray[np.intp] | slice = EVERY) -> Rows:
        """Measure the price of each single change from x."""
        assert self.costs is not None
        return super().prices(rows, x, features) * self.costs.relative(rows, x, features)
