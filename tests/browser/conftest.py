"""A browser for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import screen


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the browser once per module: while playwright runs, other modules could not use asyncio."""
    screen.browser_path()
    with screen.launched() as running:
        yield running
