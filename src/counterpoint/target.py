"""What counts as a different decision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoint.blackbox import Labels
from counterpoint.bounds import Mask


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
        if not self.low <= self.high:
            raise ValueError(f"Between needs low <= high, got {self.low} and {self.high}.")

    def __call__(self, output: Labels) -> Mask:
        """Tell which outputs lie in the interval."""
        if output.ndim != 1:
            raise ValueError(f"Between needs one number a row, got outputs of shape {output.shape}.")
        return np.asarray((output >= self.low) & (output <= self.high))


@dataclass(frozen=True)
class Target:
    """What counts as a flip: any other decision, one of some classes, or a test of the model's output."""

    classes: tuple[Any, ...] = ()
    test: Callable[[Labels], Any] | None = None

    @classmethod
    def of(cls, target: Any, known: list[Any], continuous: bool) -> Target:
        """Read what the user gave: None, a class, several classes, or a function of the output."""
        if callable(target):
            return cls(test=target)
        if continuous:
            raise ValueError(
                "The model's output is a number, so say which outputs count as different: "
                "target=cp.Between(low, high), or a function from outputs to a mask."
            )
        if target is None:
            return cls()
        several = isinstance(target, Collection) and not isinstance(target, str | bytes)
        classes = tuple(target) if several else (target,)
        unknown = [c for c in classes if c not in known]
        if unknown or not classes:
            raise ValueError(f"target must be among the model's decisions {known}, got {target!r}.")
        return cls(classes=classes)

    def flips(self, labels: Labels, decision: Any) -> Mask:
        """Tell which labels count as different from a decision."""
        if self.test is not None:
            mask = np.asarray(self.test(labels), dtype=np.bool_)
            if mask.shape != (len(labels),):
                raise ValueError(
                    f"target must return one truth value a row: {len(labels)} rows, shape {mask.shape}."
                )
            return mask
        if self.classes:
            return np.isin(labels, self.classes)
        return np.asarray(labels != decision)

    def key(self, decision: Any) -> Hashable:
        """Name the question that this target and a decision pose, for things learned once a question."""
        if self.test is not None:
            return self.test if isinstance(self.test, Hashable) else id(self.test)
        return self.classes or ("not", decision)

    def __str__(self) -> str:
        if self.test is not None:
            return getattr(self.test, "__name__", str(self.test))
        return " or ".join(map(repr, self.classes)) or "any other decision"
