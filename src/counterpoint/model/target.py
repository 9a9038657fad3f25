"""Targets: what counts as a different decision."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from counterpoint.data.types import Labels, Mask, Row


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

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval."""
        return float(self.low), float(self.high)

    def shortage(self, output: Labels) -> Row:
        """Compute how far outputs are from the interval; 0 inside."""
        return _outside(output, *self.ends)


@dataclass(frozen=True)
class Probability:
    """A target for models with `predict_proba`: how probable a class must be, both ends included.

    The model then decides by `predict_proba`, not by `predict`: the output for each row is the probability
    of the class, or of several classes together.

    Parameters
    ----------
    classes
        A class of the model, or several.
    at_least, at_most
        The interval that the probability must lie in.

    Examples
    --------
    >>> Probability("granted", at_least=0.7)
    Probability('granted', at_least=0.7)
    >>> print(Probability("granted", at_least=0.7))
    a probability of 'granted' of at least 0.7
    >>> Probability(["A", "B"], at_least=0.7)(np.array([0.25, 0.75]))
    array([False,  True])
    """

    classes: Any
    at_least: float = 0.0
    at_most: float = 1.0

    def __post_init__(self) -> None:
        several = isinstance(self.classes, Collection) and not isinstance(self.classes, str | bytes)
        classes = tuple(dict.fromkeys(self.classes)) if several else (self.classes,)
        object.__setattr__(self, "classes", classes)
        if not classes:
            raise ValueError("Probability needs at least one class of the model, got none.")
        ends = (self.at_least, self.at_most)
        numbers = all(isinstance(e, int | float | np.number) and not isinstance(e, bool) for e in ends)
        if not numbers or not 0 <= self.at_least <= self.at_most <= 1:
            raise ValueError(
                f"Probability needs 0 <= at_least <= at_most <= 1, got {self.at_least!r} and "
                f"{self.at_most!r}."
            )
        if ends == (0, 1):
            raise ValueError(
                f"Every probability lies between 0 and 1: say how probable {self.named} must be, such as "
                f"at_least=0.7."
            )

    def __call__(self, output: Labels) -> Mask:
        """Tell which probabilities lie in the interval; an end of 0 or 1 is open to rounding."""
        exact = np.asarray(output, dtype=np.float64)
        high_enough = (exact >= self.at_least) | (self.at_least <= 0)
        return np.asarray(high_enough & ((exact <= self.at_most) | (self.at_most >= 1)))

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval."""
        return float(self.at_least), float(self.at_most)

    def shortage(self, output: Labels) -> Row:
        """Compute how far probabilities are from the interval; 0 inside."""
        return _outside(output, *self.ends)

    @property
    def named(self) -> str:
        """The classes in words."""
        return " or ".join(map(repr, self.classes))

    def __str__(self) -> str:
        ends = [f"at least {self.at_least:g}"] if self.at_least > 0 else []
        ends += [f"at most {self.at_most:g}"] if self.at_most < 1 else []
        return f"a probability of {self.named} of {' and '.join(ends)}"

    def __repr__(self) -> str:
        ends = [f"at_least={self.at_least!r}"] if self.at_least > 0 else []
        ends += [f"at_most={self.at_most!r}"] if self.at_most < 1 else []
        classes = self.classes[0] if len(self.classes) == 1 else list(self.classes)
        return f"Probability({', '.join([repr(classes), *ends])})"


def _outside(output: Labels, low: float, high: float) -> Row:
    """Compute how far numbers are outside an interval."""
    numbers = np.asarray(output, dtype=np.float64)
    return np.asarray(np.maximum(0.0, np.maximum(low - numbers, numbers - high)))


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

    def shortage(self, output: Labels) -> Row | None:
        """Compute how far outputs are from what is wanted; None if only a test can tell."""
        return self.test.shortage(output) if isinstance(self.test, Between | Probability) else None

    def among(self, classes: Sequence[Any], decision: Any) -> Mask:
        """Tell which of some classes are wanted instead of a decision."""
        wanted = [each in self.classes if self.classes else each != decision for each in classes]
        return np.array(wanted, dtype=np.bool_)

    def needed(self, output: float) -> float:
        """Find the end of the wanted interval that an output would have to reach."""
        assert isinstance(self.test, Between | Probability)
        low, high = self.test.ends
        return low if output < low else high

    @property
    def probability(self) -> Probability | None:
        """The probability that is wanted, if the model is to decide by probabilities."""
        return self.test if isinstance(self.test, Probability) else None

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
    if isinstance(test, Probability):
        return str(test)
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
