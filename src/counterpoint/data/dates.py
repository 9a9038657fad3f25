"""Dates as whole numbers: days, seconds, milliseconds or microseconds since the start of 1970.

A float holds them exactly within 2**53: microseconds from 1684 to 2255, milliseconds and more for all years.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.marks import NANS, is_missing, mark_indices
from counterpoint.data.tables import EXACT, Column
from counterpoint.data.types import Mask, Row

# How many of each unit make a day.
PER_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}

_EPOCH = date(1970, 1, 1)
_NAMES = re.compile(r"date|datetime(?:64)?\[(?:D|s|ms|us)(?:, [^\]]+)?\]")


class Numbers(NamedTuple):
    """Dates as numbers; the masks tell which are no dates, and which have parts smaller than the unit."""

    numbers: Row
    no_date: Mask
    inexact: Mask


@dataclass(frozen=True)
class Calendar:
    """How the dates of a column are counted and written.

    Parameters
    ----------
    unit
        What is counted: ``"D"``, ``"s"``, ``"ms"`` or ``"us"``.
    kind
        What a date is shown as: a Python ``date`` or ``datetime``, or for ``datetime64`` a pandas timestamp.
    zone
        The time zone; empty for dates without one. Zoned dates are counted in UTC.

    Examples
    --------
    >>> calendar = Calendar.named("date")
    >>> calendar.numbers(np.array([date(1970, 1, 8)], dtype=object)).numbers, calendar.label(7.0)
    (array([7.]), datetime.date(1970, 1, 8))
    """

    unit: str
    kind: str
    zone: str = ""

    @staticmethod
    @lru_cache(maxsize=256)
    def named(name: str) -> Calendar:
        """Find a calendar by its name, such as ``"date"`` or ``"datetime64[us, Europe/Berlin]"``."""
        if not _NAMES.fullmatch(name):
            raise ValueError(
                f"moment must be 'date', or a name such as 'datetime[us]' or 'datetime64[us, UTC]', "
                f"got {name!r}."
            )
        if name == "date":
            return Calendar("D", "date")
        kind, _, rest = name.rstrip("]").partition("[")
        unit, _, zone = rest.partition(", ")
        return Calendar(unit, kind, zone)

    @property
    def name(self) -> str:
        """The name by which `named` finds it."""
        if self.kind == "date":
            return "date"
        return f"{self.kind}[{self.unit}{', ' * bool(self.zone)}{self.zone}]"

    @property
    def per_day(self) -> int:
        """How many units make a day."""
        return PER_DAY[self.unit]

    @property
    def limits(self) -> tuple[float, float]:
        """The first and last number that is exact, and a date that Python has."""
        first, last = ((end - _EPOCH).days for end in (date.min, date.max))
        # A day less, so that a time zone does not lead beyond them.
        return max(-EXACT, (first + 1) * self.per_day), min(EXACT, (last - 1) * self.per_day)

    def numbers(self, values: Column) -> Numbers:
        """Count the dates of a column; missing ones become NaN, with their mark."""
        missing = is_missing(values)
        numbers = np.full(len(values), np.nan)
        numbers[missing] = np.array(list(NANS.values()))[mark_indices(values[missing])]
        moments = np.fromiter(map(_moment, _objects(values)), dtype=object, count=len(values))
        zoned = np.fromiter((getattr(m, "tzinfo", None) is not None for m in moments), dtype=np.bool_)
        none = np.fromiter((moment is None for moment in moments), dtype=np.bool_)
        no_date = ~missing & (none | (zoned != bool(self.zone)))
        fine = np.flatnonzero(~missing & ~no_date)
        instants = _instants(moments[fine])
        counted = instants.astype(f"M8[{self.unit}]")
        numbers[fine] = counted.astype(np.int64)
        inexact = np.zeros(len(values), dtype=np.bool_)
        nanoseconds = (getattr(moment, "nanosecond", 0) for moment in moments[fine])
        inexact[fine] = (counted != instants) | np.fromiter(nanoseconds, dtype=np.bool_, count=len(fine))
        return Numbers(numbers, no_date, inexact)

    def number(self, value: Any) -> float:
        """Count one date, such as the end of a range; without a zone, it is of the column's zone.

        Examples
        --------
        >>> Calendar.named("datetime64[s]").number("1970-01-02")
        86400.0
        """
        moment = _moment(value)
        if moment is not None and self.zone and getattr(moment, "tzinfo", None) is None:
            moment = pd.Timestamp(moment).tz_localize(self.zone)
        read = self.numbers(np.array([moment], dtype=object))
        if moment is None or read.no_date[0]:
            raise TypeError(f"{value!r} is not a date{' without a zone' * (not self.zone)}.")
        if read.inexact[0] or not abs(read.numbers[0]) <= EXACT:
            raise ValueError(f"{value!r} is not exact in the unit of the column, {self.unit!r}.")
        return float(read.numbers[0])

    def step(self, length: Any) -> float:
        """Count the units in a duration; it must be a whole number of them.

        Examples
        --------
        >>> Calendar.named("date").step(timedelta(days=7))
        7.0
        """
        span = pd.Timedelta(length)
        count, rest = divmod(span, pd.Timedelta(1, unit=self.unit))
        if rest:
            raise ValueError(f"a step of {length} is not a whole number of the column's unit, {self.unit!r}")
        return float(count)

    def instants(self, numbers: Row) -> NDArray[np.datetime64]:
        """Turn numbers into points in time, in UTC if there is a zone; missing ones become NaT."""
        missing = np.isnan(numbers)
        instants = np.where(missing, 0.0, numbers).astype(np.int64).astype(f"M8[{self.unit}]")
        instants[missing] = np.datetime64("NaT")
        return np.asarray(instants)

    def label(self, number: float) -> Any:
        """Turn a number back into a date."""
        if self.kind == "date":
            return _EPOCH + timedelta(days=int(number))
        stamp = pd.Timestamp(self.instants(np.array([number]))[0])
        if self.kind == "datetime":
            return stamp.to_pydatetime()
        return stamp.tz_localize("UTC").tz_convert(self.zone) if self.zone else stamp

    def texts(self, numbers: Row, missing: str) -> list[str]:
        """Write dates for people; midnight is not written, unless there is a time zone."""
        return [missing if np.isnan(number) else self._text(float(number)) for number in numbers]

    def _text(self, number: float) -> str:
        label = self.label(number)
        if self.kind == "date":
            return str(label)
        if not self.zone and number % self.per_day == 0:
            return str(label.date())
        is_minute = (number / self.per_day * 1440).is_integer()
        return str(label.isoformat(sep=" ", timespec="minutes" if is_minute else "auto"))


def calendar_of(name: Any, known: Column, dtype: Any) -> Calendar | None:
    """Find the calendar of a column's values; None if they are not dates.

    Raises an error for dates that cannot be counted exactly, and for times, durations and periods.

    Examples
    --------
    >>> calendar_of("born", np.array([date(1990, 5, 1)], dtype=object), np.dtype(object)).name
    'date'
    """
    if known.dtype.kind not in "OMm" or isinstance(dtype, pd.CategoricalDtype):
        return None
    values = _objects(known)
    kinds = set(map(type, values))
    if not any(issubclass(kind, date | timedelta | time | pd.Period) for kind in kinds):
        return None
    if kinds == {date}:
        return Calendar("D", "date")
    if kinds not in ({pd.Timestamp}, {datetime}):
        named = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            f"{name!r} holds dates or times of a kind that cannot change ({named}; {dtype}). Convert it to "
            f"dates of one kind or to a number, such as hours, or name it in immutable=."
        )
    is_object = isinstance(dtype, np.dtype) and dtype == np.object_
    zone = values[0].tzinfo
    if is_object and any(value.tzinfo is not None for value in values):
        raise TypeError(
            f"{name!r} holds dates with time zones as objects. Convert it by "
            f"pd.to_datetime(column, utc=True), or name it in immutable=."
        )
    kind = "datetime" if kinds == {datetime} else "datetime64"
    return _exact(name, values, kind, "" if zone is None else str(zone), _unit(dtype))


def _exact(name: Any, values: Column, kind: str, zone: str, unit: str) -> Calendar:
    """Find the smallest unit, from that of the column on, in which all dates are exact."""
    for each in list(PER_DAY)[list(PER_DAY).index(unit) :: -1]:
        calendar = Calendar(each, kind, zone)
        read = calendar.numbers(values)
        if not read.inexact.any() and (np.abs(read.numbers) <= EXACT).all():
            return calendar
    first = values[int(np.argmax(read.inexact))]
    raise ValueError(
        f"{name!r} holds dates that a float cannot count exactly, such as {str(first)!r}. Round them to "
        f"microseconds (or to days, if years before 1684 or after 2255 occur), or name it in immutable=."
    )


def _unit(dtype: Any) -> str:
    """Find the unit of a column; nanoseconds are counted in microseconds."""
    given = getattr(dtype, "pyarrow_dtype", dtype)
    unit = getattr(given, "unit", None) or getattr(given, "time_unit", None)
    if unit is None and isinstance(given, np.dtype) and given.kind == "M":
        unit = np.datetime_data(given)[0]
    return str(unit) if unit in PER_DAY else "us"


def _objects(values: Column) -> Column:
    """Turn an array of datetime64 or timedelta64 into objects."""
    return pd.Series(values).astype(object).to_numpy() if values.dtype.kind in "mM" else values


def _moment(value: Any) -> Any:
    """Return a value that is a date as an object of pandas or Python; None for anything else."""
    if isinstance(value, date):  # also datetime and pd.Timestamp
        return value
    if isinstance(value, str | np.datetime64):
        try:
            return pd.Timestamp(datetime.fromisoformat(value) if isinstance(value, str) else value)
        except ValueError:
            return None
    return None


def _instants(moments: Column) -> NDArray[np.datetime64]:
    """Turn dates into points in time to the microsecond, in UTC if they have zones."""
    if not len(moments):
        return np.empty(0, dtype="M8[us]")
    zoned = getattr(moments[0], "tzinfo", None) is not None
    try:
        index = pd.DatetimeIndex(pd.to_datetime(moments, utc=zoned)).as_unit("us")
    except (OverflowError, ValueError):  # nanoseconds beside years that have none
        stamps = (pd.Timestamp(moment).as_unit("us") for moment in moments)
        rounded = np.fromiter(stamps, dtype=object, count=len(moments))
        index = pd.DatetimeIndex(pd.to_datetime(rounded, utc=zoned)).as_unit("us")
    return np.asarray((index.tz_convert(None) if zoned else index).to_numpy())
