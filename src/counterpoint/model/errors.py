"""What can go wrong with the user's model."""

from __future__ import annotations


class ModelError(RuntimeError):
    """The user's model failed, or returned something that cannot be labels.

    `position` is the index, within the question, of the first row that it fails on, if known. `is_down` says
    that the model cannot be reached: then no row is at fault, and none needs to be looked for.
    """

    def __init__(self, message: str, position: int | None = None, is_down: bool = False) -> None:
        super().__init__(message)
        self.position = position
        self.is_down = is_down
