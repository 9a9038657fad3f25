"""Missing values: no answer loses a value unless allowed, and each missing value keeps its mark."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

import counterpoint as cp
from counterpoint.data.distance import Distance, changed
from counterpoint.data.marks import NANS
from loans import people

EXPLAINERS = [
    cp.BruteForce(),
    cp.CaseBased(),
    cp.Evolution(),
    cp.Guided(),
    cp.Neighbours(),
    cp.Sphere(),
    cp.Tree(),
    cp.Ensemble(),
]


@pytest.fixture(scope="module")
def holes():
    """People with holes in every column, and a model that decides by the holes, too."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "income": rng.normal(50, 15, 400).round(1),
            "age": pd.array(rng.integers(18, 80, 400), dtype="Int64"),
            "job": rng.choice(["clerk", "smith", "nurse"], 400).astype(object),
            "home": pd.Categorical(rng.choice(["own", "rent"], 400)),
        }
    ).mask(rng.random((400, 4)) < 0.2)

    def model(table):
        points = table["income"].fillna(90).astype(float) + 10 * table["job"].isna() - 5 * table["age"].isna()
        return np.where(points + 10 * (table["home"] == "own") > 60, "granted", "refused")

    return model, X


def lost(answers):
    """Count the values of x that counterfactuals let go missing."""
    return sum(
        int((answer.counterfactuals.isna() & answer.x.notna().to_numpy()).to_numpy().sum())
        for answer in answers
    )


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda each: type(each).__name__)
def test_no_value_goes_missing_unless_asked(explainer, holes):
    model, X = holes
    answers = explainer.clone().fit(model, X).explain_many(X[:40], k=4, progress=False)
    assert lost(answers) == 0
    assert np.mean([len(answer) for answer in answers]) > 2  # holes in known instances are no obstacle


def test_values_may_go_missing_if_asked(holes):
    model, X = holes
    answers = cp.Ensemble().fit(model, X, missing="allow").explain_many(X[:40], k=4, progress=False)
    assert lost(answers) > 0


def test_what_x_misses_may_become_a_value(holes):
    model, X = holes
    without = X[X["income"].isna()][:10]
    answers = cp.Ensemble().fit(model, X).explain_many(without, k=4, progress=False)
    assert any(answer.counterfactuals["income"].notna().any() for answer in answers)


def test_a_range_that_lists_none_asks_for_it_for_one_feature(holes):
    model, X = holes
    asked = cp.Ensemble().fit(model, X, ranges={"job": ["clerk", "smith", "nurse", None]})
    answers = asked.explain_many(X[:40], k=4, progress=False)
    gone = sum((a.counterfactuals.isna() & a.x.notna().to_numpy()).sum() for a in answers if len(a))
    assert gone["job"] > 0
    assert gone.drop("job").sum() == 0


def test_a_loaded_explainer_still_lets_values_go(holes, tmp_path):
    model, X = holes
    for missing in ("keep", "allow"):
        cp.save(cp.Neighbours().fit(model, X, missing=missing), tmp_path / "saved.cp")
        answers = cp.load(tmp_path / "saved.cp", model).explain_many(X[:40], k=4, progress=False)
        assert (lost(answers) > 0) == (missing == "allow")


def test_searches_ask_about_no_row_that_lost_a_value(holes):
    model, X = holes
    seen = []

    def watching(table):
        seen.append(table)
        return model(table)

    explainer = cp.Ensemble().fit(watching, X)
    x = X[X.notna().all(axis=1)][:1]
    seen.clear()
    explainer.explain(x, k=4)
    assert not pd.concat(seen).isna().any(axis=None)


def test_missing_takes_two_words(holes):
    model, X = holes
    with pytest.raises(ValueError, match=r'missing must be "keep" \(.*\) or "allow", got True'):
        cp.Tree().fit(model, X, missing=True)
    images = np.random.default_rng(0).random((20, 8, 8))
    with pytest.raises(ValueError, match="missing is for the columns of tables"):
        cp.Tree().fit(lambda x: x.mean((1, 2)) > 0.5, images, missing="allow")


