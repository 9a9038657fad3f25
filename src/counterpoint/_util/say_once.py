"""Tell the user something once, on standard error."""

from __future__ import annotations

import sys

_SAID: set[str] = set()


def say_once(text: str) -> None:
    """Write a line to standard error, unless the same line was written before."""
    if text not in _SAID:
        _SAID.add(text)
        print(text, file=sys.stderr)
