"""The ten measures of one answer in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from counterpoint.data.known import Population
from counterpoint.metrics.measures import Measures
from counterpoint.show.wording import number_text

# Distances between known instances are measured from this many of them to this many.
FROM, TO = 200, 4_000
NONE = "–"


@dataclass(frozen=True)
class Statement:
    """One measure: its name, its value, what it means, and whether more or less is better."""

    name: str
    figure: str
    text: str
    better: Literal["more", "less"]


@dataclass(frozen=True)
class Yardstick:
    """Typical distances between known instances, to compare the distances of an answer with.

    Parameters
    ----------
    apart
        The median distance between two known instances.
    nearest
        The median distance of a known instance from the closest other one.

    Examples
    --------
    >>> from counterpoint.data.schema import Schema
    >>> rows = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> Yardstick.of(Population.of(Schema.infer(rows), rows, np.array([0, 0, 1, 1])))
    Yardstick(apart=1.5, nearest=1.0)
    """

    apart: float
    nearest: float

    @classmethod
    def of(cls, known: Population) -> Yardstick:
        """Measure distances between a sample of the known instances."""
        known = known.measured
        to = known.sample(np.random.default_rng(0), TO)
        away = known.distance.measure(to.sample(np.random.default_rng(1), FROM).embedded, to.embedded)
        # At distance 0 is the instance itself, or a copy.
        away[away == 0] = np.inf
        nearest = away.min(axis=1)
        return cls(_median(away), _median(nearest))


@dataclass(frozen=True)
class Effort:
    """The cost of an answer: model calls and rows."""

    calls: int
    rows: int


def statements(
    measures: Measures, k: int, width: int, yardstick: Yardstick, effort: Effort, parts: str = "features"
) -> tuple[Statement, ...]:
    """Describe the ten measures of one answer to a question for k counterfactuals.

    `width` is the number of features of an instance, or of cells, as `parts` says.

    Examples
    --------
    >>> measures = Measures(1, 1, 0.25, 0.5, 0.1, 0.6, 0.2, 0.75)
    >>> said = statements(measures, 5, 20, Yardstick(1.2, 0.4), Effort(7, 900))
    >>> len(said), said[4].text
    (10, 'A counterfactual changes 2 of 20 features on average.')
    """
    return (
        *_availability(measures, k, parts),
        *_closeness(measures, width, yardstick, parts),
        *_diversity(measures, width, parts),
        *_whole(measures, effort),
    )


def _availability(m: Measures, k: int, parts: str) -> Sequence[Statement]:
    found, kept = round(m.size * k), round(m.act * k)
    return (
        Statement("Availability", f"{m.size:.0%}", f"{found} of the {k} asked for were found.", "more"),
        Statement(
            "Actionability",
            f"{m.act:.0%}",
            f"{kept} of the {k} asked for were found and change only {parts} that may change.",
            "more",
        ),
    )


def _closeness(m: Measures, width: int, yardstick: Yardstick, parts: str) -> Sequence[Statement]:
    apart, nearest = brief(yardstick.apart), brief(yardstick.nearest)
    return (
        _measured(
            "Implausibility",
            m.impl,
            f"The known instance closest to a counterfactual is {brief(m.impl)} away on average. A known "
            f"instance is typically {nearest} away from the closest other one.",
            "less",
        ),
        _measured(
            "Distance",
            m.dis_dist,
            f"A counterfactual is {brief(m.dis_dist)} from x on average. Two known instances are typically "
            f"{apart} apart.",
            "less",
        ),
        _measured(
            "Changes",
            m.dis_count,
            f"A counterfactual changes {brief(m.dis_count * width)} of {width:,} {parts} on average.",
            "less",
            share=True,
        ),
    )


def _diversity(m: Measures, width: int, parts: str) -> Sequence[Statement]:
    pair = "Two counterfactuals, each drawn at random,"
    return (
        _measured(
            "Diversity in distance",
            m.div_dist,
            f"{pair} are {brief(m.div_dist)} apart on average.",
            "more",
        ),
        _measured(
            "Diversity in changes",
            m.div_count,
            f"{pair} differ in {brief(m.div_count * width)} of {width:,} {parts} on average.",
            "more",
            share=True,
        ),
    )


def _whole(m: Measures, effort: Effort) -> Sequence[Statement]:
    asked = f"The model was called {_times(effort.calls)}, with {effort.rows:,} rows in total."
    timed = f"The answer took {brief(m.runtime)} seconds. {asked}"
    seconds = NONE if np.isnan(m.runtime) else f"{brief(m.runtime)} s"
    return (
        _measured(
            "Discriminative power",
            m.dipo,
            f"Known instances near x, half of them with another decision, are each given the decision of "
            f"the most similar of x and the counterfactuals. This is right for {m.dipo:.0%} of them.",
            "more",
            share=True,
        ),
        _measured(
            "Instability",
            m.inst,
            f"The known instance most similar to x with the same decision was explained too. Its "
            f"counterfactuals are {brief(m.inst)} from these on average, relative to its distance from x.",
            "less",
        ),
        Statement("Time", seconds, asked if np.isnan(m.runtime) else timed, "less"),
    )


def _measured(
    name: str, value: float, text: str, better: Literal["more", "less"], *, share: bool = False
) -> Statement:
    """Describe a measure, or say that there is nothing to measure."""
    if np.isnan(value):
        return Statement(name, NONE, "Not measured: there is nothing to measure.", better)
    return Statement(name, f"{value:.0%}" if share else brief(value), text, better)


def brief(value: float) -> str:
    """Write a measured number with two significant digits, or three from ten on.

    Examples
    --------
    >>> brief(0.2345), brief(12.345)
    ('0.23', '12.3')
    """
    return number_text(value, digits=2 if abs(value) < 10 else 3)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _median(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else np.nan
