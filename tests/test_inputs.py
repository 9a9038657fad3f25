"""What a user may give, what the model gets, and what bad input is told."""

import re
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

import counterpoint as cp

LEVELS = ["school", "college", "doctorate"]
EDUCATION = pd.CategoricalDtype(LEVELS, ordered=True)
ENSEMBLE_AND_PARTS = [
    cp.Ensemble(),
    cp.BruteForce(features=2),
    cp.Tree(),
    cp.Sphere(),
    cp.Neighbours(),
    cp.CaseBased(),
]


def people(size=200, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, size=size),
            "income": rng.normal(50, 15, size=size),
            "job": rng.choice(["clerk", "smith", "cook"], size=size),
            "owner": rng.uniform(size=size) < 0.5,
            "education": pd.Categorical(rng.choice(LEVELS[:2], size=size), dtype=EDUCATION),
        }
    )


def polars_people(size=200):
    frame = people(size)
    columns = {name: frame[name].tolist() for name in frame.columns}
    return pl.DataFrame(columns).with_columns(pl.col("education").cast(pl.Enum(LEVELS)))


def decide(frame):
    """Grant a loan by income and age, more easily to smiths; for pandas and polars frames."""
    income, age, job = (frame[name].to_numpy() for name in ("income", "age", "job"))
    return np.where(income + age / 2 + 10 * (job == "smith") > 80, "granted", "refused")


def decide_array(rows):
    return np.where(rows[:, 0].astype(float) + rows[:, 1].astype(float) > 0, "high", "low")


def refused(frame=None):
    frame = people() if frame is None else frame
    return frame[decide(frame) == "refused"].reset_index(drop=True)


class Spy:
    """A model that remembers the tables it was given."""

    def __init__(self, model):
        self.model = model
        self.tables = []

    def predict(self, table):
        self.tables.append(table)
        return self.model(table)


@pytest.fixture(scope="module")
def fitted():
    return cp.Ensemble().fit(decide, people())


# What X and x may be


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


X_FORMS = {
    "float": np.random.default_rng(0).normal(size=(80, 3)),
    "float32": np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32),
    "int": np.random.default_rng(0).integers(-9, 9, size=(80, 3)),
    "small int": np.random.default_rng(0).integers(-9, 9, size=(80, 3)).astype(np.int8),
    "object": np.column_stack(
        [
            np.random.default_rng(0).normal(size=80).astype(object),
            np.random.default_rng(1).integers(-3, 3, size=80).astype(object),
            np.random.default_rng(2).choice(["a", "b"], size=80).astype(object),
        ]
    ),
}


@pytest.mark.parametrize("X", X_FORMS.values(), ids=X_FORMS)
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
    X = X_FORMS["object"].tolist()
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
    X = X_FORMS["float"]
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
    X = pd.DataFrame(X_FORMS["float"])
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
    X = X_FORMS["float"].copy()
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


# What the model gets


def test_the_model_gets_frames_like_the_one_it_was_trained_on():
    X = people().astype({"age": "int16", "income": "float32"})
    X["code"] = pd.Categorical(X["age"] % 3, categories=[2, 1, 0, 9])
    X["note"] = pd.Series(np.where(X["age"] > 40, "a", "b"), dtype=object)
    X["count"] = pd.array(X["age"] % 5, dtype="Int64")
    X.loc[::7, "count"] = pd.NA
    spy = Spy(decide)
    explainer = cp.Ensemble().fit(spy, X)
    explainer.explain_many(X[:4], k=3, progress=False)
    assert len(spy.tables) > 3
    for table in spy.tables:
        pd.testing.assert_index_equal(table.columns, X.columns)
        pd.testing.assert_series_equal(table.dtypes, X.dtypes)


def test_known_instances_reach_the_model_as_they_are():
    X = people()
    spy = Spy(decide)
    cp.Ensemble().fit(spy, X)
    pd.testing.assert_frame_equal(spy.tables[0], X)


def test_the_model_is_asked_once_about_all_known_instances():
    spy = Spy(decide)
    cp.Ensemble().fit(spy, people())
    assert len(spy.tables) == 1


# Kinds


def test_kinds_are_inferred(fitted):
    schema = fitted.fitted_.schema
    kinds = {feature.name: (feature.kind, feature.step) for feature in schema.features}
    assert kinds == {
        "age": ("continuous", 1),
        "income": ("continuous", None),
        "job": ("categorical", None),
        "owner": ("categorical", None),
        "education": ("categorical", None),
    }


def test_answers_hold_whole_numbers_and_known_categories_only(fitted):
    rows = pd.concat(
        [answer.counterfactuals for answer in fitted.explain_many(people()[:20], progress=False)]
    )
    assert rows["age"].between(people()["age"].min(), people()["age"].max()).all()
    assert set(rows["job"]) <= {"clerk", "smith", "cook"}
    assert rows["education"].notna().all()


