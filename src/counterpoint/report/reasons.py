"""Why answers hold fewer counterfactuals than were asked for, counted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from counterpoint.explanation import Explanation

# Whole numbers that stand alone: "1,057 rows", but not 'class 3' or 0.7.
_NUMBER = re.compile(r"(?<![\w.'\"=(-])(\d+(?:,\d{3})*)(?![\w.'\")])")


@dataclass(frozen=True)
class Reason:
    """Why instances got fewer counterfactuals than asked for; where they differ in numbers, from and to.

    Examples
    --------
    >>> both = Reason.read("nothing among 812 rows") + Reason.read("nothing among 1,204 rows")
    >>> both.text, both.instances
    ('nothing among 812 to 1,204 rows', 2)
    """

    pieces: tuple[str, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    instances: int = 1
    without: int = 0  # how many of them got none at all

    @classmethod
    def of(cls, item: Explanation) -> Reason:
        """Read the reason of an answer that has fewer counterfactuals than asked for."""
        text = "" if item.shortfall is None else item.shortfall.reason
        return replace(cls.read(text), without=int(not len(item)))

    @classmethod
    def read(cls, text: str) -> Reason:
        """Part the words of a reason from its numbers."""
        parts = _NUMBER.split(text)
        numbers = tuple(int(part.replace(",", "")) for part in parts[1::2])
        return cls(tuple(parts[::2]), numbers, numbers)

    def __add__(self, other: Reason) -> Reason:
        return Reason(
            self.pieces,
            tuple(map(min, self.low, other.low)),
            tuple(map(max, self.high, other.high)),
            self.instances + other.instances,
            self.without + other.without,
        )

    @property
    def text(self) -> str:
        """The reason in words."""
        spans = [
            f"{low:,}" if low == high else f"{low:,} to {high:,}"
            for low, high in zip(self.low, self.high, strict=True)
        ]
        return "".join(piece + span for piece, span in zip(self.pieces, (*spans, ""), strict=True))


def had_it(item: Explanation) -> bool:
    """Tell whether an instance had the decision asked for, so that nothing had to change."""
    return item.shortfall is not None and item.shortfall.already


def added(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Add up reasons of the same words, the most frequent first."""
    total: dict[tuple[str, ...], Reason] = {}
    for reason in reasons:
        total[reason.pieces] = total[reason.pieces] + reason if reason.pieces in total else reason
    return tuple(sorted(total.values(), key=lambda reason: (-reason.instances, reason.pieces)))
