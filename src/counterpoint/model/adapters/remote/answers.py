"""What comes back from a remote model: one prediction per row, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint._util.short_text import short
from counterpoint.model.adapters.layouts import Array
from counterpoint.model.adapters.remote.http import shown
from counterpoint.model.errors import ModelError


def bad_answer(url: str, must: str, got: Any) -> ModelError:
    """Make the error for an answer that is not what the protocol says."""
    return ModelError(
        f"The model at {shown(url)} must answer with {must}, got {short(got)}. Check that the address is "
        f"that of a model and fits its protocol."
    )


def predictions_of(document: Any, count: int, url: str) -> Array:
    """Read the predictions of KServe's first protocol, which MLflow has too.

    Examples
    --------
    >>> predictions_of({"predictions": ["yes", "no"]}, 2, "http://host/v1/models/credit:predict")
    array(['yes', 'no'], dtype='<U3')
    """
    values = document.get("predictions") if isinstance(document, dict) else None
    if isinstance(values, dict) and len(values) == 1:
        (values,) = values.values()
    if not isinstance(values, list):
        raise bad_answer(url, 'a JSON object that has a list of "predictions"', document)
    if len(values) != count:
        raise bad_answer(url, f"{count:,} predictions, one per row", f"{len(values):,}")
    return typed(_alone(_alone(values, dict), list), url)


def typed(values: list[Any], url: str) -> Array:
    """Make an array of values that are all texts, all bools, all numbers, or all equally long lists.

    Examples
    --------
    >>> typed([1, 2.5], ""), typed([True, False], "")
    (array([1. , 2.5]), array([ True, False]))
    >>> typed([[0.25, 0.75]], "")
    array([[0.25, 0.75]])
    """
    kinds = {type(value) for value in values}
    if kinds == {list}:
        try:
            return np.asarray(values, dtype=np.float64)
        except (ValueError, TypeError):
            raise bad_answer(url, "equally many numbers per row", values[0]) from None
    if kinds in ({str}, {bool}, {int}) or kinds <= {int, float}:
        array = np.array(values)
        if array.dtype.kind != "O":  # numbers that no integer of 64 bits can hold
            return array
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise bad_answer(url, "all texts, all numbers or all bools", f"{short(values[:5])} ({names})")


def _alone(values: list[Any], kind: type[dict[str, Any]] | type[list[Any]]) -> list[Any]:
    """Take labels out of records or lists, if each holds nothing else."""
    if any(not isinstance(value, kind) or len(value) != 1 for value in values):
        return values
    return [next(iter(value.values() if isinstance(value, dict) else value)) for value in values]
