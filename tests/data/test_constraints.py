"""Every answer satisfies the constraints, also for an x outside the user's ranges."""

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from loans import ENSEMBLE_AND_PARTS, TABLES, decide, decide_array, people, refused

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
    X = TABLES["float"]
    low = X[decide_array(X) == "low"][0]
    explainer = cp.Ensemble().fit(decide_array, X, immutable=[2], ranges={0: (-3, 3)}, increase=["x1"])
    rows = explainer.explain(low).counterfactuals
    assert (rows[:, 2] == low[2]).all()
    assert (np.abs(rows[:, 0]) <= 3).all()
    assert (rows[:, 1] >= low[1]).all()
