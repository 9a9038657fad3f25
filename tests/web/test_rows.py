"""Rows as JSON are the rows of the table that they were written from, whatever it was."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from counterpoint.data.schema import Schema
from counterpoint.web.asked import Reader
from counterpoint.web.rows import RefusedError, RowReader
from counterpoint.web.wire import answer, dumps, plain
from loans import TABLES, people, polars_people

DATES = pd.DataFrame(
    {
        "day": [date(2020, 1, 1 + i % 28) for i in range(60)],
        "when": pd.date_range("2020-01-01", periods=60, freq="h"),
        "zoned": pd.date_range("2020-01-01", periods=60, freq="h", tz="Europe/Berlin"),
        "gap": [None if i % 7 == 0 else i / 4 for i in range(60)],
        "grade": pd.Categorical([1.0, 2.0, 3.0] * 20),
        "period": pd.Categorical(pd.period_range("2020-01", periods=3, freq="M").repeat(20)),
        "flag": [True, None, False] * 20,
    }
)


def records(table: Any) -> list[dict[str, Any]]:
    """Write a table as a client would: JSON, and back."""
    frame = table.to_pandas() if hasattr(table, "to_pandas") else pd.DataFrame(table)
    if isinstance(table, np.ndarray):
        frame.columns = [f"x{i}" for i in range(frame.shape[1])]
    rows = [
        {str(name): plain(_none(value)) for name, value in row.items()} for row in frame.to_dict("records")
    ]
    return list(json.loads(dumps(rows)))


def _none(value: Any) -> Any:
    return None if value is None or value is pd.NA or value is pd.NaT else value


@pytest.mark.parametrize(
    "table",
    [*TABLES.values(), people(60), polars_people(60), DATES],
    ids=[*TABLES, "pandas", "polars", "dates"],
)
def test_rows_are_read_as_the_table_is(table):
    schema = Schema.infer(table)
    read = RowReader(schema).read(records(table))
    assert read.joins
    rows, expected = schema.read(read.frame).rows, schema.read(table).rows
    assert np.array_equal(rows, expected, equal_nan=True)


def test_values_of_answers_can_be_sent_back():
    explainer = cp.Ensemble(size=3, fallback=None).fit(
        lambda table: table["gap"].fillna(3) > 8, DATES, progress=False
    )
    reader = Reader(explainer)
    found = explainer.explain_many(reader.rows(records(DATES)[:5]).frame, 3, progress=False)
    for item in found:
        written = json.loads(dumps(answer(0, item)))
        back = reader.rows([each["values"] for each in written["counterfactuals"]])
        assert np.array_equal(explainer.fitted_.schema.read(back.frame).rows, item.rows, equal_nan=True)


def test_a_group_of_dummies_is_given_once():
    table = pd.DataFrame({"age": [31, 45] * 20, "home_own": [1, 0] * 20, "home_rent": [0, 1] * 20})
    reader = RowReader(Schema.infer(table))
    by_name = reader.read([{"age": 31, "home": "rent"}])
    assert by_name.cells == reader.read([{"age": 31, "home_own": 0, "home_rent": 1}]).cells
    for row, said in (
        ({"age": 31, "home": "rent", "home_own": 0}, "and not both"),
        ({"age": 31, "home_own": 0}, "lacks this column"),
        ({"age": 31, "home_own": 1, "home_rent": 1}, "exactly one of them is 1"),
        ({"age": 31, "home": "tent"}, "No known instance has this category"),
    ):
        with pytest.raises(RefusedError, match=said):
            reader.read([row])


def test_names_that_are_no_texts_are_written_as_texts():
    table = pd.DataFrame({1: [31, 45] * 9, ("a", "b"): ["x", "y"] * 9})
    reader = RowReader(Schema.infer(table))
    assert reader.read([{"1": 31, "('a', 'b')": "x"}]).frame.columns.tolist() == [1, ("a", "b")]
    with pytest.raises(TypeError, match="same name"):
        RowReader(Schema.infer(pd.DataFrame({1: [31, 45], "1": [3, 4]}))).read([{"1": 3}])


def test_whole_numbers_that_clients_may_round_are_refused():
    table = pd.DataFrame({"age": [31, 45] * 9, "id": np.arange(18)})
    reader = RowReader(Schema.infer(table, immutable=["id"]))
    assert reader.read([{"age": 31, "id": 2**53}])
    for beyond in (2**53 + 1, 2**60, -(2**60), 10**400):
        for name in ("age", "id"):
            with pytest.raises(RefusedError, match=r"beyond 2\*\*53"):
                reader.read([{"age": 31, "id": 3, name: beyond}])
