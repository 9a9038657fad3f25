"""Images and series."""

from __future__ import annotations

from typing import Any


class SignalCalls:
    """To be written."""

    @classmethod
    def of(cls, explainer: Any, rows: Any, **asked: Any) -> Any:
        """Make."""
        raise NotImplementedError
