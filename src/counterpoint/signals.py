"""Instances that are arrays themselves: images and series, as the caller has them.

Images are (n, h, w) or (n, h, w, channels), series (n, length) or (n, channels, length). All cells hold
numbers of one dtype and one range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.schema import Feature, Schema
from counterpoint.tables import Form

# A value that is further outside the known range than this share of it is of another scale.
MARGIN = 0.5


def as_signals(X: Any) -> NDArray[Any]:
    """Read an array of instances, and refuse what cannot be one."""
    array = np.asarray(X)
    if array.ndim not in (2, 3, 4) or not array.size:
        raise ValueError(
            f"Images must be an array of shape (n, h, w) or (n, h, w, channels), series one of shape (n, "
            f"length) or (n, channels, length), got shape {array.shape}."
        )
    if array.dtype.kind not in "iuf":
        raise TypeError(f"Images and series must hold numbers, got an array of {array.dtype}.")
    return array


def signal_schema(X: NDArray[Any]) -> Schema:
    """Learn what the cells of instances are: numbers of one dtype, within one range.

    Examples
    --------
    >>> signal_schema(np.array([[[0, 255], [7, 9]]], dtype=np.uint8)).features[0]
    Feature(name='0,0', kind='continuous', seen=(0.0, 255.0), range=None, step=1, ...)
    """
    low, high = float(X.min()), float(X.max())
    if not np.isfinite(low + high):
        raise ValueError("X holds NaN or infinite values; images and series must be complete. Fill them in.")
    if low == high:
        raise ValueError(f"X is constant: every cell is {low:g}, so there is nothing to learn from.")
    form = Form.of_cells(X.shape[1:], X.dtype)
    step = 1 if X.dtype.kind in "iu" else None
    return Schema(tuple(Feature(name, seen=(low, high), step=step) for name in form.names), form)


def check_values(signals: NDArray[Any], schema: Schema, what: str) -> NDArray[Any]:
    """Bring instances to the known dtype, and refuse those of another shape, scale or kind."""
    shape, dtype = schema.form.shape, schema.form.dtypes[0]
    if signals.shape[1:] != shape:
        expected = f"(n, {', '.join(map(str, shape))})" if what == "X" else f"{shape}"
        raise ValueError(
            f"{what} must have the shape of the known instances, {expected}, got {_shape(signals, what)}."
        )
    if signals.dtype.kind not in "iuf":
        raise TypeError(f"{what} must hold numbers, got an array of {signals.dtype}.")
    if not np.isfinite(signals).all():
        raise ValueError(
            f"{what} holds NaN or infinite values; images and series must be complete. Fill them in."
        )
    (low, high), found = schema.features[0].seen, (float(signals.min()), float(signals.max()))
    margin = MARGIN * (high - low)
    if len(signals) and (found[0] < low - margin or found[1] > high + margin):
        raise ValueError(
            f"{what} has values from {found[0]:g} to {found[1]:g}, the known instances from {low:g} to "
            f"{high:g}. Scale it as they are."
        )
    held = signals.astype(dtype)
    if dtype.kind in "iu" and (held != signals).any():
        raise ValueError(f"{what} holds fractions or numbers that {dtype} cannot hold; give whole ones.")
    return held


def classifies_series(model: Any) -> bool:
    """Tell whether a model is made for series: a classifier or regressor of aeon or sktime.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> classifies_series(LogisticRegression())
    False
    """
    modules = [kind.__module__.split(".")[:2] for kind in type(model).__mro__]
    return any(
        module[0] in ("aeon", "sktime") and module[-1] in ("classification", "regression")
        for module in modules
    )


def _shape(signals: NDArray[Any], what: str) -> str:
    return f"{signals.shape}" if what == "X" else f"{signals.shape[1:]}"