def test_numbers_named_categorical_take_known_values_only():
    X = people()
    explanation = cp.Ensemble().fit(decide, X, categorical=["age"]).explain(refused().iloc[0], k=10)
    assert set(explanation.counterfactuals["age"]) <= set(X["age"])
    assert explanation.counterfactuals["age"].dtype == X["age"].dtype


def test_a_schema_overrides_what_is_inferred():
    X = people()
    schema = (
        cp.Schema.infer(X, categorical=["age"])
        .replace("income", step=10)
        .replace("job", categories=("clerk", "cook", "smith"), ordered=True)
    )
    x = refused().assign(income=30.0).iloc[0]
    explanation = cp.Ensemble().fit(decide, X, schema=schema, increase=["job"]).explain(x, k=10)
    rows = explanation.counterfactuals
    assert (rows["income"] % 10 == 0).all()
    assert set(rows["age"]) <= set(X["age"])
    assert all(LADDER.index(job) >= LADDER.index(x["job"]) for job in rows["job"])


LADDER = ["clerk", "cook", "smith"]


# Missing values


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
    explanation = cp.Ensemble().fit(model, X, immutable=others, rule=no_raise).explain(x, k=1)
    assert explanation.counterfactuals["income"].isna().tolist() == [True]


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


# Targets


def grade(frame):
    return np.array(["A", "B", "C", "D"])[np.digitize(frame["income"], [40, 50, 60])]


def probability(frame):
    return 1 / (1 + np.exp(-(frame["income"].to_numpy() - 50) / 10))


@pytest.mark.parametrize(
    "target",
    ["C", ["C", "D"], {"C", "D"}, ("D",), np.array(["C", "D"])],
    ids=["one", "list", "set", "tuple", "array"],
)
def test_a_class_or_several(target):
    X = people()
    explanation = cp.Ensemble().fit(grade, X).explain(X[grade(X) == "A"].iloc[0], target=target)
    assert len(explanation) == 5
    assert set(explanation.decisions) <= ({target} if isinstance(target, str) else set(target))


def test_any_other_decision_is_the_default():
    X = people()
    explanation = cp.Ensemble().fit(grade, X).explain(X[grade(X) == "B"].iloc[0], k=10)
    assert "B" not in explanation.decisions
    assert explanation.target == "any other decision"


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (
            lambda frame: np.column_stack([1 - probability(frame), probability(frame)]),
            lambda p: p[:, 1] >= 0.7,
        ),
        (probability, lambda p: p >= 0.7),
        (probability, cp.Between(low=0.7)),
        (lambda frame: pd.Series(probability(frame)), cp.Between(0.7, 1)),
    ],
    ids=["two columns", "one column", "interval", "series"],
)
def test_a_probability_threshold(model, target):
    X = people()
    explanation = cp.Ensemble().fit(model, X).explain(X[probability(X) < 0.5].iloc[0], target=target)
    assert len(explanation) == 5
    assert (probability(explanation.counterfactuals) >= 0.7).all()


def test_an_interval_for_a_regressor():
    X = people()[["age", "income"]]
    model = LinearRegression().fit(X, X["income"] * 2 + X["age"])
    explanation = cp.Ensemble().fit(model, X).explain(X.iloc[0], target=cp.Between(100, 110))
    assert len(explanation) == 5
    assert model.predict(explanation.counterfactuals).min() >= 100
    assert model.predict(explanation.counterfactuals).max() <= 110


def test_an_x_that_already_is_what_is_asked_for_gets_an_empty_answer_that_says_so(fitted):
    explanation = fitted.explain(refused().iloc[0], target="refused")
    assert len(explanation) == 0
    assert "already" in str(explanation.shortfall)


def test_the_order_of_a_set_of_classes_does_not_matter():
    X = people()
    explainer, x = cp.Ensemble().fit(grade, X), X[grade(X) == "A"].iloc[0]
    assert (
        explainer.explain(x, target=["D", "C"]).to_json() == explainer.explain(x, target=("C", "D")).to_json()
    )


# Limits


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("explainer", ENSEMBLE_AND_PARTS, ids=lambda each: type(each).__name__)
def test_no_more_features_change_than_allowed(explainer, most):
    x = refused().iloc[0]
    explanation = explainer.clone().fit(decide, people()).explain(x, k=10, max_changes=most)
    changed = explanation.changes.groupby("counterfactual").size()
    assert (changed <= most).all()
    assert explanation.shortfall is None or explanation.shortfall.reason


def test_the_model_is_given_no_more_rows_than_allowed(fitted):
    for most in (1, 20, 300):
        explanation = fitted.explain(refused().iloc[0], k=400, max_rows=most)
        assert explanation.model_rows <= most + 1  # and x itself
        assert "model row" in explanation.shortfall.reason
    assert len(explanation) > 0


