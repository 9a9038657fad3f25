"""The service: answers for web teams, many requests in one run of the engine."""

from counterpoint.web.needs import need_fastapi

need_fastapi()
