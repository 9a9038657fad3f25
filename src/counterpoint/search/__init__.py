"""Searching for counterfactuals: tasks, the engine that merges questions, the pool of finds, and polish."""
