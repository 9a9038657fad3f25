"""Reducing narrow masks gives what numpy's own reductions give, whatever their shape."""

import numpy as np
import pytest

from counterpoint._util.narrow import WIDEST, all_of_each, any_of_each, count_of_each


@pytest.mark.parametrize(
    "shape", [(40, 0), (0, 3), (40, 1), (40, 12), (6, 7, 5), (9, WIDEST), (9, WIDEST + 1), (3, 600)]
)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.9, 1.0])
def test_reductions_are_those_of_numpy(shape: tuple[int, ...], share: float) -> None:
    mask = np.random.default_rng(0).random(shape) < share
    for each in (mask, np.asfortranarray(mask), mask[::2]):
        assert np.array_equal(any_of_each(each), each.any(axis=-1))
        assert np.array_equal(all_of_each(each), each.all(axis=-1))
        assert np.array_equal(count_of_each(each), each.sum(axis=-1))