def test_a_slow_model_is_not_asked_after_the_time_is_up():
    def slow(frame):
        time.sleep(0.15 if len(frame) != 200 else 0)
        return decide(frame)

    explainer = cp.Ensemble().fit(slow, people())
    start = time.monotonic()
    explanation = explainer.explain(refused().iloc[0], k=1000, max_seconds=0.2)
    assert time.monotonic() - start < 2
    assert "time limit" in str(explanation.shortfall)
    assert (explanation.decisions == "granted").all()


# Constraints


def answers(explainer, X, x=None, k=10, model=decide, **constraints):
    x = refused(X).iloc[0] if x is None else x
    return explainer.clone().fit(model, X, **constraints).explain(x, k=k).counterfactuals


@pytest.mark.parametrize("explainer", ENSEMBLE_AND_PARTS, ids=lambda each: type(each).__name__)
class TestConstraints:
    def test_immutable_features_keep_their_value(self, explainer):
        X, x = people(), refused().iloc[0]
        rows = answers(explainer, X, x, immutable=["age", "job"])
        assert (rows["age"] == x["age"]).all()
        assert (rows["job"] == x["job"]).all()

    def test_ranges_hold(self, explainer):
        rows = answers(explainer, people(), ranges={"age": (18, 90.5), "income": (0, 61.25)})
        assert (rows["age"] <= 90).all()
        assert (rows["income"] <= 61.25).all()

    def test_one_way_features_only_rise_or_only_fall(self, explainer):
        X, x = people(), refused().iloc[0]
        rows = answers(explainer, X, x, increase=["income", "education"], decrease=["age"])
        assert (rows["income"] >= x["income"]).all()
        assert (rows["age"] <= x["age"]).all()
        assert (rows["education"] >= x["education"]).all()

    def test_only_allowed_categories_are_taken(self, explainer):
        x = refused()[refused()["job"] == "clerk"].iloc[0]
        rows = answers(explainer, people(), x, ranges={"job": ["clerk", "cook"]})
        assert set(rows["job"]) <= {"clerk", "cook"}

    def test_a_rule_holds(self, explainer):
        def smiths_stay_and_age_is_even(candidates, x):
            assert len(x) == 1
            return (candidates["job"] == x["job"].iloc[0]) & (candidates["age"] % 2 == 0)

        x = refused().assign(age=40).iloc[0]
        rows = answers(explainer, people(), x, rule=smiths_stay_and_age_is_even)
        assert (rows["job"] == x["job"]).all()
        assert (rows["age"] % 2 == 0).all()


def test_constraints_leave_answers_where_some_exist():
    X, x = people(), refused().iloc[0]
    for constraints in (
        {"immutable": ["age", "job"]},
        {"ranges": {"income": (0, 200)}, "immutable": ["age", "job", "owner"]},
        {"increase": ["income", "education"], "decrease": ["age"]},
        {"rule": lambda candidates, x: candidates["age"] == x["age"].iloc[0]},
    ):
        assert len(answers(cp.Ensemble(), X, x, **constraints)) == 10


def test_ranges_hold_in_the_floats_of_the_column():
    X = people().astype({"income": "float32"})
    rows = answers(
        cp.Ensemble(),
        X,
        refused(X)[lambda frame: frame["income"] < 60].iloc[0],
        ranges={"income": (0.1, 70.1)},
    )
    assert rows["income"].dtype == np.float32
    assert (rows["income"].astype(float) <= 70.1).all()
    assert not rows.duplicated().any()


def test_columns_of_an_array_are_named_by_their_places():
    X = X_FORMS["float"]
    low = X[decide_array(X) == "low"][0]
    explainer = cp.Ensemble().fit(decide_array, X, immutable=[2], ranges={0: (-3, 3)}, increase=["x1"])
    rows = explainer.explain(low).counterfactuals
    assert (rows[:, 2] == low[2]).all()
    assert (np.abs(rows[:, 0]) <= 3).all()
    assert (rows[:, 1] >= low[1]).all()


# No counterfactual exists


@pytest.mark.parametrize("explainer", ENSEMBLE_AND_PARTS, ids=lambda each: type(each).__name__)
def test_where_none_exists_the_answer_is_empty_and_says_why(explainer):
    X = people()
    explainer = explainer.clone().fit(decide, X, immutable=["age", "income", "job"])
    start = time.monotonic()
    explanation = explainer.explain(refused().iloc[0], k=3)
    assert time.monotonic() - start < 10
    assert len(explanation) == 0
    assert explanation.counterfactuals.columns.tolist() == X.columns.tolist()
    assert explanation.shortfall.found == 0
    assert explanation.shortfall.reason in str(explanation)


def test_a_rule_that_allows_nothing_leaves_nothing():
    explainer = cp.Ensemble().fit(
        decide, people(), rule=lambda candidates, x: np.zeros(len(candidates), dtype=bool)
    )
    explanation = explainer.explain(refused().iloc[0])
    assert len(explanation) == 0
    assert explanation.shortfall is not None


