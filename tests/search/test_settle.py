"""Undoing what is not needed, and rounding."""

import numpy as np
import pytest

from counterpoint.search.settle import digits_of, fewer_digits, neighbours_with_digits


@pytest.mark.parametrize("value", [8075.0, 2392.33, 0.0123, -45.6, 1e15, 3e-20, 7.0])
@pytest.mark.parametrize("digits", [1, 2, 5])
def test_neighbours_have_no_more_digits_and_lie_on_both_sides(value, digits):
    below, above = neighbours_with_digits(np.array([value]), digits)
    assert below[0] <= value <= above[0]
    assert digits_of(below)[0] <= digits
    assert digits_of(above)[0] <= digits


def test_digits_are_counted_as_they_are_written():
    values = np.array([0.1, 0.25, 1200.0, 0.1 + 0.2, 33.0])
    assert digits_of(values).tolist() == [1, 2, 2, 15, 2]


def test_a_rounder_value_may_change_a_number_by_much_less():
    """A change from 37 to 25 may become one to 30, and not one to 20."""
    found, _, digits = fewer_digits(np.array([25.0]), home=np.array([37.0]))
    assert found.tolist() == [30.0]
    assert digits.tolist() == [1.0]
