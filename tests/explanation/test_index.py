"""Whose answer it is: tables name instances by the labels of X's index, and answers keep them."""

import json
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterpoint as cp
from counterpoint.cli.parts import Part
from counterpoint.cli.records import tidy

K = 2


def decide(table):
    return np.where(np.asarray(table["income"]) > 50, "granted", "refused")


def people(count):
    random = np.random.default_rng(0)
    return pd.DataFrame({"income": random.integers(0, 100, count), "age": random.integers(18, 80, count)})


@pytest.fixture(scope="module")
def explainer():
    return cp.Neighbours().fit(decide, people(200), immutable=["age"])


@pytest.fixture(scope="module")
def customers():
    """Customers, of whom the second has the decision asked for."""
    return pd.DataFrame({"income": [10, 90, 20], "age": [30, 40, 50]}, index=["ann", "bob", "eve"])


def explained(explainer, customers):
    return explainer.explain_many(customers, k=K, target="granted", progress=False)


@pytest.fixture(scope="module")
def answers(explainer, customers):
    return explained(explainer, customers)


def labels(table):
    return list(dict.fromkeys(table["instance"].to_list()))


def test_tables_name_instances_by_the_index(answers):
    assert answers.frame["instance"].tolist() == ["ann", "ann", "eve", "eve"]
    assert labels(answers.changes) == ["ann", "eve"]
    assert answers.shortfalls[["instance", "found"]].values.tolist() == [["bob", 0]]


def test_answers_join_to_the_callers_rows(answers, customers):
    nearest = answers.frame.groupby("instance")["distance"].min()
    cost = customers.assign(cost=nearest)["cost"]
    assert cost.isna().tolist() == [False, True, False]
    joined = answers.frame.merge(customers, left_on="instance", right_index=True)
    assert (joined["age_x"] == joined["age_y"]).all()
    assert len(joined) == len(answers.frame)


def test_a_slice_keeps_the_labels_of_its_instances(answers, explainer, customers):
    assert labels(answers[1:].frame) == ["eve"]
    assert labels(answers[1:].shortfalls) == ["bob"]
    assert labels(answers[::-1].changes) == ["eve", "ann"]
    places = explained(explainer, customers.reset_index(drop=True))[1:]
    assert labels(places.frame) == [2]


PLACES = {
    "default index": lambda customers: customers.reset_index(drop=True),
    "polars": lambda customers: pl.DataFrame(customers.to_dict("list")),
    "array": lambda customers: customers.to_numpy(),
}


@pytest.mark.parametrize("form", PLACES.values(), ids=PLACES)
def test_without_labels_instances_are_named_by_their_places(explainer, customers, form):
    answers = explained(explainer, form(customers))
    assert answers.frame["instance"].tolist() == [0, 0, 2, 2]
    assert answers.shortfalls["instance"].tolist() == [1]
    assert json.loads(answers.to_json())["instances"] is None
    assert cp.Explanations.from_json(answers.to_json()).instances.equals(pd.RangeIndex(3))


# An index, and the labels that are read back from JSON.
KEPT = {
    "texts": (["ann", "bob", "eve"], ["ann", "bob", "eve"]),
    "numbers": (pd.Index([7, 3, 5], dtype="int32"), [7, 3, 5]),
    "fractions": ([0.5, 1.5, 2.5], [0.5, 1.5, 2.5]),
    "other places": (pd.RangeIndex(4, 10, 2), [4, 6, 8]),
    "several times the same": (["a", "a", "a"], ["a", "a", "a"]),
    "of several types": (["a", 1, None], ["a", 1, None]),
    "categories": (pd.CategoricalIndex(["a", "b", "a"]), ["a", "b", "a"]),
    "several levels": (pd.MultiIndex.from_product([["a"], [1, 2, 3]]), [("a", 1), ("a", 2), ("a", 3)]),
    "dates": (pd.date_range("2024-01-01", periods=3), [pd.Timestamp(f"2024-01-0{i}") for i in (1, 2, 3)]),
    "days": ([date(2024, 1, i) for i in (1, 2, 3)], [date(2024, 1, i) for i in (1, 2, 3)]),
    "objects": ([2j, 3j, 4j], ["2j", "3j", "4j"]),
}


@pytest.mark.parametrize(("index", "kept"), KEPT.values(), ids=KEPT)
def test_labels_of_every_kind_are_shown_as_they_are_and_survive_json(explainer, customers, index, kept):
    table = customers.set_axis(index)
    answers = explained(explainer, table)
    expected = table.index.to_flat_index()
    assert answers.frame["instance"].tolist() == expected[[0, 0, 2, 2]].tolist()
    assert answers.shortfalls["instance"].tolist() == expected[[1]].tolist()
    again = cp.Explanations.from_json(answers.to_json())
    assert again.instances.tolist() == kept
    assert again.frame["instance"].tolist() == [kept[place] for place in (0, 0, 2, 2)]


def test_a_label_that_is_missing_survives_json(answers):
    again = cp.Explanations.from_json(cp.Explanations(answers, instances=[1.5, np.nan, np.inf]).to_json())
    np.testing.assert_array_equal(again.instances, [1.5, np.nan, np.inf])


@pytest.mark.parametrize(
    ("index", "shown"),
    [(["ann", "bob", "eve"], ["ann", "eve"]), ([7, 3, 5], [7, 5]), (["ann", "bob", 5], ["ann", "5"])],
)
def test_a_pandas_frame_asked_of_an_explainer_for_polars(customers, index, shown):
    explainer = cp.Neighbours().fit(decide, pl.DataFrame(people(200).to_dict("list")))
    frame = explained(explainer, customers.set_axis(index)).frame
    assert isinstance(frame, pl.DataFrame)
    assert labels(frame) == shown


def test_series_in_a_frame_keep_their_labels():
    waves = np.random.default_rng(0).normal(size=(60, 20)).cumsum(axis=1)
    explainer = cp.Ensemble(codec=cp.Kernel(5)).fit(lambda rows: rows[:, :10].mean(axis=1) > 0, waves)
    table = pd.DataFrame(waves[:3], index=["a", "b", "c"])
    assert labels(explainer.explain_many(table, k=1, progress=False).frame) == ["a", "b", "c"]


def test_those_that_were_finished_when_the_model_failed_keep_their_labels(customers):
    def fails(table):
        if (table["age"] == 40).any():
            raise RuntimeError("out of memory")
        return decide(table)

    known = people(200).query("age != 40")
    explainer = cp.Neighbours().fit(fails, known, immutable=["age"])
    for form, expected in ((customers, ["ann", "eve"]), (customers.to_numpy(), [0, 2])):
        with pytest.raises(cp.IncompleteError, match=r"X\[1\]") as caught:
            explainer.explain_many(form, k=1, progress=False)
        assert caught.value.places == [0, 2]
        assert labels(caught.value.finished.frame) == expected


def test_labels_are_held_and_not_copied(answers, customers):
    assert answers.instances is customers.index


def test_there_is_one_label_an_answer(answers):
    with pytest.raises(ValueError, match="one entry per item: 3 items, got 2 entries"):
        cp.Explanations(answers, instances=["a", "b"])


def test_the_command_names_rows_by_their_places_in_the_file(answers):
    numbered = cp.Explanations(answers, instances=pd.RangeIndex(100, 103))
    table = tidy(Part(numbered, pd.DataFrame(index=range(3))))
    assert table["instance"].tolist() == [100, 100, 102, 102]
    assert table["changes"].tolist() == ["income"] * 4
