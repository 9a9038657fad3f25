"""Whether answers are different actions, without needless changes, and as round and plausible as they can be.

``python -m counterpoint_study.benchmarks.actions``

The judge knows nothing of how answers are found: it looks at rows and asks the model. An action is the set of
changed features, numbers with their direction. The actions that exist are found by trying all known values of
one and of two features, at most 60 of a number. *recall, seen* counts only those that flip without a pair of
categories that no known instance has, because such pairs are avoided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import floor, log10
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import counterpoint as cp
from counterpoint.data.schema import Schema
from counterpoint.data.types import Row, Rows
from counterpoint.datasets import Dataset, load
from counterpoint.selection.selection import NAMED
from counterpoint_study.benchmarks import results

# A feature and the way it goes: up or down for a number, 0 for a category.
Action: TypeAlias = frozenset[tuple[int, int]]
Flips: TypeAlias = Callable[[Rows], NDArray[np.bool_]]

VALUES = 60  # of a number that are tried
MORE = 1.05  # how much more change a rounder value may take


@dataclass(frozen=True)
class Judge:
    """Judges answers by looking at rows and asking the model."""

    schema: Schema
    model: Any
    known: Rows

    def flips(self, decision: Any) -> Flips:
        """Make a function that tells which rows the model decides differently."""

        def flips(rows: Rows) -> NDArray[np.bool_]:
            if not len(rows):
                return np.zeros(0, dtype=np.bool_)
            return np.asarray(self.model.predict(self.schema.decode(rows)) != decision)

        return flips

    def action(self, x: Row, row: Row) -> Action:
        """Find the changed features, and which way they go."""
        return frozenset((f, self._way(f, x[f], row[f])) for f in np.flatnonzero(row != x).tolist())

    def minimal_actions(self, x: Row, flips: Flips) -> dict[Action, bool]:
        """Find the actions of one and two features that flip, such that no part of them does.

        Of each, tell whether it flips without a pair of categories that was never seen.
        """
        single = self._singles(x)
        rows = {frozenset([each]): self._rows(x, {each: values}) for each, values in single.items()}
        found = self._flipping(x, rows, flips)
        rest = [each for each in single if frozenset([each]) not in found]
        pairs = [(a, b) for a, b in combinations(rest, 2) if a[0] != b[0]]
        rows = {frozenset([a, b]): self._rows(x, {a: single[a], b: single[b]}) for a, b in pairs}
        return found | self._flipping(x, rows, flips)

    def _flipping(self, x: Row, rows: dict[Action, Rows], flips: Flips) -> dict[Action, bool]:
        """Find the actions of which some row flips, and tell whether one does that is not never seen."""
        every = np.concatenate([x[None][:0], *rows.values()])
        label, never = flips(every), self.never_seen(x, every)
        ends = np.cumsum([len(block) for block in rows.values()])[:-1]
        parts = zip(rows, np.split(label, ends), np.split(never, ends), strict=True)
        return {
            action: bool((flip & ~unseen).any())
            for action, flip, unseen in (parts if rows else ())
            if flip.any()
        }

    def _singles(self, x: Row) -> dict[tuple[int, int], Row]:
        """Gather the values that each feature can take, by the way they go."""
        singles: dict[tuple[int, int], Row] = {}
        for f in self.schema.actionable:
            values = np.unique(self.known[:, f])
            values = values[np.unique(np.linspace(0, len(values) - 1, VALUES).round().astype(int))]
            for way in (0,) if self.schema.features[f].is_categorical else (-1, 1):
                mine = values[values != x[f]] if way == 0 else values[(values - x[f]) * way > 0]
                if len(mine):
                    singles[f, way] = mine
        return singles

    def _rows(self, x: Row, values: dict[tuple[int, int], Row]) -> Rows:
        """Make x with all combinations of some features' values."""
        grid = np.meshgrid(*values.values(), indexing="ij")
        rows = np.repeat(x[None], grid[0].size, axis=0)
        for (f, _), column in zip(values, grid, strict=True):
            rows[:, f] = column.ravel()
        return rows

    def _way(self, feature: int, old: float, new: float) -> int:
        return 0 if self.schema.features[feature].is_categorical else 1 if new > old else -1

    def needless(self, x: Row, row: Row, flips: Flips) -> bool:
        """Tell whether a change can be undone without losing the flip."""
        undone = np.array([_put(row, f, x[f]) for f in np.flatnonzero(row != x).tolist()])
        return bool(flips(undone[(undone != x).any(axis=1)]).any())

    def could_be_rounder(self, x: Row, row: Row, flips: Flips) -> list[bool]:
        """Tell for each changed number whether one with fewer digits flips, at hardly more change."""
        told = []
        for f in np.flatnonzero(row != x).tolist():
            if not self.schema.features[f].is_categorical:
                values = [v for v in rounder(row[f]) if (v - x[f]) * (row[f] - x[f]) > 0]
                near = [v for v in values if abs(v - x[f]) <= MORE * abs(row[f] - x[f])]
                step = self.schema.features[f].step
                near = [v for v in near if step is None or float(v / step).is_integer()]
                told.append(bool(flips(np.array([_put(row, f, v) for v in near])).any()))
        return told

    def never_seen(self, x: Row, rows: Rows) -> NDArray[np.bool_]:
        """Tell which rows have a pair of categories that no known instance has, and x has not."""
        never = np.zeros(len(rows), dtype=np.bool_)
        for a, b in combinations(self.schema.categorical.tolist(), 2):
            moved = np.flatnonzero((rows[:, a] != x[a]) | (rows[:, b] != x[b]))
            seen = {*zip(self.known[:, a].tolist(), self.known[:, b].tolist(), strict=True)}
            pairs, whose = np.unique(rows[moved][:, [a, b]], axis=0, return_inverse=True)
            unseen = np.array([tuple(pair) not in seen for pair in pairs.tolist()], dtype=np.bool_)
            never[moved] |= unseen[whose.ravel()]
        return never


