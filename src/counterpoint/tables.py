"""The caller's table: reading its columns, and building another one just like it.

Everything inside Counterpoint is a float matrix. This is the only module that knows what the caller
uses instead: a pandas frame, a polars frame or an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Column = NDArray[Any]


@dataclass(frozen=True)
class Form:
    """A table without its rows: what library it comes from, its column names and their dtypes.

    Examples
    --------
    >>> import pandas as pd
    >>> form = Form.of(pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]}))
    >>> form.kind, form.names
    ('pandas', ('age', 'job'))
    """

    kind: Literal["pandas", "polars", "array"]
    names: tuple[Any, ...]
    dtypes: tuple[Any, ...]

    @classmethod
    def of(cls, table: Any) -> Form:
        """Read the form of a pandas frame, a polars frame or a two-dimensional array."""
        if isinstance(table, pd.DataFrame):
            _refuse_repeated(table.columns.tolist())
            return cls("pandas", tuple(table.columns), tuple(table.dtypes))
        if _is_polars(table):
            return cls("polars", tuple(table.columns), tuple(table.dtypes))
        array = np.asarray(table)
        if array.ndim != 2:
            raise ValueError(f"X must be a table of rows and columns, got an array of shape {array.shape}.")
        return cls("array", tuple(f"x{i}" for i in range(array.shape[1])), (array.dtype,) * array.shape[1])

    def columns(self, table: Any, what: str = "X") -> list[Column]:
        """Read the columns of a table of this form, in this form's order, as one array each."""
        if isinstance(table, pd.DataFrame):
            self._check_names(list(table.columns), what)
            return [pandas_values(table[name]) for name in self.names]
        if _is_polars(table):
            self._check_names(list(table.columns), what)
            return [_polars_values(table[name]) for name in self.names]
        array = np.asarray(table)
        if array.ndim != 2 or array.shape[1] != len(self.names):
            raise ValueError(
                f"{what} must have {len(self.names)} columns ({_some(self.names)}), "
                f"got an array of shape {array.shape}."
            )
        return [array[:, i] for i in range(array.shape[1])]

    def one_row(self, x: Any) -> list[Column]:
        """Read one instance (a dict, a Series, a one-row table or a vector) as columns of length one."""
        if isinstance(x, pd.Series):
            x = x.to_dict() if self.kind != "array" or not isinstance(x.index, pd.RangeIndex) else x.to_numpy()
        if isinstance(x, Mapping):
            self._check_names(list(x), "x")
            return [_single(x[name]) for name in self.names]
        if isinstance(x, pd.DataFrame) or _is_polars(x):
            if len(x) != 1:
                raise ValueError(
                    f"x must be one instance, got a table of {len(x)} rows. For many use explain_many(X)."
                )
            return self.columns(x, "x")
        vector = np.asarray(x) if isinstance(x, np.ndarray) else np.asarray(x, dtype=object)
        if vector.ndim == 2 and len(vector) == 1:
            vector = vector[0]
        if vector.shape != (len(self.names),):
            raise ValueError(
                f"x must be one instance of {len(self.names)} features, got an array of shape {vector.shape}."
            )
        return [_single(value) for value in vector]

    def build(self, columns: Sequence[Any]) -> Any:
        """Build a table of this form from columns that already have its dtypes."""
        if self.kind == "pandas":
            frame = pd.DataFrame(dict(enumerate(columns)), copy=False)
            frame.columns = pd.Index(self.names)
            return frame
        if self.kind == "polars":
            import polars as pl

            return pl.DataFrame(dict(zip(self.names, columns, strict=True)))
        return np.column_stack(columns).astype(self.dtypes[0], copy=False)

    def number_column(self, place: int, values: NDArray[np.float64]) -> Any:
        """Turn floats into a column of the dtype at a place."""
        dtype = self.dtypes[place]
        if self.kind == "polars":
            import polars as pl

            return pl.Series(values, nan_to_null=True).cast(dtype)
        if isinstance(dtype, np.dtype):
            return values.astype(dtype, copy=False) if dtype != object else values.astype(object)
        return pd.array(pd.Series(values), dtype=dtype)

    def template(self, place: int, categories: Sequence[Any]) -> Any:
        """Make a column that holds each category once; decoding picks from it, so any dtype survives."""
        dtype = self.dtypes[place]
        values = list(categories)
        if self.kind == "polars":
            import polars as pl

            return pl.Series(values, dtype=dtype)
        if self.kind == "array" or (isinstance(dtype, np.dtype) and dtype.kind not in "O"):
            return np.array(values, dtype=dtype)
        if isinstance(dtype, np.dtype):
            column = np.empty(len(values), dtype=object)
            column[:] = [np.nan if value is None else value for value in values]
            return column
        return pd.Series(values, dtype=dtype).array

    def pick(self, template: Any, codes: NDArray[np.intp]) -> Any:
        """Build a column of categories from their codes."""
        return template[codes] if self.kind == "polars" else template.take(codes)

    def _check_names(self, names: list[Any], what: str) -> None:
        if len(names) == len(self.names) and tuple(names) == self.names:
            return
        missing = [name for name in self.names if name not in set(names)]
        unknown = [name for name in names if name not in set(self.names)]
        if missing:
            raise ValueError(f"{what} lacks the features {missing}. Known: {list(self.names)}.")
        if unknown:
            raise ValueError(
                f"{what} has the unknown features {unknown}; drop them. Known: {list(self.names)}."
            )
        _refuse_repeated(names)


def pandas_values(series: pd.Series) -> Column:
    """Read a pandas column as an array; what is missing becomes NaN or None."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        return series.to_numpy()
    if pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype):
        return series.astype(object).to_numpy()
    if series.hasnans or pd.api.types.is_float_dtype(dtype):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return series.to_numpy(dtype=np.int64)


def is_missing(values: Column) -> NDArray[np.bool_]:
    """Mark missing values, whatever stands for them."""
    return np.asarray(pd.isna(values), dtype=np.bool_)


def _polars_values(series: Any) -> Column:
    """Read a polars column as an array; what is missing becomes NaN or None."""
    if series.dtype.is_numeric():
        values = series.to_numpy()
        return values if values.dtype.kind in "iuf" else values.astype(np.float64)
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    return values


def _single(value: Any) -> Column:
    """Hold one value of any type in an array of length one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int | float):
        return np.array([value])
    column = np.empty(1, dtype=object)
    column[0] = value
    return column


def _is_polars(table: Any) -> bool:
    """Tell a polars frame without importing polars."""
    return type(table).__module__.partition(".")[0] == "polars" and hasattr(table, "columns")


def _refuse_repeated(names: list[Any]) -> None:
    repeated = sorted({str(name) for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"Feature names must be unique, got {repeated} more than once.")


def _some(names: tuple[Any, ...], most: int = 8) -> str:
    """List a few names."""
    listed = ", ".join(str(name) for name in names[:most])
    return listed + (", …" if len(names) > most else "")
