"""The tables and instances that a user may give."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterpoint as cp
from loans import TABLES, Spy, decide, decide_array, people, polars_people, refused


def test_one_decision_of_a_frame():
    explanation = cp.Ensemble().fit(decide, people()).explain(refused().iloc[0], k=5)
    assert len(explanation) == 5
    assert explanation.shortfall is None
    assert (decide(explanation.counterfactuals) == "granted").all()
    pd.testing.assert_series_equal(explanation.counterfactuals.dtypes, people().dtypes)


def test_the_paper_in_one_call():
    x = refused().iloc[0]
    explanation = cp.explain(
        x, decide, people(), k=5, immutable=["age", "owner"], target="granted", max_changes=2
    )
    assert len(explanation) == 5
    assert (explanation.counterfactuals["age"] == x["age"]).all()


@pytest.mark.parametrize("X", TABLES.values(), ids=TABLES)
def test_arrays(X):
    spy = Spy(decide_array)
    explainer = cp.Ensemble().fit(spy, X)
    explanation = explainer.explain(X[0], k=3)
    assert len(explanation) == 3
    assert explanation.counterfactuals.dtype == X.dtype
    assert explanation.x.tolist() == X[0].tolist()
    assert {(type(table), table.dtype) for table in spy.tables} == {(np.ndarray, X.dtype)}
    column_types = [{type(value) for value in X[:, i].tolist()} for i in range(3)]
    assert all(
        type(row[i]) in column_types[i] for table in spy.tables for row in table.tolist() for i in range(3)
    )


def test_lists_of_lists():
    X = TABLES["object"].tolist()
    explanation = cp.Ensemble().fit(decide_array, X).explain(X[0], k=3)
    assert len(explanation) == 3
    assert {type(row[1]) for row in explanation.counterfactuals.tolist()} == {int}


def test_polars_frames():
    X = polars_people()
    spy = Spy(decide)
    explainer = cp.Ensemble().fit(spy, X, increase=["education"])
    x = X.filter(pl.Series(decide(X) == "refused"))[:1]
    answers = [explainer.explain(each, k=3) for each in (x, x.row(0, named=True), x.row(0))]
    assert all(table.schema == X.schema for table in spy.tables)
    assert answers[0].counterfactuals.schema == X.schema
    assert len({answer.to_json() for answer in answers}) == 1
    assert answers[0].counterfactuals.equals(
        explainer.explain_many(x, k=3, progress=False)[0].counterfactuals
    )


def x_forms(row):
    """Give one row of a frame in every form."""
    return {
        "series": row.iloc[0],
        "dict": row.iloc[0].to_dict(),
        "dict in another order": dict(reversed(row.iloc[0].to_dict().items())),
        "frame": row,
        "frame in another order": row[row.columns[::-1]],
        "vector": row.to_numpy()[0],
        "one-row array": row.to_numpy(),
        "list": row.to_numpy()[0].tolist(),
        "tuple": tuple(row.to_numpy()[0]),
        "polars": pl.DataFrame({name: [value] for name, value in row.iloc[0].to_dict().items()}),
    }


@pytest.mark.parametrize("form", x_forms(people(1)))
def test_every_form_of_x_gets_the_same_answer(form, fitted):
    row = refused()[:1]
    explanation = fitted.explain(x_forms(row)[form], k=3)
    assert explanation.to_json() == fitted.explain(row, k=3).to_json()
    pd.testing.assert_frame_equal(explanation.x, row)


@pytest.mark.parametrize(
    "form",
    [np.asarray, list, tuple, lambda x: x[None], pd.Series, lambda x: pd.Series(x, ["x0", "x1", "x2"])],
)
def test_every_form_of_x_where_x_was_an_array(form):
    X = TABLES["float"]
    explainer = cp.Tree().fit(decide_array, X)
    assert explainer.explain(form(X[0])).to_json() == explainer.explain(X[0]).to_json()


def test_many_rows_in_another_order_of_columns(fitted):
    X = refused()[:5]
    straight, mixed = (fitted.explain_many(form, k=2, progress=False) for form in (X, X[X.columns[::-1]]))
    assert straight.to_json() == mixed.to_json()


def test_an_index_of_any_kind_changes_no_answer(fitted):
    X = refused()[:3]
    named = X.set_axis(["a", "b", "b"])
    one, other = (fitted.explain_many(form, progress=False) for form in (X, named))
    assert [answer.to_json() for answer in one] == [answer.to_json() for answer in other]


def test_no_rows_get_no_answers(fitted):
    assert len(fitted.explain_many(people()[:0], progress=False)) == 0


def test_columns_without_names():
    X = pd.DataFrame(TABLES["float"])
    explanation = (
        cp.Ensemble().fit(lambda frame: frame[0] + frame[1] > 0, X, immutable=[2]).explain(X.iloc[0])
    )
    assert list(explanation.counterfactuals.columns) == [0, 1, 2]
    assert (explanation.counterfactuals[2] == X.iloc[0, 2]).all()


def test_what_the_caller_gave_is_not_written_to():
    X, x = people(), refused().iloc[0]
    kept_X, kept_x = X.copy(), x.copy()
    cp.Ensemble().fit(decide, X, immutable=["age"]).explain(x)
    pd.testing.assert_frame_equal(X, kept_X)
    pd.testing.assert_series_equal(x, kept_x)


def test_read_only_arrays():
    X = TABLES["float"].copy()
    X.setflags(write=False)
    assert len(cp.Ensemble().fit(decide_array, X).explain(X[0], k=3)) == 3


def test_a_model_that_writes_into_its_table_harms_nothing():
    def vandal(frame):
        labels = decide(frame)
        frame.loc[:, "income"] = -1.0
        frame["job"] = "none"
        return labels

    x = refused().iloc[0]
    harmed, whole = (cp.Ensemble().fit(model, people()).explain(x) for model in (vandal, decide))
    assert harmed.to_json() == whole.to_json()
