"""Checks of arrays and parameters that were read from a file, before anything is done with them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.damage import DamagedError
from counterpoint._util.short_text import short
from counterpoint.data.distance import Distance
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels, Rows


def check_codes(schema: Schema, rows: Rows) -> None:
    """Refuse rows whose codes stand for no category.

    Examples
    --------
    >>> import pandas as pd
    >>> check_codes(Schema.infer(pd.DataFrame({"job": ["clerk", "smith"]})), np.array([[2.0]]))
    Traceback (most recent call last):
        ...
    counterpoint._util.damage.DamagedError: it holds category 2.0 of 'job', which has 2
    """
    for index, feature in enumerate(schema.features):
        if feature.is_categorical:
            codes, count = rows[:, index], len(feature.categories)
            wrong = ~((codes >= 0) & (codes < count) & (codes == np.floor(codes)))
            if wrong.any():
                code = codes[np.argmax(wrong)]
                raise DamagedError(f"it holds category {code} of {short(feature.name)}, which has {count}")


def check_known(schema: Schema, rows: Rows, labels: Labels, distance: Distance) -> None:
    """Refuse known instances, labels and scales that do not belong together, or that nothing can come of."""
    width = len(schema.features)
    if rows.ndim != 2 or rows.shape[1] != width or rows.dtype != np.float64 or not len(rows):
        raise DamagedError(
            f"its known instances have shape {rows.shape} of {rows.dtype} for {width} features"
        )
    if labels.ndim not in (1, 2) or len(labels) != len(rows) or labels.dtype.kind not in "biufUST":
        raise DamagedError(
            f"it has {len(rows)} known instances, but labels of shape {labels.shape} of {labels.dtype}"
        )
    check_codes(schema, rows)
    numbers = rows[:, [i for i, f in enumerate(schema.features) if not f.is_categorical and not f.immutable]]
    if np.isinf(numbers).any():
        raise DamagedError("its known instances hold infinite numbers")
    _check_distance(schema, distance)


def _check_distance(schema: Schema, distance: Distance) -> None:
    """Refuse scales that are no numbers, and a distance over other features than there are."""
    width = len(schema.features)
    for name in ("median", "weight", "lost"):
        scale = getattr(distance, name)
        if scale.shape != (width,) or scale.dtype != np.float64:
            raise DamagedError(f"its distance is not of {width} features")
        if not np.isfinite(scale).all() or (name != "median" and (scale < 0).any()):
            raise DamagedError(f"the {name} of its distance must be finite and not negative")
    if not isinstance(distance.per_category, float) or not 0 < distance.per_category <= 1:
        raise DamagedError(f"the price of a category is {short(distance.per_category)}")
    is_ranked = np.array([feature.is_ranked for feature in schema.features], dtype=np.bool_)
    is_coded = np.array([feature.is_categorical for feature in schema.features], dtype=np.bool_)
    first_gap = np.array([feature.first_gap for feature in schema.features], dtype=np.float64)
    expected = {
        "continuous": np.flatnonzero(~is_coded),
        "categorical": np.flatnonzero(is_coded & ~is_ranked),
        "is_category": is_coded & ~is_ranked,
        "ranked": np.flatnonzero(is_ranked),
        "first_gap": first_gap[is_ranked],
    }
    for name, array in expected.items():
        if not np.array_equal(getattr(distance, name), array):
            raise DamagedError(f"its distance has other features than its schema ({name})")
    if distance.may_miss.shape != (width,) or distance.may_miss.dtype != np.bool_:
        raise DamagedError(f"its distance is not of {width} features")
    if not set(distance.fixed.tolist()) <= set(expected["continuous"].tolist()):
        raise DamagedError("its distance has other features than its schema (fixed)")


def check_codec(schema: Schema, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse what a codec learned if it is of another shape than the instances, or holds no numbers."""
    learned = {name: array for name, array in arrays.items() if name.startswith("codec.")}
    shape = learned.get("codec.shape")
    if shape is not None:
        lengths = shape.tolist() if shape.ndim == 1 and shape.dtype.kind == "i" else []
        if not lengths or min(lengths) < 1 or math.prod(lengths) != len(schema.features):
            raise DamagedError(f"its codec has shape {short(lengths)} for {len(schema.features)} cells")
    for name, array in learned.items():
        if array.dtype.kind not in "biuf" or (name != "codec.report" and not np.isfinite(array).all()):
            raise DamagedError(f"{name} must hold finite numbers")


def check_parameters(kind: type[Any], parameters: Mapping[str, Any]) -> None:
    """Refuse parameters of another type than the class's own: whole numbers, numbers, truth values and texts.

    Examples
    --------
    >>> from counterpoint import Sphere
    >>> check_parameters(Sphere, {"directions": "many"})
    Traceback (most recent call last):
        ...
    counterpoint._util.damage.DamagedError: Sphere.directions must be a whole number, got 'many'
    """
    defaults = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    for name, value in parameters.items():
        for default, allowed, what in _KINDS:
            if type(defaults.get(name)) is default and (type(value) not in allowed or value != value):
                raise DamagedError(f"{kind.__name__}.{name} must be {what}, got {short(value)}")


_KINDS: tuple[tuple[type, tuple[type, ...], str], ...] = (
    (bool, (bool,), "true or false"),
    (int, (int,), "a whole number"),
    (float, (int, float), "a number"),
    (str, (str,), "a text"),
)
