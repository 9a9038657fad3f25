"""Schemas and labels as plain data that JSON can hold, and back: dtypes are kept, and nothing is pickled."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import MISSING, astuple, fields
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint._util.damage import check_size
from counterpoint.data.costs import Cost
from counterpoint.data.dummies import Group
from counterpoint.data.grouped import GroupedFormat
from counterpoint.data.links import Compares, Implies, Link
from counterpoint.data.marks import MARKS, NANS, mark_indices
from counterpoint.data.moments import MOMENTS, moment_to_plain
from counterpoint.data.schema import Feature, Schema
from counterpoint.data.tables import TableFormat
from counterpoint.data.types import Labels

# A cell of a saved dtype is refused if this many of them would not fit into the room for small files.
CELL = 256

Plain = Any  # what JSON can hold: dicts, lists, texts, finite numbers, true, false and null


def schema_to_plain(schema: Schema) -> dict[str, Plain]:
    """Turn a schema into plain data.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45]}), immutable=["age"])
    >>> schema_to_plain(schema)["kind"]
    'pandas'
    >>> schema_from_plain(schema_to_plain(schema)) == schema
    True
    """
    form = schema.form.caller
    return {
        "kind": form.kind,
        "names": [value_to_plain(name) for name in form.names],
        "dtypes": [dtype_to_plain(dtype) for dtype in form.dtypes],
        "shape": list(form.shape),
        "features": [_feature_to_plain(feature) for feature in schema.features],
        **({"links": [_link_to_plain(link) for link in schema.links]} if schema.links else {}),
        **_groups_to_plain(schema.form),
    }


def schema_from_plain(plain: dict[str, Plain]) -> Schema:
    """Turn plain data back into a schema.

    Examples
    --------
    >>> schema_from_plain({
    ...     "kind": "array", "names": ["x0"], "dtypes": [{"numpy": "<f8"}], "features": [{"name": "x0"}]
    ... }).names
    ('x0',)
    """
    names = tuple(value_from_plain(name) for name in plain["names"])
    dtypes = tuple(dtype_from_plain(dtype) for dtype in plain["dtypes"])
    features = [
        Feature(**{key: value_from_plain(value) for key, value in feature.items()})
        for feature in plain["features"]
    ]
    form = TableFormat(plain["kind"], names, dtypes, tuple(plain.get("shape", ())))
    links = tuple(map(_link_from_plain, plain.get("links", ())))
    groups = tuple(Group(*map(value_from_plain, group)) for group in plain.get("groups", ()))
    return Schema(tuple(features), GroupedFormat.over(form, groups) if groups else form, links)


def _groups_to_plain(form: TableFormat) -> dict[str, Plain]:
    """List the groups of dummy columns, if there are any."""
    groups = form.groups if isinstance(form, GroupedFormat) else ()
    plain = [[value_to_plain(getattr(each, item.name)) for item in fields(each)] for each in groups]
    return {"groups": plain} if plain else {}


def labels_to_plain(labels: Labels) -> dict[str, Plain]:
    """Turn an array of labels, of any shape, into plain data.

    Examples
    --------
    >>> labels_to_plain(np.array([True, False]))
    {'dtype': '|b1', 'shape': [2], 'values': [True, False]}
    """
    dtype, flat = labels.dtype, labels.ravel()
    if dtype.kind not in "biufUST":
        raise TypeError(f"Labels of dtype {dtype} cannot be saved; use strings, numbers or bools.")
    values = numbers_to_plain(flat) if dtype.kind == "f" else flat.tolist()
    values = [value_to_plain(value) for value in values] if dtype.kind == "S" else values
    return {"dtype": _numpy_name(dtype), "shape": list(labels.shape), "values": values}


def labels_from_plain(plain: dict[str, Plain]) -> Labels:
    """Turn plain data back into an array of labels.

    Examples
    --------
    >>> labels_from_plain(labels_to_plain(np.array(["good", "bad"])))
    array(['good', 'bad'], dtype='<U4')
    """
    dtype = np.dtype(plain["dtype"])
    if dtype.kind not in "biufUST":
        raise ValueError(f"The saved data contains labels of the unknown dtype {dtype}.")
    check_size(dtype.itemsize * len(plain["values"]), 8 * len(plain["values"]), "the labels")
    if dtype.kind == "f":
        return numbers_from_plain(plain["values"]).astype(dtype).reshape(plain["shape"])
    values = [value_from_plain(value) for value in plain["values"]]
    return np.array(values, dtype=dtype).reshape(plain["shape"])


def numbers_to_plain(numbers: NDArray[Any]) -> list[Plain]:
    """Turn floats into nested lists; JSON has no NaN and no infinity, so these become strings.

    Examples
    --------
    >>> numbers_to_plain(np.array([0.5, np.nan, -np.inf, NANS["None"]]))
    [0.5, 'nan', '-inf', 'None']
    """
    finite = np.isfinite(numbers)
    if finite.all():
        return list(numbers.tolist())
    plain, missing = numbers.astype(object), np.isnan(numbers)
    plain[~finite] = numbers[~finite].astype(str)
    plain[missing] = np.array(list(MARKS), dtype=object)[mark_indices(numbers[missing])]
    return list(plain.tolist())


def numbers_from_plain(plain: list[Plain]) -> NDArray[np.float64]:
    """Turn nested lists back into floats.

    Examples
    --------
    >>> numbers_from_plain([0.5, "nan", "-inf"])
    array([ 0.5,  nan, -inf])
    """
    try:
        return np.array(plain, dtype=np.float64)
    except ValueError:  # numpy cannot read the marks of missing numbers
        numbers = np.array(plain, dtype=object)
        read = np.vectorize(lambda cell: NANS.get(cell, cell), otypes=[np.float64])
        return np.asarray(read(numbers))


def value_to_plain(value: Any) -> Plain:
    """Turn one name, category or number into plain data; types that JSON lacks become tagged values."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, tuple):
        return {"tuple": [value_to_plain(part) for part in value]}
    if isinstance(value, pd.Interval):
        return {"interval": [value_to_plain(v) for v in (value.left, value.right, value.closed)]}
    if isinstance(value, Cost):
        return {"cost": [value_to_plain(part) for part in astuple(value)]}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    plain = moment_to_plain(value)
    if plain is None:
        raise TypeError(
            f"{value!r} of type {type(value).__name__} cannot be saved; "
            f"use strings, numbers, bools or dates as names and categories."
        )
    return plain


