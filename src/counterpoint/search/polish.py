"""Polish: searches that make counterfactuals smaller, for any explainer to use with `yield from`.

Rounds add latency to a single decision and rows reduce the throughput of a batch, so both are kept low: a
restoring pass tries all prefixes of a restoration at once, and a line search tries seven points per round.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from counterpoint._util.duplicates import distinct
from counterpoint._util.narrow import any_of_each, count_of_each
from counterpoint._util.row_blocks import in_blocks
from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.search.actions import action_ids, cheapest_actions
from counterpoint.search.grouped import cheapest_of_each
from counterpoint.search.single_changes import Singles
from counterpoint.search.surrogate import Surrogate
from counterpoint.search.task import Derived, Question, Refinement, Search, Task

# A line search tries these fractions of the way from x, so each round divides the interval by eight.
PARTS = np.arange(1, 8) / 8

# All changed numbers of a row are moved together, and this many of the most expensive ones individually.
LINES = 4

# Stretching tries these fractions of the way to the limit.
STRETCHES = (0.5, 1.0)

# At most this many prefixes of a restoration are tried.
PREFIXES = 8

# An exchange tries this many values per number, and this many changes per row in total.
BINS = 10
EXCHANGES = 30


@dataclass(frozen=True)
class Polish:
    """Restoring, then exchanging and restoring again, then bisecting.

    Parameters
    ----------
    nearest
        This many candidates per instance (or four times k, if that is more) are exchanged and bisected.
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

    def search(
        self, task: Task, rows: Rows, instance: Indices, finders: Indices | None = None
    ) -> Generator[Question, Labels, Question]:
        """Make flipping rows smaller: fewer changes, cheaper ones, then shorter ones.

        `finders` tell whom what is found is credited to, per row. Returns the rows and the instance of each;
        fewer than were given if some became equal.
        """
        rows = yield from improve(task, rows, instance, restored(task, rows, instance), finders)
        # Different starts may end at the same point.
        first, _ = distinct(rows, instance, np.arange(len(instance)))
        rows, instance = rows[first], instance[first]
        # Of each action the nearest comes first, so that many actions are made smaller.
        near = cheapest_actions(
            task.distance(rows, instance),
            action_ids(task, rows, instance),
            instance,
            max(self.nearest, 4 * task.k),
        )
        rows, instance = rows[near], instance[near]
        finders = None if finders is None else finders[first[near]]
        candidates = restored(task, rows, instance) + exchanged(task, rows, instance)
        rows = yield from improve(task, rows, instance, candidates, finders)
        return Question((yield from shrink(task, rows, instance, self.rounds, finders)), instance)


class Candidates(NamedTuple):
    """Candidate rows, and the indices of the rows that each may replace."""

    rows: Rows
    origins: Indices

    def __add__(self, other: Candidates) -> Candidates:  # type: ignore[override]
        return Candidates(
            np.concatenate([self.rows, other.rows]), np.concatenate([self.origins, other.origins])
        )


def improve(
    task: Task, rows: Rows, instance: Indices, candidates: Candidates, finders: Indices | None = None
) -> Refinement:
    """Try candidates and replace each row by its cheapest flipping one, if it is cheaper."""
    if not len(candidates.rows):
        return rows
    credited = None if finders is None else finders[candidates.origins]
    flips = task.flips((yield Derived.of(candidates.rows, instance[candidates.origins], credited)))
    return _cheapest(task, rows, instance, Candidates(candidates.rows[flips], candidates.origins[flips]))


def restored(task: Task, rows: Rows, instance: Indices) -> Candidates:
    """Restore changed features to x's value, one after another.

    A row's changes are ordered by price, once from the most expensive and once from the cheapest. The
    candidates are prefixes of these restorations: all of them, or evenly spaced ones if there are many.
    """
    prices, differs = task.prices(rows, instance), task.changed(rows, instance)
    counts = count_of_each(differs)
    steps = np.maximum(1, np.ceil((counts - 1) / PREFIXES))
    # One entry per candidate: which row it comes from, and how many of its changes are restored.
    origins = [np.flatnonzero(counts > step * steps) for step in range(1, PREFIXES + 1)]
    back = np.concatenate([step * steps[each] for step, each in enumerate(origins, start=1)])
    origin = np.concatenate(origins)

    def put_back(rank: Rows, origin: Indices, back: Row) -> Rows:
        return np.where(rank[origin] < back[:, None], task.home[instance[origin]], rows[origin])

    descending = in_blocks(rows.shape[1], _ranks, np.where(differs, -prices, np.inf))
    # Unchanged features come last in one order and first in the other: restoring them has no effect.
    ranks = descending, counts[:, None] - 1 - descending
    parts = [in_blocks(rows.shape[1], partial(put_back, rank), origin, back) for rank in ranks]
    return Candidates(np.concatenate(parts), np.tile(origin, len(parts)))


def _ranks(values: Rows) -> Rows:
    """Rank the values within each row, from 0 for the smallest."""
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, np.argsort(values, axis=1, kind="stable"), np.arange(values.shape[1]), axis=1)
    return ranks


