"""Polish: searches that make counterfactuals smaller, for any explainer to use with `yield from`.

Rounds cost a single decision its latency, rows cost a batch its throughput, so both are few: a restoring pass
asks about all prefixes of a restoration at once, and a line search asks about three points a round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoint.bounds import Mask
from counterpoint.schema import Rows
from counterpoint.task import Places, Question, Refinement, Task, first_of_each
from counterpoint.variations import Singles

# A line search halves twice a round.
QUARTERS = (0.25, 0.5, 0.75)

# Values that a number is tried with in an exchange.
BINS = 10


@dataclass(frozen=True)
class Polish:
    """Restoring, exchanging, restoring again, then bisecting.

    Parameters
    ----------
    exchange
        For so many of the nearest candidates of an instance, the dearest change is exchanged for a cheaper
        one; 0 for none.
    rounds
        Rounds of the line search towards x; each divides the interval by four.

    Examples
    --------
    >>> Polish(exchange=0)
    Polish(exchange=0, rounds=3)
    """

    exchange: int = 16
    rounds: int = 3

    def __post_init__(self) -> None:
        for name in ("exchange", "rounds"):
            if getattr(self, name) < 0:
                raise ValueError(f"Polish.{name} must be at least 0, got {getattr(self, name)}.")

    def search(self, task: Task, rows: Rows, of: Places) -> Refinement:
        """Make flipping rows smaller: fewer changes, cheaper ones, then shorter ones."""
        rows = yield from restore(task, rows, of)
        if self.exchange:
            rows = yield from exchange(task, rows, of, self.exchange)
        rows = yield from restore(task, rows, of)
        return (yield from shrink(task, rows, of, self.rounds))


def restore(task: Task, rows: Rows, of: Places) -> Refinement:
    """Put changed features back to x's value while the row still flips.

    A row's changes are ordered by price, once from the dearest and once from the cheapest, and every prefix
    of the restoration is asked about. The cheapest row that flips is kept.
    """
    prices, differs = task.prices(rows, of), task.changed(rows, of)
    counts = differs.sum(axis=1)
    candidates, origins = [rows[:0]], [of[:0]]
    for order in (-prices, prices):
        rank = np.argsort(np.argsort(np.where(differs, order, np.inf), axis=1), axis=1)
        for prefix in range(1, int(counts.max(initial=0))):
            origin = np.flatnonzero(counts > prefix)
            candidates.append(np.where(rank[origin] < prefix, task.x[of[origin]], rows[origin]))
            origins.append(origin)
    return (yield from _improve(task, rows, of, np.concatenate(candidates), np.concatenate(origins)))


def exchange(task: Task, rows: Rows, of: Places, count: int) -> Refinement:
    """Put a cheaper change in the place of the dearest one, in the nearest rows of each instance."""
    nearest = np.lexsort([task.distance(rows, of), of])
    origin = nearest[first_of_each(of[nearest], count)]
    singles = Singles.of(task, BINS)
    prices = task.prices(rows[origin], of[origin])
    dearest = prices.argmax(axis=1)
    cheaper = singles.prices[of[origin]] < prices[np.arange(len(origin)), dearest][:, None]
    place, single = np.nonzero(cheaper & (singles.feature != dearest[:, None]))
    origin, dearest, feature = origin[place], dearest[place], singles.feature[single]
    candidates, each = rows[origin], np.arange(len(origin))
    candidates[each, dearest] = task.x[of[origin], dearest]
    candidates[each, feature] = singles.rows[of[origin], single, feature]
    return (yield from _improve(task, rows, of, candidates, origin))


def shrink(task: Task, rows: Rows, of: Places, rounds: int = 3) -> Refinement:
    """Move changed numbers towards x while the row still flips: all together, and each by itself."""
    origin, moves = _lines(task, rows, of)
    of_line, far = of[origin], rows[origin]
    near = np.where(moves, task.x[of_line], far)
    each = np.arange(len(far))
    for _ in range(rounds if len(far) else 0):
        steps = [np.where(moves, near + (far - near) * quarter, far) for quarter in QUARTERS]
        points, of_points = task.project(np.concatenate(steps), np.tile(of_line, len(QUARTERS)))
        flips = task.flips((yield Question(points, of_points))).reshape(len(QUARTERS), -1)
        first = np.where(flips.any(axis=0), flips.argmax(axis=0), len(QUARTERS))
        ladder = np.concatenate([near[None], points.reshape(len(QUARTERS), *far.shape), far[None]])
        near, far = ladder[first, each], ladder[first + 1, each]
    return _cheapest(task, rows, of, far, origin)


def _lines(task: Task, rows: Rows, of: Places) -> tuple[Places, Mask]:
    """Draw the lines along which rows may shrink: all changed numbers together, and each by itself."""
    moves = task.changed(rows, of) & ~task.known.distance.is_category & ~np.isnan(rows) & ~np.isnan(task.x[of])
    together = np.flatnonzero(moves.any(axis=1))
    origin, feature = np.nonzero(moves & (moves.sum(axis=1) > 1)[:, None])
    single = np.zeros((len(origin), rows.shape[1]), dtype=np.bool_)
    single[np.arange(len(origin)), feature] = True
    return np.concatenate([together, origin]), np.concatenate([moves[together], single])


def _improve(task: Task, rows: Rows, of: Places, candidates: Rows, origins: Places) -> Refinement:
    """Ask about candidates and give each row its cheapest flipping one, or keep it as it is."""
    if not len(candidates):
        return rows
    flips = task.flips((yield Question(candidates, of[origins])))
    return _cheapest(task, rows, of, candidates[flips], origins[flips])


def _cheapest(task: Task, rows: Rows, of: Places, better: Rows, origins: Places) -> Rows:
    """Replace each row by the cheapest of its flipping candidates, if that is cheaper."""
    price = task.distance(better, of[origins])
    order = np.lexsort([price, origins])
    origins, first = np.unique(origins[order], return_index=True)
    best = order[first]
    cheaper = price[best] < task.distance(rows[origins], of[origins])
    result = rows.copy()
    result[origins[cheaper]] = better[best[cheaper]]
    return result
