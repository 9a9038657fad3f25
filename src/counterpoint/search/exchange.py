"""Exchange: pull one change part of the way back, and pay for it with a cheaper change of another feature.

Where a counterfactual changes several features, no single step brings it nearer although two together do.
Which pairs of steps keep the flip is estimated from the model's scores around the counterfactual, or by the
surrogate where it has none. The pairs that save most are tried, and the nearest row that flips is kept.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from counterpoint.data.distance import changed
from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.search.grouped import cheapest_of_each, nearest
from counterpoint.search.single_changes import Singles
from counterpoint.search.surrogate import Surrogate
from counterpoint.search.task import Derived, Question, Scored, Task

# A changed number may also go these fractions of the way back to x.
BACK = (0.25, 0.5, 0.75, 0.9)

# Values per number, as in a scan.
BINS = 10

# How many pairs of steps are tried per row and round, and at most how many steps are considered.
TRIED = 16
STEPS = 160

# A surrogate knows less than scores do, so part of the pairs should gain so much more than is needed.
SURER = (0.0, 0.5, 1.0, 2.0)

# A step that should save less than this share of the distance is not worth trying.
LEAST = 0.002


def exchange(
    task: Task, rows: Rows, instance: Indices, finders: Indices, rounds: int
) -> Generator[Question, Labels, None]:
    """Bring flipping rows nearer by pairs of steps; what is found joins the pool."""
    lead = np.zeros(len(rows))
    if task.has_scores and len(rows):
        lead = yield Scored(rows, instance)
    for _ in range(rounds):
        if not len(rows):
            return
        values, feature = _values(task, rows, instance)
        saved = _saved(task, rows, instance, values, feature)
        best = nearest(np.where(np.isfinite(saved), -promise(saved), np.inf), STEPS)
        values, saved = (np.take_along_axis(each, best, 1) for each in (values, saved))
        feature = feature[best]
        gain = yield from _gains(task, rows, instance, values, feature, np.isfinite(saved), lead)
        surer = SURER[:1] if task.has_scores else SURER
        origin, first, second = _pairs(saved, gain, feature, lead, task.distance(rows, instance), surer)
        steps = _taken(rows, values, feature, origin, first, second)
        question = task.project(steps, instance[origin])
        flips = task.flips((yield Derived.of(*question, finders[origin])))
        found = np.flatnonzero(flips)
        away = task.distance(question.rows[found], question.instance[found])
        better = found[cheapest_of_each(away, origin[found], 1)]
        at = origin[better]
        nearer = task.distance(question.rows[better], instance[at]) < task.distance(rows[at], instance[at])
        at, better = at[nearer], better[nearer]
        # What pairs of steps gain together is not known exactly, so a row that moved starts at the edge.
        rows, instance, finders = question.rows[better], instance[at], finders[at]
        lead = np.maximum(0.0, (lead[origin] + gain[origin, first] + _second(gain, origin, second))[better])


def promise(saved: Rows) -> Rows:
    """Prefer steps that save much, and cheap ones that cost little."""
    return np.where(saved > 0, 1.0 + saved, 1.0 / (1.0 - np.minimum(saved, 0.0)))


def _values(task: Task, rows: Rows, instance: Indices) -> tuple[Rows, Indices]:
    """Gather the values that each row may step to: row × step, and the feature of each step."""
    singles = Singles.spread(task, BINS)
    free = np.flatnonzero(task.free)
    numbers = free[~task.is_coded[free]]
    home = task.home[instance]
    parts, features = [singles.values[instance], home[:, free]], [singles.feature, free]
    for back in BACK:
        with np.errstate(invalid="ignore"):
            way = rows[:, numbers] + back * (home[:, numbers] - rows[:, numbers])
        moved = rows.copy()
        moved[:, numbers] = np.where(np.isnan(way), rows[:, numbers], way)
        parts.append(task.project(moved, instance).rows[:, numbers])
        features.append(numbers)
    return np.concatenate(parts, axis=1), np.concatenate(features)


def _saved(task: Task, rows: Rows, instance: Indices, values: Rows, feature: Indices) -> Rows:
    """Compute how much distance each step saves; −∞ where it changes nothing or costs too much."""
    home = task.home[instance][:, feature]
    after = np.where(changed(values, home), task.measure.prices(values, home, feature), 0.0)
    saved = task.prices(rows, instance)[:, feature] - after
    same = ~changed(values, rows[:, feature])
    return np.where(same | (after >= task.distance(rows, instance)[:, None]), -np.inf, saved)


def _gains(
    task: Task, rows: Rows, instance: Indices, values: Rows, feature: Indices, exists: Mask, lead: Row
) -> Generator[Question, Labels, Rows]:
    """Estimate how much lead each step gains, by the model's scores or by the surrogate."""
    gain = np.full(values.shape, -np.inf)
    origin, step = np.nonzero(exists)
    steps = _taken(rows, values, feature, origin, step, np.full(len(step), -1))
    if task.has_scores:
        scores = yield Scored(steps, instance[origin])
        gain[origin, step] = scores - lead[origin]
    else:
        surrogate = Surrogate.of(task)
        gain[origin, step] = surrogate.score(steps) - surrogate.score(rows)[origin]
    return np.asarray(np.nan_to_num(gain, nan=-np.inf))


def _pairs(
    saved: Rows, gain: Rows, feature: Indices, lead: Row, distance: Row, surer: Sequence[float]
) -> tuple[Indices, Indices, Indices]:
    """Choose the pairs of steps, or single ones, that should flip and save most."""
    origins, firsts, seconds = [], [], []
    for row in range(len(saved)):
        steps = np.flatnonzero(np.isfinite(saved[row]) & np.isfinite(gain[row]))
        one, other = np.triu_indices(len(steps), 1)
        one, other = steps[one], steps[other]
        differs = feature[row, one] != feature[row, other]
        one = np.concatenate([steps, one[differs]])
        other = np.concatenate([np.full(len(steps), -1), other[differs]])
        total = saved[row, one] + np.where(other >= 0, saved[row, other], 0.0)
        after = lead[row] + gain[row, one] + np.where(other >= 0, gain[row, other], 0.0)
        order = np.argsort(-total, kind="stable")
        order = order[total[order] > LEAST * distance[row]]
        best = np.concatenate([order[after[order] > each][: TRIED // len(surer)] for each in surer])
        origins.append(np.full(len(best), row))
        firsts.append(one[best])
        seconds.append(other[best])
    return np.concatenate(origins), np.concatenate(firsts), np.concatenate(seconds)


def _taken(
    rows: Rows, values: Rows, feature: Indices, origin: Indices, first: Indices, second: Indices
) -> Rows:
    """Take one or two steps from rows; -1 for no second one."""
    steps, each = rows[origin], np.arange(len(origin))
    steps[each, feature[origin, first]] = values[origin, first]
    two = np.flatnonzero(second >= 0)
    steps[two, feature[origin[two], second[two]]] = values[origin[two], second[two]]
    return steps


def _second(gain: Rows, origin: Indices, second: Indices) -> Row:
    return np.where(second >= 0, gain[origin, second], 0.0)
