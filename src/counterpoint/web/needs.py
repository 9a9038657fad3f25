"""Says what is missing where FastAPI is."""

from __future__ import annotations


def need_fastapi() -> None:
    """Raise an error that says how to install FastAPI, unless it is there."""
    try:
        import fastapi as fastapi
    except ImportError as error:
        raise ImportError(
            "The service and the page need FastAPI: pip install 'counterpoint[serve]'"
        ) from error