def test_a_class_that_no_known_instance_has_may_be_asked_for():
    @dataclass
    class Model:
        classes_ = np.array(["granted", "refused", "special"])

        def predict(self, frame):
            return np.where(frame["income"].to_numpy() > 1e6, "special", decide(frame))

    for explainer in ENSEMBLE_AND_PARTS:
        explanation = explainer.clone().fit(Model(), people()).explain(refused().iloc[0], target="special")
        assert len(explanation) == 0
        assert explanation.shortfall is not None


@pytest.mark.parametrize("explainer", ENSEMBLE_AND_PARTS, ids=lambda each: type(each).__name__)
def test_a_threshold_that_nothing_reaches_may_be_asked_for(explainer):
    X = people()
    explanation = explainer.clone().fit(probability, X).explain(X.iloc[0], target=cp.Between(low=2))
    assert len(explanation) == 0
    assert explanation.shortfall is not None


def test_hundreds_may_be_asked_for(fitted):
    assert len(fitted.explain(refused().iloc[0], k=300)) == 300


def test_fewer_than_k_is_no_error():
    X = pd.DataFrame({"a": [0, 1, 2, 3] * 10, "b": ["x", "y"] * 20})
    explanation = cp.Ensemble().fit(lambda frame: frame["a"] > 2, X).explain(X.iloc[0], k=10)
    assert 1 <= len(explanation) <= 2  # a = 3 with b = "x", or with "y"
    assert explanation.shortfall.asked == 10


# Bad input of fit


def fit(X=None, model=decide, **options):
    return cp.Ensemble().fit(model, people() if X is None else X, **options)


def with_dates():
    return people().assign(born=pd.Timestamp("1990-01-01"))


