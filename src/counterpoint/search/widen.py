"""Finds how far the changed values of rows that flip can move while they still flip.

Each value moves alone, as far as the constraints allow. If the trees of the model are known, one value of
each interval between two cuts is tried, which is certain. Otherwise some values outwards are tried, and the
edge is narrowed down by bisecting; all features of all rows take part in every round.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

import numpy as np

from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.model.trees import UnreadableError
from counterpoint.search.task import Question, Task

# A number is tried at this many values on each side, and its edge is then halved this often.
STEPS, HALVINGS = 8, 10
# Features with more intervals than this are not tried in each of them.
INTERVALS = 5_000
# The most rows of one question.
ROWS = 50_000


@dataclass
class Width:
    """The values of one feature of one row that flip: an interval, or codes of categories."""

    row: int
    feature: int
    low: float = np.nan
    high: float = np.nan
    codes: tuple[float, ...] = ()
    points: int = 0
    is_certain: bool = False
    limits: tuple[float, float] = (-np.inf, np.inf)
    fails: list[float] = field(default_factory=lambda: [-np.inf, np.inf])


Widening = Generator[Question, Labels, list[Width]]


def widen(task: Task, rows: Rows, instance: Indices, has_rule: bool = False) -> Widening:
    """Widen every change of rows that flip; `has_rule` tells that the user's own rule is part of it."""
    widths = _start(task, rows, instance)
    # Links and rules can forbid one value of an interval and allow another.
    by_value = has_rule or bool(task.rules.links) or task.rules.has_follows
    in_full: list[Width] = []
    in_part: list[Width] = []
    for width in widths:
        is_number = not task.is_coded[width.feature]
        known = not (is_number and by_value) and _values(task, width) is not None
        (in_full if known else in_part).append(width)
    yield from _try_all(task, rows, instance, in_full)
    yield from _try_some(task, rows, instance, in_part)
    return widths


def _start(task: Task, rows: Rows, instance: Indices) -> list[Width]:
    """List the changes, with the limits of numbers."""
    bounds = task.rules.around(task.x[instance])
    low, high = (np.broadcast_to(each, rows.shape) for each in (bounds.low, bounds.high))
    places = zip(*(each.tolist() for each in np.nonzero(task.changed(rows, instance))), strict=True)
    return [
        Width(row, feature, limits=(float(low[row, feature]), float(high[row, feature])))
        for row, feature in places
        if not np.isnan(rows[row, feature])
    ]


def _values(task: Task, width: Width) -> Row | None:
    """List all values of a feature that have to be tried; None if they are not known."""
    feature = task.rules.schema.features[width.feature]
    if feature.is_categorical:
        return np.arange(len(feature.categories), dtype=np.float64)
    ends = _cuts(task, width)
    if ends is None or len(ends[0]) > INTERVALS:
        return None
    return np.concatenate([[width.limits[0]], ends[1]])


def _cuts(task: Task, width: Width) -> tuple[Row, Row] | None:
    """Find the cuts of a number within its limits: the last value before each, and the first after it."""
    try:
        structure = task.structure
    except UnreadableError:
        return None
    cuts, (low, high) = structure.cuts[width.feature], width.limits
    if cuts is None:
        return (np.empty(0), np.empty(0)) if not structure.asked[width.feature] else None
    inside = (cuts.below >= low) & (cuts.above <= high)
    return cuts.below[inside], cuts.above[inside]


def _try_all(
    task: Task, rows: Rows, instance: Indices, widths: list[Width]
) -> Generator[Question, Labels, None]:
    """Try every category, and one value of each interval between cuts."""
    values = [_values(task, width) for width in widths]
    every = [each for each in values if each is not None]
    owner = np.repeat(np.arange(len(widths)), [len(each) for each in every])
    flips = yield from _flips(task, rows, instance, widths, owner, np.concatenate([np.empty(0), *every]))
    for index, (width, tried) in enumerate(zip(widths, every, strict=True)):
        mine, own = flips[owner == index], float(rows[width.row, width.feature])
        width.points, width.is_certain = len(tried), True
        if task.is_coded[width.feature]:
            width.codes = tuple(tried[mine | (tried == own)].tolist())
            continue
        cuts = _cuts(task, width)
        assert cuts is not None
        at = int(np.searchsorted(cuts[1], own, side="right"))
        first, last = _run(mine, at)
        width.low = float(tried[first]) if first else -np.inf
        width.high = float(cuts[0][last]) if last < len(cuts[0]) else np.inf


