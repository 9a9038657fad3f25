"""Clients of a service that runs on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

import counterpoint as cp
from loans import decide, people
from soak.server import serving

ROW = {"age": 30, "income": 40.5, "job": "cook", "owner": True, "education": "school"}
TOKEN = "a long and secret token"


def quick() -> cp.Ensemble:
    """Make an ensemble that answers within a few milliseconds."""
    return cp.Ensemble(size=3, fallback=None)


def granting() -> cp.Explainer:
    """Fit an explainer of loans, with constraints of its own."""
    return quick().fit(decide, people(120), immutable=["owner"], ranges={"age": (18, 75)}, progress=False)


@contextmanager
def client_of(app: Any) -> Iterator[httpx.Client]:
    """Serve an application, and give a client of it."""
    with serving(app) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def serve(explainer: cp.Explainer, **options: Any) -> Any:
    """Serve an explainer, and give a client of it."""
    return client_of(explainer.app(name="credit", **options))
