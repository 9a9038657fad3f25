"""The caller's table: reading its columns, and building another table in the same format.

Internally, Counterpoint works on float matrices. This is the only module that knows what the caller uses
instead: a pandas frame, a polars frame or an array.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.marks import MARKS, NANS, is_missing, mark_indices, nulls

Column = NDArray[Any]

# Above this, a float64 cannot hold every whole number, so an immutable id could change unnoticed.
EXACT = 2**53


@dataclass(frozen=True)
class TableFormat:
    """A table without its rows: the library it comes from, its column names and their dtypes.

    If the instances are arrays (images or series), `shape` is the shape of one instance, and its cells are
    the columns.

    Examples
    --------
    >>> import pandas as pd
    >>> form = TableFormat.of(pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]}))
    >>> form.kind, form.names
    ('pandas', ('age', 'job'))
    """

    kind: Literal["pandas", "polars", "array"]
    names: tuple[Any, ...]
    dtypes: tuple[Any, ...]
    shape: tuple[int, ...] = ()

    @classmethod
    def of(cls, table: Any) -> TableFormat:
        """Read the format of a pandas frame, a polars frame or a two-dimensional array."""
        if isinstance(table, pd.DataFrame):
            _refuse_names(table.columns.tolist())
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
    def of_cells(cls, shape: tuple[int, ...], dtype: np.dtype[Any]) -> TableFormat:
        """Make the format of instances that are arrays, with one column per cell.

        Examples
        --------
        >>> TableFormat.of_cells((2, 2), np.dtype("f4")).names
        ('0,0', '0,1', '1,0', '1,1')
        """
        names = tuple(",".join(map(str, index)) for index in np.ndindex(*shape))
        return cls("array", names, (dtype,) * len(names), shape)

    @property
    def caller(self) -> TableFormat:
        """The format of the caller's own table; it differs where several columns are one feature."""
        return self

    @property
    def owners(self) -> Mapping[Any, Any]:
        """The feature that each column belongs to, if it shares it with other columns."""
        return {}

    def columns(self, table: Any, what: str = "X") -> list[Column]:
        """Read the columns of a table in this format, in the order of this format, as one array each."""
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
            return [
                _single(pd.Timestamp(x[name]) if self._is_day(index, x[name]) else x[name])
                for index, name in enumerate(self.names)
            ]
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

    def _is_day(self, index: int, value: Any) -> bool:
        """Whether a value is Python's date for a column of points in time, in which it means midnight."""
        if not isinstance(value, date) or isinstance(value, pd.Timestamp) or value is pd.NaT:
            return False
        dtype = self.dtypes[index]
        return pd.api.types.is_datetime64_any_dtype(dtype) if self.kind == "pandas" else _is_instant(dtype)

    def build(self, columns: Sequence[Any]) -> Any:
        """Build a table in this format from columns that already have its dtypes."""
        if self.kind == "pandas":
            # Without a dtype, pandas would convert strings in an object column to its string dtype.
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
        """Build an array in this format from rows that hold numbers only."""
        return rows.astype(self.dtypes[0]).reshape(len(rows), *(self.shape or rows.shape[1:]))

    def number_type(self, index: int) -> np.dtype[Any] | None:
        """Find the numpy dtype of the numbers in a column; None if it can hold any number, or no numbers.

        Examples
        --------
        >>> import pandas as pd
        >>> TableFormat.of(pd.DataFrame({"age": pd.array([31, None], dtype="Int64")})).number_type(0)
        dtype('int64')
        """
        dtype = self.dtypes[index]
        if self.kind == "polars":
            if not (dtype.is_integer() or dtype.is_float()):
                return None
            width = {"Int128": "int64", "UInt128": "int64"}.get(str(dtype), str(dtype).lower())
            return np.dtype(width)
        if isinstance(dtype, pd.SparseDtype):
            dtype = dtype.subtype
        dtype = getattr(dtype, "numpy_dtype", dtype)
        return dtype if isinstance(dtype, np.dtype) and dtype.kind in "iuf" else None

    def digits(self, index: int) -> int | None:
        """Count the digits after the decimal point of a column of decimals; None for any other column.

        Examples
        --------
        >>> import polars as pl
        >>> TableFormat.of(pl.DataFrame({"price": []}, schema={"price": pl.Decimal(10, 2)})).digits(0)
        2
        """
        dtype = getattr(self.dtypes[index], "pyarrow_dtype", self.dtypes[index])
        return getattr(dtype, "scale", None)

    def number_column(
        self, index: int, values: NDArray[np.float64], write: Callable[[float], Any] = float
    ) -> Any:
        """Turn floats into a new column with the dtype at an index; the model may write to it.

        In an object column, each number is converted by `write`.
        """
        dtype = self.dtypes[index]
        if self.kind == "polars":
            return _polars_numbers(values, dtype)
        if dtype == np.object_:
            missing = np.isnan(values)
            column = _objects([None if v != v else write(v) for v in values.tolist()])
            column[missing] = _objects(list(MARKS.values()))[mark_indices(values[missing])]
            return column
        if isinstance(dtype, np.dtype):
            return values.astype(dtype)
        if pd.api.types.is_float_dtype(dtype) and not isinstance(dtype, pd.SparseDtype):
            return _float_array(values, dtype)
        if self.digits(index) is not None:
            return _float_array(values, dtype)
        return pd.array(pd.Series(values), dtype=dtype)

    def date_column(self, index: int, instants: NDArray[np.datetime64]) -> Any:
        """Turn points in time into a new column with the dtype at an index, which holds dates."""
        dtype = self.dtypes[index]
        if self.kind == "polars":
            return _polars_dates(instants, dtype)
        if isinstance(dtype, np.dtype):
            return instants.astype(dtype)
        if isinstance(dtype, pd.ArrowDtype):
            import pyarrow as pa

            return dtype.__from_arrow__(pa.array(instants).cast(dtype.pyarrow_dtype))
        index_of_dates = pd.DatetimeIndex(instants).tz_localize("UTC").tz_convert(dtype.tz)
        return index_of_dates.as_unit(dtype.unit).array

    def template(self, index: int, categories: Sequence[Any], missing_as: Sequence[str] = ()) -> Any:
        """Make a column that holds each category once; decoding takes values from it, so any dtype is kept.

        A category that is None is a missing one: the first has the first mark, and so on.
        """
        dtype, marks = self.dtypes[index], iter(missing_as)
        number = self.number_type(index)
        if number is not None and number.kind == "f":
            numbers = [NANS[next(marks, "nan")] if value is None else value for value in categories]
            return self.number_column(index, np.array(numbers, dtype=np.float64))
        if self.kind == "polars":
            import polars as pl

            return _to_polars(categories, dtype) if _is_instant(dtype) else pl.Series(categories, dtype=dtype)
        if dtype == np.object_:
            return _objects([MARKS[next(marks, "nan")] if value is None else value for value in categories])
        if isinstance(dtype, np.dtype) and dtype.kind not in "mM":
            return np.array(categories, dtype=dtype)
        return pd.Series(categories, dtype=dtype).array

    def may_hold_flags(self, index: int) -> bool:
        """Whether a column holds bools or numbers, so that it can be one of a group of dummy columns."""
        dtype = self.dtypes[index]
        is_bool = str(dtype) == "Boolean" if self.kind == "polars" else pd.api.types.is_bool_dtype(dtype)
        return bool(is_bool) or self.number_type(index) is not None

    def flag_column(self, index: int, flags: NDArray[np.float64]) -> Any:
        """Turn 0.0 and 1.0 into a new column with the dtype at an index, of numbers or of bools."""
        if self.number_type(index) is not None:
            return self.number_column(index, flags)
        return self.template(index, [bool(flag) for flag in flags])

    def pick(self, template: Any, codes: NDArray[np.intp]) -> Any:
        """Build a column of categories from their codes."""
        return template[codes] if self.kind == "polars" else template.take(codes)

    def holding(self, index: int, values: Sequence[Any]) -> TableFormat:
        """Return a format whose column at an index can also hold these values; None is a missing value.

        Examples
        --------
        >>> import pandas as pd
        >>> form = TableFormat.of(pd.DataFrame({"age": [31, 45]}))
        >>> form.holding(0, [99]) is form
        True
        >>> form.holding(0, [99, None]).dtypes
        (dtype('float64'),)
        """
        wider = next(dtype for dtype in self._wider(index, values) if self._holds(dtype, values))
        if wider == self.dtypes[index]:
            return self
        if self.kind == "array":
            return replace(self, dtypes=(wider,) * len(self.names))
        return replace(self, dtypes=(*self.dtypes[:index], wider, *self.dtypes[index + 1 :]))

    def _wider(self, index: int, values: Sequence[Any]) -> Iterator[Any]:
        """List dtypes that may hold a column's values and these ones too, the narrowest first."""
        dtype, known = self.dtypes[index], [value for value in values if value is not None]
        yield dtype
        if self.kind == "polars":
            import polars as pl

            if isinstance(dtype, pl.Enum):
                yield pl.Enum([*dtype.categories, *known])
            yield pl.Float64() if self.number_type(index) else pl.Series(values, strict=False).dtype
            yield pl.Object()
            return
        if isinstance(dtype, pd.CategoricalDtype):
            yield pd.CategoricalDtype(_appended(dtype.categories, known), dtype.ordered)
        elif self.number_type(index) is not None:
            yield np.dtype(np.float64) if isinstance(dtype, np.dtype) else pd.Float64Dtype()
        elif isinstance(dtype, np.dtype) and dtype.kind in "US" and all(isinstance(v, str) for v in values):
            yield np.promote_types(dtype, np.array(values).dtype)
        elif isinstance(dtype, np.dtype) and dtype.kind in "mM":
            yield np.dtype(f"{dtype.kind}8[ns]")
        yield np.dtype(object)

    def _holds(self, dtype: Any, values: Sequence[Any]) -> bool:
        """Whether a column with this dtype returns values unchanged."""
        column = replace(self, names=self.names[:1], dtypes=(dtype,))
        try:
            with np.errstate(over="ignore"):
                table = column.build([column.template(0, values)])
            back = column.columns(table)[0]
        except Exception:  # every library has its own errors for values that a dtype cannot hold
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
                f"{what} lacks the features {missing}{also}; give every feature by name. "
                f"Known: {list(self.names)}."
            )
        if unknown:
            raise ValueError(
                f"{what} has the unknown features {unknown}; drop them. Known: {list(self.names)}."
            )
        _refuse_repeated(names)


