"""The service: answers for web teams, many requests in one run of the engine."""
