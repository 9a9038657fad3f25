"""Answers over HTTP: what the service and the page share, and both of them.

FastAPI is an extra: only `service` and `page` need it, and they are imported when they are used.
"""
