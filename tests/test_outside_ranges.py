"""An x outside the user's ranges is explained; every answer lies inside."""

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, 300),
        "pay": RNG.gamma(4, 10, 300).round(1),
        "debt": RNG.gamma(2, 5, 300).round(1),
        "job": RNG.choice(["clerk", "cook", "none", "smith"], 300),
        "owner": RNG.random(300) < 0.5,
    }
)
X = {"age": 30, "pay": 5.0, "debt": 30.0, "job": "none", "owner": False}
EXPLAINERS = [
    cp.BruteForce(features=2),
    cp.Tree(),
    cp.Sphere(),
    cp.Neighbours(),
    cp.CaseBased(),
    cp.Guided(),
    cp.Evolution(),
    cp.Ensemble(),
]


def grant(table):
    return (table["pay"] - table["debt"] + 5 * (table["job"] != "none") + 5 * table["owner"] > 25).to_numpy()


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda each: type(each).__name__)
def test_every_explainer_finds_answers_inside(explainer):
    limits = {"debt": (0.0, 20.0), "job": ["clerk", "smith"], "age": (35, 60)}
    explanation = explainer.clone().fit(grant, PEOPLE, ranges=limits).explain(X, 3)
    found = explanation.counterfactuals
    assert len(found) == 3
    assert found["debt"].between(0, 20).all()
    assert found["job"].isin(["clerk", "smith"]).all()
    assert found["age"].between(35, 60).all()
    assert grant(found).all()


def test_the_nearest_answer_goes_no_further_than_the_end_of_a_range():
    explainer = cp.Ensemble().fit(grant, PEOPLE, ranges={"age": (35, 60), "job": ["cook", "smith"]})
    assert explainer.explain(X, 5).counterfactuals["age"].iloc[0] == 35


def test_moving_inside_can_be_the_answer():
    explainer = cp.Neighbours(candidates=1).fit(
        lambda table: table["pay"] > 10, PEOPLE, ranges={"pay": (12, 99)}
    )
    assert 12.0 in explainer.explain(X, 3).counterfactuals["pay"].tolist()


def test_a_value_that_may_not_change_is_kept_outside():
    fixed = cp.Ensemble().fit(grant, PEOPLE, ranges={"age": (35, 60)}, immutable=["age"])
    assert (fixed.explain(X, 3).counterfactuals["age"] == 30).all()


def test_what_is_missing_lies_in_every_range():
    gaps = PEOPLE.assign(debt=PEOPLE["debt"].where(PEOPLE.index % 5 > 0))
    explainer = cp.Ensemble().fit(lambda table: table["pay"] > 40, gaps, ranges={"debt": (0, 10)})
    assert explainer.explain(X | {"debt": None}, 3).counterfactuals["debt"].isna().all()


@pytest.mark.parametrize(
    ("x", "constraints"),
    [
        (X, {"ranges": {"age": (18, 25)}, "increase": ["age"]}),
        (X, {"ranges": {"age": (35, 60)}, "decrease": ["age"]}),
        (X | {"owner": True}, {"ranges": {"owner": [False]}, "increase": ["owner"]}),
    ],
)
def test_a_range_that_cannot_be_reached_leaves_no_row(x, constraints):
    explanation = cp.Ensemble().fit(grant, PEOPLE, **constraints).explain(x, 3)
    assert explanation.shortfall.reason == "the constraints leave nothing to try"


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda each: type(each).__name__)
def test_a_forced_change_counts(explainer):
    x = X | {"pay": 40.0, "debt": 25.0}
    fitted = explainer.clone().fit(grant, PEOPLE, ranges={"debt": (0, 24)})
    found = fitted.explain(x, 3, max_changes=2)
    assert (found.changes.groupby("counterfactual").size() <= 2).all()
    assert set(found.changes.query("feature == 'debt'")["counterfactual"]) == set(range(1, len(found) + 1))


def test_answers_do_not_depend_on_the_rest_of_the_batch():
    some = PEOPLE[:40]
    explainer = cp.Ensemble().fit(grant, PEOPLE, ranges={"debt": (0, 8), "job": ["cook"]})
    many = explainer.explain_many(some, 3, max_changes=2, progress=False)
    for place, answer in enumerate(many):
        alone = explainer.explain(some[place : place + 1], 3, max_changes=2)
        assert alone.rows.tobytes() == answer.rows.tobytes()


def test_booleans_rise_and_fall():
    upward = cp.Ensemble().fit(grant, PEOPLE, increase=["owner"], immutable=["pay", "age"])
    found = upward.explain_many(PEOPLE[:40], 3, progress=False)
    assert (found.changes.query("feature == 'owner'")["to"] == True).all()  # noqa: E712
    assert len(found.changes.query("feature == 'owner'"))