def test_missing_numbers_in_rows_are_nan_and_know_their_mark():
    column = np.array([1.5, None, np.nan, pd.NA], dtype=object)
    schema = cp.Schema.infer(pd.DataFrame({"a": column, "b": range(4)}))
    rows = schema.encode(pd.DataFrame({"a": column, "b": range(4)}))
    assert np.isnan(rows[1:, 0]).all()
    assert rows[1:, 0].tobytes() == np.array([NANS["None"], NANS["nan"], NANS["NA"]]).tobytes()
    assert schema.decode(rows)["a"].tolist()[1] is None


def marked(kind):
    """Make a column of numbers that holds each mark its dtype has, and the places of the marks."""
    numbers = [1.5, 2.5, 3.5, 4.5, np.nan, 0.5]
    null = np.array([False, False, True, False, False, False])
    if kind in ("Float64", "Float32"):
        data = np.array(numbers, dtype=kind.lower())
        return pd.Series(pd.arrays.FloatingArray(data, null))
    if kind.startswith("arrow"):
        dtype = pd.ArrowDtype(pa.float32() if kind.endswith("32") else pa.float64())
        return pd.Series(dtype.__from_arrow__(pa.array(numbers, mask=null).cast(dtype.pyarrow_dtype)))
    if kind.startswith("polars"):
        dtype = pl.Float32 if kind.endswith("32") else pl.Float64
        return pl.Series([None if gone else n for n, gone in zip(numbers, null, strict=True)], dtype=dtype)
    return pd.Series([1.5, None, pd.NA, np.nan, 2.5, 0.5], dtype=object)


def same(a, b):
    """Whether two cells are the same: their type, their bits, and what stands for a missing one."""
    if any(a is mark or b is mark for mark in (None, pd.NA, pd.NaT)):
        return a is b
    if isinstance(a, float) and isinstance(b, float):
        return type(a) is type(b) and np.float64(a).tobytes() == np.float64(b).tobytes()
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize("kind", ["Float64", "Float32", "arrow", "arrow32", "polars", "polars32", "object"])
def test_every_mark_of_a_missing_number_comes_back(kind, categorical, tmp_path):
    column = marked(kind)
    other = np.arange(len(column))
    X = (pl.DataFrame if kind.startswith("polars") else pd.DataFrame)({"a": column, "b": other})

    def model(table):
        assert all(any(same(v, k) for k in column.to_list()) for v in table["a"].to_list())
        return np.asarray(table["b"]) > 2

    constraints = {"immutable": ["a"], "categorical": ["a"] if categorical else None}
    explainer = cp.Neighbours().fit(model, X, **constraints)
    cp.save(explainer, tmp_path / "saved.cp")
    for fitted in (explainer, cp.load(tmp_path / "saved.cp", model)):
        answers = fitted.explain_many(X, k=2, progress=False)
        for place, each in enumerate([*answers, *cp.Explanations.from_json(answers.to_json())]):
            own = column.to_list()[place % len(column)]
            assert len(each)
            assert all(
                same(value, own) for table in (each.x, each.counterfactuals) for value in table["a"].to_list()
            )


def test_missing_equals_missing_whatever_its_mark():
    schema = cp.Schema.infer(
        pd.DataFrame({"a": pd.Series([1.5, None, np.nan], dtype=object), "b": [1, 2, 3]})
    )
    rows = np.array([[NANS["None"], 1.0], [NANS["nan"], 1.0]])
    assert not changed(rows[:1], rows[1]).any()
    assert Distance.fit(schema, np.array([[1.5, 1.0], [2.0, 2.0]])).between(rows, rows).max() == 0


def test_an_unchanged_zero_keeps_its_sign():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[::2, 1] = -0.0
    X[1::4, 1] = 0.0
    for explainer in EXPLAINERS:
        fitted = explainer.clone().fit(lambda rows: rows[:, 0] > 0, X)
        for answer in fitted.explain_many(X[:6], k=4, progress=False):
            column, own = answer.counterfactuals[:, 1], answer.x[1]
            assert (np.signbit(column[column == own]) == np.signbit(own)).all()


