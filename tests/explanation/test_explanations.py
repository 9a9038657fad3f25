"""Many answers: a sequence, and tables over all of them."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from made_up_answers import CASES, FEATURES, PEOPLE, ROWS, explain, nothing

from counterpoint.data.schema import Schema
from counterpoint.explanation.explanations import Explanations

ANSWERS = Explanations([explain(), nothing(), explain(rows=ROWS[1:2], labels=np.array(["very good"]))])


def test_it_is_a_sequence():
    assert len(ANSWERS) == 3
    assert ANSWERS[1] is list(ANSWERS)[1]
    assert ANSWERS[-1] is ANSWERS[2]
    part = ANSWERS[1:]
    assert isinstance(part, Explanations)
    assert [len(answer) for answer in part] == [0, 1]


def test_frame_is_what_one_frame_an_instance_gives():
    frame = ANSWERS.frame
    assert frame.columns.tolist() == [
        "instance", "counterfactual", *FEATURES, "decision", "distance", "found_by",
    ]  # fmt: skip
    assert frame["instance"].tolist() == [0, 0, 0, 2]
    assert frame["counterfactual"].tolist() == [1, 2, 3, 1]
    assert frame["decision"].tolist() == ["good", "good", "good", "very good"]
    assert frame["found_by"].tolist() == ["Tree", "BruteForce", "Sphere", "Tree"]
    assert frame["distance"].tolist() == pytest.approx([1 / 3, 2 / 3, 1, 1 / 3])
    tables = [answer.counterfactuals for answer in ANSWERS if len(answer)]
    pd.testing.assert_frame_equal(frame[FEATURES], pd.concat(tables, ignore_index=True))


def test_changes_are_those_of_each_instance():
    parts = [answer.changes.assign(instance=i) for i, answer in enumerate(ANSWERS) if len(answer)]
    expected = pd.concat(parts, ignore_index=True)[ANSWERS.changes.columns]
    pd.testing.assert_frame_equal(ANSWERS.changes, expected)


def test_importance_counts_every_counterfactual_once():
    assert ANSWERS.importance().to_dict() == {
        "amount": 0.75, "purpose": 0.75, "duration": 0.5, "foreign": 0.5, "job": 0.5,
    }  # fmt: skip


def test_shortfalls():
    assert ANSWERS.shortfalls.values.tolist() == [[1, 3, 0, "none found among 812 candidates"]]


def test_model_use_is_summed_unless_the_run_tells_it():
    assert (ANSWERS.model_calls, ANSWERS.model_rows) == (27, 3600)
    run = Explanations(ANSWERS, model_calls=12, model_rows=3600)
    assert (run.model_calls, run[:1].model_calls) == (12, 12)


def test_text_tells_the_main_things():
    text = str(ANSWERS)
    assert text.startswith("Instances: 3   Counterfactuals: 4 of 7 (mean 1.33 of 2.33)   Model: 27 calls")
    assert re.search(r"amount +█+ +75%", text)
    assert "1 of 3 instances got fewer than 3: none found among 812 candidates (1)." in text


def test_polars_gives_a_polars_frame():
    frame = Explanations([CASES["polars"]] * 2).frame
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == ["instance", "counterfactual", "a", "b", "decision", "distance", "found_by"]
    assert frame["b"].dtype == pl.Categorical
    assert frame["decision"].to_list() == ["good", "good"]


def test_scores_get_a_column_each_and_features_keep_their_names():
    frame = Explanations([CASES["scores"]]).frame
    assert frame["decision_1"].tolist() == [0.9] * 3
    table = pd.DataFrame({"distance": [1, 2], "instance": [1.5, 2]})
    frame = Explanations([explain(table, np.array([1.0, 1.5]), np.array([[2.0, 1.5]]))]).frame
    assert frame.columns.tolist() == [
        "instance_", "counterfactual", "distance", "instance", "decision", "distance_", "found_by",
    ]  # fmt: skip


@pytest.mark.parametrize("answers", [Explanations([], Schema.infer(PEOPLE)), Explanations([nothing()] * 2)])
def test_nothing_at_all_still_has_tables(answers):
    assert answers.frame.dtypes[FEATURES].equals(PEOPLE.dtypes)
    assert answers.changes.columns.tolist() == ["instance", "counterfactual", "feature", "from", "to"]
    assert answers.importance().sum() == 0
    assert "Counterfactuals: 0 of" in str(answers)
    assert answers._repr_html_()


def test_items_must_share_a_schema():
    with pytest.raises(ValueError, match="one schema"):
        Explanations([explain(), CASES["array"]])


def test_no_items_and_no_schema_are_an_answer_too():
    empty = Explanations.from_json(Explanations([]).to_json())
    assert (len(empty), len(empty.frame), len(empty.changes), len(empty.importance())) == (0, 0, 0, 0)
    assert str(empty)
    assert empty._repr_html_()
