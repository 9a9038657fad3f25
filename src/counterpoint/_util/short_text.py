"""Texts of unknown origin in messages: cut to a size that fits a line, and unable to steer a terminal."""

from __future__ import annotations

import re
from reprlib import Repr
from typing import Any

# A message has at most this many characters; a value in it far fewer.
MESSAGE, VALUE, LISTED = 1_500, 100, 20

# Characters that move the cursor, change colours or titles, or turn the direction of writing.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

# Looks at a few items only, so that a value which repeats itself without end costs nothing to write.
_repr = Repr()
_repr.maxlevel = 4
_repr.maxstring = _repr.maxother = _repr.maxlong = VALUE
_repr.maxlist = _repr.maxtuple = _repr.maxdict = _repr.maxset = _repr.maxfrozenset = LISTED


def visible(text: str) -> str:
    r"""Write control characters other than line breaks and tabs as their escapes.

    Examples
    --------
    >>> visible("a \x1b[31mred\x1b[0m word")
    'a \\x1b[31mred\\x1b[0m word'
    """
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def cut(text: str, most: int = MESSAGE) -> str:
    """Leave out the middle of a text that is too long: the start says what it is about, the end the cure.

    Examples
    --------
    >>> cut("abcdefghijklmnopqrstuvwxyz", 12)
    'abcdefg … xyz'
    """
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end - 2]} … {text[len(text) - end :]}"


def one_line(text: str, most: int = MESSAGE) -> str:
    r"""Make a text one line of at most so many characters.

    Examples
    --------
    >>> one_line("rows.csv is empty.\n  Give rows.")
    'rows.csv is empty. Give rows.'
    """
    # A text of megabytes is cut first, so that the rest is quick.
    return cut(visible(" ".join(cut(text, 10 * most).split())), most)


def short(value: Any) -> str:
    """Write a value as Python does, cut where it is long or deep.

    Examples
    --------
    >>> short("clerk"), short(list(range(3)))
    ("'clerk'", '[0, 1, 2]')
    >>> len(short("x" * 1_000_000))
    100
    """
    try:
        return cut(_repr.repr(value), 10 * VALUE)
    except Exception:  # an object's own __repr__ may fail
        return f"<{type(value).__name__}>"