BAD_FITS = {
    # Tables
    "empty": (
        lambda: fit(people()[:0]),
        ValueError,
        "X must hold at least one known instance.*got 0 rows and 5",
    ),
    "no columns": (lambda: fit(people()[[]]), ValueError, "at least one known instance and one feature"),
    "no rows in an array": (lambda: fit(np.empty((0, 3))), ValueError, "got 0 rows and 3 columns"),
    "vector": (
        lambda: fit(np.arange(5.0)),
        ValueError,
        r"X must be a table.*shape \(5,\).*\(instances, features\)",
    ),
    "film": (lambda: fit(np.zeros((2, 2, 2, 2, 3))), ValueError, r"X must be a table.*2, 2, 2, 3\)"),
    "none": (lambda: cp.Tree().fit(decide, None), ValueError, "X must be a table.*got a NoneType"),
    "lazy": (
        lambda: fit(polars_people().lazy()),
        TypeError,
        r"LazyFrame holds no rows yet; give lazy.collect\(\)",
    ),
    "twice the same name": (
        lambda: fit(pd.DataFrame([[1, 2]], columns=["a", "a"])),
        ValueError,
        r"names must be unique, got \['a'\] more than once. Rename or drop",
    ),
    # Columns
    "dates": (lambda: fit(with_dates()), TypeError, r"'born' holds dates or times \(datetime64.*days since"),
    "dates as objects": (
        lambda: fit(people().assign(born=pd.Series([pd.Timestamp("1990-01-01").date()] * 200, dtype=object))),
        TypeError,
        "'born' holds dates or times",
    ),
    "durations": (
        lambda: fit(people().assign(stay=pd.Timedelta(days=1))),
        TypeError,
        "'stay' holds dates or times",
    ),
    "polars dates": (
        lambda: fit(polars_people().with_columns(born=pl.date(1990, 1, 1))),
        TypeError,
        r"'born' holds dates or times \(Date\)",
    ),
    "complex": (lambda: fit(people().assign(z=1j)), TypeError, "'z' holds complex numbers; give real ones"),
    "lists": (
        lambda: fit(people().assign(tags=[["a"]] * 200)),
        TypeError,
        "'tags' holds a list in each cell",
    ),
    "infinite": (
        lambda: fit(people().assign(income=np.inf)),
        ValueError,
        r"X\[\d+\] has 'income' = inf. It is infinite. Replace it by a number, or by NaN",
    ),
    "huge ids": (
        lambda: fit(people().assign(id=np.arange(200) + 2**60)),
        ValueError,
        r"X holds 200 values.*in 200 rows.*'id' = .*beyond 2\*\*53.*Name the column in immutable=",
    ),
    "huge ids with gaps": (
        lambda: fit(people().assign(id=pd.array([None, 2**60] * 100, dtype="Int64"))),
        ValueError,
        r"X\[\d+\] has 'id' = .*beyond 2\*\*53",
    ),
    "nothing in a column": (
        lambda: fit(people().assign(empty=np.nan)),
        ValueError,
        "'empty' holds no value at all in X; drop it",
    ),
    # Names
    "unknown immutable": (
        lambda: fit(immutable=["agee"]),
        ValueError,
        r"immutable must name known features, got \['agee'\]. Known: \['age', 'income'",
    ),
    "unknown range": (
        lambda: fit(ranges={"agee": (0, 1)}),
        ValueError,
        r"ranges must name known features.*'agee'",
    ),
    "unknown increase": (
        lambda: fit(increase=["x"]),
        ValueError,
        r"increase must name known features, got \['x'\]",
    ),
    "unknown categorical": (
        lambda: fit(categorical=["x"]),
        ValueError,
        "categorical must name known features",
    ),
    "one text": (
        lambda: fit(immutable="age"),
        TypeError,
        "immutable must be a list of feature names, got 'age'",
    ),
    "one text, categorical": (
        lambda: fit(categorical="age"),
        TypeError,
        "categorical must be a list.*got 'age'",
    ),
    "no list": (lambda: fit(immutable=3), TypeError, "immutable must be a list of feature names, got 3"),
    "a mask": (
        lambda: fit(X_FORMS["float"], decide_array, immutable=[True, False, True]),
        ValueError,
        "immutable must name known features, got .True",
    ),
    "beyond the array": (
        lambda: fit(X_FORMS["float"], decide_array, immutable=[3]),
        ValueError,
        r"immutable must name known features, got \[3\]. Known: \['x0', 'x1', 'x2'\]",
    ),
    "repeated": (
        lambda: fit(immutable=["age", "job", "age"]),
        ValueError,
        r"immutable must name each feature once, got \['age'\] more than once",
    ),
    # Constraints
    "all immutable": (
        lambda: fit(immutable=list(people())),
        ValueError,
        "Every feature is immutable.*leave at least one",
    ),
    "both ways": (
        lambda: fit(increase=["age"], decrease=["age"]),
        ValueError,
        "'age' may only rise and may only fall.*drop it from increase or decrease",
    ),
    "both ways by a schema": (
        lambda: fit(schema=cp.Schema.infer(people(), increase=["age"]), decrease=["age"]),
        ValueError,
        "'age' may only rise and may only fall",
    ),
    "immutable and one-way": (
        lambda: fit(immutable=["age"], increase=["age"]),
        ValueError,
        "'age' cannot be both immutable and one-way; drop it from one of them",
    ),
    "one-way without an order": (
        lambda: fit(increase=["job"]),
        ValueError,
        "'job' is one-way, but its categories have no order. Give the column an ordered categorical dtype",
    ),
    "range upside down": (
        lambda: fit(ranges={"age": (60, 20)}),
        ValueError,
        r"ranges\['age'\] must be a pair of numbers \(low, high\), got \[60, 20\]",
    ),
    "range of texts": (
        lambda: fit(ranges={"age": ("a", "b")}),
        ValueError,
        r"ranges\['age'\] must be a pair of numbers",
    ),
    "range with no end": (
        lambda: fit(ranges={"age": (18, None)}),
        ValueError,
        r"ranges\['age'\] must be a pair of numbers.*got \[18, None\]. An open end is -inf or inf",
    ),
    "range of one": (
        lambda: fit(ranges={"age": 18}),
        TypeError,
        r"ranges\['age'\] must be a pair \(low, high\), got 18",
    ),
    "range of no whole number": (
        lambda: fit(ranges={"age": (20.2, 20.8)}),
        ValueError,
        r"ranges\['age'\] = \(20.2, 20.8\) holds no whole multiple of its step 1. Widen the range",
    ),
    "range of unknown categories": (
        lambda: fit(ranges={"job": ["smith", "king"]}),
        ValueError,
        r"ranges\['job'\] must name known categories, got \['king'\]. Known: \['clerk', 'cook', 'smith'\]",
    ),
    "range of no category": (
        lambda: fit(ranges={"job": []}),
        ValueError,
        r"ranges\['job'\] must name known categories",
    ),
    "range of one text": (
        lambda: fit(ranges={"job": "smith"}),
        TypeError,
        r"ranges\['job'\] must be a list of categories, got 'smith'",
    ),
    "ranges that are no mapping": (
        lambda: fit(ranges=[("age", (18, 60))]),
        TypeError,
        "ranges must map feature names to admissible values",
    ),
    "schema and categorical": (
        lambda: fit(schema=cp.Schema.infer(people()), categorical=["age"]),
        ValueError,
        "Give either schema or categorical, not both",
    ),
    "schema of other columns": (
        lambda: fit(schema=cp.Schema.infer(people()[["age"]])),
        ValueError,
        r"X has the unknown features \['income', 'job', 'owner', 'education'\]; drop them. Known: \['age'\]",
    ),
    "rule that is no function": (
        lambda: fit(rule="age > 18"),
        TypeError,
        "rule must be a function.*got 'age > 18'",
    ),
    # Models
    "one decision only": (
        lambda: fit(model=lambda frame: np.full(len(frame), "refused")),
        ValueError,
        "decides every known instance as .*'refused'.*Give known instances of at least two decisions",
    ),
    "no model": (
        lambda: fit(model=None),
        TypeError,
        "model must have a predict method or be a callable.*NoneType",
    ),
    "no predict": (lambda: fit(model={"a": 1}), TypeError, "model must have a predict method.*got dict"),
    "a class": (
        lambda: fit(model=LinearRegression),
        TypeError,
        "model must be a fitted model, got the class LinearRegression; make and fit one",
    ),
    "unfitted model": (
        lambda: fit(X_FORMS["float"], LinearRegression()),
        cp.ModelError,
        "raised NotFittedError",
    ),
    "too few labels": (
        lambda: fit(model=lambda frame: decide(frame)[:-1]),
        cp.ModelError,
        r"must return one label a row: it was given 200 rows, got an array of shape \(199,\)",
    ),
    "one label for all": (
        lambda: fit(model=lambda frame: "granted"),
        cp.ModelError,
        "must return one label a row: it was given 200 rows, got a str",
    ),
    "missing labels": (
        lambda: fit(model=lambda frame: np.where(decide(frame) == "granted", 1.0, np.nan)),
        cp.ModelError,
        r"returned \d+ missing labels for 200 rows; it must decide on every row",
    ),
    "none as a label": (
        lambda: fit(model=lambda frame: [None if d == "refused" else d for d in decide(frame)]),
        cp.ModelError,
        "missing labels",
    ),
    "labels of several types": (
        lambda: fit(
            model=lambda frame: np.array([1 if d == "refused" else d for d in decide(frame)], dtype=object)
        ),
        cp.ModelError,
        r"labels must be all texts, all numbers or all bools, got \['int', 'str'\]",
    ),
    "ragged labels": (
        lambda: fit(model=lambda frame: [[1], [1, 2]] * 100),
        cp.ModelError,
        "cannot be read as an array of labels",
    ),
    "model that raises": (
        lambda: fit(model=lambda frame: frame["wages"]),
        cp.ModelError,
        "The model raised KeyError: 'wages'. It was given a pandas frame of 200 rows and 5 columns, as in X",
    ),
}