def _run(flips: Mask, at: int) -> tuple[int, int]:
    """Find the first and last index of the run of flips around an index, which flips itself."""
    before = np.flatnonzero(~flips[:at])
    after = np.flatnonzero(~flips[at + 1 :])
    return int(before[-1]) + 1 if len(before) else 0, at + int(after[0]) if len(after) else len(flips) - 1


def _try_some(
    task: Task, rows: Rows, instance: Indices, widths: list[Width]
) -> Generator[Question, Labels, None]:
    """Try some values outwards, then narrow down the edges by halving."""
    for width in widths:
        width.low = width.high = float(rows[width.row, width.feature])
    for turn in range(HALVINGS + 1):
        asked = [
            np.unique(_settled(task, width, _ahead(width) if not turn else _between(width)))
            for width in widths
        ]
        owner = np.repeat(np.arange(len(widths)), [len(each) for each in asked])
        values = np.concatenate([np.empty(0), *asked])
        flips = yield from _flips(task, rows, instance, widths, owner, values)
        for index, width in enumerate(widths):
            _narrow(width, values[owner == index], flips[owner == index])
    for width in widths:
        low, high = width.limits
        width.low = -np.inf if width.low <= low else width.low
        width.high = np.inf if width.high >= high else width.high


def _ahead(width: Width) -> Row:
    """Choose values from the one that is known to flip to both limits."""
    shares = np.arange(1, STEPS + 1) / STEPS
    low, high = width.limits
    return np.concatenate([width.low + (low - width.low) * shares, width.high + (high - width.high) * shares])


def _between(width: Width) -> Row:
    """Choose the middle between what flips and what does not, on both sides."""
    pairs = [(width.fails[0], width.low), (width.high, width.fails[1])]
    return np.array([(a + b) / 2 for a, b in pairs if np.isfinite(a) and np.isfinite(b)])


def _settled(task: Task, width: Width, values: Row) -> Row:
    """Move values to possible ones that were not tried yet."""
    settled = task.rules.grid.settle(np.clip(values, *width.limits), np.full(len(values), width.feature))
    inside = (settled > width.fails[0]) & (settled < width.fails[1])
    return np.asarray(settled[inside & ((settled < width.low) | (settled > width.high))])


def _narrow(width: Width, values: Row, flips: Mask) -> None:
    """Extend the range to the last value that flips before the first that does not, on each side."""
    width.points += len(values)
    wrong = values[~flips]
    width.fails[0] = float(wrong[wrong < width.low].max(initial=width.fails[0]))
    width.fails[1] = float(wrong[wrong > width.high].min(initial=width.fails[1]))
    right = values[flips & (values > width.fails[0]) & (values < width.fails[1])]
    width.low = float(right.min(initial=width.low))
    width.high = float(right.max(initial=width.high))


def _flips(
    task: Task, rows: Rows, instance: Indices, widths: list[Width], owner: Indices, values: Row
) -> Generator[Question, Labels, Mask]:
    """Ask which rows flip with other values."""
    row = np.array([width.row for width in widths], dtype=np.intp)[owner]
    feature = np.array([width.feature for width in widths], dtype=np.intp)[owner]
    found = [np.empty(0, dtype=np.bool_)]
    for start in range(0, len(values), ROWS):
        part = slice(start, start + ROWS)
        tried = rows[row[part]]
        tried[np.arange(len(tried)), feature[part]] = values[part]
        labels = yield Question(tried, instance[row[part]])
        same = tried[np.arange(len(tried)), feature[part]] == rows[row[part], feature[part]]
        found.append(task.flips(labels) | same)
    return np.concatenate(found)