def rounder(value: float) -> Iterator[float]:
    """Give the values with fewer digits next to one, below and above.

    Examples
    --------
    >>> list(rounder(8075.0))
    [8000.0, 9000.0, 8000.0, 8100.0, 8070.0, 8080.0]
    """
    digits = len(f"{value:.15g}".replace("-", "").replace(".", "").split("e")[0].strip("0"))
    if value and np.isfinite(value):
        size = floor(log10(abs(value)))
        for kept in range(1, digits):
            unit = size - kept + 1
            for whole in (floor(_scaled(value, -unit)), floor(_scaled(value, -unit)) + 1):
                yield _scaled(float(whole), unit)


def _scaled(value: float, power: int) -> float:
    return value * 10.0**power if power >= 0 else value / 10.0**-power


def _put(row: Row, feature: int, value: float) -> Row:
    changed = row.copy()
    changed[feature] = value
    return changed


def measure(judge: Judge, answer: cp.Explanation, exist: dict[Action, bool], k: int) -> dict[str, float]:
    """Measure one answer."""
    x, rows, flips = answer.row, answer.rows, judge.flips(answer.decision)
    actions = [judge.action(x, row) for row in rows]
    alone, seen = {each for each in exist if len(each) == 1}, {each for each in exist if exist[each]}

    def told(some: set[Action]) -> float:
        return len(set(actions) & some) / min(k, len(some)) if some else np.nan

    rounds = [each for row in rows for each in judge.could_be_rounder(x, row, flips)]
    return {
        "found": len(rows) / k,
        "recall": told(set(exist)),
        "recall, seen": told(seen),
        "alone": told(alone),
        "actions": len(set(actions)) / k,
        "repeats": float(len(set(actions)) < len(actions)),
        "needless": float(np.mean([judge.needless(x, row, flips) for row in rows])) if len(rows) else np.nan,
        "contains": float(_contains(x, rows)),
        "rounder": float(np.mean(rounds)) if rounds else np.nan,
        "never seen": float(judge.never_seen(x, rows).mean()) if len(rows) else np.nan,
        "changes": float((rows != x).sum(axis=1).mean()) if len(rows) else np.nan,
        "distance": float(answer.distance.mean()) if len(rows) else np.nan,
        "rows": answer.model_rows,
    }


