"""Tidy frames: fixed columns and dtypes, whatever the rows are, and no row is lost."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import counterpoint as cp
from counterpoint.explanation.frames import to_arrow
from loans import EDUCATION, decide, decide_array, grade, people, polars_people, probability

ROWS = people(30, seed=3)
ROWS.insert(0, "application", [f"a{i}" for i in range(30)])


def fragile(frame):
    if (frame["age"] == 19).any():
        raise RuntimeError("no 19")
    return decide(frame)


def test_the_lines_are_those_of_explain_many(fitted):
    tidy = fitted.explain_frame(ROWS, k=3, id="application")
    plain = fitted.explain_many(ROWS.drop(columns="application"), k=3, progress=False).frame
    assert tidy["application"].tolist() == [f"a{i}" for i in plain["instance"]]
    shared = [name for name in plain if name != "instance"]
    pd.testing.assert_frame_equal(tidy[shared], plain[shared], check_dtype=False)
    assert set(tidy["status"]) == {"found"}
    assert tidy["reason"].isna().all()


@pytest.mark.parametrize("rows", [ROWS, ROWS[:0], ROWS[:1]], ids=["many", "none", "one"])
def test_the_schema_does_not_depend_on_the_rows(fitted, rows):
    tidy = fitted.explain_frame(rows, k=2, id="application")
    schema = fitted.frame_schema("pandas", id="application", id_dtype=ROWS["application"].dtype)
    assert tidy.dtypes.to_dict() == schema.dtypes.to_dict()
    assert tidy.columns.tolist() == schema.columns.tolist()
    assert tidy["education"].dtype == EDUCATION
    arrow = fitted.frame_schema("arrow", id="application", id_dtype=ROWS["application"].dtype)
    table = to_arrow(tidy, arrow)
    assert table.schema.equals(arrow)
    pd.testing.assert_frame_equal(table.to_pandas(), tidy)


def test_a_row_without_an_answer_has_a_line_that_says_why():
    known = people()
    known = known[known["age"] != 19]
    explainer = cp.Neighbours().fit(fragile, known)
    rows = ROWS[:8].copy()
    rows["age"], rows["job"] = 40, rows["job"].astype(object)
    rows.loc[2, "age"] = 19
    rows.loc[5, "job"] = "king"
    tidy = explainer.explain_frame(rows, k=2, id="application")
    lines = tidy[tidy["counterfactual"] == 0].set_index("application")
    assert lines["status"].to_dict() == {"a2": "failed", "a5": "invalid"}
    assert "no 19" in lines["reason"]["a2"]
    assert "'job' = 'king'" in lines["reason"]["a5"]
    assert lines[[*people().columns, "decision", "distance", "found_by"]].isna().all(axis=None)
    assert tidy["application"].drop_duplicates().tolist() == rows["application"].tolist()
    assert (tidy.dtypes == explainer.explain_frame(rows[:1], k=2, id="application").dtypes).all()
    rest = rows.drop(index=[2, 5])
    alone = explainer.explain_frame(rest, k=2, id="application")
    pd.testing.assert_frame_equal(tidy[tidy["counterfactual"] > 0].reset_index(drop=True), alone)


def test_a_row_with_the_wanted_decision_and_one_with_few_answers_are_told_apart(fitted):
    tidy = fitted.explain_frame(ROWS, k=2, id="application", target="granted")
    decided = dict(zip(ROWS["application"], decide(ROWS), strict=True))
    already = tidy[tidy["status"] == "already"]
    assert set(already["application"]) == {name for name, label in decided.items() if label == "granted"}
    few = fitted.explain_frame(ROWS[:3], k=400, id="application", max_rows=200)
    assert set(few["status"]) == {"fewer"}
    assert few["reason"].str.contains("limit").all()


def test_new_values_of_immutable_columns_keep_their_place_or_are_reported():
    known = people().assign(city=pd.Categorical(["Rome", "Oslo"] * 100), children=[0, 1] * 100)
    explainer = cp.Neighbours().fit(decide, known, immutable=["city", "children"])
    rows = ROWS[:3].assign(city=["Rome", "Bern", "Lima"], children=[1, 2, 0.5])
    tidy = explainer.explain_frame(rows, k=1, id="application")
    assert tidy["city"].tolist()[:2] == ["Rome", "Bern"]
    assert tidy["children"].dtype == "Int64"
    assert tidy["status"].tolist() == ["found", "found", "invalid"]
    assert "'children'" in tidy["reason"][2]
    empty = explainer.frame_schema(id="application", id_dtype=rows["application"].dtype)
    assert (tidy.dtypes == empty.dtypes).all()


def test_the_index_names_rows_without_an_id(fitted):
    rows = people(4, seed=3).set_axis([7, 7, 9, 9], axis=0)
    tidy = fitted.explain_frame(rows, k=1)
    assert tidy["instance"].tolist() == [7, 7, 9, 9]
    assert tidy.index.equals(pd.RangeIndex(4))


def test_spark_gets_the_schema_in_its_words(fitted):
    assert fitted.frame_schema("spark", id="application", id_dtype="str") == (
        "`application` string, `counterfactual` bigint, `age` bigint, `income` double, `job` string, "
        "`owner` boolean, `education` string, `decision` string, `distance` double, `found_by` string, "
        "`status` string, `reason` string"
    )


@pytest.mark.parametrize(
    "model", [grade, probability, lambda frame: np.eye(2)[(frame["age"] > 40).astype(int)]]
)
def test_outputs_of_all_kinds_have_fixed_types(model):
    explainer = cp.Neighbours().fit(model, people())
    target = cp.Between(0.9, 1.0) if model is probability else None
    if model not in (grade, probability):
        target = lambda scores: scores[:, 0] > 0.5  # noqa: E731
    tidy = explainer.explain_frame(ROWS, k=1, id="application", target=target)
    empty = explainer.explain_frame(ROWS[:0], k=1, id="application", target=target)
    assert tidy.dtypes.to_dict() == empty.dtypes.to_dict()
    assert len(tidy) == len(ROWS)


@pytest.mark.parametrize("known", [polars_people(), np.random.default_rng(0).normal(size=(80, 3))])
def test_explainers_of_polars_frames_and_arrays_take_pandas_frames(known):
    is_array = isinstance(known, np.ndarray)
    explainer = cp.Neighbours().fit(decide_array if is_array else decide, known)
    rows = pd.DataFrame(known[:9], columns=["x0", "x1", "x2"]) if is_array else people(9, seed=3)
    tidy = explainer.explain_frame(rows, k=2)
    assert set(tidy["instance"]) == set(range(9))
    assert tidy.dtypes.to_dict() == explainer.frame_schema().dtypes.to_dict()
    arrow = explainer.frame_schema("arrow")
    assert isinstance(arrow, pa.Schema)
    assert to_arrow(tidy, arrow).schema.equals(arrow)


def test_what_cannot_be_is_refused(fitted):
    with pytest.raises(ValueError, match="id must name a column of the frame, got 'number'"):
        fitted.explain_frame(ROWS, id="number")
    with pytest.raises(ValueError, match="id must name a column that is not a feature, got 'age'"):
        fitted.explain_frame(ROWS, id="age")
    with pytest.raises(ValueError, match="kind must be one of"):
        fitted.frame_schema("sql")
    with pytest.raises(TypeError, match="must be a pandas frame, got ndarray"):
        fitted.explain_frame(np.zeros((2, 5)))
