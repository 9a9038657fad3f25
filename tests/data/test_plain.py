"""Schemas and labels survive a trip through JSON."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from counterpoint.data import plain as storage
from counterpoint.data.schema import Feature, Schema
from counterpoint.data.tables import TableFormat

TEXTS = ["lo", "hi", "lo"]
NUMPY = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i4"]
PANDAS = {
    **{name: pd.Series([1, 0, 3], dtype=name) for name in NUMPY},
    "bool": pd.Series([True, False, True]),
    "object": pd.Series(["a", 1, None], dtype=object),
    "str": pd.Series(TEXTS, dtype="str"),
    "string": pd.Series(["a", None, "b"], dtype="string"),
    "Int64": pd.Series([1, None, 3], dtype="Int64"),
    "UInt8": pd.Series([1, 2, 3], dtype="UInt8"),
    "Float64": pd.Series([1.5, None, 3], dtype="Float64"),
    "boolean": pd.Series([True, None, False], dtype="boolean"),
    "categories": pd.Series(TEXTS, dtype="category"),
    "ordered": pd.Series(pd.Categorical(TEXTS, ["lo", "mid", "hi"], ordered=True)),
    "of objects": pd.Series(pd.Categorical(TEXTS, pd.Index(["lo", "hi"], dtype=object))),
    "of ints": pd.Series(pd.Categorical([3, 1, 3])),
    "of bools": pd.Series(pd.Categorical([True, False, None])),
    "intervals": pd.Series(pd.cut([1, 5, 9], 3)),
}
POLARS = {
    **{
        str(dtype): pl.Series([1, 0, 3], dtype=dtype)
        for dtype in (pl.Int8, pl.UInt64, pl.Float32, pl.Float64)
    },
    "missing": pl.Series([1, None, 3], dtype=pl.Int32),
    "Boolean": pl.Series([True, False, None]),
    "String": pl.Series(["a", None, "b"]),
    "Enum": pl.Series(TEXTS, dtype=pl.Enum(["lo", "mid", "hi"])),
    "Categorical": pl.Series(TEXTS, dtype=pl.Categorical),
    "Decimal": pl.Series(["1.50", "2.25"]).cast(pl.Decimal(10, 2)),
}
ARRAYS = [
    np.array([[1, 2], [3, 4]], dtype=np.int8),
    np.array([[1.5, np.nan], [3, 4]], dtype=np.float32),
    np.array([[True, False], [False, True]]),
    np.array([["a", "bcd"], ["c", "d"]]),
    np.array([[b"a", b"\xff"], [b"c", b"d"]]),
    np.array([["a", 1.5], [None, 4]], dtype=object),
]


def trip(schema: Schema) -> Schema:
    text = json.dumps(storage.schema_to_plain(schema), allow_nan=False)
    return storage.schema_from_plain(json.loads(text))


@pytest.mark.parametrize("column", PANDAS.values(), ids=PANDAS)
def test_pandas_schema_survives(column):
    frame = pd.DataFrame({"a": column})
    schema = Schema.infer(frame)
    again = trip(schema)
    assert again == schema
    assert [type(c) for c in again.features[0].categories] == [type(c) for c in schema.features[0].categories]
    rows = schema.encode(frame)
    pd.testing.assert_frame_equal(again.decode(rows), schema.decode(rows))
    pd.testing.assert_frame_equal(again.decode(rows[:0]), frame[:0], check_index_type=False)


@pytest.mark.parametrize("column", POLARS.values(), ids=POLARS)
def test_polars_schema_survives(column):
    schema = Schema.infer(pl.DataFrame({"a": column}))
    again = trip(schema)
    assert again == schema
    assert again.form.dtypes[0] == column.dtype
    assert again.decode(schema.encode(pl.DataFrame({"a": column})))["a"].equals(column)


def test_polars_category_pool_survives():
    if not hasattr(pl, "Categories"):
        pytest.skip("this polars has no named categories")
    dtype = pl.Categorical(pl.Categories("mine"))
    assert storage.dtype_from_plain(storage.dtype_to_plain(dtype)) == dtype


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: array.dtype.str)
def test_array_schema_survives(array):
    schema = Schema.infer(array)
    assert trip(schema) == schema
    assert trip(schema).decode(schema.encode(array)).dtype == array.dtype


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="this numpy has no variable-width texts")
def test_variable_width_texts_survive():
    dtype = np.dtype("T")
    assert storage.dtype_from_plain(json.loads(json.dumps(storage.dtype_to_plain(dtype)))) == dtype
    labels = np.array(["good", "bad"], dtype=dtype)
    assert storage.labels_from_plain(storage.labels_to_plain(labels)).dtype == dtype


def test_texts_saved_where_pyarrow_is_are_read_where_it_is_not(monkeypatch):
    plain = {"pandas": "string", "storage": "pyarrow", "missing": "NA"}
    known = pd.StringDtype

    def without_pyarrow(storage, **options):
        if storage == "pyarrow":
            raise ImportError("pyarrow")
        return known(storage, **options)

    monkeypatch.setattr(pd, "StringDtype", without_pyarrow)
    assert storage.dtype_from_plain(plain) == known("python")


def test_constraints_and_unusual_names_survive():
    features = (
        Feature(0, seen=(-np.inf, 3.5), range=(0, np.inf), step=0.5, missing=True, direction=-1),
        Feature(("a", 1), "categorical", categories=("x", 1, 2.5, True, None), immutable=True),
        Feature("c", "categorical", categories=("lo", "hi"), range=("hi",), ordered=True, direction=1),
    )
    schema = Schema(
        features, TableFormat("pandas", (0, ("a", 1), "c"), (np.dtype("f8"), np.dtype("O"), np.dtype("O")))
    )
    again = trip(schema)
    assert again == schema
    assert [type(c) for c in again.features[1].categories] == [str, int, float, bool, type(None)]
    assert isinstance(again.names[0], int)


def test_numpy_scalars_are_saved_as_plain_numbers():
    feature = Feature("a", seen=(np.float64(0), np.float32(2)), step=np.float64(0.5))
    schema = Schema((feature,), TableFormat("array", ("a",), (np.dtype("f8"),)))
    assert trip(schema).features[0].seen == (0, 2)


@pytest.mark.parametrize(
    "value", [Decimal("1.20"), b"\x00\xff", np.inf, ("a", None), pd.Interval(0, 1, "left")]
)
def test_unusual_values_survive(value):
    assert storage.value_from_plain(json.loads(json.dumps(storage.value_to_plain(value)))) == value


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["good", "bad"]),
        np.array([1, 2], dtype=np.int8),
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([True, False]),
        np.array([0.1, np.inf, np.nan]),
        np.array([0.1, 1], dtype=np.float32),
        np.array([b"a", b"\xff"]),
        np.array([[0.25, 0.75], [1, 0]]),
        np.array([["a", "b"]]),
        np.empty((0, 3)),
        np.empty(0, dtype="<U7"),
        np.array("bad"),
    ],
    ids=repr,
)
def test_labels_survive(labels):
    again = storage.labels_from_plain(
        json.loads(json.dumps(storage.labels_to_plain(labels), allow_nan=False))
    )
    assert again.dtype == labels.dtype
    np.testing.assert_array_equal(again, labels, strict=True)


def test_numbers_survive_to_the_last_bit():
    numbers = np.array([[0.1 + 0.2, -0.0], [np.nan, 5e-324]])
    again = storage.numbers_from_plain(json.loads(json.dumps(storage.numbers_to_plain(numbers))))
    assert (np.signbit(again) == np.signbit(numbers)).all()
    np.testing.assert_array_equal(again, numbers)


def test_what_cannot_be_saved_says_so():
    with pytest.raises(TypeError, match="cannot be saved"):
        storage.value_to_plain(object())
    with pytest.raises(TypeError, match=r"datetime64.* cannot be saved"):
        storage.labels_to_plain(np.array(["2020-01-01"], dtype="M8[D]"))
    with pytest.raises(TypeError, match=r"List.* cannot be saved"):
        storage.dtype_to_plain(pl.List(pl.Int8))


def test_damaged_data_is_refused():
    with pytest.raises(ValueError, match="unknown type 'code'"):
        storage.value_from_plain({"code": "1 + 1"})
    with pytest.raises(ValueError, match="unknown polars dtype 'read_csv'"):
        storage.dtype_from_plain({"polars": "read_csv"})
