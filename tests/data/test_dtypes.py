"""Every dtype that a column can have: it comes back as it was, or is refused with its name and the cure."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpoint as cp

ROWS = 24
DAY, MOMENT = dt.date(2024, 5, 1), dt.datetime(2024, 5, 1, 12)
TEXTS, BOOLS, WHOLE, REAL = ["a", "b", "c"], [True, False], [1, 2, 7], [0.5, 1.25, 8.0]
DAYS = [DAY, DAY + dt.timedelta(1)]
MOMENTS, SPANS = [pd.Timestamp(day) for day in DAYS], [dt.timedelta(1), dt.timedelta(2)]
MONEY = [Decimal("0.10"), Decimal("2.25"), Decimal("7.00")]


def pandas_column(dtype, values):
    return lambda: pd.Series([values[i % len(values)] for i in range(ROWS)], dtype=dtype)


def arrow_column(kind, values):
    def column():
        array = pa.array([values[i % len(values)] for i in range(ROWS)])
        return pd.Series(pd.ArrowDtype(kind).__from_arrow__(array.cast(kind)))

    return column


def polars_column(dtype, values):
    return lambda: pl.Series([values[i % len(values)] for i in range(ROWS)], dtype=dtype)


def with_and_without(name, make, dtype, values, null=None):
    return {name: make(dtype, values), f"{name}, with gaps": make(dtype, [*values, null])}


WHOLE_NUMBERS = ["Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"]
INTERVALS = list(pd.interval_range(0, 3))
PERIODS = list(pd.period_range("2024-01", periods=3, freq="M"))

KEPT = {
    **{k: v for d in WHOLE_NUMBERS for k, v in with_and_without(d, pandas_column, d, WHOLE).items()},
    **{d.lower(): pandas_column(d.lower(), WHOLE) for d in WHOLE_NUMBERS},
    **with_and_without("Float32", pandas_column, "Float32", REAL),
    **with_and_without("Float64", pandas_column, "Float64", REAL),
    **with_and_without("float16", pandas_column, "float16", REAL),
    **with_and_without("float32", pandas_column, "float32", REAL),
    **with_and_without("boolean", pandas_column, "boolean", BOOLS),
    "bool": pandas_column("bool", BOOLS),
    **with_and_without("string", pandas_column, "string", TEXTS),
    **with_and_without("string[pyarrow]", pandas_column, "string[pyarrow]", TEXTS),
    **with_and_without("str", pandas_column, "str", TEXTS),
    **with_and_without("object of texts", pandas_column, object, TEXTS),
    **with_and_without("object of bools", pandas_column, object, BOOLS),
    **with_and_without("object of ints", pandas_column, object, WHOLE),
    **with_and_without("object of floats", pandas_column, object, REAL),
    **with_and_without("object of Decimals", pandas_column, object, MONEY),
    **with_and_without("object of bytes", pandas_column, object, [b"a", b"b"]),
    **with_and_without("object of tuples", pandas_column, object, [(1, 2), (1, 3)]),
    "object of all marks": pandas_column(object, ["a", None, np.nan, "b", pd.NA]),
    "object of equal values": pandas_column(object, [True, 1, 1.0, "1", 0, False, 0.0]),
    "object of ints and fractions": pandas_column(object, [1, 2, 2.5, None]),
    "object of numbers and texts": pandas_column(object, [1, 2.5, "a", None]),
    **with_and_without("category of texts", pandas_column, "category", TEXTS),
    **with_and_without("category of ints", pandas_column, "category", WHOLE),
    **with_and_without("category of floats", pandas_column, "category", REAL),
    **with_and_without("category of bools", pandas_column, "category", BOOLS),
    **with_and_without("category of intervals", pandas_column, "category", INTERVALS),
    **with_and_without("interval", pandas_column, "interval", INTERVALS),
    "Sparse[float]": pandas_column(pd.SparseDtype(float, np.nan), [*REAL, np.nan]),
    "Sparse[int]": pandas_column(pd.SparseDtype(int, 0), [0, *WHOLE]),
    **with_and_without("arrow int8", arrow_column, pa.int8(), WHOLE),
    **with_and_without("arrow uint64", arrow_column, pa.uint64(), WHOLE),
    **with_and_without("arrow float32", arrow_column, pa.float32(), REAL),
    **with_and_without("arrow bool", arrow_column, pa.bool_(), BOOLS),
    **with_and_without("arrow string", arrow_column, pa.string(), TEXTS),
    **with_and_without("arrow large_string", arrow_column, pa.large_string(), TEXTS),
    **with_and_without("arrow binary", arrow_column, pa.binary(), [b"a", b"b"]),
    **with_and_without("arrow decimal", arrow_column, pa.decimal128(10, 2), MONEY),
    **with_and_without("arrow dictionary", arrow_column, pa.dictionary(pa.int32(), pa.string()), TEXTS),
    **{
        k: v
        for d in (*WHOLE_NUMBERS, "Int128")
        for k, v in with_and_without(f"polars {d}", polars_column, getattr(pl, d), WHOLE).items()
    },
    **with_and_without("polars Float32", polars_column, pl.Float32, REAL),
    **with_and_without("polars Float64", polars_column, pl.Float64, REAL),
    **with_and_without("polars Boolean", polars_column, pl.Boolean, BOOLS),
    **with_and_without("polars String", polars_column, pl.String, TEXTS),
    **with_and_without("polars Categorical", polars_column, pl.Categorical, TEXTS),
    **with_and_without("polars Enum", polars_column, pl.Enum(TEXTS), TEXTS),
    **with_and_without("polars Decimal", polars_column, pl.Decimal(10, 2), MONEY),
    **with_and_without("polars Binary", polars_column, pl.Binary, [b"a", b"b"]),
    **with_and_without("polars Object", polars_column, pl.Object, [(1, 2), (1, 3)]),
    **with_and_without("datetime", pandas_column, "datetime64[ns]", MOMENTS, pd.NaT),
    **with_and_without("datetime with zone", pandas_column, "datetime64[us, UTC]", DAYS, pd.NaT),
    **with_and_without("object of dates", pandas_column, object, DAYS),
    "object of all date marks": pandas_column(object, [*DAYS, None, pd.NaT, np.nan]),
    **with_and_without("arrow date", arrow_column, pa.date32(), DAYS),
    **with_and_without("polars Date", polars_column, pl.Date, DAYS),
    **with_and_without("category of dates", pandas_column, "category", MOMENTS),
    **with_and_without("polars Datetime of days", polars_column, pl.Datetime("ms"), DAYS),
}

# They hold nothing that could change.
EMPTY = {
    "object of nothing": pandas_column(object, [None]),
    "arrow null": arrow_column(pa.null(), [None]),
    "polars Null": polars_column(pl.Null, [None]),
}

# They are known as such, but cannot change.
DATED = {
    **with_and_without("timedelta", pandas_column, "timedelta64[s]", SPANS, pd.NaT),
    **with_and_without("period", pandas_column, "period[M]", PERIODS, pd.NaT),
    **with_and_without("arrow timestamp", arrow_column, pa.timestamp("us", "UTC"), [MOMENT]),
    **with_and_without("arrow duration", arrow_column, pa.duration("us"), [dt.timedelta(1)]),
    **with_and_without("arrow time", arrow_column, pa.time64("us"), [dt.time(12)]),
    **with_and_without("polars Datetime", polars_column, pl.Datetime("ms", "Europe/Vienna"), [MOMENT]),
    **with_and_without("polars Duration", polars_column, pl.Duration, [dt.timedelta(1)]),
    **with_and_without("polars Time", polars_column, pl.Time, [dt.time(12)]),
    "UInt64 beyond 2**53": pandas_column("UInt64", [2**63 + 5, 1]),
    "UInt64 beyond 2**53, with gaps": pandas_column("UInt64", [2**63 + 5, 1, None]),
    "uint64 beyond 2**53": pandas_column("uint64", [2**63 + 5, 1]),
    "polars Int128 beyond 2**53": polars_column(pl.Int128, [2**70, 1, None]),
    "polars UInt64 beyond 2**53": polars_column(pl.UInt64, [2**63 + 5, 1]),
    "object of very long ints": pandas_column(object, [10**400, 1, None]),
    "object of whole floats and ints": pandas_column(object, [1, 2.0, 2.5, True]),
    "object of long Decimals": pandas_column(object, [Decimal("0.1234567890123456789"), Decimal(1)]),
}

REFUSED = {
    "timedelta": pandas_column("timedelta64[ns]", [dt.timedelta(1)]),
    "period": pandas_column("period[M]", PERIODS),
    "object of lists": pandas_column(object, [[1], [2]]),
    "object of dicts": pandas_column(object, [{"a": 1}]),
    "object of dates and texts": pandas_column(object, ["a", DAY]),
    "complex": pandas_column(complex, [1j, 2]),
    "object of whole floats and ints": pandas_column(object, [1, 2.0, 2.5]),
    "object of bools and numbers": pandas_column(object, [True, 2, 2.5]),
    "object of Decimals and floats": pandas_column(object, [Decimal(1), 2.5]),
    "object of long Decimals": pandas_column(object, [Decimal("0.1234567890123456789"), Decimal(1)]),
    "float of nothing": pandas_column(float, [np.nan]),
    "uint64 beyond 2**53": pandas_column("uint64", [2**63 + 5, 1]),
    "UInt64 beyond 2**53": pandas_column("UInt64", [2**63 + 5, 1]),
    "UInt64 beyond 2**53, with gaps": pandas_column("UInt64", [2**63 + 5, 1, None]),
    "int64 just beyond 2**53": pandas_column("int64", [2**53 + 1, 1]),
    "Int64 just beyond 2**53, with gaps": pandas_column("Int64", [2**53 + 1, 1, None]),
    "object just beyond 2**53": pandas_column(object, [2**53 + 1, 1, None]),
    "object of very long ints": pandas_column(object, [10**400, 1, None]),
    "arrow duration": arrow_column(pa.duration("us"), [dt.timedelta(1)]),
    "arrow time": arrow_column(pa.time64("us"), [dt.time(12)]),
    "arrow list": arrow_column(pa.list_(pa.int64()), [[1], [2]]),
    "arrow struct": arrow_column(pa.struct({"n": pa.int64()}), [{"n": 1}]),
    "polars UInt64 beyond 2**53": polars_column(pl.UInt64, [2**63 + 5, 1]),
    "polars Int128 beyond 2**53": polars_column(pl.Int128, [2**70, 1, None]),
    "polars Duration": polars_column(pl.Duration, [dt.timedelta(1)]),
    "polars Time": polars_column(pl.Time, [dt.time(12)]),
    "polars List": polars_column(pl.List(pl.Int64), [[1], [2]]),
    "polars Array": polars_column(pl.Array(pl.Int64, 1), [[1], [2]]),
    "polars Struct": polars_column(pl.Struct({"n": pl.Int64}), [{"n": 1}]),
}


def table_of(column):
    frame = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    return frame({"a": column, "b": np.arange(len(column)) % 7})


def cells(table, name="a"):
    return table[name].to_list()


def same(a, b):
    """Whether two cells are the same: their type, their bits, and what stands for a missing one."""
    if any(a is mark or b is mark for mark in (None, pd.NA, pd.NaT)):
        return a is b
    if isinstance(a, float) and isinstance(b, float):
        return type(a) is type(b) and np.float64(a).tobytes() == np.float64(b).tobytes()
    return type(a) is type(b) and a == b and (isinstance(a, pd.Interval) or str(a) == str(b))


def decides(table):
    return np.asarray(table["b"]) > 3


def assert_unchanged(answers, column, name="a"):
    """Check that each answer holds x's own cell, of the column's dtype."""
    assert any(map(len, answers))
    for answer, own in zip(answers, column.to_list(), strict=True):
        for table in (answer.x, answer.counterfactuals):
            assert table[name].dtype == column.dtype
            assert all(same(value, own) for value in cells(table, name)), (own, cells(table, name))


@pytest.mark.parametrize("name", KEPT | EMPTY | DATED)
def test_a_column_comes_back_as_it_was(name, tmp_path):
    column = (KEPT | EMPTY | DATED)[name]()
    X, known = table_of(column), column.to_list()

    def model(table):
        assert table["a"].dtype == column.dtype
        assert all(any(same(value, each) for each in known) for value in cells(table))
        return decides(table)

    explainer = cp.Neighbours().fit(model, X, immutable=["a"])
    answers = explainer.explain_many(X, k=2, progress=False)
    assert_unchanged(answers, column)
    assert_unchanged(cp.Explanations.from_json(answers.to_json()), column)
    cp.save(explainer, tmp_path / "saved.cp")
    loaded = cp.load(tmp_path / "saved.cp", model)
    assert loaded.fitted_.schema == explainer.fitted_.schema
    assert_unchanged(loaded.explain_many(X, k=2, progress=False), column)


@pytest.mark.parametrize("name", KEPT)
def test_a_column_that_may_change_does_and_is_still_of_its_dtype(name):
    column = KEPT[name]()
    X, known = table_of(column), column.to_list()
    first = known[0]

    def model(table):
        return np.array([same(value, first) for value in cells(table)])

    answers = cp.Neighbours().fit(model, X, immutable=["b"]).explain_many(X[:8], k=2, progress=False)
    assert all(map(len, answers))
    assert answers.frame["a"].dtype == column.dtype
    assert len(answers.changes) == sum(map(len, answers))
    for answer in answers:
        assert str(answer)
        assert len(answer.sentences()) == len(answer)
        assert answer.counterfactuals["a"].dtype == column.dtype
        assert all(any(same(value, each) for each in known) for value in cells(answer.counterfactuals))


@pytest.mark.parametrize("name", REFUSED)
def test_a_column_is_refused_by_name_and_with_the_cure(name):
    with pytest.raises((TypeError, ValueError)) as caught:
        cp.Neighbours().fit(decides, table_of(REFUSED[name]()))
    assert type(caught.value) in (TypeError, ValueError, cp.InvalidError)
    said = str(caught.value)
    assert "'a'" in said
    assert any(cure in said.lower() for cure in ("split ", "drop ", "give ", "make ", "name ", "convert ")), (
        said
    )


def test_what_cannot_be_saved_is_named(tmp_path):
    column = pd.Series([object(), object()] * 12, dtype=object)
    explainer = cp.Neighbours().fit(decides, table_of(column))
    answer = explainer.explain(table_of(column)[:1])
    for save in (answer.to_json, lambda: cp.save(explainer, tmp_path / "saved.cp")):
        with pytest.raises(TypeError, match=r"'a' cannot be saved: .*; use strings, numbers"):
            save()


@pytest.mark.parametrize("name", [None, np.nan, pd.NA, pd.NaT, ("a", np.nan)], ids=repr)
def test_a_missing_name_is_refused(name):
    X = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    X.columns = pd.Index(["a", name], dtype=object, tupleize_cols=False)
    with pytest.raises(
        ValueError, match=r"names must not be missing, got .* as the name of column 1\. Rename"
    ):
        cp.Schema.infer(X)


def test_masked_cells_are_refused_with_the_cure():
    X = np.ma.masked_equal(np.arange(40.0).reshape(20, 2), 6.0)

    def model(rows):
        return rows[..., 0] > 20

    with pytest.raises(TypeError, match=r"1 of 40 cells are masked\. Give .*filled"):
        cp.Neighbours().fit(model, X)
    explainer = cp.Neighbours().fit(model, X.filled(6.0))
    with pytest.raises(TypeError, match=r"1 of 2 cells are masked\. Give .*filled"):
        explainer.explain(X[3])
    images = np.ma.masked_less(np.random.default_rng(0).random((20, 8, 8)), 0.1)
    with pytest.raises(TypeError, match=r"of 1,280 cells are masked"):
        cp.Neighbours().fit(lambda x: x.mean((1, 2)) > 0.5, images)
    seen = cp.Neighbours().fit(lambda x: x.mean((1, 2)) > 0.5, images.data)
    with pytest.raises(TypeError, match=r"of 64 cells are masked"):
        seen.explain(images[0])


def test_masked_arrays_without_masked_cells_are_arrays():
    X = np.ma.array(np.arange(40.0).reshape(20, 2))
    assert len(cp.Neighbours().fit(lambda rows: rows[:, 0] > 20, X).explain(X[3], k=1)) == 1
