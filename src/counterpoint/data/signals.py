"""Instances that are arrays themselves: images and series.

Images are (n, h, w) or (n, h, w, channels), series (n, length) or (n, channels, length). All cells hold
numbers of one dtype and one range.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.problems import Problem
from counterpoint.data.schema import Feature, Schema
from counterpoint.data.tables import TableFormat, refuse_masked

# A value outside the known range by more than this share of it has a different scale.
MARGIN = 0.5

# Arrays (n, side, side) with sides at least this long are images, other arrays of three dimensions series.
SIDE = 8


def is_image(shape: Sequence[int]) -> bool:
    """Tell whether an instance of a shape is an image: it has channels last, or two equal sides.

    Examples
    --------
    >>> is_image((28, 28)), is_image((28, 30, 3)), is_image((150,)), is_image((12, 96))
    (True, True, False, False)
    """
    return len(shape) == 3 or (len(shape) == 2 and shape[0] == shape[1] >= SIDE)


def as_signals(X: Any) -> NDArray[Any]:
    """Read an array of instances, or raise an error if it cannot be one."""
    refuse_masked(X)
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
    """Learn what the cells of instances are: numbers with one dtype and one range.

    Examples
    --------
    >>> signal_schema(np.array([[[0, 255], [7, 9]]], dtype=np.uint8)).features[0]
    Feature(name='0,0', kind='continuous', seen=(0.0, 255.0), range=None, step=1, ...)
    """
    low, high = float(X.min()), float(X.max())
    if not np.isfinite(low + high):
        raise ValueError("X has NaN or infinite values; images and series must be complete. Fill them in.")
    if low == high:
        raise ValueError(f"X is constant: every cell is {low:g}, so there is nothing to learn from.")
    form = TableFormat.of_cells(X.shape[1:], X.dtype)
    step = 1 if X.dtype.kind in "iu" else None
    return Schema(tuple(Feature(name, seen=(low, high), step=step) for name in form.names), form)


def read_signals(
    signals: NDArray[Any], schema: Schema, what: str
) -> tuple[NDArray[Any], tuple[Problem, ...]]:
    """Convert instances to the known dtype, and list those that cannot be; these become blank."""
    shape, dtype = schema.form.shape, schema.form.dtypes[0]
    if signals.shape[1:] != shape:
        expected = f"(n, {', '.join(map(str, shape))})"
        raise ValueError(
            f"{what} must have the shape of the known instances, {expected}, got {signals.shape}."
        )
    flat = signals.reshape(len(signals), -1)
    low, _ = schema.features[0].seen
    problems = tuple(_problems(flat, schema))
    if problems:
        flat = flat.copy()
        flat[[problem.row for problem in problems]] = low
    return flat.astype(dtype).reshape(signals.shape), problems


def _problems(flat: NDArray[Any], schema: Schema) -> Iterator[Problem]:
    """List the first cell of each instance that cannot be explained."""
    (low, high), dtype = schema.features[0].seen, schema.form.dtypes[0]
    margin = MARGIN * (high - low)
    scale = f"The known instances have values from {low:g} to {high:g}. Scale it in the same way."
    whole = f"The known instances hold whole numbers ({dtype}). Give whole numbers."
    # Most instances are fine, which two passes over all cells can show.
    fits = flat.size and flat.min() >= low - margin and flat.max() <= high + margin  # False for NaN
    if fits and (dtype.kind not in "iu" or (flat.dtype.kind in "iu")):
        return
    for row, cells in enumerate(flat):
        off = (cells < low - margin) | (cells > high + margin)
        for wrong, reason in (
            (~np.isfinite(cells), _INCOMPLETE),
            (off, scale),
            (_fractions(cells, dtype), whole),
        ):
            if wrong.any():
                index = int(np.argmax(wrong))
                yield Problem(row, schema.names[index], cells[index].item(), reason)
                break


def _fractions(cells: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.bool_]:
    """Mark numbers that an integer dtype cannot hold."""
    if dtype.kind not in "iu":
        return np.zeros(cells.shape, dtype=np.bool_)
    limits = np.iinfo(dtype)
    return np.asarray((cells != np.rint(cells)) | (cells < limits.min) | (cells > limits.max))


_INCOMPLETE = "It is missing or infinite; images and series must be complete. Fill it in."


def classifies_series(model: Any) -> bool:
    """Tell whether a model is made for series: a classifier or regressor from aeon or sktime.

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