def value_from_plain(plain: Plain) -> Any:
    """Turn plain data back into one name, category or number."""
    if not isinstance(plain, dict):
        return plain
    ((tag, content),) = plain.items()
    if tag == "tuple":
        return tuple(value_from_plain(part) for part in content)
    if tag == "interval":
        left, right, closed = (value_from_plain(part) for part in content)
        return pd.Interval(left, right, closed)
    if tag == "cost":
        return Cost(*(value_from_plain(part) for part in content))
    readers: dict[str, Callable[[Any], Any]] = {
        "float": float,
        "decimal": Decimal,
        "bytes": base64.b64decode,
        **MOMENTS,
    }
    if tag not in readers:
        raise ValueError(f"The saved data contains a value of the unknown type {tag!r}.")
    return readers[tag](content)


def dtype_to_plain(dtype: Any) -> dict[str, Plain]:
    """Turn a numpy, pandas or polars dtype into plain data."""
    if isinstance(dtype, np.dtype):
        return {"numpy": _numpy_name(dtype)}
    if isinstance(dtype, pd.api.extensions.ExtensionDtype):
        return _pandas_to_plain(dtype)
    return _polars_to_plain(dtype)


def dtype_from_plain(plain: dict[str, Plain]) -> Any:
    """Turn plain data back into a dtype."""
    if "numpy" in plain:
        dtype = np.dtype(plain["numpy"])
        check_size(dtype.itemsize * CELL, 0, f"a column of {dtype}")
        return dtype
    if "arrow" in plain:
        return _arrow_from_plain(plain["arrow"])
    return _pandas_from_plain(plain) if "pandas" in plain else _polars_from_plain(plain)


def _feature_to_plain(feature: Feature) -> dict[str, Plain]:
    """Keep the fields that differ from their defaults."""
    values = {field.name: (getattr(feature, field.name), field.default) for field in fields(feature)}
    kept = {
        name: value for name, (value, default) in values.items() if default is MISSING or value != default
    }
    try:
        return {name: value_to_plain(value) for name, value in kept.items()}
    except TypeError as error:
        raise TypeError(f"{feature.name!r} cannot be saved: {error}") from None


