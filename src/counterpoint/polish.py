"""Polish: searches that make a counterfactual smaller, for any explainer to use with `yield from`.

Rounds cost a single decision its latency, rows cost a batch its throughput, so both are few: a restoring pass
asks about all prefixes of a restoration at once, and a line search asks about three points a round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from counterpoint.distances import changed
from counterpoint.schema import Rows
from counterpoint.task import Search, Task

# A line search halves twice a round.
QUARTERS = np.array([0.25, 0.5, 0.75])


@dataclass(frozen=True)
class Polish:
    """Restoring, then bisecting.

    Parameters
    ----------
    passes
        How often each changed feature is tried back at x's value.
    rounds
        Rounds of the line search towards x; each divides the interval by four.
    """

    passes: int = 2
    rounds: int = 3

    def __post_init__(self) -> None:
        for name in ("passes", "rounds"):
            if getattr(self, name) < 0:
                raise ValueError(f"Polish.{name} must be at least 0, got {getattr(self, name)}.")

    def search(self, task: Task, rows: Rows) -> Search:
        """Make flipping rows smaller: fewer changes, then shorter ones."""
        for _ in range(self.passes):
            rows = yield from restore(task, rows)
        return (yield from shrink(task, rows, self.rounds))


def restore(task: Task, rows: Rows) -> Search:
    """Put changed features back to x's value while the row still flips.

    A row's changes are ordered by price, once from the dearest and once from the cheapest, and every prefix
    of the restoration is asked about. The cheapest row that flips is kept.
    """
    prices = task.prices(rows)
    differs = changed(rows, task.x)
    counts = differs.sum(axis=1)
    candidates, origins = [rows[:0]], [np.empty(0, dtype=np.intp)]
    for order in (-prices, prices):
        rank = np.argsort(np.argsort(np.where(differs, order, np.inf), axis=1), axis=1)
        for prefix in range(1, int(counts.max(initial=0))):
            origin = np.flatnonzero(counts > prefix)
            candidates.append(np.where(rank[origin] < prefix, task.x, rows[origin]))
            origins.append(origin)
    return (yield from _improve(task, rows, np.concatenate(candidates), np.concatenate(origins)))


def restore_singles(task: Task, rows: Rows) -> Search:
    """Put each changed feature back by itself, and keep the cheapest row that flips."""
    differs = changed(rows, task.x)
    origin, feature = np.nonzero(differs & (differs.sum(axis=1) > 1)[:, None])
    candidates = rows[origin]
    candidates[np.arange(len(origin)), feature] = task.x[feature]
    return (yield from _improve(task, rows, candidates, origin))


def shrink(task: Task, rows: Rows, rounds: int = 3) -> Search:
    """Move changed numbers towards x while the row still flips: all together, and each by itself."""
    lines = _lines(task, rows)
    if not len(lines.far):
        return rows
    near, far = lines.near, lines.far
    for _ in range(rounds):
        steps = np.concatenate([far + (near - far) * (1 - q) for q in QUARTERS])
        points = task.project(np.where(np.tile(lines.moves, (3, 1)), steps, np.tile(far, (3, 1))))
        flips = task.flips((yield points)).reshape(3, -1)
        points = points.reshape(3, *far.shape)
        first = np.where(flips.any(axis=0), flips.argmax(axis=0), 3)
        ladder = np.concatenate([near[None], points, far[None]])
        each = np.arange(len(far))
        near, far = ladder[first, each], ladder[first + 1, each]
    return np.concatenate([rows, far])


@dataclass(frozen=True)
class _Lines:
    """Line segments from a row that does not flip (near) to one that does (far)."""

    near: Rows
    far: Rows
    moves: Rows


def _lines(task: Task, rows: Rows) -> _Lines:
    """Draw the lines along which rows may shrink: all changed numbers together, and each by itself."""
    numbers = np.zeros(len(task.x), dtype=np.bool_)
    numbers[task.known.distance.continuous] = True
    moves = changed(rows, task.x) & numbers & ~np.isnan(rows) & ~np.isnan(task.x)
    several = moves.sum(axis=1) > 1
    origin, feature = np.nonzero(moves & several[:, None])
    single = np.zeros((len(origin), len(task.x)), dtype=np.bool_)
    single[np.arange(len(origin)), feature] = True
    together = np.flatnonzero(moves.any(axis=1))
    far = rows[np.concatenate([together, origin])]
    moves = np.concatenate([moves[together], single])
    return _Lines(np.where(moves, task.x, far), far, moves)


def _improve(task: Task, rows: Rows, candidates: Rows, origins: Rows) -> Search:
    """Ask about candidates and give each row its cheapest flipping one, or keep it as it is."""
    if not len(candidates):
        return rows
    flips = task.flips((yield candidates))
    better = rows.copy()
    best = task.distance(rows)
    distance = task.distance(candidates)
    # From dear to cheap, so that the cheapest is written last.
    for place in np.flatnonzero(flips)[np.argsort(-distance[flips], kind="stable")]:
        origin = origins[place]
        if distance[place] < best[origin]:
            better[origin], best[origin] = candidates[place], distance[place]
    return better
