"""What is proven about how near a counterfactual can be."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

# Distances that differ by less than this share are the same, but for rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Bound:
    """What is proven about the counterfactuals of an instance within its constraints.

    Parameters
    ----------
    lower
        No counterfactual is nearer to x than this; infinite if there is none at all. With costs, none is
        cheaper.
    best
        The distance, or cost, of the nearest counterfactual found; infinite if none was found.
    seconds
        How long the proof took.

    Examples
    --------
    >>> bound = Bound(lower=0.5, best=0.53)
    >>> bound.is_proven, round(bound.gap, 2)
    (False, 0.06)
    >>> Bound(lower=np.inf, best=np.inf).is_proven  # there is none
    True
    """

    lower: float
    best: float
    seconds: float = field(default=0.0, compare=False)

    @property
    def is_proven(self) -> bool:
        """Whether the nearest is proven to be the nearest, or it is proven that there is none."""
        return self.lower >= self.best * (1 - ROUNDING)

    @property
    def gap(self) -> float:
        """By what share the nearest may be farther than the best possible: 0.06 for 6 %, or infinity."""
        if self.is_proven:
            return 0.0
        return self.best / self.lower - 1 if self.lower > 0 and np.isfinite(self.best) else np.inf
