"""The black box: the only package that calls the user's model."""