def _link_to_plain(link: Link) -> Plain:
    kind = "implies" if isinstance(link, Implies) else "compares"
    return {kind: [value_to_plain(getattr(link, field.name)) for field in fields(link)]}


def _link_from_plain(plain: Plain) -> Link:
    ((kind, parts),) = plain.items()
    return (Implies if kind == "implies" else Compares)(*(value_from_plain(part) for part in parts))


def _numpy_name(dtype: np.dtype[Any]) -> str:
    # numpy cannot read back the `str` of its variable-width text dtype, and only of that one.
    return "T" if dtype.kind == "T" else dtype.str


def _pandas_to_plain(dtype: Any) -> dict[str, Plain]:
    if isinstance(dtype, pd.CategoricalDtype):
        categories = dtype.categories
        return {
            "pandas": "category",
            "categories": [value_to_plain(c) for c in categories],
            "of": dtype_to_plain(categories.dtype),
            "ordered": bool(dtype.ordered),
        }
    if isinstance(dtype, pd.StringDtype):
        missing = "NA" if dtype.na_value is pd.NA else "nan"
        return {"pandas": "string", "storage": dtype.storage, "missing": missing}
    if isinstance(dtype, pd.ArrowDtype):
        return {"arrow": _arrow_to_plain(dtype.pyarrow_dtype)}
    if not _is_named(dtype):
        raise TypeError(f"A column of the pandas dtype {dtype!r} cannot be saved; convert it to another.")
    return {"pandas": str(dtype)}


def _is_named(dtype: Any) -> bool:
    """Whether pandas can find a dtype by its name."""
    try:
        return bool(pd.api.types.pandas_dtype(str(dtype)) == dtype)
    except (TypeError, NotImplementedError):
        return False


def _arrow_to_plain(kind: Any) -> str:
    """Serialize an Arrow type with Arrow, because its name is not complete."""
    import pyarrow as pa

    schema = pa.schema([pa.field("column", kind)]).serialize()
    return base64.b64encode(schema.to_pybytes()).decode("ascii")


def _arrow_from_plain(plain: str) -> Any:
    try:
        import pyarrow as pa
    except ImportError as error:
        raise ImportError("This was saved from a frame with Arrow columns: pip install pyarrow") from error
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(plain)))
    return pd.ArrowDtype(schema.field("column").type)


def _pandas_from_plain(plain: dict[str, Plain]) -> Any:
    if plain["pandas"] == "category":
        values = [value_from_plain(c) for c in plain["categories"]]
        categories = pd.Index(values, dtype=dtype_from_plain(plain["of"]))
        return pd.CategoricalDtype(categories, ordered=plain["ordered"])
    if plain["pandas"] == "string":
        options = {"na_value": np.nan} if plain["missing"] == "nan" else {}
        try:
            return pd.StringDtype(plain["storage"], **options)
        except ImportError:  # saved with pyarrow, which is not installed here
            return pd.StringDtype("python", **options)
    return pd.api.types.pandas_dtype(plain["pandas"])


def _polars_to_plain(dtype: Any) -> dict[str, Plain]:
    plain: dict[str, Plain] = {"polars": str(dtype.base_type().__name__)}
    if plain["polars"] == "Enum":
        return plain | {"categories": dtype.categories.to_list()}
    if plain["polars"] == "Decimal":
        return plain | {"precision": dtype.precision, "scale": dtype.scale}
    pool = getattr(dtype, "categories", None)
    if pool is not None and not pool.is_global():
        return plain | {"pool": [pool.name(), pool.namespace(), str(pool.physical())]}
    if dtype.is_temporal():
        named = ("time_unit", "time_zone")
        return plain | {name: getattr(dtype, name) for name in named if hasattr(dtype, name)}
    if dtype.is_nested():
        raise TypeError(f"A column of the polars dtype {dtype} cannot be saved.")
    return plain


def _polars_from_plain(plain: dict[str, Plain]) -> Any:
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError("This was saved from a polars frame: pip install polars") from error
    kind = getattr(pl, plain["polars"], None)
    if not (isinstance(kind, type) and issubclass(kind, pl.DataType)):
        raise ValueError(f"The saved data names the unknown polars dtype {plain['polars']!r}.")
    if "pool" in plain:
        name, namespace, physical = plain["pool"]
        return kind(pl.Categories(name, namespace, getattr(pl, physical)))
    return kind(**{key: value for key, value in plain.items() if key != "polars"})
