"""Working on the rows of many instances at once."""

import numpy as np
import pytest

from counterpoint.search.grouped import before_each, cheapest_of_each, nearest, stable_order


@pytest.mark.parametrize("width", [150, 1000])
@pytest.mark.parametrize("count", [1, 7, 150])
def test_of_equally_near_rows_the_first_are_taken_on_any_processor(width, count):
    away = np.random.default_rng(0).integers(5, size=(40, width)).astype(float)
    away[3] = np.inf
    away[4, ::2] = np.nan
    expected = np.argsort(away, axis=1, kind="stable")[:, :count]
    assert (nearest(away, count) == expected).all()


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("largest", [9, 200_000])
def test_the_cheapest_of_each_come_in_order_and_of_equal_ones_the_first(count, missing, largest):
    rng = np.random.default_rng(0)
    price, instance = rng.integers(4, size=3_000).astype(float), rng.integers(largest, size=3_000)
    if missing:
        price[rng.integers(3_000, size=300)] = np.nan
    order = np.lexsort([price, instance])
    expected = order[before_each(instance[order]) < count]
    assert np.array_equal(cheapest_of_each(price, instance, count), expected)


@pytest.mark.parametrize("largest", [9, 2**16 - 1, 2**16, 10**9])
def test_whole_numbers_of_any_size_are_sorted_and_equal_ones_stay_in_order(largest):
    numbers = np.append(np.random.default_rng(0).integers(largest, size=500) // 3 * 3, largest)
    assert np.array_equal(stable_order(numbers), np.argsort(numbers, kind="stable"))
