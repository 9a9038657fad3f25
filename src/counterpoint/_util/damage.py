"""Files and texts that are not what was saved: one error type, and limits on what they may claim to hold."""

from __future__ import annotations

# What a file unpacks to may be so many bytes in any case, and beyond that so many times its own size. The
# best compression of arrays seen in saved explainers and models is about 30 times.
FREE = 256 * 2**20
RATIO = 100


class DamagedError(ValueError):
    """A file or text is not what Counterpoint saved: it was cut off, changed or made up.

    Examples
    --------
    >>> import counterpoint as cp
    >>> cp.Explanation.from_json("[]")
    Traceback (most recent call last):
        ...
    counterpoint._util.damage.DamagedError: The text holds no saved answers: it is not a JSON object.
    """


def check_size(declared: int, given: int, what: str) -> None:
    """Refuse to make room for far more than a file or text can hold.

    Parameters
    ----------
    declared
        The bytes that are needed, by what it says.
    given
        Its own size in bytes.
    what
        The name of it, for the error.

    Examples
    --------
    >>> check_size(10**12, 500, "the array rows")
    Traceback (most recent call last):
        ...
    counterpoint._util.damage.DamagedError: the array rows would need 1,000,000,000,000 bytes, from a file or
    text of 500 bytes
    """
    if declared < 0 or declared > FREE + RATIO * given:
        raise DamagedError(f"{what} would need {declared:,} bytes, from a file or text of {given:,} bytes")