@pytest.mark.parametrize("name", BAD_FITS)
def test_bad_input_of_fit(name):
    call, kind, message = BAD_FITS[name]
    with pytest.raises(kind, match=f"(?s){message}"):
        call()


def test_the_cause_of_a_failing_model_is_kept():
    with pytest.raises(cp.ModelError) as caught:
        fit(model=lambda frame: 1 / 0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


# Bad input of explain


def changed_x(**changes):
    return refused().iloc[0].to_dict() | changes


def without(name):
    return {key: value for key, value in changed_x().items() if key != name}


BAD_X = {
    "missing column": (
        without("job"),
        ValueError,
        r"x lacks the features \['job'\].*Known: \['age', 'income', 'job'",
    ),
    "unknown column": (changed_x(wages=1), ValueError, r"x has the unknown features \['wages'\]; drop them"),
    "misspelt column": (
        without("job") | {"jobb": "smith"},
        ValueError,
        r"x lacks the features \['job'\] and has the unknown \['jobb'\]",
    ),
    "text for a number": (
        changed_x(age="old"),
        ValueError,
        "x has 'age' = 'old'. It is not a number. Give one",
    ),
    "number as a text": (changed_x(age="31"), ValueError, "x has 'age' = '31'. It is not a number"),
    "date for a number": (
        changed_x(age=pd.Timestamp("1990-01-01")),
        ValueError,
        "x has 'age' = Timestamp.*It is not a number",
    ),
    "list for a number": (changed_x(age=[31]), ValueError, r"x has 'age' = \[31\]. It is not a number"),
    "part of a whole number": (
        changed_x(age=31.5),
        ValueError,
        r"x has 'age' = 31.5. The column holds whole numbers \(int64\). Give such a one",
    ),
    "infinite": (changed_x(income=np.inf), ValueError, "x has 'income' = inf. It is infinite"),
    "missing number": (
        changed_x(income=None),
        ValueError,
        "x has 'income' = None. It is missing, as in no known instance. Fill it in",
    ),
    "missing category": (
        changed_x(job=None),
        ValueError,
        "x has 'job' = None. It is missing, as in no known instance",
    ),
    "category never seen": (
        changed_x(job="king"),
        ValueError,
        r"x has 'job' = 'king'. No known instance has this category.*Known: \['clerk', 'cook', 'smith'\]",
    ),
    "category of another type": (
        changed_x(job=3),
        ValueError,
        "x has 'job' = 3. No known instance has this category",
    ),
    "too short": (
        [31, 50.0],
        ValueError,
        r"x must be one instance of 5 features \(age, income, job.*shape \(2,\)",
    ),
    "a number": (31, ValueError, "x must be one instance of 5 features.*got a int"),
    "none": (None, ValueError, "x must be one instance of 5 features.*got a NoneType"),
    "many": (
        people()[:3],
        ValueError,
        r"x must be one instance, got a table of 3 rows. For many use explain_many",
    ),
    "many in an array": (people()[:3].to_numpy(), ValueError, r"shape \(3, 5\). For many use explain_many"),
}


@pytest.mark.parametrize("name", BAD_X)
def test_bad_x(name, fitted):
    x, kind, message = BAD_X[name]
    with pytest.raises(kind, match=f"(?s){message}"):
        fitted.explain(x)


def test_bad_rows_of_many(fitted):
    with pytest.raises(
        ValueError, match=r"X holds 5 values.*in 5 rows. The first 3:\n- X\[0\] has 'job' = 'king'"
    ):
        fitted.explain_many(people()[:5].assign(job="king"), progress=False)
    with pytest.raises(ValueError, match=r"X lacks the features \['job'\]"):
        fitted.explain_many(people()[:5].drop(columns="job"), progress=False)
    with pytest.raises(
        ValueError, match=r"must have 5 columns \(age, income.*\), got an array of shape \(5,\)"
    ):
        fitted.explain_many(people().to_numpy()[0], progress=False)


def test_a_frame_where_an_array_was_known():
    explainer = cp.Tree().fit(decide_array, X_FORMS["float"])
    with pytest.raises(
        ValueError, match=r"x names its features \(a, b, c\), but the known instances were an array"
    ):
        explainer.explain({"a": 1.0, "b": 2.0, "c": 3.0})


def test_a_number_too_large_for_its_column():
    explainer = cp.Tree().fit(decide_array, X_FORMS["small int"])
    with pytest.raises(ValueError, match=r"x has 'x0' = 300. The column holds whole numbers \(int8\)"):
        explainer.explain([300, 1, 1])


BAD_ASKS = {
    "k = 0": ({"k": 0}, ValueError, "k must be at least 1, got 0"),
    "k < 0": ({"k": -3}, ValueError, "k must be at least 1, got -3"),
    "k half": ({"k": 2.5}, TypeError, "k must be a whole number, got 2.5"),
    "k as a text": ({"k": "5"}, TypeError, "k must be a whole number, got '5'"),
    "k true": ({"k": True}, TypeError, "k must be a whole number, got True"),
    "k none": ({"k": None}, TypeError, "k must be a whole number, got None"),
    "no changes": ({"max_changes": 0}, ValueError, "max_changes must be at least 1, got 0"),
    "no rows": ({"max_rows": 0}, ValueError, "max_rows must be at least 1, got 0"),
    "no time": ({"max_seconds": 0}, ValueError, "max_seconds must be positive, got 0"),
    "time as a text": ({"max_seconds": "1"}, TypeError, "max_seconds must be a number.*got '1'"),
    "unknown target": (
        {"target": "maybe"},
        ValueError,
        r"target must be among the model's decisions \['granted', 'refused'\], got \['maybe'\]",
    ),
    "some unknown targets": ({"target": ["granted", "maybe"]}, ValueError, r"got \['maybe'\]"),
    "no target": ({"target": []}, ValueError, r"target must be among the model's decisions.*got \[\]"),
    "interval of texts": (
        {"target": cp.Between(0, 1)},
        ValueError,
        "Between needs one number a row, got outputs of <U",
    ),
    "target of the wrong shape": (
        {"target": lambda labels: True},
        ValueError,
        r"target must return one truth value a row: it was given 1 outputs, got shape \(\)",
    ),
    "target of scores": (
        {"target": lambda labels: np.full(len(labels), 0.5)},
        ValueError,
        r"target must return one truth value a row.*got shape \(1,\) of float64",
    ),
}


@pytest.mark.parametrize("name", BAD_ASKS)
def test_bad_questions(name, fitted):
    asked, kind, message = BAD_ASKS[name]
    with pytest.raises(kind, match=f"(?s){message}"):
        fitted.explain(refused().iloc[0], **asked)


def test_a_number_needs_a_target_that_says_which_numbers_count():
    X = people()[["age", "income"]]
    regressor = LinearRegression().fit(X, X["income"])
    for explainer in (cp.Ensemble().fit(regressor, X), cp.Tree().fit(probability, people())):
        x = people().iloc[0] if explainer.fitted_.schema.names[2:] else X.iloc[0]
        for target in (None, 0.7):
            with pytest.raises(
                ValueError, match=r"outputs are numbers, not decisions.*target=cp.Between\(low, high\)"
            ):
                explainer.explain(x, target=target)


@pytest.mark.parametrize("ends", [(2, 1), (np.nan, 1), ("a", "b"), (None, 3)])
def test_intervals_that_hold_nothing(ends):
    with pytest.raises(ValueError, match="Between needs numbers with low <= high, got"):
        cp.Between(*ends)


@pytest.mark.parametrize("explainer", ENSEMBLE_AND_PARTS, ids=lambda each: type(each).__name__)
def test_an_unfitted_explainer_says_so(explainer):
    message = rf"This {type(explainer).__name__} is not fitted yet: call fit\(model, X\)"
    for call in (explainer.clone().explain, explainer.clone().explain_many):
        with pytest.raises(NotFittedError, match=message):
            call(people()[:1])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (
            lambda candidates, x: [True],
            r"rule must return one truth value a candidate: \d+ candidates, got shape \(1,\)",
        ),
        (lambda candidates, x: True, r"rule must return one truth value a candidate.*shape \(\)"),
        (lambda candidates, x: candidates["age"], r"rule must return one truth value a candidate.*of int64"),
    ],
)
def test_a_rule_that_returns_something_else(rule, message):
    with pytest.raises(ValueError, match=message):
        cp.Ensemble().fit(decide, people(), rule=rule).explain(refused().iloc[0])