def arrow_levels(table: Any, form: TableFormat) -> dict[Any, list[Any]]:
    """List the categories of each ordered Arrow dictionary that occur, from the lowest to the highest.

    Their order is part of the column, not of its dtype.
    """
    kinds = (getattr(dtype, "pyarrow_dtype", None) for dtype in form.dtypes)
    ordered = [name for name, kind in zip(form.names, kinds, strict=True) if getattr(kind, "ordered", False)]
    if not ordered:
        return {}
    import pyarrow as pa

    levels = {}
    for name in ordered:
        column = pa.array(table[name].array)
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        held = set(whole.dictionary_decode().to_pylist())
        levels[name] = [level for level in whole.dictionary.to_pylist() if level in held]
    return levels


def _appended(categories: pd.Index, further: Sequence[Any]) -> pd.Index:
    """Append categories to others, in the same dtype if it can hold them."""
    try:
        return categories.append(pd.Index(further, dtype=categories.dtype))
    except (TypeError, ValueError):
        return pd.Index([*categories, *further], dtype=object)


def pandas_values(series: pd.Series) -> Column:
    """Read a pandas column as an array; missing values become NaN, with their mark, or None."""
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind not in "mM":
        return np.asarray(series.to_numpy())
    if pd.api.types.is_bool_dtype(dtype) or not pd.api.types.is_numeric_dtype(dtype):
        return np.asarray(series.astype(object).to_numpy())
    if pd.api.types.is_integer_dtype(dtype):
        kind: Any = np.uint64 if pd.api.types.is_unsigned_integer_dtype(dtype) else np.int64
        return _whole_values(series.to_numpy(dtype=kind, na_value=0), series.isna().to_numpy())
    return np.asarray(series.to_numpy(dtype=np.float64, na_value=NANS["NA"]))


