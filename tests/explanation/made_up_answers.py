"""Answers that no explainer gave, for tests of what is made of them."""

import numpy as np
import pandas as pd
import polars as pl

from counterpoint.data.schema import Schema
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.shortfall import Shortfall
from counterpoint.search.why import Why

PEOPLE = pd.DataFrame(
    {
        "duration": [36, 12, 24],
        "amount": [4500.0, 12000.0, np.nan],
        "purpose": ["tv", "car", "<script>alert(1)</script>"],
        "foreign": [False, True, False],
        "job": ["clerk", None, "smith"],
    }
)
FEATURES = list(PEOPLE)
ROWS = np.array([[12, 4500, 1, 0, 0], [36, np.nan, 0, 1, 2], [24, 12000.0, 2, 0, 0]])
BAD = np.str_("bad")
# The purposes in code order are: <script>, car, tv.
X = np.array([36.0, 4500.0, 2.0, 0.0, 0.0])


def explain(table=PEOPLE, row=X, rows=ROWS, decision=BAD, labels=None, **changes) -> Explanation:
    schema = table if isinstance(table, Schema) else Schema.infer(table)
    given = {
        "labels": np.array(["good"] * len(rows)) if labels is None else labels,
        "found_by": ("Tree", "BruteForce", "Sphere", "Tree")[: len(rows)],
        "k": len(rows),
        "distance": np.arange(1, len(rows) + 1) / 3,
        "model_calls": 9,
        "model_rows": 1200,
    }
    return Explanation(schema, row, decision, rows, **(given | changes))


def nothing(**changes) -> Explanation:
    short = {"shortfall": Shortfall(3, 0, count=812)}
    return explain(rows=np.empty((0, 5)), labels=np.empty(0), k=3, **(short | changes))


CASES = {
    "pandas": explain(),
    "nothing": nothing(),
    "had it": nothing(shortfall=Shortfall(3, 0, Why.ALREADY)),
    "int labels": explain(decision=np.int8(0), labels=np.array([1, 2, 1], dtype=np.int8)),
    "bool labels": explain(decision=np.bool_(False), labels=np.ones(3, dtype=bool)),
    "scores": explain(decision=np.array([0.5, 0.5]), labels=np.array([[0.1, 0.9]] * 3)),
    "array": explain(np.array([[1, 2], [3, 4]]), np.array([1.0, 2.0]), np.array([[3.0, 2.0]])),
    "polars": explain(
        pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}, schema_overrides={"b": pl.Categorical}),
        np.array([1.0, 0.0]),
        np.array([[2.0, 1.0]]),
        shortfall=Shortfall(5, 1, count=12),
        target="'good'",
    ),
}
