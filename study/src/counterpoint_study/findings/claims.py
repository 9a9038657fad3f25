"""What may be claimed of our methods against their peers, judged by the results of a study."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from counterpoint_study.findings.ranks import (
    CODECS,
    METRICS,
    NAMES,
    ON_SIGNALS,
    OURS,
    PAPER,
    PEERS,
    REWRITTEN,
    SETTINGS,
    SIGNS,
    TIE,
    WHERE,
    Contest,
    CriticalDifference,
    can_be_tested,
    contests,
    critical_difference,
    means,
    under_another_distance,
)

ENOUGH = 0.8
"""A peer that finds less than this of what is wanted is not matched."""

LEADS = ("dipo", "impl", "inst", "size", "runtime")
"""The metrics in which our method is claimed to be first, or tied with the first."""

PLOTTED = ("size", "impl", "dis_dist", "div_dist", "runtime")
"""The metrics that the paper plots for images and series."""


@dataclass(frozen=True)
class Standing:
    """Where our method stands among others.

    `runs` says over which runs: those of one metric, by its name; all (``"overall"``); those of the cells in
    which methods ran that cannot explain every black box (``"limited"``); those of the metrics that the
    paper plots for images and series (``"plotted"``); or all, with the answers measured by a distance that no
    method searches with (``"quantiles"``).
    """

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
    """One of our settings beside a peer, on the very instances that the peer has values for.

    A peer that runs out of time, or finds answers to the easy ones only, would else be compared with a
    setting that answers all. `best_cells` counts the cells in which the setting is at least as good on every
    metric at once; `loses` names the metrics on which it is worse on the average over the cells.
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
    `matched` counts the single cells in which one is. `explained` of `asked` says on how many instances of
    all cells the peer was run: a slow one runs out of time.
    """

    peer: str
    size: float
    explained: int
    asked: int
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
    headline
        What is claimed of our method's rank.
    wins
        Whether that is so.
    overall
        Our method in each contest with others.
    matches
        Each peer that finds at least `ENOUGH` of what is wanted, beside our settings.
    leads
        Our method within the metrics of `LEADS`. Claimed is that it is first or tied with the first.
    paper
        The paper's method among the others, without ours: what the paper's own claim is about.
    """

    headline: str
    wins: bool
    overall: tuple[Standing, ...]
    matches: tuple[Match, ...] = ()
    leads: tuple[Standing, ...] = ()
    paper: Standing | None = None

    @property
    def packages(self) -> tuple[Match, ...]:
        """The matches of other packages, which the claim is about."""
        return tuple(match for match in self.matches if match.peer not in REWRITTEN)

    @property
    def rewritten(self) -> tuple[Match, ...]:
        """The matches of methods that are in our own package as well."""
        return tuple(match for match in self.matches if match.peer in REWRITTEN)


def claims(results: pd.DataFrame, settings: Sequence[str] = SETTINGS, peers: Sequence[str] = PEERS) -> Claims:
    """Find out what may be claimed on tables of our settings against the peers; the first is ranked.

    It is to be first in each contest and, over all runs, all others are to be significantly worse.
    """
    table = means(results)
    sizes = table[table["instances"] > 0].groupby("method")["size"].mean()
    ours, rivals = ([name for name in names if name in sizes] for names in (settings, peers))
    ranked = settings[0]
    held = _contests_of(ranked, table, rivals, NAMES)
    by_metric = [(name, _of_metrics(each.ranks, [name])) for each in held[:1] for name in LEADS]
    named = zip(("overall", "limited"), held, strict=False)
    tables = [(name, each.ranks) for name, each in named]
    overall = _standings(ranked, tables + _elsewhere(ranked, results, rivals, NAMES))
    return Claims(
        headline=f"{ranked} ranks first over all runs, significantly",
        wins=all(each.first for each in overall)
        and not any(each.not_beaten for each in overall if each.runs == "overall"),
        overall=overall,
        matches=tuple(
            _match(results, ours, name, sizes[name]) for name in rivals if sizes[name] >= ENOUGH - TIE
        ),
        leads=_standings(ranked, by_metric),
        paper=_paper_standing(table, rivals, NAMES),
    )