def test_a_rule_that_raises_keeps_its_error():
    with pytest.raises(KeyError, match="wages"):
        cp.Ensemble().fit(decide, people(), rule=lambda candidates, x: candidates["wages"] > 0).explain(
            refused().iloc[0]
        )


@pytest.mark.parametrize("explainers", [cp.Tree(), [cp.Tree], ["tree"]], ids=["one", "a class", "a text"])
def test_an_ensemble_of_something_else_is_refused(explainers):
    with pytest.raises(TypeError, match=r"Ensemble.explainers must .*got"):
        cp.Ensemble(explainers)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match=r"seed must be .*-1"):
        cp.Ensemble(seed=-1).fit(decide, people())


# A model that fails in the middle


class Fails:
    """A model that fails on some rows, once it has seen the known instances."""

    def __init__(self, when):
        self.when = when
        self.fitted = False

    def predict(self, frame):
        if self.fitted and self.when(frame):
            raise RuntimeError("out of memory")
        self.fitted = True
        return decide(frame)


def test_a_failing_model_names_the_explainer():
    # It answers about x itself and fails on the first candidates.
    explainer = cp.Ensemble([cp.Neighbours()]).fit(Fails(lambda frame: len(frame) > 1), people())
    with pytest.raises(
        cp.ModelError, match=r"The model raised RuntimeError: out of memory.*asked by Neighbours"
    ):
        explainer.explain(refused().iloc[0])