def exchanged(task: Task, rows: Rows, instance: Indices) -> Candidates:
    """Replace the most expensive change of each row by cheaper ones.

    A surrogate ranks the cheaper changes, and the most promising are tried. Of rows that differ only in their
    most expensive change, only the first is used: the others would give the same candidates.
    """
    singles, prices = Singles.of(task, BINS), task.prices(rows, instance)
    costliest, each = prices.argmax(axis=1), np.arange(len(rows))
    without = rows.copy()
    without[each, costliest] = task.home[instance, costliest]
    first, _ = distinct(without, instance, each)
    useful = singles.prices[instance[first]] < prices[first, costliest[first]][:, None]
    useful &= singles.feature != costliest[first, None]
    gain = Surrogate.of(task).gain(singles.values, task.home[:, singles.feature], singles.feature)
    indices, single = _best(np.where(useful, gain[instance[first]], -np.inf), task.affordable(EXCHANGES))
    origins = first[indices]
    candidates = without[origins]
    candidates[np.arange(len(origins)), singles.feature[single]] = singles.values[instance[origins], single]
    return Candidates(candidates, origins)


def _best(score: Rows, count: int) -> tuple[Indices, ...]:
    """Find the indices of the highest finite scores of each row."""
    count = min(count, score.shape[1])
    if not count:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    least = np.partition(score, -count, axis=1)[:, -count, None]
    # Ties for the last slots go to the first ones.
    better, equal = score > least, score == least
    room = count - better.sum(axis=1, keepdims=True)
    best = better | (equal & (np.cumsum(equal, axis=1) <= room))
    return np.nonzero(best & np.isfinite(score))


def shrink(
    task: Task, rows: Rows, instance: Indices, rounds: int = 2, finders: Indices | None = None
) -> Refinement:
    """Move changed numbers towards x while the row still flips: all together, and each individually."""
    origins, moves = _lines(task, rows, instance)
    credited = None if finders is None else np.tile(finders[origins], len(PARTS))
    of_line, far = instance[origins], rows[origins]
    near = np.where(moves, task.home[of_line], far)
    each = np.arange(len(far))
    for _ in range(rounds if len(far) else 0):
        question = _between(task, near, far, of_line)
        flips = task.flips((yield Derived.of(*question, credited))).reshape(len(PARTS), -1)
        first = np.where(flips.any(axis=0), flips.argmax(axis=0), len(PARTS))
        ladder = question.rows.reshape(len(PARTS), *far.shape)
        above, below = first < len(PARTS), first > 0
        far, near = far.copy(), near.copy()
        far[above] = ladder[first[above], each[above]]
        near[below] = ladder[first[below] - 1, each[below]]
    return _cheapest(task, rows, instance, Candidates(far, origins))


def _between(task: Task, near: Rows, far: Rows, instance: Indices) -> Question:
    """Make the question about points between near and far."""
    way = np.subtract(far, near, out=np.zeros(far.shape), where=far != near)

    def rows(line: Indices, part: Row) -> Rows:
        return task.project(near[line] + way[line] * part[:, None], instance[line]).rows

    line = np.tile(np.arange(len(far)), len(PARTS))
    return Question(in_blocks(far.shape[1], rows, line, np.repeat(PARTS, len(far))), instance[line])


def stretch(task: Task, rows: Rows, instance: Indices, finders: Indices | None = None) -> Search:
    """Move changed numbers away from x, up to the limits of what is admissible: the opposite of `shrink`.

    What flips there is far from x and from other answers. This is for selections that favour dispersion.
    """
    origins, moves = _lines(task, rows, instance)
    of_line, rows = instance[origins], rows[origins]
    bounds = task.rules.around(task.x[of_line])
    end = np.where(rows > task.home[of_line], bounds.high, bounds.low)
    with np.errstate(invalid="ignore"):  # values that do not move can be infinite
        further = [np.where(moves, rows + (end - rows) * part, rows) for part in STRETCHES]
    credited = None if finders is None else np.tile(finders[origins], len(STRETCHES))
    yield Derived.of(*task.project(np.concatenate(further), np.tile(of_line, len(STRETCHES))), credited)


def _lines(task: Task, rows: Rows, instance: Indices) -> tuple[Indices, Mask]:
    """Find the lines along which rows may shrink: all changed numbers together, and each individually.

    Ordered categories are numbers here: their ranks.
    """
    moves = task.changed(rows, instance) & ~task.is_category
    moves &= ~np.isnan(task.rules.ranks(rows)) & ~np.isnan(task.rules.ranks(task.x[instance]))
    together = np.flatnonzero(any_of_each(moves))
    several = moves & (count_of_each(moves) > 1)[:, None]
    origin, feature = _best(
        np.where(several, task.prices(rows, instance), -np.inf), task.affordable(LINES, least=1)
    )
    single = np.zeros((len(origin), rows.shape[1]), dtype=np.bool_)
    single[np.arange(len(origin)), feature] = True
    return np.concatenate([together, origin]), np.concatenate([moves[together], single])


def _cheapest(task: Task, rows: Rows, instance: Indices, better: Candidates) -> Rows:
    """Replace each row by the cheapest of its flipping candidates, if that is cheaper."""
    price = task.distance(better.rows, instance[better.origins])
    best = cheapest_of_each(price, better.origins, 1)
    origins = better.origins[best]
    cheaper = price[best] < task.distance(rows[origins], instance[origins])
    result = rows.copy()
    result[origins[cheaper]] = better.rows[best[cheaper]]
    return result
