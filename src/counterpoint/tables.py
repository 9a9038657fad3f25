"""The caller's table: reading its columns, and building another one just like it.

Everything inside Counterpoint is a float matrix. This is the only module that knows what the caller
uses instead: a pandas frame, a polars frame or an array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Column = NDArray[Any]


@dataclass(frozen=True)
class Form:
    """A table without its rows: what library it comes from, its column names and their dtypes.

    Where instances are arrays themselves, images or series, `shape` is theirs, and their cells are the
    columns.

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
    shape: tuple[int, ...] = ()

    @classmethod
    def of(cls, table: Any) -> Form:
        """Read the form of a pandas frame, a polars frame or a two-dimensional array."""
        if isinstance(table, pd.DataFrame):
            _refuse_repeated(table.columns.tolist())
            return cls("pandas", tuple(table.columns), tuple(table.dtypes))
        if _is_polars(table):
            return cls("polars", tuple(table.columns), tuple(table.dtypes))
        array = _as_array(table)
        if array.ndim != 2:
            raise ValueError(
                f"X must be a table of rows and columns, got {_described(table, array)}. "
                f"Give a pandas or polars frame, or an array of shape (instances, features)."
            )
        return cls("array", tuple(f"x{i}" for i in range(array.shape[1])), (array.dtype,) * array.shape[1])

    @classmethod
    def of_cells(cls, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Form:
        """Make the form of instances that are arrays, one column a cell.

        Examples
        --------
        >>> Form.of_cells((2, 2), np.dtype("f4")).names
        ('0,0', '0,1', '1,0', '1,1')
        """
        names = tuple(",".join(map(str, place)) for place in np.ndindex(*shape))
        return cls("array", names, (dtype,) * len(names), shape)

    def columns(self, table: Any, what: str = "X") -> list[Column]:
        """Read the columns of a table of this form, in this form's order, as one array each."""
        if isinstance(table, pd.DataFrame):
            self._check_names(list(table.columns), what)
            return [pandas_values(table[name]) for name in self.names]
        if _is_polars(table):
            self._check_names(list(table.columns), what)
            return [_polars_values(table[name]) for name in self.names]
        array = _as_array(table)
        if array.ndim != 2 or array.shape[1] != len(self.names):
            one = " For one instance use explain(x)." if array.shape == (len(self.names),) else ""
            raise ValueError(
                f"{what} must have {len(self.names)} columns ({_some(self.names)}), "
                f"got {_described(table, array)}.{one}"
            )
        return [array[:, i] for i in range(array.shape[1])]

    def one_row(self, x: Any) -> list[Column]:
        """Read one instance (a dict, a Series, a one-row table or a vector) as columns of length one."""
        if isinstance(x, pd.Series):
            x = x.to_numpy() if self.kind == "array" and _is_count(x.index) else x.to_dict()
        if isinstance(x, Mapping):
            self._check_names(list(x), "x")
            return [_single(x[name]) for name in self.names]
        if isinstance(x, pd.DataFrame) or _is_polars(x):
            if len(x) != 1:
                raise ValueError(
                    f"x must be one instance, got a table of {len(x)} rows. For many use explain_many(X)."
                )
            return self.columns(x, "x")
        vector = _as_array(x)
        if vector.ndim == 2 and len(vector) == 1:
            vector = vector[0]
        if vector.shape != (len(self.names),):
            many = " For many use explain_many(X)." if vector.ndim == 2 else ""
            raise ValueError(
                f"x must be one instance of {len(self.names)} features ({_some(self.names)}), "
                f"got {_described(x, vector)}.{many}"
            )
        return [_single(value) for value in vector]

    def build(self, columns: Sequence[Any]) -> Any:
        """Build a table of this form from columns that already have its dtypes."""
        if self.kind == "pandas":
            # Without a dtype of its own, pandas would take texts in an object column for its text dtype.
            series = [
                pd.Series(column, dtype=object, copy=False) if column.dtype == np.object_ else column
                for column in columns
            ]
            frame = pd.DataFrame(dict(enumerate(series)), copy=False)
            frame.columns = self._index.view()
            return frame
        if self.kind == "polars":
            import polars as pl

            return pl.DataFrame(dict(zip(self.names, columns, strict=True)))
        return np.column_stack(columns).astype(self.dtypes[0], copy=False)

    @cached_property
    def _index(self) -> pd.Index:
        return pd.Index(self.names)

    def build_array(self, rows: NDArray[np.float64]) -> Any:
        """Build an array of this form from rows that hold numbers only."""
        return rows.astype(self.dtypes[0]).reshape(len(rows), *(self.shape or rows.shape[1:]))

    def number_type(self, place: int) -> np.dtype[Any] | None:
        """Find the numpy dtype of the numbers at a place; None if any number can stand there, or none.

        Examples
        --------
        >>> import pandas as pd
        >>> Form.of(pd.DataFrame({"age": pd.array([31, None], dtype="Int64")})).number_type(0)
        dtype('int64')
        """
        dtype = self.dtypes[place]
        if self.kind == "polars":
            if not (dtype.is_integer() or dtype.is_float()):
                return None
            width = {"Int128": "int64", "UInt128": "int64"}.get(str(dtype), str(dtype).lower())
            return np.dtype(width)
        if not isinstance(dtype, np.dtype):
            dtype = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", None))
        return dtype if isinstance(dtype, np.dtype) and dtype.kind in "iuf" else None

    def number_column(
        self, place: int, values: NDArray[np.float64], whole: bool = False, missing: Any = np.nan
    ) -> Any:
        """Turn floats into a new column of the dtype at a place; the model may write to it.

        In an object column, `whole` numbers become ints, and `missing` stands for what is missing.
        """
        dtype = self.dtypes[place]
        if self.kind == "polars":
            import polars as pl

            return pl.Series(values, nan_to_null=True).cast(dtype)
        if dtype == np.object_:
            column = _objects([int(v) if whole and v.is_integer() else v for v in values.tolist()])
            column[np.isnan(values)] = missing
            return column
        if isinstance(dtype, np.dtype):
            return values.astype(dtype)
        return pd.array(pd.Series(values), dtype=dtype)

    def template(self, place: int, categories: Sequence[Any], missing: Any = np.nan) -> Any:
        """Make a column that holds each category once; decoding picks from it, so any dtype survives."""
        dtype = self.dtypes[place]
        values = list(categories)
        if self.kind == "polars":
            import polars as pl

            return _to_polars(values, dtype) if _is_instant(dtype) else pl.Series(values, dtype=dtype)
        if dtype == np.object_:
            return _objects([missing if value is None else value for value in values])
        if isinstance(dtype, np.dtype) and dtype.kind not in "mM":
            return np.array(values, dtype=dtype)
        return pd.Series(values, dtype=dtype).array

    def pick(self, template: Any, codes: NDArray[np.intp]) -> Any:
        """Build a column of categories from their codes."""
        return template[codes] if self.kind == "polars" else template.take(codes)

    def holding(self, place: int, values: Sequence[Any]) -> Form:
        """Return a form whose column at a place can hold further values; None is a missing one.

        Examples
        --------
        >>> import pandas as pd
        >>> form = Form.of(pd.DataFrame({"age": [31, 45]}))
        >>> form.holding(0, [99]) is form
        True
        >>> form.holding(0, [99, None]).dtypes
        (dtype('float64'),)
        """
        wider = next(dtype for dtype in self._wider(place, values) if self._holds(dtype, values))
        if wider == self.dtypes[place]:
            return self
        if self.kind == "array":
            return replace(self, dtypes=(wider,) * len(self.names))
        return replace(self, dtypes=(*self.dtypes[:place], wider, *self.dtypes[place + 1 :]))

    def _wider(self, place: int, values: Sequence[Any]) -> Iterator[Any]:
        """Name dtypes that may hold what a column holds, and further values: the narrowest first."""
        dtype, known = self.dtypes[place], [value for value in values if value is not None]
        yield dtype
        if self.kind == "polars":
            import polars as pl

            if isinstance(dtype, pl.Enum):
                yield pl.Enum([*dtype.categories, *known])
            yield pl.Float64() if self.number_type(place) else pl.Series(values, strict=False).dtype
            yield pl.Object()
            return
        if isinstance(dtype, pd.CategoricalDtype):
            yield pd.CategoricalDtype(_appended(dtype.categories, known), dtype.ordered)
        elif self.number_type(place) is not None:
            yield np.dtype(np.float64) if isinstance(dtype, np.dtype) else pd.Float64Dtype()
        elif isinstance(dtype, np.dtype) and dtype.kind in "US" and all(isinstance(v, str) for v in values):
            yield np.promote_types(dtype, np.array(values).dtype)
        elif isinstance(dtype, np.dtype) and dtype.kind in "mM":
            yield np.dtype(f"{dtype.kind}8[ns]")
        yield np.dtype(object)

    def _holds(self, dtype: Any, values: Sequence[Any]) -> bool:
        """Whether a column of a dtype gives values back as they are."""
        column = replace(self, names=self.names[:1], dtypes=(dtype,))
        try:
            with np.errstate(over="ignore"):
                table = column.build([column.template(0, values)])
            back = column.columns(table)[0]
        except Exception:  # every library has its own errors for what a dtype cannot hold
            return False
        gone = is_missing(back)
        pairs = zip(values, back.tolist(), gone, strict=True)
        return all(missing if value is None else value == held for value, held, missing in pairs)

    def _check_names(self, names: list[Any], what: str) -> None:
        if len(names) == len(self.names) and tuple(names) == self.names:
            return
        given, known = set(names), set(self.names)
        missing = [name for name in self.names if name not in given]
        unknown = [name for name in names if name not in known]
        if missing and self.kind == "array":
            raise ValueError(
                f"{what} names its features ({_some(tuple(names))}), but the known instances were an array, "
                f"whose features are {_some(self.names)}. Give an array here too, or fit on a frame."
            )
        if missing:
            also = f" and has the unknown {unknown}" if unknown else ""
            raise ValueError(
                f"{what} lacks the features {missing}{also}; give every feature by its name. "
                f"Known: {list(self.names)}."
            )
        if unknown:
            raise ValueError(
                f"{what} has the unknown features {unknown}; drop them. Known: {list(self.names)}."
            )
        _refuse_repeated(names)


def _appended(categories: pd.Index, further: Sequence[Any]) -> pd.Index:
    """Put further categories after others, in the same dtype if it can hold them."""
    try:
        return categories.append(pd.Index(further, dtype=categories.dtype))
    except (TypeError, ValueError):
        return pd.Index([*categories, *further], dtype=object)


def pandas_values(series: pd.Series) -> Column:
    """Read a pandas column as an array; what is missing becomes NaN or None."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind not in "mM":
        return np.asarray(series.to_numpy())
    if pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype):
        return np.asarray(series.astype(object).to_numpy())
    if series.hasnans or pd.api.types.is_float_dtype(dtype):
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(series.to_numpy(dtype=np.int64))


def is_missing(values: Column) -> NDArray[np.bool_]:
    """Mark missing values, whatever stands for them."""
    return np.asarray(pd.isna(values), dtype=np.bool_)


def missing_value(values: Column) -> Any:
    """Find what stands for a missing value in a column of objects: None, NaN or pandas' NA."""
    if values.dtype != object:
        return np.nan
    gone = values[is_missing(values)]
    return gone[0] if len(gone) and (gone[0] is None or gone[0] is pd.NA) else np.nan


def _polars_values(series: Any) -> Column:
    """Read a polars column as an array; what is missing becomes NaN or None."""
    if _is_instant(series.dtype):
        return pandas_values(_from_polars(series))
    if series.dtype.is_numeric():
        values: Column = series.to_numpy()
        return values if values.dtype.kind in "iuf" else values.astype(np.float64)
    return _objects(series.to_list())


def _is_instant(dtype: Any) -> bool:
    """Tell a polars dtype of points or spans in time.

    They are read as pandas' own, which tell any two apart: Python's have no nanoseconds, and to them the two
    hours of a clock that is put back are equal.
    """
    return type(dtype).__name__ in ("Datetime", "Duration")


def _from_polars(series: Any) -> pd.Series:
    """Turn points or spans in time of polars into those of pandas."""
    instants = pd.Series(series.to_numpy())
    zone = getattr(series.dtype, "time_zone", None)
    return instants.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else instants


def _to_polars(values: Sequence[Any], dtype: Any) -> Any:
    """Turn points or spans in time of pandas into those of polars."""
    import polars as pl

    zone = getattr(dtype, "time_zone", None)
    kind = "timedelta64" if type(dtype).__name__ == "Duration" else "datetime64"
    instants = pd.Series(values, dtype=f"{kind}[{dtype.time_unit}{f', {zone}' if zone else ''}]")
    if not zone:
        return pl.Series(instants.to_numpy(), dtype=dtype)
    plain = pl.Series(instants.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    return plain.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)


def _single(value: Any) -> Column:
    """Hold one value of any type in an array of length one."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return pandas_values(pd.Series([value]))
    if isinstance(value, np.generic):
        value = value.item()
    return np.array([value]) if isinstance(value, bool | int | float) else _objects([value])


def _objects(values: Sequence[Any]) -> Column:
    """Hold values of any type, one a place; np.array would spread tuples over columns."""
    return np.fromiter(values, dtype=object, count=len(values))


def _as_array(table: Any) -> Column:
    """Read an array, or nested lists of any types; np.asarray would turn numbers among texts into texts."""
    if isinstance(table, list | tuple):
        array = np.asarray(table, dtype=object)
        plain = all(isinstance(value, bool | int | float | np.number | np.bool_) for value in array.ravel())
        return np.asarray(table) if plain else array
    return np.asarray(table)


def _described(table: Any, array: Column) -> str:
    """Say what was given in place of a table."""
    return f"an array of shape {array.shape}" if array.ndim else f"a {type(table).__name__}"


def _is_count(index: pd.Index) -> bool:
    """Tell an index that only counts from one that names."""
    return bool(index.tolist() == list(range(len(index))))


def _is_polars(table: Any) -> bool:
    """Tell a polars frame without importing polars."""
    if type(table).__module__.partition(".")[0] != "polars":
        return False
    if type(table).__name__ == "LazyFrame":
        raise TypeError("A polars LazyFrame holds no rows yet; give lazy.collect().")
    return type(table).__name__ == "DataFrame"


def _refuse_repeated(names: list[Any]) -> None:
    repeated = sorted(str(name) for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(
            f"Feature names must be unique, got {repeated} more than once. Rename or drop the others."
        )


def _some(names: tuple[Any, ...], most: int = 8) -> str:
    """List a few names."""
    listed = ", ".join(str(name) for name in names[:most])
    return listed + (", …" if len(names) > most else "")
