"""Measurements of the library and of its peers, run from the repository root."""
