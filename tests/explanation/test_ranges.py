"""How far values can move: certain for trees, checked for others."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import counterpoint as cp
from counterpoint import report


def people(count: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "hours": rng.integers(10, 60, count),
            "amount": rng.uniform(0, 10_000, count).round(2),
            "job": rng.choice(["clerk", "smith", "nurse", "none"], count),
        }
    )


def grant(X: pd.DataFrame) -> Any:
    good = (X["hours"] >= 45) & (X["amount"] <= 8075) & (X["amount"] >= 500) & (X["job"] != "none")
    return np.where(good, "granted", "refused")


POOR = {"hours": 40, "amount": 9000.0, "job": "clerk"}


def test_ranges_of_any_model_are_found_by_bisecting_and_say_how_often_they_were_checked() -> None:
    X = people()
    explanation = cp.Ensemble().fit(grant, X).explain(POOR, k=2)
    ranges = explanation.ranges()
    hours = next(each for each in ranges if each.feature == 0)
    assert (hours.low, hours.high) == (45, np.inf)
    assert not hours.is_certain
    assert f"hours at least 45 (checked at {hours.points} points)" in str(ranges)
    amount = next(each for each in ranges if each.feature == 1)
    assert 500 <= amount.low < 520
    assert 8070 < amount.high <= 8075
    assert explanation.widened is ranges


def test_every_value_of_a_certain_range_flips_and_the_next_beyond_does_not() -> None:
    X = people()
    numbers = X[["hours", "amount"]]
    forest = RandomForestClassifier(15, random_state=0).fit(numbers, grant(X))
    explainer = cp.Ensemble(size=4).fit(forest, numbers)
    refused = numbers[forest.predict(numbers) == "refused"][:6]
    rng = np.random.default_rng(0)
    for explanation, ranges in zip(
        many := explainer.explain_many(refused, 3, progress=False), many.ranges(), strict=True
    ):
        assert len(ranges) == len(explanation.changes)
        for each in ranges:
            assert each.is_certain
            row = explanation.rows[each.counterfactual - 1]
            low = max(each.low, explainer.fitted_.rules.low[each.feature])
            high = min(each.high, explainer.fitted_.rules.high[each.feature])
            assert low <= row[each.feature] <= high
            values = rng.uniform(low, high, 40)
            values = np.rint(values) if each.feature == 0 else values
            tried = np.repeat(row[None], 42, axis=0)
            tried[:, each.feature] = [*values, low, high]
            assert (forest.predict(explanation.schema.decode(tried)) == "granted").all()
            for end, way in ((each.low, -1), (each.high, 1)):
                if np.isfinite(end):
                    beyond = end + way if each.feature == 0 else np.nextafter(end, way * np.inf)
                    tried[0, each.feature] = beyond
                    assert forest.predict(explanation.schema.decode(tried[:1]))[0] == "refused"


def test_categories_that_hold_are_listed() -> None:
    X = people()
    explainer = cp.Ensemble().fit(grant, X, immutable=["hours", "amount"])
    explanation = explainer.explain({"hours": 50, "amount": 900.0, "job": "none"}, k=1)
    (jobs,) = explanation.ranges()
    assert jobs.is_certain
    assert str(explanation.ranges()) == "1: job 'clerk' or 'nurse' or 'smith' (certain)"


def test_ranges_keep_to_the_constraints() -> None:
    X = people()
    explainer = cp.Ensemble().fit(
        grant, X, ranges={"hours": (0, 50)}, rule=lambda table, x: table["hours"] <= 48
    )
    ranges = explainer.explain(POOR, k=1).ranges()
    hours = next(each for each in ranges if each.feature == 0)
    assert (hours.low, hours.high) == (45, 48)
    own = explainer.explain(POOR, k=1, ranges={"hours": (0, 46)}).ranges()
    assert next(each for each in own if each.feature == 0).high == np.inf  # the constraint ends it


def test_all_answers_share_the_model_calls() -> None:
    X = people()
    calls: list[int] = []

    def model(table: pd.DataFrame) -> Any:
        calls.append(len(table))
        return grant(table)

    many = cp.Ensemble(size=4).fit(model, X).explain_many(X[grant(X) == "refused"][:20], 2, progress=False)
    calls.clear()
    assert len(many.ranges()) == 20
    assert len(calls) <= 14


def test_ranges_are_part_of_json_and_reports_once_they_are_known() -> None:
    X = people()
    explainer = cp.Ensemble(size=4).fit(grant, X)
    explanation = explainer.explain(POOR, k=1)
    assert cp.Explanation.from_json(explanation.to_json()).widened is None
    ranges = explanation.ranges()
    again = cp.Explanation.from_json(explanation.to_json())
    assert again.widened is not None
    assert str(again.widened) == str(ranges)
    pd.testing.assert_frame_equal(again.widened.table, ranges.table)
    with pytest.raises(ValueError, match="does not know its explainer"):
        again.ranges()
    assert str(again.ranges(explainer)) == str(ranges)
    page = report.html(report.one(explanation, explainer))
    assert "How far these values can move" in page
    assert "hours at least 45" in page


def test_a_line_has_one_edge() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    line = LogisticRegression(C=1e6, max_iter=1000).fit(X, X[:, 0] > 0.5)
    explanation = cp.Ensemble(size=4).fit(line, X, immutable=[1]).explain(X[X[:, 0] < 0][0], k=1)
    (only,) = explanation.ranges()
    edge = (-line.intercept_[0] - line.coef_[0, 1] * explanation.row[1]) / line.coef_[0, 0]
    assert only.high == np.inf
    assert edge <= only.low < edge + 0.01
