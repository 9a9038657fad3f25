"""FAT's grid steps by what fits each feature."""

import numpy as np
import pytest

from counterpoint_study.peers.worker.peer_fat import STEPS, step, unit


def test_a_step_is_the_median_absolute_deviation() -> None:
    months = np.array([6.0, 12.0, 12.0, 18.0, 24.0, 36.0])
    assert unit(months) == 6.0
    assert step(months, whole=True) == 6.0


def test_a_step_is_the_standard_deviation_where_most_values_are_equal() -> None:
    gains = np.array([0.0] * 9 + [100.0])
    assert step(gains, whole=False) == pytest.approx(30.0)


def test_heavy_tails_have_fine_steps_but_a_bounded_grid() -> None:
    """Compas' length of stay was stepped by 40 where its deviation is 1."""
    stays = np.array([0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 799.0])
    assert unit(stays) == 1.0
    assert step(stays, whole=True) == 8.0
    assert np.ptp(stays) / step(stays, whole=True) <= STEPS


def test_whole_numbers_step_by_whole_numbers_and_constants_by_one() -> None:
    assert step(np.array([1.0, 1.0, 2.0, 2.0]), whole=True) == 1.0
    assert step(np.array([3.0, 3.0]), whole=False) == 1.0
