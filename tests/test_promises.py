"""The six promises of every answer, on random tables, models and constraints, for every explainer."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp
from counterpoint import engine, testing
from counterpoint.explainers import base
from counterpoint.explainers.base import Answer

EXPLAINERS = [
    cp.Neighbours(candidates=30),
    cp.BruteForce(),
    cp.BruteForce(features=2, bins=4, candidates=300),
    cp.Tree(),
    cp.Sphere(directions=20),
    cp.CaseBased(),
    cp.Guided(singles=20),
    cp.Evolution(population=20, generations=2, rounds=3),
]
SMALL = cp.Ensemble(size=5)
fast = partial(
    settings, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)


# ---------------------------------------------------------------- random problems

LEVELS = ["low", "mid", "high"]
KINDS = {
    "pandas": ["float", "float32", "int", "bool", "text", "category", "ordered", "gaps", "text gaps", "Int64"],
    "polars": ["float", "int", "bool", "text", "category", "gaps", "text gaps"],
    "array": ["float", "gaps"],
    "integers": ["int"],
}
NUMBERS = {"float", "float32", "int", "gaps", "Int64"}


def column(kind: str, rng: np.random.Generator, size: int) -> Any:
    """Draw a pandas column of a kind."""
    texts = np.array(["red", "green", "blue"], dtype=object)[rng.integers(3, size=size)]
    hole = rng.random(size) < 0.3
    hole[:2] = False, True
    if kind in ("float", "float32", "gaps"):
        values = rng.normal(size=size) * 10.0 ** rng.integers(-2, 4)
        return np.where(hole, np.nan, values) if kind == "gaps" else values.astype(kind.replace("float32", "f4"))
    if kind in ("int", "Int64"):
        values = rng.integers(-3, int(rng.choice([4, 50])), size=size)
        return values if kind == "int" else pd.array(values, dtype="Int64")
    if kind == "bool":
        return rng.random(size) < 0.5
    if kind == "ordered":
        return pd.Categorical(np.array(LEVELS)[rng.integers(3, size=size)], categories=LEVELS, ordered=True)
    if kind == "category":
        return pd.Categorical(texts, categories=["blue", "green", "red", "never seen"])
    return pd.Series(np.where(hole, None, texts)) if kind == "text gaps" else texts


def library(form: str, frame: pd.DataFrame) -> Any:
    """Turn a pandas frame into the table that is asked for."""
    if form == "pandas":
        return frame
    if form == "polars":
        plain = {
            n: frame[n].astype(object).where(frame[n].notna(), None).to_list() if frame[n].dtype.kind not in "if"
            else pl.Series(frame[n].to_numpy(), nan_to_null=True)
            for n in frame
        }
        enum = {n: pl.Enum(list(frame[n].cat.categories)) for n in frame if hasattr(frame[n], "cat")}
        return pl.DataFrame(plain, schema_overrides=enum)
    return frame.to_numpy()


class Model:
    """A deterministic model of any table: thresholds of a linear score, or a tree on random labels."""

    def __init__(self, X: Any, kind: str, seed: int) -> None:
        self.schema = cp.Schema.infer(X)
        rng = np.random.default_rng(seed)
        rows = self.rows(X)
        self.centre, self.scale = rows.mean(axis=0), np.where(rows.std(axis=0) > 0, rows.std(axis=0), 1.0)
        self.weights = rng.normal(size=rows.shape[1]) * (rng.random(rows.shape[1]) < 0.7)
        shares = [0.3, 0.7] if kind == "three" else [0.5]
        self.cuts = np.quantile(self.score(X), shares)
        self.names = np.array(["no", "yes", "maybe"] if kind == "three" else ["no", "certainly"])
        self.tree = None
        if kind == "tree":
            labels = self.names[rng.integers(2, size=len(rows))]
            self.tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(rows, labels)

    def rows(self, table: Any) -> np.ndarray:
        return np.nan_to_num(self.schema.encode(table))

    def score(self, table: Any) -> np.ndarray:
        # A sum feature by feature, as a matrix product may round differently in another batch.
        parts = (self.rows(table) - self.centre) / self.scale * self.weights
        return np.round(sum(parts.T), 9)

    def __call__(self, table: Any) -> np.ndarray:
        if self.tree is not None:
            return self.tree.predict(self.rows(table))
        return self.names[(self.score(table)[:, None] > self.cuts).sum(axis=1)]


def shuffled(X: pd.DataFrame, rng: np.random.Generator, count: int) -> pd.DataFrame:
    """Mix known instances into new ones, of known values only."""
    places = rng.integers(len(X), size=(count, X.shape[1]))
    return pd.DataFrame({name: X[name].take(places[:, i]).array for i, name in enumerate(X)})


@st.composite
def problems(draw: st.DrawFn, forms: tuple[str, ...] = tuple(KINDS)) -> testing._Problem:
    form = draw(st.sampled_from(forms))
    kinds = draw(st.lists(st.sampled_from(KINDS[form]), min_size=1, max_size=5))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    size = draw(st.integers(8, 60))
    frame = pd.DataFrame({f"x{i}": column(kind, rng, size) for i, kind in enumerate(kinds)})
    few = shuffled(frame, rng, draw(st.integers(1, 3)))
    X, instances = library(form, frame), library(form, few)
    model = Model(X, draw(st.sampled_from(["linear", "tree", "three"])), seed)
    labels = model(X)
    assume(len(set(labels)) > 1)
    return testing._Problem(
        f"{form} {kinds} {seed}",
        model,
        X,
        instances,
        k=draw(st.integers(1, 6)),
        constraints=draw(constraints(X, frame, few, kinds)),
        target=draw(st.sampled_from([None, None, *sorted(set(labels.tolist()))])),
        max_changes=draw(st.sampled_from([None, None, 1, 2])),
    )


@st.composite
def constraints(draw: st.DrawFn, X: Any, frame: pd.DataFrame, few: pd.DataFrame, kinds: list[str]) -> dict[str, Any]:
    """Draw what may change, such that the instances themselves are admissible."""
    schema, ranges = cp.Schema.infer(X), {}
    asked: dict[str, list[str]] = {"immutable": [], "increase": [], "decrease": []}
    free = draw(st.integers(0, len(kinds) - 1))
    for i, (name, kind) in enumerate(zip(frame, kinds, strict=True)):
        ways = ["free", "free", "limited"] + ["immutable"] * (i != free)
        ways += ["increase", "decrease"] * (kind in NUMBERS or kind == "ordered" and form_is_ordered(schema, i))
        way = draw(st.sampled_from(ways))
        if way in asked:
            asked[way].append(name)
        if way == "limited" and kind in NUMBERS:
            low, high = np.nanquantile(frame[name].astype(float), sorted([draw(SHARES), draw(SHARES)]))
            ranges[name] = (np.nanmin([low, *few[name].astype(float)]), np.nanmax([high, *few[name].astype(float)]))
        elif way == "limited":
            categories = schema.features[i].categories
            ranges[name] = [c for c in categories if c in set(few[name]) or (c is None) or draw(st.booleans())]
        if kind in NUMBERS and way != "limited" and draw(st.booleans()):
            schema = schema.replace(name, step=draw(st.sampled_from([0.1, 0.25, 1, 5])) if "i" not in kind else 2)
    rule = draw(st.sampled_from([None, None, lambda table, x: np.sin(cp.Schema.infer(X).encode(table)).sum(1) > -1]))
    return {"schema": schema, "ranges": ranges, "rule": rule, **asked}


SHARES = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])


def form_is_ordered(schema: cp.Schema, place: int) -> bool:
    return schema.features[place].ordered


def keeps_promises(explainer: cp.Explainer, problem: testing._Problem) -> None:
    broken = [str(check) for check in testing._checks(explainer, problem) if not check.passed]
    assert not broken, "\n".join([problem.name, str(problem.constraints), *broken])


# ---------------------------------------------------------------- the promises


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=str)
def test_every_explainer_keeps_all_promises_on_random_problems(explainer: cp.Explainer) -> None:
    @fast(max_examples=25)
    @given(problems())
    def check(problem: testing._Problem) -> None:
        keeps_promises(explainer, problem)

    check()


@pytest.mark.parametrize("form", KINDS)
def test_the_ensemble_keeps_all_promises_on_random_problems(form: str) -> None:
    @fast(max_examples=6)
    @given(problems((form,)))
    def check(problem: testing._Problem) -> None:
        keeps_promises(SMALL, problem)

    check()
