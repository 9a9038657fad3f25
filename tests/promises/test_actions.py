"""What a person reads of every answer: nothing needless, and no answer that holds another and more."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp

fast = settings(
    deadline=None, derandomize=True, database=None, max_examples=15, suppress_health_check=list(HealthCheck)
)
SETTINGS = [cp.BALANCED, cp.CLOSE, cp.SPARSE, cp.DIVERSE, cp.VARIED]


def table(rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "amount": rng.gamma(2, 900, 300).round(2),
            "months": rng.integers(1, 60, 300),
            "rate": rng.normal(size=300).astype(np.float32),
            "job": rng.choice(["a", "b", "c", "d"], 300),
            "owner": rng.random(300) < 0.5,
            "unread": rng.normal(size=300),
        }
    )


class Grown:
    """A tree that does not read one column."""

    def __init__(self, rng: np.random.Generator, X: pd.DataFrame) -> None:
        y = rng.normal(size=len(X)) + X["rate"] + (X["job"] == "b") - X["months"] / 30 + X["amount"] / 2000
        self.tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(self._numbers(X), y > 0.5)

    def _numbers(self, X: pd.DataFrame) -> np.ndarray:
        return np.column_stack(
            [X["amount"], X["months"], X["rate"], X["job"].map(ord), X["owner"].astype(int)]
        ).astype(np.float64)

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return self.tree.predict(self._numbers(X))


@fast
@given(st.integers(0, 10_000), st.sampled_from(SETTINGS), st.integers(1, 6))
def test_no_change_can_be_undone_alone_and_no_answer_holds_another(
    seed: int, selection: cp.Selection, k: int
) -> None:
    rng = np.random.default_rng(seed)
    X = table(rng)
    model = Grown(rng, X)
    explainer = cp.Ensemble(selection=selection, seed=seed).fit(model, X, immutable=["owner"])
    for answer in explainer.explain_many(X.head(6), k, progress=False):
        decode, x = answer.schema.decode, answer.row
        for row in answer.rows:
            assert row[5] == x[5]  # the model does not read it
            for feature in np.flatnonzero(row != x) if (row != x).sum() > 1 else ():
                undone = row.copy()
                undone[feature] = x[feature]
                assert model.predict(decode(undone[None]))[0] == answer.decision
            for other in answer.rows:
                holds = (row == other)[other != x].all() and ((row != x) & (other == x)).any()
                assert not holds


@pytest.mark.parametrize("selection", SETTINGS)
def test_no_other_action_is_left_out_for_a_variant(selection: cp.Selection) -> None:
    rng = np.random.default_rng(3)
    X = table(rng)

    def model(rows: pd.DataFrame) -> np.ndarray:
        return ((rows["amount"] > 4000) | (rows["months"] > 50) | (rows["job"] == "d")).to_numpy()

    refused = X[~model(X)].head(10)
    answers = cp.Ensemble(selection=selection).fit(model, X).explain_many(refused, 3, progress=False)
    for answer in answers:
        alone = [{("amount", "up")}, {("months", "up")}, {("job", "other")}]
        assert all(each in answer.actions for each in alone)


@pytest.mark.parametrize("selection", [*SETTINGS, cp.NEAREST])
def test_where_coming_into_a_range_is_enough_nothing_else_changes(selection: cp.Selection) -> None:
    X = table(np.random.default_rng(5))

    def model(rows: pd.DataFrame) -> np.ndarray:
        return (rows["months"] > 40).to_numpy()

    explainer = cp.Ensemble(selection=selection).fit(model, X, ranges={"months": (1, 40)})
    for answer in explainer.explain_many(X[X["months"] > 40].head(8), 3, progress=False):
        assert len(answer)
        assert {action for each in answer.actions for action in each} == {("months", "down")}
