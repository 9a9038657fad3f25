"""What a change costs: by feature, direction and transition; and limits relative to x."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "hours": RNG.integers(10, 60, 400),
        "pay": RNG.normal(50, 15, 400).round(2),
        "job": RNG.choice(["clerk", "manager", "none", "smith"], 400),
        "school": pd.Categorical(
            RNG.choice(["low", "mid", "high"], 400), categories=["low", "mid", "high"], ordered=True
        ),
    }
)
NEVER = float("inf")


def decide(table: pd.DataFrame) -> Any:
    points = table["hours"] / 10 + table["pay"] / 15 + 2.0 * (table["job"] == "manager")
    return np.where(points + table["school"].cat.codes > 9.5, "yes", "no")


SOME = X[decide(X) == "no"][:25]


def changed(explanations: cp.Explanations) -> set[str]:
    return set(explanations.changes["feature"])


def shares(explanations: cp.Explanations) -> Any:
    return explanations.importance()


@pytest.fixture(scope="module")
def plain() -> cp.Explainer:
    return cp.Ensemble(size=5, selection=cp.CLOSE).fit(decide, X)


def test_what_is_cheap_is_changed_more_and_what_is_expensive_less(plain: cp.Explainer) -> None:
    before = shares(plain.explain_many(SOME, 1, progress=False))
    cheap = shares(plain.explain_many(SOME, 1, costs={"hours": 0.1}, progress=False))
    dear = shares(plain.explain_many(SOME, 1, costs={"hours": 10}, progress=False))
    assert cheap["hours"] > before["hours"] > dear["hours"]


def test_costs_at_fit_and_costs_of_a_question_are_the_same(plain: cp.Explainer) -> None:
    costs = {"hours": 5, "job": cp.Cost(changes={("none", "manager"): 9}), "pay": cp.Cost(up=1, down=4)}
    again = cp.Ensemble(size=5, selection=cp.CLOSE).fit(decide, X, costs=costs)
    for one, other in zip(
        plain.explain_many(SOME, 2, costs=costs, progress=False),
        again.explain_many(SOME, 2, progress=False),
        strict=True,
    ):
        assert cp.testing._difference(one, other) is None
        assert np.array_equal(one.cost, other.cost)


def test_never_is_exact(plain: cp.Explainer) -> None:
    found = plain.explain_many(SOME, 4, costs={"hours": NEVER, "job": NEVER}, progress=False)
    assert changed(found) <= {"pay", "school"}
    one_way = plain.explain_many(SOME, 4, costs={"pay": cp.Cost(up=NEVER)}, progress=False)
    pay = one_way.changes[one_way.changes["feature"] == "pay"]
    assert (pay["to"] <= pay["from"]).all()


def test_a_transition_that_never_happens_does_not(plain: cp.Explainer) -> None:
    costs = {"job": cp.Cost(changes={("none", "manager"): NEVER, ("clerk", "manager"): 0.1})}
    found = plain.explain_many(SOME, 4, costs=costs, progress=False).changes
    jobs = found[found["feature"] == "job"]
    moves = set(zip(jobs["from"], jobs["to"], strict=True))
    assert ("none", "manager") not in moves
    assert ("clerk", "manager") in moves


def test_the_cost_of_an_answer_is_its_weighed_distance(plain: cp.Explainer) -> None:
    costs = {"hours": cp.Cost(up=2, down=3), "pay": 0.5}
    answers = plain.explain_many(SOME, 3, costs=costs, progress=False)
    distance = plain.fitted_.known.distance
    for answer in answers:
        prices = distance.prices(answer.rows, answer.row)
        up = answer.rows[:, 0] >= answer.row[0]
        expected = prices * np.column_stack(
            [np.where(up, 2, 3), *np.full((3, len(answer)), [[0.5], [1], [1]])]
        )
        assert answer.cost == pytest.approx(expected.sum(axis=1))
        assert answer.distance == pytest.approx(prices.sum(axis=1))
        assert (np.diff(answer.cost) >= 0).all()


def test_the_cost_is_shown_where_costs_are_given_only(plain: cp.Explainer) -> None:
    x = SOME.iloc[0]
    without, with_ = plain.explain(x, 2), plain.explain(x, 2, costs={"hours": 3})
    assert without.cost is None
    assert "\ncost " not in str(without)
    assert "\ncost " in str(with_)
    assert "cost" in with_._repr_html_()
    both = plain.explain_many(SOME[:2], 2, costs=[None, {"hours": 3}], progress=False)
    frame = both.frame
    assert frame["cost"][frame["instance"] == SOME.index[0]].tolist() == both[0].distance.tolist()
    again = cp.Explanations.from_json(both.to_json())
    assert again[0].cost is None
    assert np.array_equal(again[1].cost, both[1].cost)
    assert "cost" not in json.loads(without.to_json())["items"][0]


@pytest.mark.parametrize("hours", [0, 3])
def test_changes_stay_within_reach_of_x(plain: cp.Explainer, hours: int) -> None:
    limits = {"hours": hours, "pay": "20%", "school": 1}
    found = plain.explain_many(SOME, 5, max_change=limits, progress=False)
    assert sum(map(len, found))
    for answer in found:
        x, rows = answer.row, answer.rows
        assert (abs(rows[:, 0] - x[0]) <= hours).all()
        assert (abs(rows[:, 1] - x[1]) <= 0.2 * abs(x[1])).all()
        assert (abs(rows[:, 3] - x[3]) <= 1).all()


def test_a_limit_keeps_the_step_even_if_x_is_off_it() -> None:
    schema = cp.Schema.infer(X).replace("hours", step=7)
    explainer = cp.Ensemble(size=5).fit(decide, X, schema=schema, max_change={"hours": 10, "pay": 1})
    for answer in explainer.explain_many(SOME, 5, progress=False):
        hours = answer.rows[:, 0]
        assert ((hours % 7 == 0) | (hours == answer.row[0])).all()
        assert (abs(hours - answer.row[0]) <= 10).all()


def test_costs_and_limits_are_saved(plain: cp.Explainer, tmp_path: Any) -> None:
    costs = {"hours": cp.Cost(up=2, down=NEVER), "job": cp.Cost(changes={("none", "smith"): 2}, otherwise=5)}
    explainer = cp.Ensemble(size=5).fit(decide, X, costs=costs, max_change={"pay": "20%"})
    cp.save(explainer, tmp_path / "e.cp")
    again = cp.load(tmp_path / "e.cp", decide)
    assert again.fitted_.schema == explainer.fitted_.schema
    one, other = (each.explain(SOME.iloc[0], 3) for each in (explainer, again))
    assert cp.testing._difference(one, other) is None
    assert np.array_equal(one.cost, other.cost)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"costs": {"salary": 2}}, "costs must name known features"),
        ({"costs": {"hours": -1}}, "costs\\['hours'\\].*must be positive"),
        ({"costs": {"hours": "much"}}, "costs\\['hours'\\].*must be a number"),
        ({"costs": {"job": cp.Cost(up=1, down=2)}}, "no order"),
        ({"costs": {"job": cp.Cost(changes={("king", "none"): 2})}}, "must name known categories.*'king'"),
        ({"costs": {"pay": cp.Cost(otherwise=2)}}, "holds numbers"),
        ({"costs": ["hours"]}, "costs must map feature names"),
        ({"max_change": {"job": 1}}, "have no order"),
        ({"max_change": {"pay": "much"}}, "share of x's value"),
        ({"max_change": {"pay": -5}}, "at least 0"),
        ({"max_change": {"school": "20%"}}, "whole number"),
        ({"max_change": [5]}, "max_change must map feature names"),
    ],
)
def test_what_cannot_be_meant_is_refused(plain: cp.Explainer, given: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        cp.Ensemble().fit(decide, X, **given)
    with pytest.raises((ValueError, TypeError), match=message):
        plain.explain(SOME.iloc[0], **given)
