"""Real models of the common libraries, in the forms that people use them in."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits
from xgboost import XGBClassifier, XGBRegressor

import counterpoint as cp

SIZE = 250


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """Keep OpenMP's threads from waiting for busy cores, which takes seconds on a shared machine."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def loans():
    """Loan applications with numbers, whole numbers, texts, bools and categories."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "income": rng.lognormal(3, 0.5, size=SIZE),
            "months": rng.integers(6, 60, size=SIZE),
            "job": rng.choice(["clerk", "smith", "cook"], size=SIZE),
            "owner": rng.uniform(size=SIZE) < 0.5,
            "region": pd.Categorical(rng.choice(["north", "south"], size=SIZE), ["north", "south", "west"]),
        }
    )


@pytest.fixture(scope="module")
def score(loans):
    score = loans["income"] - loans["months"] / 2 + 10 * (loans["job"] == "smith") + 5 * loans["owner"]
    return score.to_numpy()


@pytest.fixture(scope="module")
def granted(score):
    return np.where(score > np.median(score), "granted", "refused")


@pytest.fixture(scope="module")
def grade(score):
    return np.array(["A", "B", "C"])[np.digitize(score, np.quantile(score, [0.33, 0.66]))]


def one_hot():
    texts = make_column_selector(dtype_include=["str", "category", "bool"])
    return ColumnTransformer(
        [("texts", OneHotEncoder(handle_unknown="ignore"), texts)], remainder=StandardScaler()
    )


def checked(model, X, k=3, count=3):
    """Explain some rows with an ensemble, and check the answers against the model itself."""
    explanations = cp.Ensemble(size=5).fit(model, X).explain_many(X[:count], k=k, progress=False)
    predict = getattr(model, "predict", model)
    for explanation, before in zip(explanations, np.asarray(predict(X[:count])).ravel(), strict=True):
        assert len(explanation) == k, explanation.shortfall
        after = np.asarray(predict(explanation.counterfactuals)).ravel()
        assert (explanation.decisions == after).all()
        assert (after != before).all()
    return explanations


# scikit-learn


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(10, random_state=0),
        LogisticRegression(),
        SVC(),
        KNeighborsClassifier(),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_pipelines_on_frames(model, loans, granted):
    pipeline = make_pipeline(one_hot(), model).fit(loans, granted)
    answers = checked(pipeline, loans)
    pd.testing.assert_series_equal(answers[0].counterfactuals.dtypes, loans.dtypes)


@pytest.mark.parametrize("model", [RandomForestClassifier(10, random_state=0), SVC(), KNeighborsClassifier()])
def test_estimators_on_arrays(model, loans, granted):
    X = loans[["income", "months"]].to_numpy()
    answers = checked(model.fit(X, granted), X)
    assert isinstance(answers[0].counterfactuals, np.ndarray)


def test_estimators_on_polars_frames(loans, granted):
    X = pl.DataFrame({name: loans[name].tolist() for name in loans.columns})
    encode = make_column_transformer((OrdinalEncoder(), ["job", "region", "owner"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(10, random_state=0)).fit(X, granted)
    answers = checked(model, X)
    assert answers[0].counterfactuals.schema == X.schema


def test_histogram_boosting_with_categories_and_missing_values(loans, granted):
    X = loans.astype({"job": "category"})
    X.loc[X.index % 7 == 0, "income"] = np.nan
    X.loc[X.index % 9 == 0, "job"] = None
    model = HistGradientBoostingClassifier(max_iter=20, categorical_features="from_dtype").fit(X, granted)
    answers = checked(model, X)
    assert answers[0].counterfactuals["job"].dtype == X["job"].dtype


def test_several_classes_and_one_that_is_asked_for(loans, grade):
    model = make_pipeline(one_hot(), RandomForestClassifier(10, random_state=0)).fit(loans, grade)
    checked(model, loans)
    other = loans[model.predict(loans) != "C"]
    answers = cp.Ensemble(size=5).fit(model, loans).explain_many(other[:3], k=3, target="C", progress=False)
    assert all(
        (model.predict(answer.counterfactuals) == "C").all() and len(answer) == 3 for answer in answers
    )


@pytest.mark.parametrize(
    "labels",
    [("no", "yes"), (0, 1), (False, True), (0.0, 1.0), (-1, 1), (np.int8(3), np.int8(7))],
    ids=["texts", "ints", "bools", "floats", "minus one", "small ints"],
)
def test_labels_of_every_type(labels, loans, granted):
    X = loans[["income", "months"]]
    y = np.where(granted == "granted", labels[1], labels[0])
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    answers = checked(model, X)
    assert answers[0].decisions.dtype == y.dtype
    other = labels[int(answers[0].decision == labels[0])]
    assert cp.Tree().fit(model, X).explain(X.iloc[0], k=1, target=other).decisions[0] == other


def test_labels_in_object_arrays_and_series(loans, granted):
    X = loans[["income", "months"]]
    decide = RandomForestClassifier(10, random_state=0).fit(X, granted).predict
    for form in (
        list,
        lambda y: y.astype(object),
        pd.Series,
        lambda y: pd.Series(y, dtype="category"),
        pl.Series,
    ):
        answers = checked(lambda rows, form=form: form(decide(rows)), X, count=1)
        assert set(answers[0].decisions) <= {"granted", "refused"}


# Boosting libraries


def test_xgboost_with_categories(loans, granted):
    X = loans.astype({"job": "category"})
    model = XGBClassifier(n_estimators=20, enable_categorical=True, n_jobs=1).fit(X, granted == "granted")
    answers = checked(model, X)
    assert answers[0].counterfactuals["region"].dtype == X["region"].dtype


def test_xgboost_with_several_classes_and_missing_values(loans, grade):
    X = loans[["income", "months"]].astype("float32")
    X.loc[X.index % 5 == 0, "months"] = np.nan
    model = XGBClassifier(n_estimators=20, n_jobs=1).fit(X, np.unique(grade, return_inverse=True)[1])
    answers = checked(model, X)
    assert (answers[0].counterfactuals.dtypes == np.float32).all()


@pytest.mark.parametrize("labels", ["granted", "grade"])
def test_lightgbm_with_categories(labels, loans, request):
    X = loans.astype({"job": "category"})
    model = LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(X, request.getfixturevalue(labels))
    checked(model, X)


def test_catboost_with_texts(loans, granted):
    model = CatBoostClassifier(
        iterations=20, verbose=0, cat_features=["job", "region"], allow_writing_files=False, thread_count=1
    ).fit(loans, granted)
    checked(model, loans)


def test_catboost_answers_several_classes_with_a_column(loans, grade):
    X = loans[["income", "months", "job"]]
    model = CatBoostClassifier(
        iterations=20, verbose=0, cat_features=["job"], allow_writing_files=False, thread_count=1
    ).fit(X, grade)
    assert model.predict(X[:3]).shape == (3, 1)
    answers = checked(model, X)
    assert answers[0].decisions.ndim == 1
    assert set(answers[0].decisions) <= {"A", "B", "C"}


# Regressors and callables


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        RandomForestRegressor(10, random_state=0),
        DecisionTreeRegressor(max_depth=5),
        HistGradientBoostingRegressor(max_iter=20),
        XGBRegressor(n_estimators=20, n_jobs=1),
        LGBMRegressor(n_estimators=20, verbose=-1, n_jobs=1),
        CatBoostRegressor(iterations=20, verbose=0, allow_writing_files=False, thread_count=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressors_with_an_interval(model, loans, score):
    X = loans[["income", "months"]]
    model.fit(X, score.round())
    low = float(np.quantile(model.predict(X), 0.7))
    below = X[model.predict(X) < low]
    explainer = cp.Ensemble(size=5).fit(model, X)
    explanation = explainer.explain(below.iloc[0], k=3, target=cp.Between(low, low + 10))
    assert len(explanation) == 3
    assert ((explanation.decisions >= low) & (explanation.decisions <= low + 10)).all()
    with pytest.raises(
        ValueError, match=r"outputs are numbers, not decisions.*target=cp.Between\(low, high\)"
    ):
        explainer.explain(below.iloc[0])


def test_a_threshold_on_probabilities(loans, granted):
    model = make_pipeline(one_hot(), RandomForestClassifier(20, random_state=0)).fit(loans, granted)
    unsure = loans[model.predict_proba(loans)[:, 0] < 0.5]
    for outputs, target in (
        (model.predict_proba, lambda p: p[:, 0] >= 0.8),
        (lambda rows: model.predict_proba(rows)[:, 0], lambda p: p >= 0.8),
        (lambda rows: model.predict_proba(rows)[:, 0], cp.Between(low=0.8)),
    ):
        explanation = cp.Ensemble(size=5).fit(outputs, loans).explain(unsure.iloc[0], k=3, target=target)
        assert len(explanation) == 3
        assert (model.predict_proba(explanation.counterfactuals)[:, 0] >= 0.8).all()


def test_a_callable(loans):
    checked(lambda frame: frame["income"] > 20, loans)


def test_anything_with_predict():
    class Rule:
        """Neither of scikit-learn nor callable."""

        def predict(self, rows):
            return ["high" if row[0] > 0 else "low" for row in rows]

    checked(Rule(), np.random.default_rng(0).normal(size=(60, 2)))


def test_the_model_decides_not_its_probabilities(loans, granted):
    class Careful(RandomForestClassifier):
        """Grants only when it is sure."""

        def predict(self, X):
            return np.where(self.predict_proba(X)[:, 0] > 0.8, "granted", "refused")

    X = loans[["income", "months"]]
    model = Careful(20, random_state=0).fit(X, granted)
    refused = X[model.predict(X) == "refused"]
    explanation = cp.Ensemble(size=5).fit(model, X).explain(refused.iloc[0], k=3)
    assert (model.predict_proba(explanation.counterfactuals)[:, 0] > 0.8).all()
