"""What another decision costs, as counts that add up: a million answers need no more memory than ten.

The smallest distance and the fewest changes of each explained instance are counted, not stored. Numbers of
changes are counted exactly. Distances are counted in bins of 2 %, so a median computed from them is within
1 % of the exact one, however many there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from math import ceil, log, sqrt

# The ratio of the distances of adjacent bins.
RATIO = 1.02
# The bin of distance 0: RATIO to this power is 0 too.
ZERO = -100_000
# The 97.5 % quantile of the normal distribution, for 95 % intervals.
SURE = 1.96
# With fewer numbers than this, even their full range is not a 95 % interval of the median.
LEAST = 6


@dataclass(frozen=True)
class Histogram:
    """How often each whole number occurs.

    Examples
    --------
    >>> both = Histogram.of([1, 1, 2]) + Histogram.of([2, 5])
    >>> both.counts, both.quantile(0.5)
    (((1, 2), (2, 2), (5, 1)), 2)
    """

    counts: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Histogram:
        """Count numbers."""
        return cls(tuple(sorted(Counter(numbers).items())))

    def __add__(self, other: Histogram) -> Histogram:
        total = Counter(dict(self.counts))
        total.update(dict(other.counts))
        return Histogram(tuple(sorted(total.items())))

    @property
    def total(self) -> int:
        """How many numbers were counted."""
        return sum(count for _, count in self.counts)

    @property
    def mean(self) -> float:
        """The mean of the numbers."""
        return sum(number * count for number, count in self.counts) / self.total

    def quantile(self, share: float) -> int:
        """Find the smallest number that at least this share of the numbers do not exceed."""
        if not self.counts:
            raise ValueError("Nothing was counted, so there is no quantile.")
        rank = max(1, ceil(share * self.total - 1e-9))
        sums = accumulate(count for _, count in self.counts)
        return next(number for (number, _), so_far in zip(self.counts, sums, strict=True) if so_far >= rank)


@dataclass(frozen=True)
class Costs:
    """What another decision costs for some instances.

    Parameters
    ----------
    instances
        How many were explained.
    already
        How many of them already had the decision asked for.
    without
        How many of the others got no counterfactual.
    bins
        The distance of the nearest counterfactual, in bins; see `bin_of`.
    changes
        The number of changes in the counterfactual with the fewest.

    Examples
    --------
    >>> costs = Costs.of([0.5, 0.7, 4.0], [1, 1, 3]) + Costs(instances=1, without=1)
    >>> costs.share_without, round(costs.distance(0.5), 1), costs.changes.quantile(0.5)
    (0.25, 0.7, 1)
    """

    instances: int = 0
    already: int = 0
    without: int = 0
    bins: Histogram = field(default_factory=Histogram)
    changes: Histogram = field(default_factory=Histogram)

    @classmethod
    def of(cls, nearest: Iterable[float], fewest: Iterable[int], already: int = 0, without: int = 0) -> Costs:
        """Count the smallest distance and the fewest changes of each instance that has a counterfactual."""
        bins = Histogram.of(map(bin_of, nearest))
        return cls(bins.total + already + without, already, without, bins, Histogram.of(fewest))

    def __add__(self, other: Costs) -> Costs:
        return Costs(
            self.instances + other.instances,
            self.already + other.already,
            self.without + other.without,
            self.bins + other.bins,
            self.changes + other.changes,
        )

    @property
    def asking(self) -> int:
        """How many instances did not have the decision asked for."""
        return self.instances - self.already

    @property
    def found(self) -> int:
        """How many instances got a counterfactual."""
        return self.bins.total

    @property
    def share_without(self) -> float:
        """The share of instances without a counterfactual among those that asked for one; 0 if none did."""
        return self.without / max(1, self.asking)

    @property
    def share_without_interval(self) -> tuple[float, float]:
        """The 95 % interval of the share without a counterfactual (Wilson's interval)."""
        n, share = self.asking, self.share_without
        if not n:
            return 0.0, 1.0
        middle = (share + SURE**2 / (2 * n)) / (1 + SURE**2 / n)
        half = SURE * sqrt(share * (1 - share) / n + SURE**2 / (4 * n * n)) / (1 + SURE**2 / n)
        return max(0.0, middle - half), min(1.0, middle + half)

    def distance(self, share: float) -> float:
        """Find the distance that this share of the instances with a counterfactual do not exceed."""
        return distance_of(self.bins.quantile(share))

    @property
    def median_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the median distance, for any distribution; None for fewer than six."""
        if self.found < LEAST:
            return None
        half = SURE / (2 * sqrt(self.found))
        return self.distance(max(0.0, 0.5 - half)), self.distance(min(1.0, 0.5 + half))


def bin_of(distance: float) -> int:
    """Find the bin that a distance belongs to.

    Examples
    --------
    >>> bin_of(1.0), bin_of(1.02), bin_of(0.0)
    (0, 1, -100000)
    """
    return max(ZERO, round(log(distance) / log(RATIO))) if distance > 0 else ZERO


def distance_of(bin_: int) -> float:
    """Compute the distance in the middle of a bin.

    Examples
    --------
    >>> round(distance_of(bin_of(0.35)), 2), distance_of(bin_of(0.0))
    (0.35, 0.0)
    """
    return float(RATIO**bin_)
