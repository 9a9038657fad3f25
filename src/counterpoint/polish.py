"""Polish: searches that make counterfactuals smaller, for any explainer to use with `yield from`.

Rounds cost a single decision its latency, rows cost a batch its throughput, so both are few: a restoring pass
asks about all prefixes of a restoration at once, and a line search asks about seven points a round.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from counterpoint.blackbox import Labels
from counterpoint.blocks import in_blocks
from counterpoint.bounds import Mask
from counterpoint.distinct import distinct
from counterpoint.schema import Row, Rows
from counterpoint.surrogate import Surrogate
from counterpoint.task import Places, Question, Refinement, Search, Task, cheapest_of_each
from counterpoint.variations import Singles

# A line search asks at these parts of the way from x, so each round divides the interval by eight.
PARTS = np.arange(1, 8) / 8

# All changed numbers of a row are moved together, and so many of the dearest each by itself.
LINES = 4

# Stretching asks at these parts of the way to the end.
STRETCHES = (0.5, 1.0)

# A restoration is asked about at so many points at most.
PREFIXES = 8

# An exchange tries so many values of a number, and so many changes of a row in all.
BINS = 10
EXCHANGES = 30


@dataclass(frozen=True)
class Polish:
    """Restoring, then exchanging and restoring again, then bisecting.

    Parameters
    ----------
    nearest
        So many candidates of an instance (or four times k, if that is more) are exchanged and bisected.
    rounds
        Rounds of the line search towards x; each divides the interval by eight.

    Examples
    --------
    >>> Polish(rounds=1)
    Polish(nearest=16, rounds=1)
    """

    nearest: int = 16
    rounds: int = 2

    def __post_init__(self) -> None:
        for name in ("nearest", "rounds"):
            if getattr(self, name) < 0:
                raise ValueError(f"Polish.{name} must be at least 0, got {getattr(self, name)}.")

    def search(self, task: Task, rows: Rows, of: Places) -> Generator[Question, Labels, Question]:
        """Make flipping rows smaller: fewer changes, cheaper ones, then shorter ones.

        It returns rows and which instance each is about, fewer than it was given where some became the same.
        """
        rows = yield from improve(task, rows, of, restored(task, rows, of))
        # Different starts fall on the same point.
        first, _ = distinct(rows, of, np.arange(len(of)))
        rows, of = rows[first], of[first]
        near = cheapest_of_each(task.distance(rows, of), of, max(self.nearest, 4 * task.k))
        rows, of = rows[near], of[near]
        candidates = restored(task, rows, of) + exchanged(task, rows, of)
        rows = yield from improve(task, rows, of, candidates)
        return Question((yield from shrink(task, rows, of, self.rounds)), of)


class Candidates(NamedTuple):
    """Rows that may be better than others, and the places of those others."""

    rows: Rows
    origins: Places

    def __add__(self, other: Candidates) -> Candidates:  # type: ignore[override]
        return Candidates(
            np.concatenate([self.rows, other.rows]), np.concatenate([self.origins, other.origins])
        )


def improve(task: Task, rows: Rows, of: Places, candidates: Candidates) -> Refinement:
    """Ask about candidates and give each row its cheapest flipping one, or keep it as it is."""
    if not len(candidates.rows):
        return rows
    flips = task.flips((yield Question(candidates.rows, of[candidates.origins])))
    return _cheapest(task, rows, of, Candidates(candidates.rows[flips], candidates.origins[flips]))


def restored(task: Task, rows: Rows, of: Places) -> Candidates:
    """Put changed features back to x's value, one after the other.

    A row's changes are ordered by price, once from the dearest and once from the cheapest, and prefixes of
    the restoration are candidates: all of them, or some evenly spread where there are many.
    """
    prices, differs = task.prices(rows, of), task.changed(rows, of)
    counts = differs.sum(axis=1)
    steps = np.maximum(1, np.ceil((counts - 1) / PREFIXES))
    # One entry a candidate: which row it comes from, and how many of its changes are put back.
    origins = [np.flatnonzero(counts > step * steps) for step in range(1, PREFIXES + 1)]
    back = np.concatenate([step * steps[each] for step, each in enumerate(origins, start=1)])
    origin = np.concatenate(origins)

    def put_back(rank: Rows, origin: Places, back: Row) -> Rows:
        return np.where(rank[origin] < back[:, None], task.home[of[origin]], rows[origin])

    dearest = in_blocks(rows.shape[1], _ranks, np.where(differs, -prices, np.inf))
    # What does not change comes last in one order and first in the other: putting it back changes nothing.
    ranks = dearest, counts[:, None] - 1 - dearest
    parts = [in_blocks(rows.shape[1], partial(put_back, rank), origin, back) for rank in ranks]
    return Candidates(np.concatenate(parts), np.tile(origin, len(parts)))


def _ranks(values: Rows) -> Rows:
    """Rank the values within each row, from 0 for the smallest."""
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, np.argsort(values, axis=1), np.arange(values.shape[1]), axis=1)
    return ranks


def exchanged(task: Task, rows: Rows, of: Places) -> Candidates:
    """Put cheaper changes in the place of the dearest one.

    Of the cheaper ones, those are tried that a surrogate finds most promising. Of rows that are alike but for
    their dearest change, the first one's is exchanged: the others would become the same.
    """
    singles, prices = Singles.of(task, BINS), task.prices(rows, of)
    dearest, each = prices.argmax(axis=1), np.arange(len(rows))
    without = rows.copy()
    without[each, dearest] = task.home[of, dearest]
    first, _ = distinct(without, of, each)
    useful = singles.prices[of[first]] < prices[first, dearest[first]][:, None]
    useful &= singles.feature != dearest[first, None]
    gain = Surrogate.of(task).gain(singles.values, task.home[:, singles.feature], singles.feature)
    places, single = _best(np.where(useful, gain[of[first]], -np.inf), task.affordable(EXCHANGES))
    origins = first[places]
    candidates = without[origins]
    candidates[np.arange(len(origins)), singles.feature[single]] = singles.values[of[origins], single]
    return Candidates(candidates, origins)


def _best(score: Rows, count: int) -> tuple[Places, ...]:
    """Find the places of the highest finite scores of each row."""
    count = min(count, score.shape[1])
    if not count:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    least = np.partition(score, -count, axis=1)[:, -count, None]
    # Of those that score as much as the last there is room for, the first ones.
    better, equal = score > least, score == least
    room = count - better.sum(axis=1, keepdims=True)
    best = better | (equal & (np.cumsum(equal, axis=1) <= room))
    return np.nonzero(best & np.isfinite(score))


def shrink(task: Task, rows: Rows, of: Places, rounds: int = 2) -> Refinement:
    """Move changed numbers towards x while the row still flips: all together, and each by itself."""
    origins, moves = _lines(task, rows, of)
    of_line, far = of[origins], rows[origins]
    near = np.where(moves, task.home[of_line], far)
    each = np.arange(len(far))
    for _ in range(rounds if len(far) else 0):
        question = _between(task, near, far, of_line)
        flips = task.flips((yield question)).reshape(len(PARTS), -1)
        first = np.where(flips.any(axis=0), flips.argmax(axis=0), len(PARTS))
        ladder = question.rows.reshape(len(PARTS), *far.shape)
        above, below = first < len(PARTS), first > 0
        far, near = far.copy(), near.copy()
        far[above] = ladder[first[above], each[above]]
        near[below] = ladder[first[below] - 1, each[below]]
    return _cheapest(task, rows, of, Candidates(far, origins))


def _between(task: Task, near: Rows, far: Rows, of: Places) -> Question:
    """Ask at parts of the way from near to far."""
    way = np.subtract(far, near, out=np.zeros(far.shape), where=far != near)

    def rows(line: Places, part: Row) -> Rows:
        return task.project(near[line] + way[line] * part[:, None], of[line]).rows

    line = np.tile(np.arange(len(far)), len(PARTS))
    return Question(in_blocks(far.shape[1], rows, line, np.repeat(PARTS, len(far))), of[line])


def stretch(task: Task, rows: Rows, of: Places) -> Search:
    """Move changed numbers away from x, to the ends of what is admissible: the opposite of `shrink`.

    What flips there is a far cry from x, and from other answers: for selections that want dispersion.
    """
    origins, moves = _lines(task, rows, of)
    of_line, rows = of[origins], rows[origins]
    bounds = task.rules.around(task.x[of_line])
    end = np.where(rows > task.home[of_line], bounds.high, bounds.low)
    with np.errstate(invalid="ignore"):  # what does not move can be infinite
        further = [np.where(moves, rows + (end - rows) * part, rows) for part in STRETCHES]
    yield task.project(np.concatenate(further), np.tile(of_line, len(STRETCHES)))


def _lines(task: Task, rows: Rows, of: Places) -> tuple[Places, Mask]:
    """Draw the lines along which rows may shrink: all changed numbers together, and each by itself."""
    moves = (
        task.changed(rows, of) & ~task.known.distance.is_category & ~np.isnan(rows) & ~np.isnan(task.x[of])
    )
    together = np.flatnonzero(moves.any(axis=1))
    several = moves & (moves.sum(axis=1) > 1)[:, None]
    origin, feature = _best(
        np.where(several, task.prices(rows, of), -np.inf), task.affordable(LINES, least=1)
    )
    single = np.zeros((len(origin), rows.shape[1]), dtype=np.bool_)
    single[np.arange(len(origin)), feature] = True
    return np.concatenate([together, origin]), np.concatenate([moves[together], single])


def _cheapest(task: Task, rows: Rows, of: Places, better: Candidates) -> Rows:
    """Replace each row by the cheapest of its flipping candidates, if that is cheaper."""
    price = task.distance(better.rows, of[better.origins])
    order = np.lexsort([price, better.origins])
    origins, first = np.unique(better.origins[order], return_index=True)
    best = order[first]
    cheaper = price[best] < task.distance(rows[origins], of[origins])
    result = rows.copy()
    result[origins[cheaper]] = better.rows[best[cheaper]]
    return result
