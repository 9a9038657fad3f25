"""How numbers are written in a column of objects: as ints, as floats, as both, or as Decimals.

Inside, a number is a float. What it was is a matter of its column, so it must follow from the number alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

# With both, whole numbers are ints and all others floats.
WRITTEN = ("int", "float", "int or float", "Decimal")

_NAMES = {int: "int", float: "float", Decimal: "Decimal"}
_CONTEXT = Context(prec=400)  # as many digits as a float can have


def kinds_in(values: NDArray[Any]) -> list[type]:
    """List the types of values; those of numpy count as Python's own.

    Examples
    --------
    >>> kinds_in(np.array([1, np.int64(2), True], dtype=object))
    [<class 'bool'>, <class 'int'>]
    """
    kinds = {type(value.item() if isinstance(value, np.generic) else value) for value in values}
    return sorted(kinds, key=lambda kind: kind.__name__)


def written_in(values: NDArray[Any]) -> str | None:
    """Tell how the numbers of a column of objects are written.

    It is "" if they are no numbers, and None if a number does not tell how it was written.

    Examples
    --------
    >>> written_in(np.array([1, 2.5], dtype=object))
    'int or float'
    >>> written_in(np.array([1, 2.0], dtype=object))
    >>> written_in(np.array([1, "a"], dtype=object))
    ''
    """
    kinds = kinds_in(values)
    if not kinds or kinds == [bool] or not set(kinds) <= {bool, *_NAMES}:
        return ""
    if len(kinds) == 1:
        return _NAMES[kinds[0]]
    clear = set(kinds) == {int, float} and not any(isinstance(v, float) and v.is_integer() for v in values)
    return "int or float" if clear else None


def digits_in(decimals: Iterable[Decimal]) -> int:
    """Count the digits after the point, at most."""
    exponents = (number.as_tuple().exponent for number in decimals)
    return max([0, *(-exponent for exponent in exponents if isinstance(exponent, int))])


def is_exact(decimal: Any) -> bool:
    """Whether a float can stand for a Decimal.

    Examples
    --------
    >>> is_exact(Decimal("0.10")), is_exact(Decimal("0.12345678901234567890"))
    (True, False)
    """
    return not decimal.is_finite() or Decimal(repr(float(decimal))) == decimal


def write(number: float, written: str, step: float | None) -> int | float | Decimal:
    """Write a number as its column does.

    Examples
    --------
    >>> write(7.0, "int", 1), write(7.0, "float", None), write(2.5, "int or float", None)
    (7, 7.0, 2.5)
    >>> write(7.0, "Decimal", 0.01)
    Decimal('7.00')
    """
    if written == "Decimal":
        return _decimal(number, step)
    return int(number) if written.startswith("int") and number.is_integer() else number


def _decimal(number: float, step: float | None) -> Decimal:
    """Write a Decimal, with as many digits as the step has if that leaves the number as it is."""
    decimal = Decimal(repr(number))
    if step is None or not decimal.is_finite():
        return decimal
    digits = digits_in([Decimal(repr(step))])
    rounded = decimal.quantize(Decimal(1).scaleb(-digits), context=_CONTEXT)
    return rounded if rounded == decimal else decimal