def test_rows_that_are_not_projected_take_the_values_of_x_bit_for_bit():
    class Careless(cp.Explainer):
        seed = 0

        def search(self, task):
            rows = np.repeat(task.x, 2, axis=0)
            rows[:, 0] += [3.0, 5.0] * len(task)
            rows[:, 1], rows[:, 2] = 0.0, np.nan
            yield cp.Question(rows, np.repeat(np.arange(len(task)), 2))

    frame = pd.DataFrame({"a": [1.0, 2.0, 8.0], "b": [-0.0, 0.0, 1.0]})
    frame["c"] = pd.Series([None, None, 0.5], dtype=object)
    answer = Careless().fit(lambda table: table["a"] > 3, frame).explain(frame[:1], k=2)
    assert len(answer) == 2
    assert np.signbit(answer.counterfactuals["b"]).all()
    assert [value is None for value in answer.counterfactuals["c"]] == [True, True]


@pytest.fixture(scope="module")
def gaps():
    """A model that accepts missing values, and people with some."""
    X = people(300)
    X.loc[X.index % 4 == 0, "income"] = np.nan
    X.loc[X.index % 5 == 0, "job"] = None
    X = X.astype({"job": "category", "owner": int})
    y = np.where(X["income"].isna() | (X["income"] > 55), "granted", "refused")
    with threadpool_limits(1):
        yield HistGradientBoostingClassifier(max_iter=30, categorical_features="from_dtype").fit(X, y), X


def test_missing_values_are_values_of_their_own(gaps):
    model, X = gaps
    explainer = cp.Ensemble().fit(model, X)
    without = X[X["income"].isna() & X["job"].isna()]
    answers = explainer.explain_many(without[:3], k=5, progress=False)
    assert all(len(answer) == 5 for answer in answers)
    assert answers[0].x["income"].isna().all()


def test_a_value_may_go_missing_where_known_instances_miss_it(gaps):
    def no_raise(candidates, x):
        return candidates["income"].isna() | (candidates["income"] <= x["income"].iloc[0])

    # The model grants loans to those who do not say what they earn.
    model, X = gaps
    x = X[(model.predict(X) == "refused") & X["income"].notna()].iloc[0]
    others = [name for name in X.columns if name != "income"]
    explainer = cp.Ensemble().fit(model, X, immutable=others, rule=no_raise, missing="allow")
    assert explainer.explain(x, k=1).counterfactuals["income"].isna().tolist() == [True]


def test_a_missing_value_that_is_immutable_stays_missing(gaps):
    model, X = gaps
    x = X[X["job"].isna() & X["income"].isna()].iloc[0]
    explanation = cp.Ensemble().fit(model, X, immutable=["job"]).explain(x, k=5)
    assert len(explanation) == 5
    assert explanation.counterfactuals["job"].isna().all()


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_values_of_x_may_be_written_in_any_way(missing, gaps):
    model, X = gaps
    explainer = cp.Tree().fit(model, X)
    x = X.iloc[0].to_dict() | {"income": missing, "job": missing}
    assert explainer.explain(x).x[["income", "job"]].isna().all(axis=None)


def test_missing_values_in_polars_and_object_arrays():
    def model(table):
        column = table[:, 0] if isinstance(table, np.ndarray) else table["a"].to_list()
        return [value is None or value > 5 for value in column]

    X = np.array([[None if i % 3 == 0 else i % 10, "ab"[i % 2]] for i in range(60)], dtype=object)
    frame = pl.DataFrame({"a": X[:, 0].tolist(), "b": X[:, 1].tolist()})
    for table, x in ((X, X[1]), (frame, frame[1])):
        explanation = cp.Ensemble().fit(model, table).explain(x, k=3)
        assert len(explanation) == 3
        assert all(model(explanation.counterfactuals))
