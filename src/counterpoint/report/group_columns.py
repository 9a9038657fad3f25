"""The columns of the caller's table that define groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint.data.schema import Schema
from counterpoint.data.tables import pandas_values
from counterpoint.explanation.explanations import Explanations
from counterpoint.show.wording import objects


def column(X: Any, name: Any, explanations: Explanations) -> NDArray[Any]:
    """Read a column of the explained rows: numbers, strings if the model sees categories, years of dates."""
    schema = explanations.schema
    known = _names(X, schema)
    if name in schema.onehot and name not in known:
        index = schema.names.index(name)
        return objects([schema.features[index].label(item.row[index]) for item in explanations])
    if name not in known:
        raise ValueError(f"groups must name columns of X, got {name!r}. Known: {known}.")
    values = _values(X, name, schema)
    if len(values) != len(explanations):
        raise ValueError(
            f"X must hold the explained rows, one per explanation: {len(values)} rows, "
            f"{len(explanations)} explanations."
        )
    if any(feature.name == name and feature.moment for feature in schema.features):
        return objects([None if pd.isna(value) else str(pd.Timestamp(value).year) for value in values])
    categories = [feature.name for feature in schema.features if feature.is_categorical]
    if name in categories:
        return objects([value if pd.isna(value) else str(value) for value in values.tolist()])
    return values


def _names(X: Any, schema: Schema) -> list[Any]:
    return list(X.columns) if hasattr(X, "columns") else list(schema.form.caller.names)


def _values(X: Any, name: Any, schema: Schema) -> NDArray[Any]:
    if isinstance(X, pd.DataFrame):
        return pandas_values(X[name])
    if hasattr(X, "columns"):
        return objects(X[name].to_list())
    return np.asarray(X)[:, schema.form.caller.names.index(name)]
