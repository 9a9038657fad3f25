"""What an answer says of its actions."""

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp


def people(size: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "income": rng.normal(3000, 900, size).round(2),
            "debt": rng.normal(900, 300, size).round(2),
            "job": rng.choice(["clerk", "smith", "cook"], size),
            "noise": rng.normal(size=size),
        }
    )


def decide(table: pd.DataFrame) -> np.ndarray:
    return (table["income"] - 2 * table["debt"] + 900 * (table["job"] == "smith") > 1500).to_numpy()


def refused() -> pd.DataFrame:
    return people()[~decide(people())].head(30)


def test_answers_are_different_actions_that_hold_nothing_needless():
    answers = cp.Ensemble().fit(decide, people()).explain_many(refused(), 3, progress=False)
    for answer in answers:
        assert len(answer) == 3
        assert len(set(answer.actions)) >= 2
        assert {("income", "up")} in answer.actions
        assert {("debt", "down")} in answer.actions
        for row in answer.rows:
            assert row[3] == answer.row[3]  # the model does not read it
            for feature in np.flatnonzero(row != answer.row):
                undone = row.copy()
                undone[feature] = answer.row[feature]
                assert not decide(answer.schema.decode(undone[None]))[0]


def test_values_are_round():
    answers = cp.Ensemble().fit(decide, people()).explain_many(refused(), 3, progress=False)
    digits = [len(f"{value:.15g}".replace(".", "").strip("0")) for value in answers.frame["income"].unique()]
    assert np.median(digits) < 5


def test_variants_come_when_there_are_no_other_actions_and_the_answer_says_so():
    table = people()[["income"]]
    answer = cp.Ensemble().fit(lambda t: t["income"] > 3000, table).explain({"income": 1000.0}, k=3)
    assert len(answer) == 3
    assert len(set(answer.actions)) == 1
    assert "Only 1 different action was found; the others are variants of it" in str(answer)


def test_evaluate_counts_different_actions():
    explainer = cp.Ensemble().fit(decide, people())
    answers = explainer.explain_many(refused().head(5), 3, progress=False)
    different = np.mean([len(set(answer.actions)) / 3 for answer in answers])
    assert cp.evaluate(explainer, refused().head(5), k=3)["actions"].item() == pytest.approx(different)


def test_combinations_that_no_known_instance_has_are_avoided():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"sex": rng.choice(["F", "M"], 500), "hours": rng.integers(10, 60, 500)})
    table["is"] = np.where(rng.random(500) < 0.5, "single", np.where(table["sex"] == "F", "wife", "husband"))
    explainer = cp.Ensemble().fit(lambda t: (t["is"] != "single") | (t["hours"] > 50), table)
    single = table[(table["is"] == "single") & (table["hours"] < 40)].head(20)
    found = explainer.explain_many(single, 2, progress=False).frame
    assert not ((found["is"] == "husband") & (found["sex"] == "F")).any()
    assert not ((found["is"] == "wife") & (found["sex"] == "M")).any()


def test_plausible_may_hold_what_is_not_needed_and_says_so():
    explainer = cp.Ensemble(selection=cp.PLAUSIBLE).fit(decide, people())
    answer = explainer.explain(refused().iloc[0], k=3)
    assert "Some of these changes may not be needed" in str(answer)
    assert cp.Explanation.from_json(answer.to_json()).may_hold_needless
