"""Answers that keep a distance from the boundary, and how many of them other models accept."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint import testing


def forest(seed: int = 0, X: pd.DataFrame | None = None) -> Any:
    X = testing._loans(0, 300) if X is None else X
    steps = make_column_transformer((OneHotEncoder(), ["job", "school", "sex"]), remainder="passthrough")
    return make_pipeline(steps, RandomForestClassifier(30, random_state=seed)).fit(X, testing._grant(X))


LOANS = testing._loans(0, 300)
MODEL = forest()
FITTED = cp.Ensemble(size=4).fit(MODEL, LOANS, immutable=["sex"], increase=["age"])
BY_LABELS = cp.Ensemble(size=4).fit(lambda X: MODEL.predict(X), LOANS, immutable=["sex"], increase=["age"])


def test_every_answer_has_at_least_the_probability() -> None:
    for explanation in FITTED.explain_many(LOANS[:12], 3, margin=0.7, progress=False):
        chances = MODEL.predict_proba(explanation.counterfactuals)
        wanted = MODEL.classes_ != explanation.decision
        assert (chances[:, wanted] >= 0.7).all()
        assert (MODEL.predict(explanation.counterfactuals) != explanation.decision).all()
        assert (explanation.counterfactuals["sex"] == explanation.x["sex"].iloc[0]).all()


def test_without_probabilities_most_rows_around_an_answer_flip() -> None:
    margin = cp.Margin(rows=8, share=0.75)
    fitted = BY_LABELS.fitted_
    for explanation in BY_LABELS.explain_many(LOANS[:8], 2, margin=margin, progress=False):
        x = explanation.row[None]
        task = fitted.task(x, np.array([explanation.decision]), (0,))
        holds, asked = margin.holds(
            task,
            fitted.blackbox.about(fitted.view.known(x)),
            np.zeros(1, dtype=np.intp),
            explanation.rows,
            np.zeros(len(explanation), dtype=np.intp),
        )
        assert holds.all()
        assert asked == 8


@pytest.mark.parametrize("explainer", [FITTED, BY_LABELS], ids=["by probability", "by labels"])
def test_answers_do_not_depend_on_the_batch(explainer: cp.Ensemble) -> None:
    together = explainer.explain_many(LOANS[:6], 2, margin=cp.SAFE, progress=False)
    for place in range(6):
        alone = explainer.explain(LOANS.iloc[[place]], 2, margin=cp.SAFE)
        np.testing.assert_array_equal(alone.rows, together[place].rows)


def test_what_no_answer_can_keep_is_said() -> None:
    only = {"immutable": [name for name in LOANS if name != "married"]}
    near = next(x for x in FITTED.explain_many(LOANS, 3, progress=False, **only) if len(x)).x
    explanation = FITTED.explain(near, 3, margin=1.0, **only)
    assert explanation.shortfall is not None
    assert explanation.shortfall.why is cp.Why.UNSAFE
    assert "nearer the boundary than the margin allows" in str(explanation)
    assert explanation.nearest_miss is None


def test_answers_without_a_margin_stay_the_same() -> None:
    plain, off = FITTED.explain(LOANS[:1], 3), FITTED.explain(LOANS[:1], 3, margin=None)
    np.testing.assert_array_equal(plain.rows, off.rows)


@pytest.mark.parametrize("margin", ["much", True, [0.6]])
def test_a_margin_that_is_none_is_refused(margin: Any) -> None:
    with pytest.raises(TypeError, match=r"margin must be cp\.SAFE, a Margin or a probability"):
        FITTED.explain(LOANS[:1], margin=margin)


def test_a_margin_beside_a_probability_is_refused() -> None:
    with pytest.raises(ValueError, match="Give either margin or Probability"):
        FITTED.explain(LOANS[:1], margin=0.6, target=cp.Probability("granted", at_least=0.7))
    with pytest.raises(ValueError, match="probability must be between 0 and 1, got"):
        FITTED.explain(LOANS[:1], margin=1.5)
    with pytest.raises(ValueError, match="Exact cannot take margin"):
        cp.Exact(start=None).fit(MODEL, LOANS).explain(LOANS[:1], margin=0.6)


def test_safe_answers_survive_more_often_in_models_trained_again() -> None:
    rng = np.random.default_rng(0)
    others = [forest(seed, LOANS.iloc[rng.integers(0, len(LOANS), len(LOANS))]) for seed in range(1, 5)]
    usual = cp.evaluate(FITTED, LOANS[:20], 2, others=others).iloc[0]
    safe = cp.evaluate(FITTED, LOANS[:20], 2, others=others, margin=cp.SAFE).iloc[0]
    assert usual["survival"] < safe["survival"] <= 1
    assert safe["dis_dist"] > usual["dis_dist"]


def test_survival_counts_what_other_models_decide_as_wanted() -> None:
    X = np.random.default_rng(0).normal(size=(100, 1))
    explainer = cp.Neighbours().fit(lambda rows: rows[:, 0] > 0, X)

    def never(rows: Any) -> Any:
        return np.zeros(len(rows), dtype=bool)

    refused = X[X[:, 0] < 0][:5]
    table = cp.evaluate(explainer, refused, 2, others=[lambda rows: rows[:, 0] > 0, never])
    assert table["survival"].tolist() == [0.5]
    assert "survival" not in cp.evaluate(explainer, refused, 2)
    with pytest.raises(TypeError, match="others must be a list of models"):
        cp.evaluate(explainer, refused, 2, others=never)  # type: ignore[arg-type]
