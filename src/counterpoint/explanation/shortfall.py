"""Why answers hold fewer counterfactuals than asked for: as facts, counted over many, and in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from counterpoint.search.why import Why


@dataclass(frozen=True)
class Shortfall:
    """Why an answer holds fewer counterfactuals than asked for.

    Parameters
    ----------
    asked, found
        How many counterfactuals were asked for, and how many were found.
    why
        Why there are no more.
    count
        How many candidates were tried. If the selection left some out, how many were found; if ``max_rows``
        ended the search, that limit; if a margin left some out, how many.
    target
        What was wanted, in words.

    Examples
    --------
    >>> print(Shortfall(asked=5, found=2, why=Why.NOT_FOUND, count=1803))
    Found 2 of 5: no others found among 1,803 candidates
    """

    asked: int
    found: int
    why: Why = Why.NOT_FOUND
    count: int = 0
    target: str = "any other decision"

    @property
    def already(self) -> bool:
        """Whether the instance already has the decision asked for, so that nothing has to change."""
        return self.why is Why.ALREADY

    @property
    def reason(self) -> str:
        """The reason in words."""
        return Reason.of(self).text

    def __str__(self) -> str:
        return f"Found {self.found} of {self.asked}: {self.reason}"


@dataclass(frozen=True)
class Reason:
    """One reason, counted over instances; if its numbers differ, from the smallest to the largest.

    Examples
    --------
    >>> both = Reason.of(Shortfall(5, 0, count=812)) + Reason.of(Shortfall(5, 0, count=1204))
    >>> both.text, both.instances, both.without
    ('none found among 812 to 1,204 candidates', 2, 2)
    """

    why: Why
    target: str
    is_empty: bool  # whether these instances got none at all
    low: int
    high: int
    instances: int = 1

    @classmethod
    def of(cls, shortfall: Shortfall) -> Reason:
        """Make the reason of one shortfall."""
        count = shortfall.count
        return cls(shortfall.why, shortfall.target, not shortfall.found, count, count)

    def __add__(self, other: Reason) -> Reason:
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Reason(self.why, self.target, self.is_empty, low, high, self.instances + other.instances)

    @property
    def without(self) -> int:
        """How many of the instances got no counterfactual."""
        return self.instances * self.is_empty

    @property
    def text(self) -> str:
        """The reason in words."""
        count = f"{self.low:,}" if self.low == self.high else f"{self.low:,} to {self.high:,}"
        rest = "none" if self.is_empty else "no others"
        proven = "none exists" if self.is_empty else "every other holds all changes of one of these"
        return {
            Why.ALREADY: f"the model already gives {self.target}",
            Why.NOT_FOUND: f"{rest} found among {count} candidate{'s' * (self.high != 1)}",
            Why.NOT_WORTH_IT: f"the selection finds {rest} of {count} worth their cost",
            Why.NEEDLESS: f"the others of {count} found hold needless changes or hardly differ",
            Why.NOT_ALLOWED: "the constraints leave nothing to try",
            Why.UNSAFE: f"all {count} that flip{'' if self.is_empty else ' besides'} are nearer the boundary "
            f"than the margin allows",
            Why.PROVEN: f"it is proven that {proven}",
            Why.MAX_ROWS: f"the limit of {count} model row{'s' * (self.high != 1)} was reached",
            Why.MAX_SECONDS: "the time limit was reached",
        }[self.why]


def counted(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """Add up equal reasons, the most frequent first.

    Examples
    --------
    >>> one, two = Reason.of(Shortfall(5, 0, count=9)), Reason.of(Shortfall(5, 0, Why.MAX_SECONDS))
    >>> [(reason.text, reason.instances) for reason in counted([two, one, one])]
    [('none found among 9 candidates', 2), ('the time limit was reached', 1)]
    """
    total: dict[tuple[Why, str, bool], Reason] = {}
    for reason in reasons:
        key = reason.why, reason.target, reason.is_empty
        total[key] = total[key] + reason if key in total else reason
    return tuple(sorted(total.values(), key=lambda reason: (-reason.instances, reason.text)))


def total(shortfalls: Iterable[Shortfall | None]) -> list[str]:
    """Describe how many of many instances got fewer than asked for, and why; empty if none did.

    Examples
    --------
    >>> short = [Shortfall(5, 0, count=9), Shortfall(5, 2, Why.MAX_SECONDS), Shortfall(5, 0, Why.ALREADY)]
    >>> total([None, *short])
    ['2 of 4 instances got fewer than 5: none found among 9 candidates (1), the time limit was reached (1).',
     '1 of 4 instances already has the decision asked for.']
    """
    every = list(shortfalls)
    already = sum(each is not None and each.already for each in every)
    fewer = [each for each in every if each is not None and not each.already]
    notes = []
    if fewer:
        asked = {each.asked for each in fewer}
        least = f"{asked.pop()}" if len(asked) == 1 else "asked for"
        why = [f"{each.text} ({each.instances:,})" for each in counted(Reason.of(each) for each in fewer)]
        notes.append(f"{_of(len(fewer), len(every))} got fewer than {least}: {', '.join(why)}.")
    if already:
        has = "has" if already == 1 else "have"
        notes.append(f"{_of(already, len(every))} already {has} the decision asked for.")
    return notes


def _of(some: int, every: int) -> str:
    return f"{some:,} of {every:,} instance{'s' * (every != 1)}"
