"""The promises of every answer, on random tables of ordered categories, dummy columns and dates."""

import datetime as dt
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint import testing

EXPLAINERS = [
    cp.Neighbours(candidates=30),
    cp.BruteForce(),
    cp.Tree(),
    cp.Sphere(directions=20),
    cp.CaseBased(),
    cp.Guided(singles=20),
    cp.Evolution(population=20, generations=2, rounds=3),
    cp.Ensemble(size=5),
]
fast = partial(
    settings, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)

GRADES = ["none", "low", "mid", "high", "top"]
COLOURS = ["red", "green", "blue", "grey"]
DATE_TYPES = ["datetime64[ns]", "datetime64[us]", "datetime64[s]", "datetime64[us, Europe/Berlin]", "object"]


def grades(rng: np.random.Generator, size: int, count: int, gaps: bool) -> pd.Series:
    values = np.array(GRADES[:count], dtype=object)[
        np.append(np.arange(count), rng.integers(count, size=size - count))
    ]
    return pd.Series(np.where(rng.random(size) < 0.2 * gaps, None, values), dtype=object)


def dummies(
    rng: np.random.Generator, size: int, name: str, count: int, dropped: bool, dtype: str
) -> pd.DataFrame:
    codes = np.append(np.arange(count), rng.integers(count, size=size - count))
    flags = np.eye(count)[codes][:, int(dropped) :]
    names = [f"{name}_{colour}" for colour in COLOURS[int(dropped) : count]]
    return pd.DataFrame(flags, columns=names).astype(dtype)


def dates(rng: np.random.Generator, size: int, dtype: str, whole: bool, gaps: bool) -> pd.Series:
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, size), unit="D")
    if dtype == "object":
        values = pd.Series([day.date() for day in days], dtype=object)
    else:
        moments = pd.Series(days + pd.to_timedelta(0 if whole else rng.integers(0, 86_400, size), unit="s"))
        values = moments.dt.tz_localize("UTC").astype(dtype) if "," in dtype else moments.astype(dtype)
    return values.where(rng.random(size) >= 0.2) if gaps else values


class Model:
    """A rugged model of the single columns, which accepts no row that breaks a group."""

    def __init__(self, groups: dict[str, list[str]], dropped: dict[str, bool], seed: int) -> None:
        self.groups, self.dropped, self.seed = groups, dropped, seed

    def __call__(self, table: Any) -> np.ndarray:
        frame = table.to_pandas() if isinstance(table, pl.DataFrame) else table
        for name, columns in self.groups.items():
            counts = frame[columns].to_numpy().astype(float).sum(axis=1)
            assert ((counts == 1) | ((counts == 0) & self.dropped[name])).all()
            assert np.isin(frame[columns].to_numpy().astype(float), [0.0, 1.0]).all()
        weights = np.random.default_rng(self.seed).integers(-3, 4, size=frame.shape[1])
        total = np.zeros(len(frame))
        for weight, name in zip(weights, frame, strict=True):
            total += weight * self._score(frame[name])
        return np.where(np.round(total, 6) > 0, "yes", "no")

    def _score(self, column: pd.Series) -> np.ndarray:
        if column.name.startswith("grade"):
            return column.map({**{g: i - 1.5 for i, g in enumerate(GRADES)}}).fillna(0).to_numpy(dtype=float)
        if column.name.startswith("date"):
            known = pd.to_datetime(column, utc=True).dt.tz_convert(None)
            away = (known - pd.Timestamp("2022-03-01")) / pd.Timedelta(days=200)
            return away.fillna(0).to_numpy(dtype=float)
        return column.to_numpy().astype(float) - 0.4


