"""An explainer and its service, which many tests ask."""

from collections.abc import Iterator

import httpx
import pytest
from clients import granting, serve

import counterpoint as cp


@pytest.fixture(scope="session")
def explainer() -> cp.Explainer:
    return granting()


@pytest.fixture(scope="session")
def client(explainer: cp.Explainer) -> Iterator[httpx.Client]:
    with serve(explainer) as client:
        yield client
