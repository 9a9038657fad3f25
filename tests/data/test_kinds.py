"""The kind of each column, and the values that answers may have in it."""

import pandas as pd

import counterpoint as cp
from loans import decide, people, refused

LADDER = ["clerk", "cook", "smith"]


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
