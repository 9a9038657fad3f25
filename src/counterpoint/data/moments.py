"""Dates, times and durations as plain data that JSON can hold, and back: exact, with time zones."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd


def moment_to_plain(value: Any) -> dict[str, Any] | None:
    """Turn a date, time, duration or period into a tagged value; None if the value is none of these.

    Examples
    --------
    >>> moment_to_plain(date(2024, 2, 29))
    {'date': '2024-02-29'}
    >>> MOMENTS["date"]("2024-02-29")
    datetime.date(2024, 2, 29)
    """
    # pandas' classes come first, because they derive from Python's.
    if isinstance(value, pd.Timestamp):
        return {"timestamp": [int(value.asm8.view(np.int64)), value.unit, _zone(value)]}
    if isinstance(value, pd.Timedelta):
        return {"timedelta": [int(value.asm8.view(np.int64)), value.unit]}
    if isinstance(value, pd.Period):
        return {"period": [value.ordinal, value.freqstr]}
    if isinstance(value, datetime):
        named = value.tzinfo if isinstance(value.tzinfo, ZoneInfo) else None
        plain = value.replace(tzinfo=None) if named else value
        return {"datetime": [plain.isoformat(), named.key if named else None, value.fold]}
    if isinstance(value, date | time):
        return {type(value).__name__: value.isoformat()}
    if isinstance(value, timedelta):
        return {"span": [value.days, value.seconds, value.microseconds]}
    return None


def _zone(value: pd.Timestamp) -> str | None:
    return None if value.tz is None else str(value.tz)


def _timestamp(plain: list[Any]) -> pd.Timestamp:
    count, unit, zone = plain
    moment = pd.Timestamp(np.datetime64(count, unit))
    return moment if zone is None else moment.tz_localize("UTC").tz_convert(zone)


def _datetime(plain: list[Any]) -> datetime:
    text, zone, fold = plain
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=ZoneInfo(zone) if zone else moment.tzinfo, fold=fold)


MOMENTS: dict[str, Callable[[Any], Any]] = {
    "timestamp": _timestamp,
    "timedelta": lambda plain: pd.Timedelta(np.timedelta64(*plain)),
    "period": lambda plain: pd.Period(ordinal=plain[0], freq=plain[1]),
    "datetime": _datetime,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "span": lambda plain: timedelta(*plain),
}
