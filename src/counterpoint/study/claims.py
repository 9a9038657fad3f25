"""What may be claimed of our methods against their peers, judged by the means and ranks of a study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from counterpoint.study.ranks import (
    METRICS,
    NAMES,
    PEERS,
    SETTINGS,
    SIGNS,
    TIE,
    WHERE,
    CriticalDifference,
    can_be_tested,
    contests,
    critical_difference,
)

ENOUGH = 0.8
"""A peer that finds less than this of what is wanted is not matched."""

LEADS = ("dipo", "impl", "inst", "size", "runtime")
"""The metrics in which our method is claimed to be first, or tied with the first."""


@dataclass(frozen=True)
class Standing:
    """Where our method stands among others, over all runs or those of one metric."""

    runs: str
    test: CriticalDifference
    ours: str

    @property
    def tied_first(self) -> bool:
        """Whether it is first, or not significantly worse than the first."""
        return self.first or self.test.alike(self.ours, self.test.methods[0])

    @property
    def first(self) -> bool:
        """Whether no mean rank is better."""
        return self.test.rank(self.ours) <= self.test.mean_ranks[0] + TIE

    @property
    def not_beaten(self) -> tuple[str, ...]:
        """The others that are not significantly worse."""
        own = self.test.rank(self.ours)
        others = [name for name in self.test.methods if name != self.ours]
        return tuple(
            name for name in others if self.test.rank(name) < own or self.test.alike(self.ours, name)
        )


@dataclass(frozen=True)
class Duel:
    """One of our settings beside a peer, over the cells in which the peer ran.

    `best_cells` counts those in which the setting is at least as good on every metric at once; `loses` names
    the metrics on which it is worse on the average over the cells.
    """

    setting: str
    best_cells: int
    loses: tuple[str, ...]

    @property
    def as_good(self) -> int:
        """On how many metrics the setting is at least as good on average."""
        return len(METRICS) - len(self.loses)


@dataclass(frozen=True)
class Match:
    """A peer that finds most of what is wanted, beside all our settings.

    Claimed is that one setting is at least as good on every metric at once, on the average over the cells;
    `matched` counts the single cells in which one is.
    """

    peer: str
    size: float
    cells: int
    matched: int
    duels: tuple[Duel, ...]

    @property
    def best(self) -> Duel:
        """The setting that comes closest to the claim."""
        return max(self.duels, key=lambda duel: (duel.as_good, duel.best_cells))

    @property
    def holds(self) -> bool:
        """Whether the claim holds on average."""
        return not self.best.loses


@dataclass(frozen=True)
class Claims:
    """What the study promises, and whether it is so.

    Parameters
    ----------
    overall
        Our method in each contest with the peers. Claimed is that it is first and no peer is not beaten.
    matches
        Each peer that finds at least `ENOUGH` of what is wanted, beside our settings.
    leads
        Our method within the metrics of `LEADS`. Claimed is that it is first or tied with the first.
    """

    overall: tuple[Standing, ...]
    matches: tuple[Match, ...]
    leads: tuple[Standing, ...]


def claims(means: pd.DataFrame, settings: Sequence[str] = SETTINGS, peers: Sequence[str] = PEERS) -> Claims:
    """Find out what may be claimed of our settings, the first of which is ranked, against the peers."""
    ran = means[means["instances"] > 0]
    sizes = ran.groupby("method")["size"].mean()
    ours, rivals = ([name for name in names if name in sizes] for names in (settings, peers))
    ranked = settings[0]
    if ranked not in ours:
        raise ValueError(f"The claims are about {ranked!r}, which has no results. Run it as well.")
    held = [each.ranks for each in contests(means, [ranked, *rivals]) if ranked in each.methods]
    by_metric = [(name, _of_metric(table, name)) for table in held[:1] for name in LEADS]
    return Claims(
        overall=_standings(ranked, [("overall", table) for table in held]),
        matches=tuple(_match(ran, ours, name, sizes[name]) for name in rivals if sizes[name] >= ENOUGH - TIE),
        leads=_standings(ranked, by_metric),
    )


def _standings(ours: str, tables: Iterable[tuple[str, pd.DataFrame]]) -> tuple[Standing, ...]:
    """Test each table of ranks, where there is enough to test."""
    return tuple(
        Standing(runs, critical_difference(table), ours) for runs, table in tables if can_be_tested(table)
    )


def _match(ran: pd.DataFrame, settings: Sequence[str], peer: str, size: float) -> Match:
    """Compare a peer with each setting, cell by cell and on the average over cells."""
    costs = ran.set_index(["method", *WHERE])[NAMES] * SIGNS
    theirs = costs.loc[peer]
    measured = theirs.notna()
    matched = pd.Series(False, index=theirs.index)
    duels = []
    for setting in settings:
        own = costs.loc[setting].reindex(theirs.index)
        dominates = ((own <= theirs + TIE) | ~measured).all(axis=1)
        # A value that we lack where the peer has one is worse than any.
        mean = own.fillna(np.inf).where(measured).mean()
        as_good = (mean <= theirs.mean() + TIE) | ~measured.any()
        duels.append(Duel(setting, int(dominates.sum()), tuple(as_good.index[~as_good])))
        matched |= dominates
    return Match(peer, float(size), len(theirs), int(matched.sum()), tuple(duels))


def _of_metric(ranks: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Keep the runs of one metric."""
    return ranks[ranks.index.get_level_values("metric") == metric]
