"""The yardstick: no method's own word is taken for anything."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

from counterpoint_study.models.training import train
from counterpoint_study.scenes.tables import TableScene
from counterpoint_study.scoring import judge, score


@cache
def scene() -> TableScene:
    trained = train("german", "forest")
    return TableScene(trained, trained.instances(4))


def flipping(place: int) -> pd.DataFrame:
    """Known instances that the model decides otherwise than the instance at a place."""
    known = scene().trained.known
    labels = scene().trained.model.predict(known)
    return known[labels != scene().decisions[place]].head(2).reset_index(drop=True)


def test_rows_that_flip_count() -> None:
    (judged,) = judge(scene(), [flipping(0)], k=5)
    assert (judged.given, judged.refused, len(judged.rows)) == (2, 0, 2)


def test_rows_that_do_not_flip_are_no_counterfactuals() -> None:
    (judged,) = judge(scene(), [scene().X.iloc[[0]]], k=5)
    assert (judged.given, judged.refused, len(judged.rows)) == (1, 0, 0)


def test_only_the_first_k_rows_count() -> None:
    (judged,) = judge(scene(), [flipping(0)], k=1)
    assert (judged.given, len(judged.rows)) == (1, 1)


def test_a_category_that_nobody_has_is_refused() -> None:
    table = flipping(0)
    table.loc[0, "purpose"] = "a yacht"
    (judged,) = judge(scene(), [table], k=5)
    assert (judged.given, judged.refused, len(judged.rows)) == (2, 1, 1)


@pytest.mark.parametrize(("whole", "age"), [(True, 30.0), (False, 30.4)])
def test_a_fraction_of_something_whole_is_rounded_unless_asked_for(whole: bool, age: float) -> None:
    table = flipping(0).astype({"age": float})
    table["age"] = 30.4
    (judged,) = judge(scene(), [table], k=5, whole=whole)
    place = list(table.columns).index("age")
    assert judged.refused == 0
    assert set(judged.rows[:, place]) <= {age}


def test_an_empty_answer_scores_zero_in_size_and_nothing_in_distance() -> None:
    (result,) = score(scene(), [scene().X[:0]], [], k=5)
    assert result.measures.size == 0
    assert np.isnan(result.measures.dis_dist)


def test_fewer_tables_than_instances_are_fine_and_instability_needs_the_one_alike() -> None:
    scores = score(scene(), [flipping(0), flipping(1)], [flipping(0)], k=2)
    assert len(scores) == 2
    assert np.isfinite(scores[0].measures.inst)
    assert np.isnan(scores[1].measures.inst)
    assert scores[0].measures.size == 1


def test_those_alike_are_known_instances_with_the_same_decision() -> None:
    decided = scene().trained.model.predict(scene().alike)
    assert (decided == scene().decisions).all()
    assert len(scene().alike.merge(scene().trained.known)) >= len(scene().X)
