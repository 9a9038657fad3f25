"""Working on the rows of many instances at once."""

import numpy as np
import pytest

from counterpoint.search.grouped import nearest


@pytest.mark.parametrize("width", [150, 1000])
@pytest.mark.parametrize("count", [1, 7, 150])
def test_of_equally_near_rows_the_first_are_taken_on_any_processor(width, count):
    away = np.random.default_rng(0).integers(5, size=(40, width)).astype(float)
    away[3] = np.inf
    away[4, ::2] = np.nan
    expected = np.argsort(away, axis=1, kind="stable")[:, :count]
    assert (nearest(away, count) == expected).all()
