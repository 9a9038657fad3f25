"""Fixtures for all tests. This file also makes `loans` importable in every folder of tests."""

import pytest

import counterpoint as cp
from loans import decide, people


@pytest.fixture(scope="module")
def fitted():
    return cp.Ensemble().fit(decide, people())