@st.composite
def problems(draw: st.DrawFn) -> testing._Problem:
    seed, size = draw(st.integers(0, 10_000)), draw(st.integers(12, 50))
    rng, truth = np.random.default_rng(seed), st.booleans()
    parts: dict[str, Any] = {"number": pd.Series(rng.normal(size=size))}
    order, groups, dropped = {}, {}, {}
    for i in range(draw(st.integers(0, 2))):
        count = draw(st.integers(2, 5))
        parts[f"grade{i}"] = grades(rng, size, count, draw(truth))
        order[f"grade{i}"] = GRADES[:count]
    for i in range(draw(st.integers(0, 2))):
        count, drop = draw(st.integers(3, 4)), draw(truth)
        group = dummies(
            rng, size, f"group{i}", count, drop, draw(st.sampled_from(["bool", "int", "float", "int8"]))
        )
        groups[f"group{i}"], dropped[f"group{i}"] = list(group), drop
        parts |= {name: group[name] for name in group}
    for i in range(draw(st.integers(0, 2))):
        parts[f"date{i}"] = dates(rng, size, draw(st.sampled_from(DATE_TYPES)), draw(truth), draw(truth))
    frame = pd.DataFrame(parts)
    few = frame.take(rng.integers(size, size=draw(st.integers(1, 3)))).reset_index(drop=True)
    model = Model(groups, dropped, seed)
    assume(len(set(model(frame))) > 1)
    polars = draw(truth)
    limits = draw(constraints(frame, order, groups))
    return testing._Problem(
        f"{list(frame)} {seed}",
        model,
        pl.from_pandas(frame) if polars else frame,
        pl.from_pandas(few, schema_overrides=pl.from_pandas(frame).schema) if polars else few,
        k=draw(st.integers(1, 5)),
        constraints={"order": order, "onehot": groups, **limits},
        max_changes=draw(st.sampled_from([None, None, 1, 2])),
    )


@st.composite
def constraints(draw: st.DrawFn, frame: pd.DataFrame, order: dict, groups: dict) -> dict[str, Any]:
    asked: dict[str, list[str]] = {"immutable": [], "increase": [], "decrease": []}
    ranges: dict[str, Any] = {}
    for name in [*order, *groups, *(name for name in frame if name.startswith("date"))]:
        ways = ["free", "free", "limited", "immutable"] + ["increase", "decrease"] * (name not in groups)
        way = draw(st.sampled_from(ways))
        if way in asked:
            # One column stands for its group.
            asked[way].append(draw(st.sampled_from([name, *groups[name]])) if name in groups else name)
        if way == "limited" and name.startswith("date"):
            first = dt.date(2021, 1, 1) + dt.timedelta(days=draw(st.integers(0, 400)))
            ranges[name] = (first, draw(st.sampled_from([np.inf, first + dt.timedelta(days=300)])))
        elif way == "limited":
            names = order.get(name) or [column.removeprefix(f"{name}_") for column in groups[name]]
            ranges[name] = [c for c in names if draw(st.booleans())] or names[:1]
    return {"ranges": ranges, "missing": draw(st.sampled_from(["keep", "allow"])), **asked}


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda each: type(each).__name__)
def test_every_explainer_keeps_all_promises(explainer: cp.Explainer) -> None:
    @fast(max_examples=20)
    @given(problems())
    def check(problem: testing._Problem) -> None:
        broken = [str(each) for each in testing._checks(explainer, problem) if not each.passed]
        assert not broken, "\n".join([problem.name, str(problem.constraints), *broken])

    check()


@fast(max_examples=15)
@given(problems())
def test_values_that_do_not_change_come_back_as_they_were(problem: testing._Problem) -> None:
    explainer = cp.Neighbours(candidates=20).fit(problem.predict, problem.X, **problem.constraints)
    for answer in explainer.explain_many(problem.instances, k=3, progress=False):
        assert answer.counterfactuals.head(0).equals(answer.x.head(0))
        for index, feature in enumerate(answer.schema.features):
            kept = answer.rows[:, index].view(np.int64) == answer.row[index].view(np.int64)
            columns = answer.schema.onehot.get(feature.name, (feature.name,))
            for name in columns:
                own, new = (
                    next(iter(answer.x[name])),
                    [v for v, k in zip(answer.counterfactuals[name], kept, strict=True) if k],
                )
                assert all(repr(value) == repr(own) for value in new)
