"""The promises with a margin: alone and in batches, with other constraints, by probability and by labels."""

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint import testing

LOANS = testing._loans(1, 150)
_STEPS = make_column_transformer((OneHotEncoder(), ["job", "school", "sex"]), remainder="passthrough")
FOREST = make_pipeline(_STEPS, RandomForestClassifier(8, random_state=0)).fit(LOANS, testing._grant(LOANS))

constraints = st.fixed_dictionaries(
    {},
    optional={
        "immutable": st.lists(st.sampled_from(["sex", "married"]), max_size=2, unique=True),
        "increase": st.just(["age"]),
        "decrease": st.just(["amount"]),
        "ranges": st.sampled_from([{"income": (30, 120)}, {"job": ["clerk", "smith"]}]),
        "max_change": st.just({"age": 10}),
        "costs": st.just({"school": 3}),
    },
)


def by_labels(table: pd.DataFrame) -> Any:
    return FOREST.predict(table)


@settings(deadline=None, max_examples=6, derandomize=True)
@given(
    model=st.sampled_from([FOREST, by_labels]),
    probability=st.floats(0.5, 0.9),
    limits=constraints,
    start=st.integers(0, 140),
    max_changes=st.sampled_from([None, 2]),
)
def test_every_promise_holds_with_a_margin(
    model: Any, probability: float, limits: dict[str, Any], start: int, max_changes: int | None
) -> None:
    explainer = cp.Ensemble(size=3).fit(model, LOANS, **limits)
    X = LOANS.iloc[start : start + 2]
    asked: dict[str, Any] = {"k": 2, "margin": cp.Margin(probability, rows=6), "max_changes": max_changes}
    together = explainer.explain_many(X, progress=False, **asked)
    for place, answer in enumerate(together):
        alone = explainer.explain(X.iloc[[place]], **asked)
        np.testing.assert_array_equal(alone.rows, answer.rows)
        assert len(answer) <= 2
        assert (answer.shortfall is None) == (len(answer) == 2)
        if not len(answer):
            continue
        table = answer.counterfactuals
        assert (FOREST.predict(table) != answer.decision).all()
        rules = explainer.fitted_.rules.around(answer.row)
        assert rules.admissible(answer.rows).all()
        if max_changes is not None:
            assert answer.changes.groupby("counterfactual").size().max() <= max_changes
        if model is FOREST:
            wanted = FOREST.classes_ != answer.decision
            assert (FOREST.predict_proba(table)[:, wanted] >= probability).all()