def _float_array(values: NDArray[np.float64], dtype: Any) -> Any:
    """Make an extension array of floats, which distinguishes null from NaN."""
    null = nulls(values)
    if isinstance(dtype, pd.ArrowDtype):
        import pyarrow as pa

        return dtype.__from_arrow__(pa.array(values, mask=null).cast(dtype.pyarrow_dtype))
    return dtype.construct_array_type()(np.where(null, 0.0, values).astype(dtype.numpy_dtype), null)


def _polars_numbers(values: NDArray[np.float64], dtype: Any) -> Any:
    """Make a polars column of numbers; only floats can be NaN instead of null."""
    import polars as pl

    null = nulls(values) if dtype.is_float() else np.isnan(values)
    numbers = pl.Series(values)
    return (numbers.set(pl.Series(null), None) if null.any() else numbers).cast(dtype)


def _polars_dates(instants: NDArray[np.datetime64], dtype: Any) -> Any:
    """Make a polars column of dates; points in time are in UTC if it has a zone."""
    import polars as pl

    is_date = type(dtype).__name__ == "Date"
    dates = pl.Series(instants.astype("M8[D]") if is_date else instants.astype(f"M8[{dtype.time_unit}]"))
    zone = getattr(dtype, "time_zone", None)
    return dates.dt.replace_time_zone("UTC").dt.convert_time_zone(zone) if zone else dates


