"""What does not change comes back as it was, whatever it is, and so the model is given it."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.data.distance import changed
from counterpoint.explainers.paper import PaperBruteForce, PaperSphere, PaperTree

ROWS = 30
REPEATABLE = settings(
    max_examples=12, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
EXPLAINERS = [
    cp.BruteForce(),
    cp.CaseBased(),
    cp.Evolution(),
    cp.Neighbours(),
    cp.Sphere(),
    cp.Tree(),
    cp.Ensemble.paper(
        [PaperBruteForce(n=2, r=4), PaperTree(), PaperSphere(draws=30), cp.Neighbours()], size=5
    ),
]
REAL = [0.0, -0.0, 1.5, -2.25, 1e-300, 7.0]
MARKED = [np.nan, None, pd.NA]


def floating(dtype):
    """Hold floats, of which None is null and NaN is NaN."""

    def column(values):
        null = np.array([value is None or value is pd.NA for value in values])
        numbers = np.array([0.0 if gone else value for value, gone in zip(values, null, strict=True)])
        if dtype == "arrow":
            return pd.Series(pd.ArrowDtype(pa.float64()).__from_arrow__(pa.array(numbers, mask=null)))
        return pd.Series(pd.arrays.FloatingArray(numbers.astype(dtype), null))

    return column


def pandas_column(dtype):
    return lambda values: pd.Series(values, dtype=dtype)


def polars_column(dtype):
    return lambda values: pl.Series([None if value is pd.NA else value for value in values], dtype=dtype)


# What each kind of column may hold, and how it is made of it.
PANDAS = {
    "float": (pandas_column(float), [*REAL, np.nan]),
    "Float64": (floating("float64"), [*REAL, np.nan, pd.NA]),
    "Float32": (floating("float32"), [0.0, -0.0, 1.5, np.nan, pd.NA]),
    "arrow": (floating("arrow"), [*REAL, np.nan, pd.NA]),
    "Int64": (pandas_column("Int64"), [0, 1, -5, pd.NA]),
    "floats": (pandas_column(object), [*REAL, *MARKED]),
    "ints": (pandas_column(object), [0, 1, 9, *MARKED]),
    "ints and fractions": (pandas_column(object), [0, 1, 2.5, *MARKED]),
    "Decimals": (pandas_column(object), [Decimal("0.10"), Decimal("7.00"), Decimal("-1.25"), *MARKED]),
    "texts": (pandas_column(object), ["a", "b", "", *MARKED]),
    "equal values": (pandas_column(object), [True, 1, 1.0, "1", 0, False, *MARKED]),
    "boolean": (pandas_column("boolean"), [True, False, pd.NA]),
    "category": (pandas_column("category"), ["a", "b", np.nan]),
}
POLARS = {
    "Float64": (polars_column(pl.Float64), [*REAL, np.nan, None]),
    "Float32": (polars_column(pl.Float32), [0.0, -0.0, 1.5, np.nan, None]),
    "Int64": (polars_column(pl.Int64), [0, 1, -5, None]),
    "String": (polars_column(pl.String), ["a", "b", None]),
    "Boolean": (polars_column(pl.Boolean), [True, False, None]),
}


@st.composite
def tables(draw):
    """Draw a table whose last column decides, and what to ask about it."""
    kind = draw(st.sampled_from(["pandas", "pandas", "polars", "array", "objects"]))
    makers = {"pandas": PANDAS, "polars": POLARS}.get(kind, PANDAS)
    names = {"array": ["float"], "objects": ["floats", "ints", "texts", "equal values", "Decimals"]}
    chosen = draw(st.lists(st.sampled_from(names.get(kind, sorted(makers))), min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    columns = {}
    for place, name in enumerate(chosen):
        make, values = makers[name]
        # Each value is there, so that every column is of its kind.
        picked = [*range(len(values)), *rng.integers(len(values), size=ROWS - len(values))]
        columns[f"{name} {place}"] = make([values[i] for i in rng.permutation(picked)])
    decides = rng.integers(0, 9, ROWS) * (1.0 if kind == "array" else 1)
    frame = (pl.DataFrame if kind == "polars" else pd.DataFrame)(columns | {"decides": decides})
    table = frame
    if kind in ("array", "objects"):
        table = frame.to_numpy(dtype=float if kind == "array" else object)
    immutable = [name for name in range(len(chosen)) if draw(st.booleans())]
    named = immutable if isinstance(table, np.ndarray) else [list(columns)[place] for place in immutable]
    return table, {"immutable": named, "missing": draw(st.sampled_from(["keep", "allow"]))}


def cells(table):
    """List the cells of a table, row by row."""
    if isinstance(table, np.ndarray):
        return [list(row) for row in np.atleast_2d(table)]
    columns = [table[name].to_list() for name in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]


def plain(value):
    return value.item() if isinstance(value, np.generic) else value


def same(a, b):
    """Whether two cells are the same: their type, their bits, and what stands for a missing one."""
    a, b = plain(a), plain(b)
    if any(a is mark or b is mark for mark in (None, pd.NA)):
        return a is b
    if isinstance(a, float) and isinstance(b, float):
        return np.float64(a).tobytes() == np.float64(b).tobytes()
    return type(a) is type(b) and a == b and str(a) == str(b)


def is_equal(a, b):
    """Whether two cells mean the same, of whatever mark or sign."""
    a, b = plain(a), plain(b)
    if pd.isna(a) or pd.isna(b):
        return bool(pd.isna(a) and pd.isna(b))
    return type(a) is type(b) and a == b


def model(table):
    last = table[:, -1] if isinstance(table, np.ndarray) else table["decides"]
    return np.asarray(last).astype(float) > 4


def assert_kept(rows, own, masks):
    """Check that cells are those of x wherever a mask says so."""
    for row, mask in zip(rows, masks, strict=True):
        for value, mine, stays in zip(row, own, mask, strict=True):
            assert same(value, mine) or not stays, (value, mine)


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda each: type(each).__name__)
def test_what_does_not_change_is_as_it_was(explainer):
    @REPEATABLE
    @given(tables())
    def check(problem):
        table, constraints = problem
        asked = []

        def watched(rows):
            asked.extend(cells(rows))
            return model(rows)

        fitted = explainer.clone().fit(watched, table, **constraints)
        for place in range(3):
            x = table[place : place + 1]
            (own,) = cells(x)
            asked.clear()
            (answer,) = fitted.explain_many(x, k=4, progress=False)
            kept = ~changed(answer.rows, answer.row)
            for each in (answer, cp.Explanation.from_json(answer.to_json())):
                assert_kept(cells(each.x), own, np.ones((1, len(own)), dtype=bool))
                assert_kept(cells(each.counterfactuals), own, kept)
            assert_kept(asked, own, [list(map(is_equal, row, own)) for row in asked])

    check()
