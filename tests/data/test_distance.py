"""The paper's mixed distance: the mean of MAD units over numbers plus the share of categories that differ."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint import Schema
from counterpoint.data.costs import Cost, Costs
from counterpoint.data.distance import Distance, Euclidean, changed
from counterpoint.data.weighed import Weighed


def table(size=40, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    gain = np.where(rng.uniform(size=size) < 0.9, 0.0, rng.normal(5000, 100, size=size))
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 80, size=size),
            "gain": gain,  # its MAD is 0
            "constant": np.full(size, 3.0),
            "income": rng.lognormal(size=size),
            "job": rng.choice(["a", "b", "c"], size=size),
            "own": rng.uniform(size=size) < 0.5,
        }
    )
    people.loc[rng.uniform(size=size) < missing, "income"] = np.nan
    return people


def fitted(people):
    schema = Schema.infer(people)
    rows = schema.encode(people)
    return schema, rows, Distance.fit(schema, rows)


def scales(rows):
    """Find the median and the MAD of each column, or what stands in where the MAD is 0."""
    found = []
    for column in rows.T:
        known = column[~np.isnan(column)]
        median = np.median(known)
        found.append((median, np.median(np.abs(known - median)) or np.std(known) or 1.0))
    return found


def naive(schema, scales, a, b):
    """Measure two rows by the formula, one feature at a time."""
    numbers, categories = [], []
    for i, feature in enumerate(schema.features):
        if feature.is_categorical:
            categories.append(float(a[i] != b[i]))
            continue
        median, scale = scales[i]
        if np.isnan(a[i]) and np.isnan(b[i]):
            numbers.append(0.0)
        elif np.isnan(a[i]) or np.isnan(b[i]):
            numbers.append(1 + abs(np.nanmax([a[i], b[i]]) - median) / scale)
        else:
            numbers.append(abs(a[i] - b[i]) / scale)
    return np.mean(numbers or [0.0]) + np.mean(categories or [0.0])


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize(
    "columns",
    [["age", "gain", "constant", "income", "job", "own"], ["age", "income"], ["job", "own"], ["income"]],
)
def test_it_is_the_formula(columns, missing):
    schema, rows, distance = fitted(table(missing=missing)[columns])
    known = scales(rows)
    expected = [[naive(schema, known, a, b) for b in rows] for a in rows]
    np.testing.assert_allclose(distance.between(rows, rows), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(distance.from_x(rows, rows[0]), expected[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_prices_of_single_changes_sum_to_the_distance(missing):
    _, rows, distance = fitted(table(missing=missing))
    for x in rows[:5]:
        prices = distance.prices(rows, x)
        np.testing.assert_allclose(
            prices.sum(axis=1), distance.between(rows, x[None])[:, 0], rtol=1e-12, atol=1e-12
        )
        assert ((prices > 0) == changed(rows, x)).all()


def test_some_features_can_be_measured_alone():
    _, rows, distance = fitted(table(missing=0.3))
    for some in ([0, 3, 4], [1, 2], [4], [3]):
        alone = distance.over(np.array(some)).between(rows[:5], rows)
        expected = [distance.prices(rows, x)[:, some].sum(axis=1) for x in rows[:5]]
        np.testing.assert_allclose(alone, expected, rtol=1e-12, atol=1e-12)


def test_each_row_can_have_an_x_of_its_own():
    _, rows, distance = fitted(table(missing=0.3))
    others = rows[::-1]
    expected = np.diag(distance.between(rows, others))
    np.testing.assert_allclose(distance.from_x(rows, others), expected, rtol=1e-12, atol=1e-12)
    assert (changed(rows, others).any(axis=1) == (expected > 0)).all()


def test_a_feature_whose_mad_is_0_is_measured_in_standard_deviations():
    people = table()
    _, _, distance = fitted(people[["gain"]])
    dearest = distance.from_x(np.array([[people["gain"].std(ddof=0)]]), np.array([0.0]))
    assert dearest == pytest.approx(1.0)


def test_a_feature_that_never_varies_is_measured_as_it_is():
    _, _, distance = fitted(table()[["constant"]])
    assert distance.from_x(np.array([[5.0]]), np.array([3.0])) == 2.0


def test_a_missing_number_is_one_unit_beyond_the_median_and_no_distance_from_another():
    people = pd.DataFrame({"a": [1.0, 2.0, 3.0, np.nan]})
    _, rows, distance = fitted(people)
    assert distance.between(rows[3:], rows).tolist() == [[2.0, 1.0, 2.0, 0.0]]


def test_embedding_once_measures_the_same():
    _, rows, distance = fitted(table(missing=0.3))
    few = np.array([3, 7, 9])
    measured = distance.measure(distance.embed(rows[:5]), distance.embed(rows).take(few))
    assert (measured == distance.between(rows[:5], rows[few])).all()


def test_rows_are_not_written_to():
    _, rows, distance = fitted(table(missing=0.3))
    kept = rows.copy()
    rows.setflags(write=False)
    distance.between(rows, rows)
    distance.prices(rows, rows[0])
    np.testing.assert_array_equal(rows, kept)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]))
def test_it_is_a_distance(seed, missing):
    _, rows, distance = fitted(table(12, seed, missing))
    away = distance.between(rows, rows)
    assert (np.diag(away) == 0).all()
    np.testing.assert_allclose(away, away.T, rtol=1e-12, atol=1e-12)
    assert (away[:, None, :] <= away[:, :, None] + away[None, :, :] + 1e-9).all()  # the triangle inequality


def test_a_missing_value_counts_as_changed_only_against_a_known_one():
    rows = np.array([[np.nan, 1.0], [np.nan, np.nan], [2.0, 1.0]])
    assert changed(rows, np.array([np.nan, 1.0])).tolist() == [[False, False], [False, True], [True, False]]


def test_a_quick_euclidean_distance_is_right_but_for_rounding() -> None:
    rng = np.random.default_rng(0)
    distance = Euclidean.of(400)
    a, b = (distance.embed(rng.random((count, 400))) for count in (30, 20))
    assert np.allclose(distance.roughly(a, b), distance.measure(a, b), rtol=1e-10)
    # Rows that are the same are apart by rounding at most, and never by NaN.
    assert distance.roughly(a, a).diagonal().max() < 1e-5


def test_rows_with_few_changes_of_many_cells_are_as_far_as_measured_cell_by_cell():
    rng = np.random.default_rng(3)
    people = pd.DataFrame({f"number {i}": rng.normal(size=60) for i in range(120)})
    people["holes"] = np.where(rng.uniform(size=60) < 0.3, np.nan, rng.normal(size=60))
    people = people.assign(**{f"word {i}": rng.choice(["a", "b", "c"], size=60) for i in range(30)})
    schema, rows, plain = fitted(people)
    costs = Costs.of(
        [(Cost(up=1, down=1 + i % 3), feature.categories) for i, feature in enumerate(schema.features)]
    )
    x, others = rows[:1], rows[20:]
    made = np.repeat(x, 40, axis=0)
    for count, row in enumerate(made):  # from no change to a third of the cells
        places = rng.permutation(made.shape[1])[: 2 * count]
        row[places] = rows[1 + count % 10, places]
    for distance in (plain, Weighed.of(plain, costs)):
        near = distance.near(distance.embed(others), distance.embed(x))
        np.testing.assert_allclose(near(distance.embed(made)), distance.between(others, made), rtol=1e-12)
        alone = near(distance.embed(made[7:8]))
        assert (alone == near(distance.embed(made))[:, 7:8]).all()  # whatever else is measured
