"""Random tables, models of them, and constraints, as plain Python values: what a user would write down."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import NDArray

import counterpoint as cp

WORDS = ("oak", "elm", "fir", "ash", "yew", "bay", "box")
GRADES = ("poor", "fair", "good", "best")
NUMERIC = ("real", "whole", "holes")
KINDS = (*NUMERIC, "truth", "word", "grade", "word holes", "same")


Model = Callable[[Any], NDArray[Any]]


@dataclass
class Case:
    """One question to one explainer, with all that an answer is judged by."""

    known: Any
    asked: Any
    kinds: list[str]
    model: Model
    explainer: cp.Explainer
    fit: dict[str, Any] = field(default_factory=dict)
    ask: dict[str, Any] = field(default_factory=dict)
    k: int = 3
    more: dict[str, Any] = field(default_factory=dict)  # further arguments of `fit`, as a user writes them


def draw(number: int) -> Case:
    """Draw a case; the same number draws the same case."""
    rng = np.random.default_rng([20, number])
    form = str(rng.choice(["pandas", "polars", "array"], p=[0.6, 0.2, 0.2]))
    width = int(rng.integers(1, 9))
    pool = ("real", "holes") if form == "array" else KINDS
    kinds = [str(kind) for kind in rng.choice(pool, width)]
    size = int(rng.integers(15, 90))
    columns = [_column(rng, kind, size) for kind in kinds]
    known = _table(form, kinds, columns)
    for _ in range(10):  # a model that decides all alike has nothing to explain
        model = _model(rng, columns, kinds)
        if len(np.unique(model(known))) > 1:
            break
    mixed = [[column[int(rng.integers(size))] for column in columns] for _ in range(int(rng.integers(1, 5)))]
    asked = [list(cells) for cells in zip(*mixed, strict=True)]
    case = Case(known, _table(form, kinds, asked), kinds, model, _explainer(rng))
    case.k = int(rng.integers(1, 8))
    case.fit = _constraints(rng, kinds, columns)
    case.ask = _question(rng, model(case.known), width)
    return case


def cells(table: Any) -> list[list[Any]]:
    """Read a table of any library as rows of plain values; a missing one is None."""
    columns = [column(table, place) for place in range(table.shape[1])]
    return [list(row) for row in zip(*columns, strict=True)]


def column(table: Any, place: int) -> list[Any]:
    """Read one column of a table of any library as plain values; a missing one is None."""
    if isinstance(table, np.ndarray):
        values = table[:, place].tolist()
    elif isinstance(table, pd.DataFrame):
        values = table.iloc[:, place].tolist()
    else:
        values = table.to_series(place).to_list()
    return [None if _is_missing(cell) else cell for cell in values]


def names(table: Any) -> list[Any]:
    """Name the columns as the library does."""
    return list(range(table.shape[1])) if isinstance(table, np.ndarray) else list(table.columns)


def _is_missing(cell: Any) -> bool:
    return cell is None or cell is pd.NA or bool(cell != cell)  # only NaN differs from itself


def _column(rng: np.random.Generator, kind: str, size: int) -> list[Any]:
    """Draw the values of a column; the first ones make sure that its kind can be told."""
    gaps = (rng.random(size) < 0.25).tolist()
    if kind in ("real", "holes"):
        scale = float(10.0 ** rng.integers(-3, 6))
        values = [round(float(v), 3) * scale for v in rng.standard_t(3, size)]
        return _holed(values, gaps, 2) if kind == "holes" else values
    if kind == "whole":
        top = int(rng.choice([2, 12, 100_000]))
        return [int(v) for v in rng.integers(-top, top + 1, size)]
    if kind == "truth":
        return [True, False, *(bool(v) for v in rng.random(size - 2) < 0.4)]
    if kind == "grade":
        return [str(v) for v in rng.choice(GRADES, size)]
    if kind == "same":
        return [7] * size
    words = [str(v) for v in rng.choice(WORDS[: int(rng.integers(2, 8))], size)]
    return _holed(words, gaps, 1) if kind == "word holes" else words


def _holed(values: list[Any], gaps: list[bool], kept: int) -> list[Any]:
    """Leave out some values, but none of the first."""
    some = [None if gap else value for value, gap in zip(values, gaps, strict=True)]
    return values[:kept] + some[kept:]


def _table(form: str, kinds: list[str], columns: list[list[Any]]) -> Any:
    if form == "array":
        return np.array([[np.nan if v is None else v for v in column] for column in columns], dtype=float).T
    named = {f"{kind} {i}": column for i, (kind, column) in enumerate(zip(kinds, columns, strict=True))}
    if form == "polars":
        types = {name: pl.Enum(GRADES) for name in named if name.startswith("grade")}
        types |= {name: pl.Float64 for name in named if name.startswith(("real", "holes"))}
        types |= {name: pl.String for name in named if name.startswith("word")}
        return pl.DataFrame(named, schema_overrides=types)
    made = {}
    for name, column in named.items():
        if name.startswith("grade"):
            made[name] = pd.Categorical(column, categories=list(GRADES), ordered=True)
        elif name.startswith("holes"):
            made[name] = np.array([np.nan if v is None else v for v in column], dtype=float)
        else:
            made[name] = column
    return pd.DataFrame(made)


def _number(cell: Any, kind: str) -> float:
    """Turn a cell into a number for the models below."""
    if cell is None:
        return -0.75
    if kind == "grade":
        return float(GRADES.index(cell))
    return float(WORDS.index(cell)) if kind.startswith("word") else float(cell)


def _model(rng: np.random.Generator, columns: list[list[Any]], kinds: list[str]) -> Model:
    """Draw a model that looks at single cells, so that nothing depends on what else is in a batch."""
    tests = []
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(len(kinds)))
        values = sorted(_number(cell, kinds[place]) for cell in columns[place])
        tests.append((place, values[int(rng.integers(len(values)))], float(rng.choice([-1.0, 1.0, 2.0]))))
    style = str(rng.choice(["count", "parity", "three", "score"], p=[0.4, 0.2, 0.2, 0.2]))
    spread = [max(1.0, abs(cut)) for _, cut, _ in tests]

    def score(numbers: tuple[float, ...]) -> float:
        if style == "score":
            steps = [
                weight * max(-3.0, min(3.0, (number - cut) / width))
                for number, (_, cut, weight), width in zip(numbers, tests, spread, strict=True)
            ]
            return round(sum(steps), 6)
        met = [weight for number, (_, cut, weight) in zip(numbers, tests, strict=True) if number > cut]
        return float(len(met) % 2) if style == "parity" else sum(met)

    def model(table: Any) -> NDArray[Any]:
        # Only what the model looks at is read: it is asked about most of all the rows of a soak.
        seen = [[_number(cell, kinds[at]) for cell in column(table, at)] for at, _, _ in tests]
        scores = [score(numbers) for numbers in zip(*seen, strict=True)]
        if style == "score":
            return np.array(scores, dtype=float)
        if style == "three":
            return np.array(["low" if s < 0 else "high" if s > 1 else "mid" for s in scores])
        return np.array([s > 0 for s in scores])

    return model


def _explainer(rng: np.random.Generator) -> cp.Explainer:
    seed = int(rng.integers(1_000))
    base = [
        cp.BruteForce(candidates=200, seed=seed),
        cp.Tree(seed=seed),
        cp.Sphere(directions=int(rng.integers(1, 40)), seed=seed),
        cp.Neighbours(seed=seed),
        cp.CaseBased(seed=seed),
        cp.Guided(singles=15, candidates=40, seed=seed),
        cp.Evolution(population=12, generations=2, rounds=2, seed=seed),
    ]
    if rng.random() < 0.5:
        return base[int(rng.integers(len(base)))]
    settings = [cp.BALANCED, cp.CLOSE, cp.DIVERSE, cp.PLAUSIBLE, cp.SPARSE, cp.VARIED]
    chosen = settings[int(rng.integers(len(settings)))]
    return cp.Ensemble(size=int(rng.integers(1, 7)), selection=chosen, seed=seed)


def _constraints(rng: np.random.Generator, kinds: list[str], columns: list[list[Any]]) -> dict[str, Any]:
    """Draw at most one constraint per column, and sometimes a rule over two."""
    fit: dict[str, Any] = {"immutable": [], "increase": [], "decrease": [], "ranges": {}}
    for place, (kind, column) in enumerate(zip(kinds, columns, strict=True)):
        drawn = rng.random()
        if drawn < 0.12:
            fit["immutable"].append(place)
        elif drawn < 0.28 and kind not in ("word", "word holes"):
            fit["increase" if rng.random() < 0.5 else "decrease"].append(place)
        elif drawn < 0.4:
            fit["ranges"][place] = _range(rng, kind, column)
    fit["missing"] = "allow" if rng.random() < 0.2 else "keep"
    return fit


def _range(rng: np.random.Generator, kind: str, column: list[Any]) -> tuple[Any, ...]:
    held = sorted({cell for cell in column if cell is not None})
    if kind in (*NUMERIC, "same"):
        low, high = sorted(held[int(i)] for i in rng.integers(len(held), size=2))
        return (float("-inf") if rng.random() < 0.2 else low, float("inf") if rng.random() < 0.2 else high)
    count = int(rng.integers(1, len(held) + 1))
    return tuple(held[int(i)] for i in rng.permutation(len(held))[:count])


def _question(rng: np.random.Generator, labels: NDArray[Any], width: int) -> dict[str, Any]:
    ask: dict[str, Any] = {}
    if labels.dtype.kind == "f":
        low, high = np.sort(rng.choice(labels, 2)).tolist()
        ask["target"] = cp.Between(low, high if rng.random() < 0.7 else float("inf"))
    elif rng.random() < 0.4:
        ask["target"] = labels[int(rng.integers(len(labels)))].item()
    if rng.random() < 0.25:
        ask["max_changes"] = int(rng.integers(1, width + 1))
    if rng.random() < 0.15:
        ask["max_rows"] = int(rng.integers(1, 300))
    return ask
