"""Statements of the paper, and what a study's cells can be asked to judge them by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from counterpoint_study.findings.ranks import NAMES, SIGNS, TIE, WHERE

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "in part", "does not hold", "not measured"
NONE = "–"

# "In line with" and "equivalent" are not numbers: here they mean that means are at most this far apart.
NEAR = 0.1

# What was compared, and whether it is as the paper says.
Part = tuple[str, bool]


@dataclass(frozen=True)
class Statement:
    """Something the paper reports, how it is judged here, what was measured, and whether it holds."""

    text: str
    rule: str
    measured: str
    verdict: str

    @classmethod
    def judged(cls, text: str, rule: str, parts: Iterable[Part]) -> Statement:
        """Judge a statement by its parts: it holds if all do, and in part if some do.

        Examples
        --------
        >>> Statement.judged("a is fast", "at most a second", [("a 0.1", True), ("a 2.0", False)])
        Statement(text='a is fast', rule='at most a second', measured='✓ a 0.1; ✗ a 2.0', verdict='in part')
        """
        known = list(parts)
        truths = [truth for _, truth in known]
        verdict = UNKNOWN if not truths else HOLDS if all(truths) else PARTLY if any(truths) else FAILS
        marked = [f"{'✓' if truth else '✗'} {part}" for part, truth in known]
        return cls(text, rule, "; ".join(marked) or NONE, verdict)


@dataclass(frozen=True)
class Seen:
    """The cells that ran, asked for what the statements are about; each answer is a part of a judgement.

    Parameters
    ----------
    table
        The means of the cells that ran.
    everyone
        The paper's methods, among which one may be the only one, or above the median.
    """

    table: pd.DataFrame
    everyone: Sequence[str]

    def only(self, metric: str, those: Sequence[str], test: Callable[[float], bool]) -> list[Part]:
        """Find whether those methods pass a test, and no others of the paper's."""
        means = self._each(metric, self.everyone)
        return [(f"{name} {x:.2f}", test(x) == (name in those)) for name, x in means.items()]

    def single(self, names: Sequence[str]) -> list[Part]:
        """Find whether methods return one counterfactual at most where more are wanted."""
        k, largest = list(self._by_k().items())[-1]
        counts = {name: k * x for name, x in largest._each("size", names).items()}
        return [(f"{name} {x:.2f} of {k}", x <= 1 + TIE) for name, x in counts.items() if k > 1]

    def above_median(self, metric: str, names: Sequence[str]) -> list[Part]:
        """Find whether methods have at least the median of the paper's methods' means."""
        means = self._each(metric, self.everyone)
        middle = float(np.median(list(means.values()))) if means else np.nan
        known = [(name, means[name]) for name in names if name in means]
        return [(f"{name} {metric} {x:.2f} (median {middle:.2f})", x >= middle) for name, x in known]

    def beats(self, name: str, others: Sequence[str], metric: str) -> list[Part]:
        """Find whether a method is better than others, each over the cells in which both have a value."""
        return [
            (f"{name} {a:.2f}, {other} {b:.2f}", _better(metric, a, b))
            for other in others
            for a, b in self._both(name, other, metric)
        ]

    def always(self, name: str, others: Sequence[str], metric: str) -> list[Part]:
        """Find whether a method is better than others at every k."""
        parts = []
        for other in others:
            pairs = [pair for seen in self._by_k().values() for pair in seen._both(name, other, metric)]
            if pairs:
                ours, theirs = (", ".join(f"{x:.2f}" for x in line) for line in zip(*pairs, strict=True))
                better = all(_better(metric, a, b) for a, b in pairs)
                parts.append((f"{name} {ours}; {other} {theirs}", better))
        return parts

    def near(self, name: str, other: str, metric: str) -> list[Part]:
        """Find whether two methods are about equal."""
        return [
            (f"{metric} {name} {a:.2f}, {other} {b:.2f}", abs(a - b) <= NEAR + TIE)
            for a, b in self._both(name, other, metric)
        ]

    def _each(self, metric: str, names: Sequence[str]) -> dict[str, float]:
        """Take the means over cells of those methods that have any."""
        mean = self._wide[metric].mean().dropna()
        return {name: float(mean[name]) for name in names if name in mean}

    def _both(self, a: str, b: str, metric: str) -> list[tuple[float, float]]:
        """Take two methods' means over the cells in which both have a value; nothing if there are none."""
        both = self._wide[metric].reindex(columns=[a, b]).dropna()
        return [(float(both[a].mean()), float(both[b].mean()))] if len(both) else []

    def _by_k(self) -> dict[int, Seen]:
        """Look at the cells of each k alone, the smallest first."""
        return {int(k): Seen(part, self.everyone) for k, part in self.table.groupby("k")}

    @cached_property
    def _wide(self) -> pd.DataFrame:
        return self.table.pivot(index=WHERE, columns="method", values=NAMES)


def _better(metric: str, a: float, b: float) -> bool:
    """Tell whether a mean is better than another."""
    return bool(SIGNS[metric] * (b - a) > TIE)