def _contains(x: Row, rows: Rows) -> bool:
    """Tell whether an answer holds all changes of another and more."""
    for a in rows:
        for b in rows:
            if a is not b and (a == b)[a != x].all() and ((b != x) & (a == x)).any():
                return True
    return False


def boosting(data: Dataset, seed: int) -> Any:
    """Train histogram boosting on the table."""
    encoder = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), list(data.categorical)),
        remainder="passthrough",
    )
    return make_pipeline(encoder, HistGradientBoostingClassifier(random_state=seed))


def forest(data: Dataset, seed: int) -> Any:
    """Train a forest on the table."""
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), list(data.categorical)), remainder="passthrough"
    )
    return make_pipeline(encoder, RandomForestClassifier(100, random_state=seed))


MODELS = {"boosting": boosting, "forest": forest}


def judged(name: str, kind: str, free: bool, setting: str, count: int, k: int, seed: int) -> dict[str, Any]:
    """Explain instances of a set, and take the means of all measures."""
    data = load(name, seed=seed)
    assert isinstance(data, Dataset)
    model = MODELS[kind](data, seed).fit(data.X_train, data.y_train)
    immutable = [] if free else list(data.immutable)
    explainer = cp.Ensemble(selection=NAMED[setting]).fit(model, data.X_train, immutable=immutable)
    fitted_schema = explainer.fitted_.schema
    judge = Judge(fitted_schema, model, fitted_schema.encode(data.X_train))
    X = _instances(data, count, seed)
    answers = explainer.explain_many(X, k, progress=False)
    exist = [judge.minimal_actions(each.row, judge.flips(each.decision)) for each in answers]
    lines = pd.DataFrame([measure(judge, *each, k) for each in zip(answers, exist, strict=True)])
    hours = _hours(judge, fitted_schema, answers, exist, k)
    return {"set": name, "model": kind, "may change": "all" if free else "some", **lines.mean(), **hours}


def _hours(
    judge: Judge, schema: Schema, answers: cp.Explanations, exist: Sequence[dict[Action, bool]], k: int
) -> dict[str, float]:
    """Count those whom more hours alone would flip, and those of them who are told so.

    Where more than k features are enough alone, there is no room for all, so the others count apart too.
    """
    if "hours_per_week" not in schema.names:
        return {}
    more = frozenset([(schema.names.index("hours_per_week"), 1)])
    could = [pair for pair in zip(answers, exist, strict=True) if more in pair[1]]
    told = [more in {judge.action(each.row, row) for row in each.rows} for each, _ in could]
    room = [sum(len(action) == 1 for action in actions) <= k for _, actions in could]
    with_room = [each for each, fits in zip(told, room, strict=True) if fits]
    return {
        "hours alone": len(told),
        "told": sum(told),
        "hours alone, with room": len(with_room),
        "told, with room": sum(with_room),
    }


def _instances(data: Dataset, count: int, seed: int) -> pd.DataFrame:
    test = data.X_test
    for name in data.categorical:
        test = test[test[name].isin(data.X_train[name].unique())]
    order = np.random.default_rng(seed).permutation(len(test))[:count]
    return test.iloc[order].reset_index(drop=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("actions", __doc__)
    parser.add_argument("--sets", nargs="+", default=["adult", "german"])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--settings", nargs="+", choices=NAMED, default=["balanced"])
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    lines = []
    for setting in options.settings:
        for name in options.sets:
            for kind in options.models:
                for free in (False, True):
                    line = judged(name, kind, free, setting, options.instances, options.k, options.seed)
                    lines.append({"setting": setting, **line})
                    print(results.table(lines[-1:]), flush=True)
    results.show("Answers as actions", lines)
    results.write("actions", options.seed, {"options": vars(options), "lines": lines})


if __name__ == "__main__":
    main()
