"""One schema for answers of several runs, each with the values of its own instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from counterpoint.data.feature import Feature, category_key
from counterpoint.data.schema import Schema
from counterpoint.data.types import Rows


def join(schemas: Sequence[Schema]) -> Schema | None:
    """Find a schema that holds the values of all; None if they differ in more than immutable values.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "name": ["ann", "bob"]}), immutable=["name"])
    >>> runs = [schema.read(pd.DataFrame({"age": [31], "name": [name]})).schema for name in ("eve", "ida")]
    >>> join(runs).features[1].categories
    ('ann', 'bob', 'eve', 'ida')
    """
    joined = schemas[0]
    for schema in schemas[1:]:
        if schema is joined or schema == joined:
            continue
        if schema.names != joined.names or (schema.form.kind, schema.links) != (
            joined.form.kind,
            joined.links,
        ):
            return None
        features, form = [], joined.form
        for index, (one, other) in enumerate(zip(joined.features, schema.features, strict=True)):
            both = _both(one, other)
            if both is None:
                return None
            features.append(both)
            new = both.categories[len(one.categories) :]
            if form.dtypes[index] != schema.form.dtypes[index]:
                # A column of numbers that was widened holds fractions or missing values.
                form = form.holding(index, new if both.is_categorical else [0.5, None])
        joined = Schema(tuple(features), form, joined.links)
    return joined


def recode(rows: Rows, old: Schema, new: Schema) -> Rows:
    """Turn rows of a schema into rows of one that holds more categories."""
    rows = rows.copy()
    for index, (before, after) in enumerate(zip(old.features, new.features, strict=True)):
        if before.categories != after.categories:
            codes = {category_key(category): code for code, category in enumerate(after.categories)}
            table = np.array(
                [codes[category_key(category)] for category in before.categories], dtype=np.float64
            )
            rows[..., index] = table[rows[..., index].astype(np.intp)]
    return rows


def _both(one: Feature, other: Feature) -> Feature | None:
    """Add the values of another feature, if the two differ only in immutable values."""
    if one == other:
        return one
    shared: dict[str, Any] = {name: getattr(one, name) for name in ("categories", "missing", "missing_as")}
    if not one.immutable or replace(other, **shared) != one:
        return None
    known = set(map(category_key, one.categories))
    new = [category for category in other.categories if category_key(category) not in known]
    return replace(one, categories=(*one.categories, *new), missing=one.missing or other.missing)
