"""The tables: what is in them, and how they are split."""

from functools import cache
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest

from counterpoint import datasets
from counterpoint.datasets import Dataset, fetch
from counterpoint.datasets.tables import RECIPES

load = cache(datasets.load)


# --- what is in them -------------------------------------------------------------------------------------

# The paper's table of data sets: n, m, m_con, m_cat, m_act.
PAPER = {
    "adult": (32_561, 12, 4, 8, 5),
    "compas": (7_214, 10, 7, 3, 7),
    "fico": (10_459, 23, 23, 0, 22),
    "german": (1_000, 20, 7, 13, 13),
}

CLASSES: dict[str, dict[str | int, int]] = {
    "adult": {"<=50K": 24_720, ">50K": 7_841},
    "compas": {"Low": 3_897, "Medium": 1_914, "High": 1_403},
    "fico": {"Bad": 5_459, "Good": 5_000},
    "german": {0: 700, 1: 300},
}

# The paper's m_1h is 103 for adult: it does not count the three "?".
ONE_HOT = {"adult": 106, "compas": 17, "fico": 23, "german": 61}


@pytest.fixture(params=datasets.TABLES)
def dataset(request: pytest.FixtureRequest) -> Dataset:
    return load(request.param)


def test_sizes_are_those_of_the_paper(dataset: Dataset) -> None:
    n, m = dataset.X.shape
    m_cat = len(dataset.categorical)
    assert (n, m, m - m_cat, m_cat, m - len(dataset.immutable)) == PAPER[dataset.name]


def test_class_counts(dataset: Dataset) -> None:
    assert dataset.y.value_counts().to_dict() == CLASSES[dataset.name]


def test_one_hot_width(dataset: Dataset) -> None:
    assert pd.get_dummies(dataset.X).shape[1] == ONE_HOT[dataset.name]


def test_categories_are_strings_and_the_rest_are_integers(dataset: Dataset) -> None:
    for name in dataset.X:
        if name in dataset.categorical:
            assert all(
                isinstance(value, str) and value == value.strip() for value in dataset.X[name].unique()
            )
        else:
            assert pd.api.types.is_integer_dtype(dataset.X[name])


def test_nothing_is_missing_and_the_label_is_no_feature(dataset: Dataset) -> None:
    assert not dataset.X.isna().any(axis=None)
    assert not dataset.y.isna().any()
    assert dataset.y.name not in dataset.X
    assert set(dataset.immutable) <= set(dataset.X)


def test_schema_agrees(dataset: Dataset) -> None:
    features = dataset.schema.features
    assert [feature.name for feature in features] == list(dataset.X.columns)
    assert {feature.name for feature in features if feature.immutable} == set(dataset.immutable)
    assert {feature.name for feature in features if feature.is_categorical} == set(dataset.categorical)


def test_adult_keeps_open_answers_as_a_category() -> None:
    open_answers = (load("adult").X == "?").sum()
    assert open_answers[open_answers > 0].to_dict() == {
        "workclass": 1836,
        "occupation": 1843,
        "native_country": 583,
    }


def test_compas_tells_nobodys_name_or_birthday() -> None:
    X = load("compas").X
    assert set(X) == {
        *("age", "sex", "race", "priors_count", "days_b_screening_arrest", "c_charge_degree"),
        *("is_recid", "is_violent_recid", "two_year_recid", "length_of_stay"),
    }
    assert set(X["sex"]) | set(X["c_charge_degree"]) == {"Male", "Female", "F", "M"}
    assert X["race"].nunique() == 6


def test_compas_days_are_never_negative() -> None:
    X = load("compas").X
    assert X["length_of_stay"].agg(["min", "max"]).tolist() == [0, 800]
    assert X["days_b_screening_arrest"].agg(["min", "max"]).tolist() == [0, 1057]


def test_fico_keeps_its_codes() -> None:
    assert (load("fico").X == -9).all(axis=1).sum() == 588


def test_german_purposes_mean_what_the_original_codes_mean() -> None:
    # Counts of A40, A41, ... in the publisher's own file.
    assert load("german").X["purpose"].value_counts().to_dict() == {
        **{"new car": 234, "used car": 103, "furniture or equipment": 181, "radio or television": 280},
        **{"domestic appliances": 12, "repairs": 22, "education": 50, "retraining": 9, "business": 97},
        "other": 12,
    }
    # Its 39th row is A44 and its 73rd A410: both occur 12 times, so counting does not tell them apart.
    assert load("german").X["purpose"].iloc[[38, 72]].tolist() == ["domestic appliances", "other"]


def test_german_has_no_codes_left() -> None:
    X = load("german").X
    words = pd.unique(X[list(load("german").categorical)].to_numpy().ravel())
    assert not [word for word in words if any(sign in word for sign in ("A12", "...", "<", "/", "?"))]


def test_own_folder_may_hold_the_publishers_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = fetch.fetch(RECIPES["compas"].file)
    (tmp_path / usual.name).write_bytes(usual.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(tmp_path))
    assert fetch.fetch(RECIPES["compas"].file).parent == tmp_path
    pd.testing.assert_frame_equal(datasets.load("compas").X, load("compas").X)


# --- the split -------------------------------------------------------------------------------------------


def test_split_is_70_30_of_the_rows_and_of_each_class(dataset: Dataset) -> None:
    assert len(dataset.X_test) == pytest.approx(0.3 * len(dataset.X), abs=1)
    for label, count in CLASSES[dataset.name].items():
        assert (dataset.y_test == label).sum() == pytest.approx(0.3 * count, abs=1)


def test_split_parts_are_the_rows_of_the_whole(dataset: Dataset) -> None:
    pd.testing.assert_frame_equal(pd.concat([dataset.X_train, dataset.X_test]).sort_index(), dataset.X)
    pd.testing.assert_series_equal(pd.concat([dataset.y_train, dataset.y_test]).sort_index(), dataset.y)
    assert dataset.X_train.index.equals(dataset.y_train.index)
    assert dataset.X_test.index.equals(dataset.y_test.index)


def test_split_depends_on_the_seed_alone() -> None:
    first, again, other = datasets.load("german"), datasets.load("german"), datasets.load("german", seed=1)
    pd.testing.assert_frame_equal(first.X_test, again.X_test)
    assert not first.X_test.index.equals(other.X_test.index)


# --- names -----------------------------------------------------------------------------------------------


def test_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'iris'.*adult.*compas.*fico.*german.*mnist.*fashion.*gunpoint"):
        datasets.load("iris")
    with pytest.raises(ValueError, match=r"'mnist'.*adult.*german'\]"):
        datasets.load_table("mnist")
    with pytest.raises(ValueError, match=r"'adult'.*\['mnist'.*ecg200"):
        datasets.load_arrays("adult")


def test_names_that_a_type_checker_knows_are_all_there_are() -> None:
    assert get_args(datasets.TableName) == datasets.TABLES
    assert get_args(datasets.ArrayName) == datasets.IMAGES + datasets.SERIES
    assert get_args(datasets.TableName) + get_args(datasets.ArrayName) == datasets.NAMES
