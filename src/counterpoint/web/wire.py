"""What goes over the wire: answers and columns as plain JSON, in the values that users know.

Values are those of the caller's table: categories by their names, never by codes; dates as ISO 8601; null for
what is missing.
"""

from __future__ import annotations

import json
from datetime import date, time
from typing import Any

import numpy as np

from counterpoint._util.short_text import VALUE, short
from counterpoint.data.feature import Feature
from counterpoint.data.problems import Problem
from counterpoint.data.schema import Schema
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.records import record

# The largest whole number that JavaScript can hold, and the largest numbers of 8 and of 4 bytes that are
# described. A little less is taken: texts are rounded when they are read.
EXACT = 2**53
MOST, MOST_SMALL = 1e300, 3.4e38
TAKEN = 0.99


def plain(value: Any) -> Any:
    """Write a value as JSON has it; what is no number, text or truth value becomes a text.

    Examples
    --------
    >>> plain(np.float64(0.5)), plain(float("nan")), plain(date(2024, 2, 29)), plain(np.array([1, 2]))
    (0.5, None, '2024-02-29', [1, 2])
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else str(value)


def dumps(thing: Any) -> bytes:
    """Write JSON that any client can read: no NaN, and no character beyond ASCII."""
    return json.dumps(thing, allow_nan=False, separators=(",", ":")).encode("ascii")


def answer(index: int, item: Explanation) -> dict[str, Any]:
    """Make the answer about one row into JSON: the record of the command line, with sentences.

    Examples
    --------
    >>> import counterpoint as cp
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> explanation = cp.Neighbours().fit(lambda X: X["age"] > 35, X).explain({"age": 30}, k=1)
    >>> answer(0, explanation)["counterfactuals"][0]["changes"]
    [{'feature': 'age', 'from': 30, 'to': 40}]
    >>> answer(0, explanation)["counterfactuals"][0]["sentence"]
    'If age were 40 instead of 30, the decision would be True instead of False.'
    """
    facts = record(index, item)
    before, short = facts["values"], item.shortfall
    for found, sentence in zip(facts["counterfactuals"], item.sentences(), strict=True):
        changes = found["changes"].items()
        found["changes"] = [{"feature": name, "from": before[name], "to": new} for name, new in changes]
        found["sentence"] = sentence
    facts["shortfall"] = None if short is None else _shortfall(item)
    miss = facts["nearest_miss"]
    if miss is not None:
        miss["sentence"] = str(item.nearest_miss)
    result: dict[str, Any] = plain(facts)
    return result


def _shortfall(item: Explanation) -> dict[str, Any]:
    """Say why there are fewer counterfactuals than asked for."""
    assert item.shortfall is not None
    short = item.shortfall
    return {"asked": short.asked, "found": short.found, "already": short.already, "reason": short.reason}


def problem(fault: Problem) -> dict[str, Any]:
    """Make a value that cannot be explained into JSON: its row, its column, the value and the rule."""
    return {
        "row": fault.row,
        "column": plain(fault.column),
        "value": _cut(plain(fault.value)),
        "rule": fault.reason,
    }


def _cut(value: Any) -> Any:
    """Shorten a value that a client need not get back whole."""
    is_long = isinstance(value, str) and len(value) > VALUE
    return short(value) if is_long or (isinstance(value, int) and abs(value) > 10**VALUE) else value


def columns(schema: Schema, share: bool = False) -> list[dict[str, Any]]:
    """Describe the columns of a row: what a form has to ask for, and what may change.

    Parameters
    ----------
    schema
        The columns.
    share
        Also tell what only the known instances tell: the range of their numbers, and the categories of
        columns that may not change.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "name": ["ann", "bob"]}), immutable=["name"])
    >>> columns(schema)[0]
    {'name': 'age', 'kind': 'number', 'immutable': False, 'whole': True}
    >>> columns(schema)[1]
    {'name': 'name', 'kind': 'category', 'immutable': True}
    """
    return [_column(feature, share) for feature in schema.features]


def kind_of(feature: Feature) -> str:
    """Tell what a column holds, in one word: number, category or date."""
    if feature.calendar is not None:
        return "date"
    return "category" if feature.is_categorical else "number"


def names_categories(feature: Feature, share: bool) -> bool:
    """Tell whether categories may be named: those of a column that may not change can be people's names."""
    return feature.is_categorical and (share or not feature.immutable)


def _column(feature: Feature, share: bool) -> dict[str, Any]:
    """Describe one column; what says nothing is left out."""
    kind = kind_of(feature)
    facts: dict[str, Any] = {"name": feature.name, "kind": kind, "immutable": feature.immutable}
    if kind == "number":
        facts |= {"whole": feature.step is not None and float(feature.step).is_integer()}
    if names_categories(feature, share):
        facts |= {"categories": feature.categories, "ordered": feature.ordered}
    if feature.missing:
        facts |= {"missing": True}
    if feature.direction:
        facts |= {"may_only": "rise" if feature.direction > 0 else "fall"}
    if feature.range is not None:
        facts |= {"range": _dated(feature, feature.range)}
    if feature.max_change is not None:
        facts |= {"max_change": feature.max_change}
    if share and kind != "category":
        facts |= {"seen": _dated(feature, feature.seen)}
    result: dict[str, Any] = plain(facts)
    return result


def _dated(feature: Feature, ends: tuple[Any, ...]) -> list[Any]:
    """Write the ends of a range in the values of their column."""
    if feature.is_categorical or feature.calendar is None:
        return list(ends)
    return [feature.label(end) if isinstance(end, int | float) and np.isfinite(end) else end for end in ends]
