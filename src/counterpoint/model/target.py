"""Targets: what counts as a different decision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from counterpoint.data.types import Labels, Mask


@dataclass(frozen=True)
class Between:
    """A target for models whose output is a number: an interval, both ends included.

    Examples
    --------
    >>> Between(10, 20)(np.array([5, 10, 25]))
    array([False,  True, False])
    >>> Between(low=0.7)
    Between(low=0.7, high=inf)
    """

    low: float = -np.inf
    high: float = np.inf

    def __post_init__(self) -> None:
        ends = (self.low, self.high)
        if not all(isinstance(end, int | float | np.number) for end in ends) or not self.low <= self.high:
            raise ValueError(f"Between needs numbers with low <= high, got {self.low!r} and {self.high!r}.")

    def __call__(self, output: Labels) -> Mask:
        """Tell which outputs lie in the interval."""
        if output.ndim != 1 or output.dtype.kind not in "biuf":
            what = f"shape {output.shape}" if output.ndim != 1 else f"{output.dtype}"
            raise ValueError(
                f"Between needs one number per row, got outputs of {what}. Name the classes that count as "
                f"different, or give a function from outputs to a mask."
            )
        return np.asarray((output >= self.low) & (output <= self.high))


@dataclass(frozen=True)
class Target:
    """What counts as a flip: any other decision, one of some classes, or a test of the model's output."""

    classes: tuple[Any, ...] = ()
    test: Callable[[Labels], Any] | None = None

    @classmethod
    def of(cls, target: Any, known: list[Any], continuous: bool) -> Target:
        """Read the user's target: None, a class, several classes, or a function of the output."""
        if callable(target):
            return cls(test=target)
        if continuous:
            raise ValueError(
                f"The model's outputs are numbers, not decisions, so say which numbers count as different: "
                f"target=cp.Between(low, high), or a function from outputs to a mask. Got {target!r}. "
                f"If they are class probabilities, give what decides: the model with its predict method."
            )
        if target is None:
            return cls()
        several = isinstance(target, Collection) and not isinstance(target, str | bytes)
        asked = list(target) if several else [target]
        unknown = [c for c in asked if c not in known]
        if unknown or not asked:
            raise ValueError(
                f"target must be among the model's decisions {known}, got {unknown or target!r}. "
                f"For a test of the model's output, give a function."
            )
        return cls(classes=tuple(c for c in known if c in asked))

    def flips(self, labels: Labels, decision: Any) -> Mask:
        """Tell which labels count as different from a decision."""
        if self.test is not None:
            mask = np.asarray(self.test(labels))
            if mask.shape != (len(labels),) or mask.dtype != np.bool_:
                raise ValueError(
                    f"target must return one truth value per row: it was given {len(labels)} outputs, "
                    f"got shape {mask.shape} of {mask.dtype}."
                )
            return mask
        if self.classes:
            return np.isin(labels, self.classes)
        return np.asarray(labels != decision)

    def key(self, decision: Any) -> Hashable:
        """Return a key for this target and a decision, to cache what is learned for them."""
        if self.test is not None:
            return self.test if isinstance(self.test, Hashable) else _Same(self.test)
        return self.classes or ("not", decision)

    def __str__(self) -> str:
        if self.test is not None:
            return _words(self.test)
        return " or ".join(map(repr, self.classes)) or "any other decision"


def _words(test: Any) -> str:
    """Describe a test of the model's output, by its name if it has one."""
    if isinstance(test, partial):
        return _words(test.func)
    name: str = getattr(test, "__name__", "")
    if name == "<lambda>":
        return "what the given function accepts"
    kind: Any = type(test)
    return name or (kind.__name__ if kind.__repr__ is object.__repr__ else repr(test))


@dataclass(frozen=True, eq=False)
class _Same:
    """A key for an unhashable object; it keeps the object alive, so that no other can get its id."""

    thing: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)
