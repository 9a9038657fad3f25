"""Answers survive a trip through JSON."""

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
