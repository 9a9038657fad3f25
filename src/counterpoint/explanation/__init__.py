"""The answer: for one instance, for many, as JSON."""
