"""The whole thing on real data: German credit, a one-hot forest, the paper's immutable features."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint.datasets import Dataset


@pytest.fixture(scope="module")
def credit() -> Dataset:
    return cp.datasets.load("german")


@pytest.fixture(scope="module")
def forest(credit: Dataset) -> Pipeline:
    one_hot = (OneHotEncoder(handle_unknown="ignore"), list(credit.categorical))
    model = make_pipeline(
        make_column_transformer(one_hot, remainder="passthrough"), RandomForestClassifier(100, random_state=0)
    )
    return model.fit(credit.X_train, credit.y_train)


@pytest.fixture(scope="module")
def explanations(credit: Dataset, forest: Pipeline) -> cp.Explanations:
    ensemble = cp.Ensemble().fit(forest, credit.X_train, immutable=credit.immutable)
    return ensemble.explain_many(credit.X_test.iloc[:60], k=5, progress=False)


def test_every_answer_is_full_valid_and_keeps_what_is_immutable(
    credit: Dataset, forest: Pipeline, explanations: cp.Explanations
) -> None:
    for explanation in explanations:
        found = explanation.counterfactuals
        assert len(found) == 5
        assert explanation.shortfall is None
        assert (forest.predict(found) != forest.predict(explanation.x)[0]).all()
        assert (
            found[list(credit.immutable)].to_numpy() == explanation.x[list(credit.immutable)].to_numpy()
        ).all()
        assert found.dtypes.equals(credit.X_test.dtypes)


def test_the_number_of_model_calls_does_not_grow_with_the_instances(
    credit: Dataset, forest: Pipeline, explanations: cp.Explanations
) -> None:
    ensemble = cp.Ensemble().fit(forest, credit.X_train, immutable=credit.immutable)
    alone = [ensemble.explain(credit.X_test.iloc[[i]], k=5) for i in range(5)]
    assert max(explanation.model_calls for explanation in alone) <= 25
    assert explanations.model_calls <= 25
    assert explanations.model_rows / len(explanations) <= 3000


def test_the_tree_explainer_finds_counterfactuals_inside_an_ensemble(
    credit: Dataset, forest: Pipeline
) -> None:
    trees = cp.Ensemble([cp.Tree()], size=3, polish=None, fallback=None)
    trees.fit(forest, credit.X_train, immutable=credit.immutable)
    explanations = trees.explain_many(credit.X_test.iloc[:60], k=5, progress=False)
    assert np.mean([len(explanation) / 5 for explanation in explanations]) > 0.5
    assert {name for explanation in explanations for name in explanation.found_by} == {"Tree"}


def test_polish_brings_answers_nearer(
    credit: Dataset, forest: Pipeline, explanations: cp.Explanations
) -> None:
    rough = cp.Ensemble(polish=None).fit(forest, credit.X_train, immutable=credit.immutable)
    unpolished = rough.explain_many(credit.X_test.iloc[:60], k=5, progress=False)
    assert _mean_distance(explanations) < 0.9 * _mean_distance(unpolished)


def test_named_selections_give_what_they_are_named_for(credit: Dataset, forest: Pipeline) -> None:
    tables = {
        name: cp.evaluate(
            cp.Ensemble(selection=selection).fit(forest, credit.X_train, immutable=credit.immutable),
            credit.X_test.iloc[:40],
            k=5,
        ).loc[0]
        for name, selection in {
            "balanced": cp.BALANCED,
            "close": cp.CLOSE,
            "diverse": cp.DIVERSE,
            "sparse": cp.SPARSE,
            "plausible": cp.PLAUSIBLE,
            "varied": cp.VARIED,
        }.items()
    }
    assert tables["close"]["dis_dist"] < tables["balanced"]["dis_dist"]
    assert tables["diverse"]["div_dist"] > tables["balanced"]["div_dist"]
    assert tables["plausible"]["impl"] < tables["balanced"]["impl"]
    # Without needless changes, the default changes about as few features.
    assert tables["sparse"]["dis_count"] <= 1.02 * tables["balanced"]["dis_count"]
    assert tables["sparse"]["dis_count"] < tables["plausible"]["dis_count"]
    assert tables["balanced"]["div_dist"] < tables["varied"]["div_dist"] < tables["diverse"]["div_dist"]
    assert tables["varied"]["dis_dist"] < tables["diverse"]["dis_dist"]


def _mean_distance(explanations: cp.Explanations) -> float:
    return float(np.mean([explanation.distance.mean() for explanation in explanations]))
