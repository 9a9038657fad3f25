"""Answers survive a trip through JSON."""

import json

import numpy as np
import pandas as pd
import pytest
from made_up_answers import CASES, PEOPLE, ROWS, explain, nothing

from counterpoint._util.damage import DamagedError
from counterpoint.data.schema import Schema
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.explanations import Explanations


@pytest.mark.parametrize("answer", CASES.values(), ids=CASES)
def test_one_survives(answer):
    again = Explanation.from_json(answer.to_json())
    for name in ("schema", "found_by", "k", "shortfall", "model_calls", "model_rows", "target"):
        assert getattr(again, name) == getattr(answer, name)
    for name in ("row", "rows", "distance", "decision"):
        np.testing.assert_array_equal(getattr(again, name), getattr(answer, name), strict=True)
    assert type(again.decision) is type(answer.decision)
    np.testing.assert_array_equal(again.labels, answer.labels)
    assert again.labels.dtype == answer.labels.dtype or not len(answer)
    assert str(again) == str(answer)
    assert again._repr_html_() == answer._repr_html_()
    assert type(again.x) is type(answer.x)


def test_many_survive():
    answers = Explanations([explain(), nothing(), explain(rows=ROWS[:1])], model_calls=11, model_rows=99)
    again = Explanations.from_json(answers.to_json())
    assert (len(again), again.model_calls, again.model_rows) == (3, 11, 99)
    pd.testing.assert_frame_equal(again.frame, answers.frame)
    pd.testing.assert_frame_equal(again.shortfalls, answers.shortfalls)
    assert str(again) == str(answers)


def test_none_survive():
    empty = Explanations([], Schema.infer(PEOPLE))
    assert Explanations.from_json(empty.to_json()).schema == empty.schema


def test_wrong_text_is_refused():
    with pytest.raises(ValueError, match="holds 2 explanations"):
        Explanation.from_json(Explanations([explain(), explain()]).to_json())
    with pytest.raises(ValueError, match=r"version 99, expected 4.*explain again"):
        Explanation.from_json(explain().to_json().replace('"version": 4', '"version": 99'))
    with pytest.raises(DamagedError, match="it is not a JSON object"):
        Explanations.from_json("[1, 2]")
    with pytest.raises(ValueError, match="Not valid JSON"):
        Explanations.from_json("found.json")


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"dtype": "<U1000000000", "shape": [3], "values": ["good"] * 3}},
        {"labels": {"dtype": "O", "shape": [3], "values": ["good"] * 3}},
        {"labels": {"dtype": "<U4", "shape": [10**12], "values": ["good"] * 3}},
        {"decision": {"dtype": "V1000000000", "shape": [1], "values": ["bad"]}},
        {"rows": [[1.0] * 5]},
        {"rows": [[1e9] * 5] * 3},
        {"x": []},
        {"distance": [1.0]},
        {"items": 7},
        {"model": ["many", 3]},
        {"instances": ["a", "b"]},
        {"schema": {"kind": "pandas"}},
    ],
)
def test_damage_is_one_error(change):
    plain = json.loads(explain().to_json()) | change
    with pytest.raises(DamagedError, match="or it is damaged"):
        Explanation.from_json(json.dumps(plain))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"version": ' + "9" * 5_000 + "}", "null", ""])
def test_texts_that_are_no_answers(text):
    with pytest.raises(DamagedError):
        Explanations.from_json(text)


def test_a_column_that_claims_gigabytes_per_cell_is_refused():
    plain = json.loads(CASES["array"].to_json())
    plain["schema"]["dtypes"] = [{"numpy": "<U500000000"}] * 2
    with pytest.raises(DamagedError, match="would need"):
        Explanation.from_json(json.dumps(plain))