def _polars_values(series: Any) -> Column:
    """Read a polars column as an array; missing values become NaN or None."""
    if _is_instant(series.dtype):
        return pandas_values(_from_polars(series))
    if not series.dtype.is_numeric():
        return _objects(series.to_list())
    null = series.is_null().to_numpy()
    if series.dtype.is_integer():
        whole = series.fill_null(0)
        wide = str(series.dtype) in ("Int128", "UInt128")  # which numpy does not have
        return _whole_values(_objects(whole.to_list()) if wide else whole.to_numpy(), null)
    values: Column = series.to_numpy().astype(np.float64)
    values[null] = NANS["NA"]
    return values


def _whole_values(values: Column, null: NDArray[np.bool_]) -> Column:
    """Mark the nulls among whole numbers, which become floats if all of them are exact as floats."""
    if not null.any() and values.dtype != np.object_:
        return values
    exact = bool(((values <= EXACT) & (values >= -EXACT)).all())
    values = values.astype(np.float64 if exact else object)
    values[null] = NANS["NA"] if exact else pd.NA
    return values


def _is_instant(dtype: Any) -> bool:
    """Tell whether a polars dtype holds datetimes or durations.

    They are read as pandas' types, which are always distinct. Python's have no nanoseconds, and for them the
    repeated hour at the end of daylight saving time is the same hour.
    """
    return type(dtype).__name__ in ("Datetime", "Duration")


def _from_polars(series: Any) -> pd.Series:
    """Turn datetimes or durations of polars into those of pandas."""
    instants = pd.Series(series.to_numpy())
    zone = getattr(series.dtype, "time_zone", None)
    return instants.dt.tz_localize("UTC").dt.tz_convert(zone) if zone else instants


def _to_polars(values: Sequence[Any], dtype: Any) -> Any:
    """Turn datetimes or durations of pandas into those of polars."""
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
    """Hold values of any type in a one-dimensional array; np.array would spread tuples over columns."""
    return np.fromiter(values, dtype=object, count=len(values))


def _as_array(table: Any) -> Column:
    """Read an array or nested lists of any types; np.asarray would turn numbers among strings to strings."""
    refuse_masked(table)
    if isinstance(table, list | tuple):
        array = np.asarray(table, dtype=object)
        plain = all(isinstance(value, bool | int | float | np.number | np.bool_) for value in array.ravel())
        return np.asarray(table) if plain else array
    return np.asarray(table)


def refuse_masked(array: Any) -> None:
    """Raise an error for masked cells: a masked cell has no value.

    Examples
    --------
    >>> refuse_masked(np.ma.masked_equal([1.0, -9.0], -9.0))
    Traceback (most recent call last):
        ...
    TypeError: 1 of 2 cells are masked. Give array.astype(float).filled(np.nan) if they are missing values.
    """
    if np.ma.is_masked(array):
        masked = int(np.ma.getmaskarray(array).sum())
        raise TypeError(
            f"{masked:,} of {np.size(array):,} cells are masked. Give array.astype(float).filled(np.nan) if "
            f"they are missing values."
        )


def _described(table: Any, array: Column) -> str:
    """Describe what was given instead of a table."""
    return f"an array of shape {array.shape}" if array.ndim else f"a {type(table).__name__}"


def _is_count(index: pd.Index) -> bool:
    """Tell whether an index only counts the rows from 0."""
    return bool(index.tolist() == list(range(len(index))))


def _is_polars(table: Any) -> bool:
    """Tell whether a table is a polars frame, without importing polars."""
    if type(table).__module__.partition(".")[0] != "polars":
        return False
    if type(table).__name__ == "LazyFrame":
        raise TypeError("A polars LazyFrame holds no rows yet; give lazy.collect().")
    return type(table).__name__ == "DataFrame"


def _refuse_names(names: list[Any]) -> None:
    """Raise an error for names by which no feature could be found."""
    for index, name in enumerate(names):
        if any(part is None or part is pd.NA or part != part for part in _parts(name)):
            raise ValueError(
                f"Feature names must not be missing, got {name!r} as the name of column {index}. "
                f"Rename it, or drop the column."
            )
    _refuse_repeated(names)


def _parts(name: Any) -> Iterator[Any]:
    """List the parts of a name with several levels."""
    if isinstance(name, tuple):
        for part in name:
            yield from _parts(part)
    else:
        yield name


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
