"""The black box: the only place that calls the user's model. It counts, splits and checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import is_regressor

from counterpoint.schema import Row, Rows, Schema

# What the model says of rows: one entry a row, of any dtype; two-dimensional for a callable that gives scores.
Labels = NDArray[Any]


class ModelError(RuntimeError):
    """The user's model failed, or answered with something that cannot be labels.

    `position` is the place of the first row it fails on in the question that was asked, if known.
    """

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


class BlackBox:
    """A model seen as a function from rows to labels.

    Parameters
    ----------
    model
        Anything with ``predict``, or a callable from a table to labels.
    schema
        Turns rows into the table that the model was trained on.
    max_rows
        A longer question is split into calls of at most this many rows, which bounds memory.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [31, 45]})
    >>> blackbox = BlackBox(lambda table: table["age"] > 40, Schema.infer(people))
    >>> blackbox.predict(np.array([[31.0], [45.0]]))
    array([False,  True])
    >>> blackbox.calls, blackbox.rows
    (1, 2)
    """

    def __init__(self, model: Any, schema: Schema, max_rows: int = 100_000) -> None:
        self.model = model
        self.schema = schema
        self.max_rows = max_rows
        self.calls = 0
        self.rows = 0
        self._ask = _callable(model)

    def predict(self, rows: Rows) -> Labels:
        """Label rows, in as few calls as the row limit allows."""
        starts = range(0, len(rows), self.max_rows)
        parts = [self._call(rows[start : start + self.max_rows]) for start in starts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def classes(self) -> list[Any]:
        """List the classes that the model itself names, if it does."""
        named = getattr(self.model, "classes_", None)
        return [] if named is None or np.ndim(named) != 1 else np.asarray(named).tolist()

    def _call(self, rows: Rows) -> Labels:
        table = self.schema.decode(rows)
        self.calls += 1
        self.rows += len(rows)
        try:
            output = self._ask(table)
        except Exception as error:
            raise ModelError(f"The model raised {type(error).__name__}: {error}") from error
        return _labels(output, len(rows))

    def first_failing(self, rows: Rows) -> tuple[int, Row, ModelError] | None:
        """Find the first row that the model fails on, by halving; None if it fails on none of them alone."""
        error = self._failure(rows)
        if error is None:
            return None
        low, high = 0, len(rows)
        while high - low > 1:
            middle = (low + high) // 2
            half_error = self._failure(rows[low:middle])
            low, high = (low, middle) if half_error else (middle, high)
        return low, rows[low], self._failure(rows[low : low + 1]) or error

    def _failure(self, rows: Rows) -> ModelError | None:
        try:
            self._call(rows)
        except ModelError as error:
            return error
        return None


def is_continuous(labels: Labels, model: Any = None) -> bool:
    """Tell whether outputs are scores or quantities rather than decisions.

    Examples
    --------
    >>> is_continuous(np.array(["good", "bad"])), is_continuous(np.array([0.25, 0.5]))
    (False, True)
    """
    if labels.ndim > 1 or (labels.dtype.kind == "f" and (labels != np.rint(labels)).any()):
        return True
    # Only scikit-learn's own kind can be asked; anything else with a predict method would raise.
    return hasattr(model, "__sklearn_tags__") and bool(is_regressor(model))


def _callable(model: Any) -> Callable[[Any], Any]:
    """Find what to call."""
    if isinstance(model, type):
        raise TypeError(f"model must be a fitted model, got the class {model.__name__}; make and fit one.")
    predict = getattr(model, "predict", None)
    if callable(predict):
        return predict  # type: ignore[no-any-return]
    if callable(model):
        return model  # type: ignore[no-any-return]
    raise TypeError(
        f"model must have a predict method or be a callable from rows to labels, got {type(model).__name__}."
    )


def _labels(output: Any, expected: int) -> Labels:
    """Check what the model returned and bring it into one form."""
    labels = np.asarray(output)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]  # CatBoost answers a multi-class question with a column
    if labels.ndim not in (1, 2) or len(labels) != expected:
        raise ModelError(f"The model must return one label a row: {expected} rows, shape {labels.shape}.")
    if labels.dtype == object:
        labels = _plain(labels)
    if pd.isna(labels).any():
        raise ModelError("The model returned a missing label.")
    return labels


def _plain(labels: Labels) -> Labels:
    """Turn an object array of texts, numbers or bools into an array of that type."""
    kinds = {type(label) for label in labels.ravel().tolist()}
    if len(kinds) > 1 and not kinds <= {int, float, bool}:
        raise ModelError(f"The model's labels must be of one type, got {sorted(k.__name__ for k in kinds)}.")
    return np.array(labels.tolist())
