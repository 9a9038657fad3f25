"""Fixed types of the columns of a tidy frame, in pandas, Arrow and Spark.

On a cluster every partition must have the same columns and types, also an empty one and one with a row that
has no answer. So every type here can hold a missing value, and none depends on the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterpoint.data.feature import Feature
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels

# The dtype of text: `str` from pandas 3 on, `object` before.
TEXT = pd.Series([], dtype="str").dtype

_SPARK = {
    "bool": "boolean",
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint8": "smallint",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "decimal(20,0)",
    "halffloat": "float",
    "float": "float",
    "double": "double",
    "date32[day]": "date",
    "date64[ms]": "date",
    "binary": "binary",
}


def feature_dtype(schema: Schema, index: int) -> Any:
    """Choose the pandas dtype of a feature.

    It is the caller's own, but whole numbers and truth values can be missing. An immutable column may hold
    categories that were not known at `fit`, so it has the type of its categories.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [31, 45], "job": pd.Categorical(["clerk", "smith"])})
    >>> schema = Schema.infer(people)
    >>> feature_dtype(schema, 0), feature_dtype(schema, 1).categories.tolist()
    (Int64Dtype(), ['clerk', 'smith'])
    """
    feature, dtype = schema.features[index], schema.form.dtypes[index]
    if schema.form.kind == "polars":
        return _of_polars(schema, index)
    if isinstance(dtype, pd.CategoricalDtype):
        return nullable(dtype.categories.dtype) if feature.immutable else dtype
    return _of_objects(feature) if dtype == np.object_ else nullable(dtype)


def nullable(dtype: Any) -> Any:
    """Give the dtype that also holds missing values.

    Examples
    --------
    >>> nullable(np.dtype("int8")), nullable(np.dtype("bool")), nullable(np.dtype("float32"))
    (Int8Dtype(), BooleanDtype, dtype('float32'))
    """
    if isinstance(dtype, pd.SparseDtype):
        dtype = dtype.subtype
    if not isinstance(dtype, np.dtype):
        return dtype
    if dtype.kind in "iu":
        return pd.api.types.pandas_dtype(f"{'U' * (dtype.kind == 'u')}Int{8 * dtype.itemsize}")
    return pd.BooleanDtype() if dtype.kind == "b" else TEXT if dtype.kind in "USTO" else dtype


def decision_dtypes(labels: Labels) -> dict[str, Any]:
    """Name the columns of the decision, one for each number that a model returns, with their dtypes.

    Examples
    --------
    >>> decision_dtypes(np.array([0, 1])), list(decision_dtypes(np.array([[0.2, 0.8]])))
    ({'decision': Int64Dtype()}, ['decision_0', 'decision_1'])
    """
    dtype = labels.dtype
    fixed = nullable(np.dtype(f"{dtype.kind}8") if dtype.kind in "iuf" else dtype)
    if labels.ndim == 1:
        return {"decision": fixed}
    return {f"decision_{index}": fixed for index in range(labels.shape[1])}


def arrow_type(dtype: Any) -> Any:
    """Give the Arrow type of a pandas dtype; what Arrow has no type for becomes text.

    Examples
    --------
    >>> arrow_type(pd.Int64Dtype()), arrow_type(pd.CategoricalDtype(["a", "b"]))
    (DataType(int64), DictionaryType(dictionary<values=string, indices=int32, ordered=0>))
    """
    import pyarrow as pa

    if isinstance(dtype, pd.ArrowDtype):
        return dtype.pyarrow_dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return pa.dictionary(pa.int32(), arrow_type(dtype.categories.dtype), ordered=bool(dtype.ordered))
    if isinstance(dtype, pd.DatetimeTZDtype):
        return pa.timestamp(dtype.unit, tz=str(dtype.tz))
    plain = getattr(dtype, "numpy_dtype", dtype)
    if isinstance(plain, np.dtype) and plain.kind in "biufmM":
        return pa.from_numpy_dtype(plain)
    return pa.string()


def spark_type(kind: Any) -> str:
    """Give Spark's name of an Arrow type; Spark has no categories, so they become their values.

    Examples
    --------
    >>> spark_type(arrow_type(pd.Int64Dtype())), spark_type(arrow_type(pd.CategoricalDtype(["a", "b"])))
    ('bigint', 'string')
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return spark_type(kind.value_type)
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return _SPARK.get(str(kind), "string")


def spark_arrow(kind: Any) -> Any:
    """Give the Arrow type that Spark expects for a column of an Arrow type.

    Examples
    --------
    >>> spark_arrow(arrow_type(pd.UInt8Dtype())), spark_arrow(arrow_type(pd.CategoricalDtype(["a"])))
    (DataType(int16), DataType(string))
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return spark_arrow(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    wider = {
        "uint8": pa.int16(),
        "uint16": pa.int32(),
        "uint32": pa.int64(),
        "uint64": pa.decimal128(20, 0),
        "halffloat": pa.float32(),
        "date64[ms]": pa.date32(),
    }
    is_text = str(kind) not in _SPARK and not pa.types.is_decimal(kind)
    return wider.get(str(kind), pa.string() if is_text else kind)


def _of_objects(feature: Feature) -> Any:
    """Choose the dtype of a column of objects by what its feature holds."""
    if not feature.is_categorical:
        by_writing = {"int": pd.Int64Dtype(), "float": np.dtype("f8"), "int or float": np.dtype("f8")}
        return by_writing.get(feature.written, np.dtype(object))
    kinds = {type(category) for category in feature.categories if category is not None}
    if kinds <= {str}:
        return TEXT
    return (
        {bool: pd.BooleanDtype(), int: pd.Int64Dtype()}.get(*kinds) if len(kinds) == 1 else np.dtype(object)
    )


def _of_polars(schema: Schema, index: int) -> Any:
    """Choose the pandas dtype of a polars column."""
    import polars as pl

    dtype, number = schema.form.dtypes[index], schema.form.number_type(index)
    if number is not None:
        return nullable(number)
    if isinstance(dtype, pl.Enum) and not schema.features[index].immutable:
        return pd.CategoricalDtype(dtype.categories.to_list(), ordered=True)
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return TEXT
    return (
        pd.BooleanDtype()
        if dtype == pl.Boolean
        else pd.ArrowDtype(pl.Series([], dtype=dtype).to_arrow().type)
    )
