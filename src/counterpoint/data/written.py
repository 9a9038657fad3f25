"""How numbers are written in an object column: as ints, as floats, as both, or as Decimals.

Internally, a number is a float. Its type is known per column only, so it must follow from the number alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

# With "int or float", whole numbers are ints and all others floats.
WRITTEN = ("int", "float", "int or float", "Decimal")

_NAMES = {int: "int", float: "float", Decimal: "Decimal"}
_CONTEXT = Context(prec=400)  # enough for the digits of any float


def kinds_in(values: NDArray[Any]) -> list[type]:
    """List the types of values; numpy types count as the Python types they correspond to.

    Examples
    --------
    >>> kinds_in(np.array([1, np.int64(2), True], dtype=object))
    [<class 'bool'>, <class 'int'>]
    """
    kinds = {type(value.item() if isinstance(value, np.generic) else value) for value in values}
    return sorted(kinds, key=lambda kind: kind.__name__)


def written_in(values: NDArray[Any]) -> str | None:
    """Tell how the numbers of an object column are written.

    Returns "" if they are not numbers, and None if the type does not follow from the number.

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
    """Find the largest number of digits after the decimal point."""
    exponents = (number.as_tuple().exponent for number in decimals)
    return max([0, *(-exponent for exponent in exponents if isinstance(exponent, int))])


def is_exact(decimal: Any) -> bool:
    """Whether a float can represent a Decimal exactly.

    Examples
    --------
    >>> is_exact(Decimal("0.10")), is_exact(Decimal("0.12345678901234567890"))
    (True, False)
    """
    return not decimal.is_finite() or Decimal(repr(float(decimal))) == decimal


def write(number: float, written: str, step: float | None) -> int | float | Decimal:
    """Write a number in the way of its column.

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
    """Write a Decimal, with as many digits as the step has if that does not change the number."""
    decimal = Decimal(repr(number))
    if step is None or not decimal.is_finite():
        return decimal
    digits = digits_in([Decimal(repr(step))])
    rounded = decimal.quantize(Decimal(1).scaleb(-digits), context=_CONTEXT)
    return rounded if rounded == decimal else decimal