def test_a_failing_model_names_the_instance_and_the_others_are_not_lost():
    X = refused()[:6].assign(age=[30, 31, 32, 33, 34, 35])
    # A loan for anyone aged 33 breaks the model, and only x number 3 may not change its age away from it.
    model = Fails(lambda frame: ((frame["age"] == 33) & (frame["income"] > 70)).any())
    explainer = cp.Tree().fit(model, people(), immutable=["age"])
    with pytest.raises(
        cp.IncompleteError, match=r"1 of 6 .*X\[3\].*out of memory.*asked by Tree.*\.finished"
    ) as caught:
        explainer.explain_many(X, k=2, progress=False)
    assert list(caught.value.failed) == [3]
    assert isinstance(caught.value.failed[3], cp.ModelError)
    finished = caught.value.finished
    assert [int(answer.x["age"].iloc[0]) for answer in finished] == [30, 31, 32, 34, 35]
    assert all(len(answer) for answer in finished)


def test_a_model_that_fails_on_all_leaves_nothing_finished():
    explainer = cp.Ensemble().fit(Fails(lambda frame: len(frame) > 5), people())
    with pytest.raises(cp.IncompleteError, match="3 of 3") as caught:
        explainer.explain_many(refused()[:3], progress=False)
    assert len(caught.value.finished) == 0
    assert list(caught.value.failed) == [0, 1, 2]


def test_a_model_that_fails_on_the_instances_themselves_names_them():
    X = refused()[:4].assign(age=[30, 31, 99, 33])
    explainer = cp.Tree().fit(Fails(lambda frame: (frame["age"] == 99).any()), people())
    with pytest.raises((cp.IncompleteError, cp.ModelError), match="out of memory"):
        explainer.explain_many(X, progress=False)


def test_a_model_whose_labels_change_their_number_in_the_middle():
    def forgetful(frame):
        return decide(frame)[: -1 if len(frame) not in (1, 200) else None]

    with pytest.raises(cp.ModelError, match=r"must return one label a row"):
        cp.Tree().fit(forgetful, people()).explain(refused().iloc[0])


def test_messages_do_not_list_thousands():
    X = pd.DataFrame({"a": [f"value {i}" for i in range(5000)], "b": np.arange(5000.0)})
    explainer = cp.Tree().fit(lambda frame: frame["b"] > 100, X)
    with pytest.raises(ValueError, match=re.escape("… (5000 in all)")) as caught:
        explainer.explain({"a": "other", "b": 1.0})
    assert len(str(caught.value)) < 700
