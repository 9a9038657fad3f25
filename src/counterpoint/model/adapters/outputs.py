"""The meaning of a network's outputs: scores of classes, one binary score, or labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from counterpoint.model.adapters.layouts import Array

Output = Literal["labels", "scores"]

PROBABILITY = 0.5
LOGIT = 0.0


def is_binary(outputs: Array) -> bool:
    """Tell whether outputs are one number per instance, which needs a threshold to become a label.

    Examples
    --------
    >>> is_binary(np.array([[0.25], [0.75]])), is_binary(np.array([0, 2])), is_binary(np.eye(2))
    (True, False, False)
    """
    return outputs.dtype.kind == "f" and (outputs.ndim == 1 or outputs.shape[1] == 1)


def likely_threshold(outputs: Array) -> float:
    """Return the threshold of numbers: probabilities if all of them lie in [0, 1], else logits.

    Examples
    --------
    >>> likely_threshold(np.array([0.25, 0.75])), likely_threshold(np.array([-3.0, 0.5]))
    (0.5, 0.0)
    """
    inside = (outputs >= 0) & (outputs <= 1)
    return PROBABILITY if inside.all() else LOGIT


def scores(outputs: Array) -> Array:
    """Return outputs as they are: one number, or one row of numbers, per instance."""
    return outputs[:, 0] if outputs.ndim == 2 and outputs.shape[1] == 1 else outputs


def labels(outputs: Array, threshold: float | None, classes: Sequence[Any] | None) -> Array:
    """Turn outputs into labels: the index of the largest score, or its class if classes are named.

    A binary score above the threshold is class 1, any other is class 0. Integers, bools and strings are
    labels already, one per instance.

    Examples
    --------
    >>> labels(np.array([[0.1, 0.9], [0.8, 0.2]]), None, None)
    array([1, 0])
    >>> labels(np.array([[0.3], [-2.0]]), 0.0, ["cat", "dog"])
    array(['dog', 'cat'], dtype='<U3')
    >>> labels(np.array(["b", "a"]), None, None)
    array(['b', 'a'], dtype='<U1')
    """
    values = scores(outputs)
    if values.dtype.kind == "f":
        _refuse_nan(values)
    if values.ndim == 2 and values.dtype.kind in "bOSTU":
        raise ValueError(f"The model must return one label per instance, got {values.shape[1]} each.")
    if values.ndim == 2:
        return _named(values.argmax(axis=1), classes, values.shape[1])
    if values.dtype.kind == "f":
        return _named((values > threshold).astype(np.int64), classes, 2)
    if values.dtype.kind in "OSTU":
        return values.astype(str)
    return values if values.dtype.kind == "b" else _named(values, classes, None)


def _named(indices: Array, classes: Sequence[Any] | None, count: int | None) -> Array:
    """Turn indices into class names, if given."""
    if classes is None:
        return indices
    if count not in (None, len(classes)):
        raise ValueError(
            f"classes must name the model's {count} classes in the order of its outputs, "
            f"got {len(classes)}: {list(classes)}."
        )
    if len(indices) and not 0 <= indices.min() <= indices.max() < len(classes):
        raise ValueError(
            f"classes names {len(classes)} classes, but the model returned the labels "
            f"{indices.min()} to {indices.max()}; name them all, or leave classes out."
        )
    return np.asarray(classes)[indices]


def _refuse_nan(values: Array) -> None:
    # The index of the largest score would be that of the NaN, and look like a decision.
    nan = np.isnan(values).any(axis=tuple(range(1, values.ndim)))
    if nan.any():
        raise ValueError(f"The model's output is NaN for {int(nan.sum()):,} of {len(values):,} instances.")
