"""JSON schemas of what a service takes, made from the columns of its explainer."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.data.dates import PER_DAY
from counterpoint.data.feature import Feature
from counterpoint.data.grouped import GroupedFormat
from counterpoint.data.schema import Schema
from counterpoint.web.asked import CHEAPEST, DEAREST, NEVER, Reader
from counterpoint.web.limits import Bounds
from counterpoint.web.rows import RowReader, most_of
from counterpoint.web.wire import EXACT, MOST, kind_of, names_categories, plain

Json = dict[str, Any]

# The 29th of February 2024, in days since the start of 1970.
LEAP_DAY = 19_782.0
SCALAR: Json = {"type": ["string", "number", "boolean", "null"]}
POSITIVE: Json = {"type": "number", "exclusiveMinimum": 0, "maximum": MOST}
PRICE: Json = {
    "anyOf": [{"type": "number", "minimum": CHEAPEST, "maximum": DEAREST}, {"const": NEVER}],
    "description": "1 is as it is by default",
}


def row(schema: Schema, share: bool) -> Json:
    """Describe a row: what each column takes.

    Examples
    --------
    >>> import pandas as pd
    >>> row(Schema.infer(pd.DataFrame({"job": ["clerk", "smith"]})), share=False)["properties"]
    {'job': {'enum': ['clerk', 'smith']}}
    """
    form = schema.form
    groups = form.groups if isinstance(form, GroupedFormat) else ()
    grouped = {group.name for group in groups}
    properties = {
        str(feature.name): cell(schema, index, share) for index, feature in enumerate(schema.features)
    }
    dummies: dict[str, Json] = {
        str(column): {"enum": [0, 1, True, False]} for group in groups for column in group.columns
    }
    return {
        "type": "object",
        "properties": properties | dummies,
        "required": [str(feature.name) for feature in schema.features if feature.name not in grouped],
        "additionalProperties": False,
    }


def listed(schema: Schema, share: bool) -> Json:
    """Describe a row as a list of values, in the order of the columns."""
    places = {name: index for index, name in enumerate(schema.names)}
    dummy: Json = {"enum": [0, 1, True, False]}
    columns = schema.form.caller.names
    cells = [cell(schema, places[name], share) if name in places else dummy for name in columns]
    return {"type": "array", "prefixItems": cells, "minItems": len(cells), "maxItems": len(cells)}


def cell(schema: Schema, index: int, share: bool) -> Json:
    """Describe a value of a column."""
    feature = schema.features[index]
    if feature.is_categorical:
        if feature.immutable:
            return SCALAR
        return {"enum": [plain(each) for each in feature.categories]}
    optional = ["null"] if feature.missing or feature.immutable else []
    if kind_of(feature) == "date":
        return {"type": ["string", *optional], "description": "a date, such as 2024-02-29"}
    dtype = schema.form.number_type(index)
    whole = dtype is not None and dtype.kind in "iu"
    return {"type": ["integer" if whole else "number", *optional], **_ends(dtype, whole)}


def _ends(dtype: np.dtype[Any] | None, whole: bool) -> Json:
    if whole:
        assert dtype is not None
        limits = np.iinfo(dtype)
        return {"minimum": max(int(limits.min), -EXACT), "maximum": min(int(limits.max), EXACT)}
    most = most_of(dtype)
    return {"minimum": -most, "maximum": most}


def constraints(schema: Schema, share: bool) -> Json:
    """Describe constraints: the words of `Explainer.explain`."""
    names = {"type": "array", "items": {"enum": [str(name) for name in schema.names]}, "uniqueItems": True}
    numbers = [str(each.name) for each in schema.features if not each.is_categorical]
    ranges = {str(each.name): _range(each, share) for each in schema.features}
    costs = {str(each.name): _cost(each, share) for each in schema.features}
    amount = {"anyOf": [POSITIVE, {"type": "string", "pattern": "^[0-9]{1,3}%$"}]}
    ordered = [str(each.name) for each in schema.features if each.is_categorical and each.ordered]
    return {
        "type": ["object", "null"],
        "properties": {
            "immutable": _or_null(names | {"description": "columns that stay"}),
            "increase": _or_null(names | {"description": "columns that may only rise"}),
            "decrease": _or_null(names | {"description": "columns that may only fall"}),
            "ranges": _by_column(ranges, "values that a column may get: [low, high], or categories"),
            "costs": _by_column(costs, "how hard a column is to change"),
            "max_change": _by_column(
                dict.fromkeys(numbers + ordered, amount), "the most a number may change"
            ),
            "max_changes": {
                "type": ["integer", "null"],
                "minimum": 1,
                "description": "at most so many columns change",
            },
        },
        "additionalProperties": False,
    }


def _by_column(properties: dict[str, Json], description: str) -> Json:
    return {
        "type": ["object", "null"],
        "properties": properties,
        "additionalProperties": False,
        "description": description,
    }


def _or_null(schema: Json) -> Json:
    return schema | {"type": [schema["type"], "null"]}


def _range(feature: Feature, share: bool) -> Json:
    if feature.is_categorical:
        return {"type": "array", "items": _category(feature, share), "minItems": 1}
    end: Json = {"type": ["number", "null"], "minimum": -MOST, "maximum": MOST}
    if kind_of(feature) == "date":
        end = {"type": ["string", "null"]}
    return {"type": "array", "items": end, "minItems": 2, "maxItems": 2}


def _category(feature: Feature, share: bool) -> Json:
    if not names_categories(feature, share):
        return SCALAR
    return {"enum": [plain(each) for each in feature.categories]}


def _cost(feature: Feature, share: bool) -> Json:
    category = _category(feature, share)
    change: Json = {"type": "array", "prefixItems": [category, category, PRICE], "minItems": 3, "maxItems": 3}
    table: Json = {"up": PRICE, "down": PRICE}
    if feature.is_categorical:
        table |= {"otherwise": PRICE, "changes": {"type": "array", "items": change}}
    by_way: Json = {"type": "object", "properties": table, "additionalProperties": False}
    return {"anyOf": [*PRICE["anyOf"], by_way]}


def target(reader: Reader) -> Json:
    """Describe what can be wanted."""
    ends = {"type": ["number", "null"], "minimum": -MOST, "maximum": MOST}
    if reader.is_continuous:
        return {
            "type": ["object", "null"],
            "properties": {"low": ends, "high": ends},
            "additionalProperties": False,
            "description": "the outputs that are wanted",
        }
    one: Json = {"enum": [plain(each) for each in reader.decisions.values()]}
    several: Json = {"type": "array", "items": one, "minItems": 1}
    share: Json = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
    probable: Json = {
        "type": "object",
        "properties": {"class": {"anyOf": [one, several]}, "at_least": share, "at_most": share},
        "required": ["class"],
        "additionalProperties": False,
    }
    return {
        "anyOf": [{"type": "null"}, one, several, probable],
        "description": "the decision wanted: any other, one, one of several, or a probability",
    }


def options(reader: Reader, bounds: Bounds, share: bool) -> dict[str, Json]:
    """Describe what a question says besides its rows."""
    schema = reader.explainer._fitted().schema
    return {
        "k": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": bounds.k,
            "description": "counterfactuals per row (3)",
        },
        "target": target(reader),
        "setting": {"enum": [*reader.settings, None], "description": "what matters most"},
        "constraints": constraints(schema, share),
        "deadline": {
            "type": ["number", "null"],
            "exclusiveMinimum": 0,
            "maximum": bounds.seconds,
            "description": "after so many seconds the best found so far is the answer",
        },
    }


def example(schema: Schema) -> Json:
    """Make up a row that can be sent; it tells nothing of known instances."""
    return {str(feature.name): _made_up(feature) for feature in schema.features}


def example_cells(reader: RowReader) -> Json:
    """Make up a row by the columns of the caller's table, where a feature may be several dummy columns."""
    table = reader.read([example(reader.schema)])
    return {str(name): plain(column[0]) for name, column in zip(table.names, table.cells, strict=True)}


def _made_up(feature: Feature) -> Any:
    if feature.is_categorical:
        return _any_of_its_type(feature) if feature.immutable else plain(feature.categories[0])
    if feature.calendar is not None:
        return plain(feature.label(LEAP_DAY * PER_DAY[feature.calendar.unit]))
    whole = feature.step is not None and float(feature.step).is_integer()
    return 10 if whole else 10.0


def _any_of_its_type(feature: Feature) -> Any:
    """Make up a category of a column that may not change, and whose categories are not told."""
    kinds = {type(plain(each)) for each in feature.categories if each is not None}
    return {bool: False, int: 0, float: 0.5}.get(kinds.pop() if len(kinds) == 1 else str, "…")
