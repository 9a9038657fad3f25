"""Why no more counterfactuals were found."""

from __future__ import annotations

from enum import StrEnum


class Why(StrEnum):
    """Why an answer does not hold more counterfactuals."""

    ALREADY = "already"  # x already has the decision asked for, so nothing has to change
    NOT_FOUND = "not found"  # the searches found no more
    NOT_WORTH_IT = "not worth it"  # the selection left the others out
    NEEDLESS = "needless"  # the others hold changes that are not needed, or differ by less than rounding
    NOT_ALLOWED = "not allowed"  # the constraints leave nothing to try
    UNSAFE = "unsafe"  # the others are too near the boundary for the margin asked for
    PROVEN = "proven"  # it is proven that there are no others
    MAX_ROWS = "max_rows"
    MAX_SECONDS = "max_seconds"
