"""What is sent to a remote model: the columns of a frame, or an array."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterpoint.model.adapters.layouts import Array
from counterpoint.model.adapters.network import is_frame
from counterpoint.model.adapters.remote.columns import Column, columns_of, datatype_of, plain

Content = list[Column] | Array


def content_of(X: Any) -> Content:
    """Read instances as something to send: arrays of texts or of several types as columns, as frames are.

    Examples
    --------
    >>> content_of(np.array([[1.5, 2.0]]))
    array([[1.5, 2. ]])
    >>> content_of(np.array([[1.5, "a"]], dtype=object))[1]
    Column(name='x1', values=['a'], datatype='BYTES')
    """
    if is_frame(X):
        return columns_of(X)
    array = np.asarray(X)
    if datatype_of(array.dtype) is not None:
        return array
    return columns_of(array)


def count_of(content: Content) -> int:
    """Count the rows."""
    return len(content) if isinstance(content, np.ndarray) else len(content[0].values)


def part_of(content: Content, start: int, stop: int) -> Content:
    """Take some rows."""
    if isinstance(content, np.ndarray):
        return content[start:stop]
    return [replace(column, values=column.values[start:stop]) for column in content]


def rows_of(content: Content) -> list[list[Any]]:
    """Write rows as lists of values.

    Examples
    --------
    >>> rows_of([Column("age", [31, 45], "INT64"), Column("job", ["clerk", "smith"], "BYTES")])
    [[31, 'clerk'], [45, 'smith']]
    """
    if isinstance(content, np.ndarray):
        rows: list[list[Any]] = plain(content)
        return rows
    return [list(row) for row in zip(*(column.values for column in content), strict=True)]


def matrix_of(content: Content, who: str) -> Array:
    """Write rows as one array of numbers."""
    if isinstance(content, np.ndarray):
        return content
    other = [column.name for column in content if column.datatype in ("BYTES", "datetime")]
    if other:
        raise TypeError(
            f"{who} accepts one array of numbers only, and X has columns that are not numbers: "
            f"{', '.join(other)}. Serve a model that takes the columns by name, or encode them before."
        )
    kinds = {column.datatype for column in content}
    whole = all("INT" in kind for kind in kinds)
    return np.column_stack(
        [np.array(column.values, dtype=np.int64 if whole else np.float64) for column in content]
    )
