"""Answers over HTTP: what the service and the page share, and the service itself.

It is imported when it is used, because FastAPI is an extra.
"""

try:
    import fastapi as fastapi
except ImportError as error:
    raise ImportError("The service and the page need FastAPI: pip install 'counterpoint[serve]'") from error