def claims_on_signals(results: pd.DataFrame) -> Claims:
    """Find out what may be claimed on images and series, where our ensemble is ranked with its codecs.

    It is to have the best mean rank of all, by all metrics and by those that the paper plots.
    """
    table, others = means(results), [*CODECS, *PEERS]
    (held, *_) = _contests_of(OURS, table, others, ON_SIGNALS)
    tables = [("overall", held.ranks), ("plotted", _of_metrics(held.ranks, PLOTTED))]
    overall = _standings(OURS, tables + _elsewhere(OURS, results, others, ON_SIGNALS))
    return Claims(
        headline=f"{OURS} has the best mean rank of the methods compared",
        wins=all(each.first for each in overall),
        overall=overall,
        paper=_paper_standing(table, PEERS, ON_SIGNALS),
    )


def beside(results: pd.DataFrame, setting: str, peer: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Take the means of a setting and of a peer in each cell, of the instances that the peer has values for.

    A value that the setting lacks where the peer has one is as bad as can be.
    """
    rows = results[results["method"].isin([setting, peer]) & (results["instance"] >= 0)]
    values = rows.set_index(["method", *WHERE, "instance"])[NAMES].astype(float)
    theirs = values.loc[peer]
    own = values.loc[setting].reindex(theirs.index).fillna(np.inf * SIGNS).where(theirs.notna())
    return own.groupby(WHERE).mean(), theirs.groupby(WHERE).mean()


def _contests_of(
    ours: str, table: pd.DataFrame, others: Sequence[str], metrics: Sequence[str]
) -> list[Contest]:
    """Hold the contests that our method is in, by the means of cells."""
    if not ((table["method"] == ours) & (table["instances"] > 0)).any():
        raise ValueError(f"The claims are about {ours!r}, which has no results. Run it as well.")
    return [each for each in contests(table, [ours, *others], metrics) if ours in each.methods]


def _elsewhere(
    ours: str, results: pd.DataFrame, others: Sequence[str], metrics: Sequence[str]
) -> list[tuple[str, pd.DataFrame]]:
    """Rank by the same answers, measured with a distance that no method searches with, if that was done."""
    again = under_another_distance(results)
    if again is None:
        return []
    return [("quantiles", each.ranks) for each in _contests_of(ours, means(again), others, metrics)[:1]]


def _paper_standing(table: pd.DataFrame, others: Sequence[str], metrics: Sequence[str]) -> Standing | None:
    """Find where the paper's method stands among the others, without ours."""
    if not ((table["method"] == PAPER) & (table["instances"] > 0)).any():
        return None
    held = _contests_of(PAPER, table, [name for name in others if name != PAPER], metrics)
    found = _standings(PAPER, [("overall", each.ranks) for each in held[:1]])
    return found[0] if found else None


def _standings(ours: str, tables: Iterable[tuple[str, pd.DataFrame]]) -> tuple[Standing, ...]:
    """Test each table of ranks, where there is enough to test."""
    return tuple(
        Standing(runs, critical_difference(table), ours) for runs, table in tables if can_be_tested(table)
    )


def _match(results: pd.DataFrame, settings: Sequence[str], peer: str, size: float) -> Match:
    """Compare a peer with each setting, cell by cell and on the average over cells."""
    duels, matched = [], []
    for setting in settings:
        own, theirs = (table * SIGNS for table in beside(results, setting, peer))
        measured = theirs.notna()
        dominates = ((own <= theirs + TIE) | ~measured).all(axis=1)
        as_good = (own.mean() <= theirs.mean() + TIE) | ~measured.any()
        duels.append(Duel(setting, int(dominates.sum()), tuple(as_good.index[~as_good])))
        matched.append(dominates)
    by_any = np.any(matched, axis=0)
    counts = results[results["instance"] >= 0].groupby("method").size()
    asked = max(int(counts[name]) for name in settings)
    return Match(peer, float(size), int(counts[peer]), asked, len(by_any), int(by_any.sum()), tuple(duels))


def _of_metrics(ranks: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Keep the runs of some metrics."""
    return ranks[ranks.index.get_level_values("metric").isin(metrics)]
