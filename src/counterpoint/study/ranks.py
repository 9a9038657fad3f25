"""Facts about a study: means, ranks, which differences are significant, and what may be claimed.

All of it is computed from the results, one row an instance; nothing here draws or prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

CELL = ["set", "black_box", "method", "k"]
WHERE = ["set", "black_box", "k"]

# Values this close are equal: what is beyond is only the rounding of sums.
TIE = 1e-9

# Fewer cannot be tested.
LEAST_METHODS, LEAST_RUNS = 3, 2


@dataclass(frozen=True)
class Metric:
    """One of the paper's ten metrics: its column, whether more of it is better, and what it says."""

    name: str
    more: bool
    title: str
    meaning: str


METRICS = (
    Metric("size", True, "Size", "counterfactuals found, as a share of the k wanted"),
    Metric("act", True, "Actionability", "those that change actionable features only, as a share of k"),
    Metric("impl", False, "Implausibility", "distance from the closest known instance"),
    Metric("dis_dist", False, "Dissimilarity, distance", "distance from the instance explained"),
    Metric("dis_count", False, "Dissimilarity, count", "share of the features that change"),
    Metric("div_dist", True, "Diversity, distance", "distance between the counterfactuals of one answer"),
    Metric("div_count", True, "Diversity, count", "share of the features in which they differ"),
    Metric("dipo", True, "Discriminative power", "how well they tell the instance's neighbours apart"),
    Metric("inst", False, "Instability", "distance from the counterfactuals of a similar instance"),
    Metric("runtime", False, "Runtime", "seconds an instance"),
)
"""The ten metrics in the paper's order."""

NAMES = [metric.name for metric in METRICS]

SETTINGS = ("ECE", "ECE close", "ECE diverse", "ECE plausible")
"""Our ensemble as it comes, which the claims are about, and its named settings."""

BASES = ("BCE-B", "BCE-T", "BCE-S", "BCE-N")
"""Our base explainers, each alone."""

PEERS = (
    *("DiCE random", "DiCE genetic", "DiCE gradient", "FAT", "CEM", "CEGP", "WACH", "CEML", "NICE", "CFNOW"),
    "CBCE",
)
"""Those we compare with: other packages and, as in the paper, the case-based explainer written anew."""

_SIGNS = pd.Series({metric.name: -1.0 if metric.more else 1.0 for metric in METRICS})


def means(results: pd.DataFrame) -> pd.DataFrame:
    """Take the mean of each metric in each cell: a data set, a black box, a method and a k.

    Values that do not exist are skipped. Beside the means stand `instances`, how many they are over (0 where
    the method could not run), `valid`, the share of counterfactuals among the rows given, and `errors`.

    Examples
    --------
    >>> row = dict(set="toy", black_box="forest", method="ECE", k=1, given=1, valid=1, error=None)
    >>> row |= dict.fromkeys(NAMES, 0.5)
    >>> table = means(pd.DataFrame([row | {"instance": 0, "inst": None}, row | {"instance": 1, "size": 1.0}]))
    >>> table[["method", "size", "inst", "instances", "valid"]].values.tolist()
    [['ECE', 0.75, 0.5, 2, 1.0]]
    """
    lacking = [name for name in [*CELL, "instance", "given", "valid", "error", *NAMES] if name not in results]
    if lacking:
        raise ValueError(f"Results must have the columns {lacking}. Take the frame that the study returns.")
    rows = results.astype(dict.fromkeys(NAMES, float))
    rows["instances"] = (rows["instance"] >= 0).astype(int)
    rows["errors"] = rows["error"].notna().astype(int)
    grouped = rows.groupby(CELL, sort=False, observed=True)
    table = grouped[NAMES].mean()
    sums = grouped[["instances", "given", "valid", "errors"]].sum()
    table["instances"] = sums["instances"]
    table["valid"] = sums["valid"] / sums["given"].where(sums["given"] > 0)
    table["errors"] = sums["errors"]
    return table.reset_index()


def ranks(means: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Rank the methods, 1 is best, in every run: a data set, a black box, a k and a metric.

    Equal values share the mean of their ranks. A method without a value comes last, shared with all others
    that have none. A run in which none of them has a value is left out.

    Returns
    -------
    pandas.DataFrame
        One row a run, one column a method.

    Examples
    --------
    >>> table = pd.DataFrame({"set": "toy", "black_box": "forest", "k": 1, "method": list("abc")})
    >>> table = table.assign(**dict.fromkeys(NAMES, np.nan)).assign(size=[0.5, 1.0, 0.5])
    >>> ranks(table, ["a", "b", "c"]).values.tolist()
    [[2.5, 1.0, 2.5]]
    """
    ours = means[means["method"].isin(methods)]
    costs = pd.concat({name: _wide(ours, name) * _SIGNS[name] for name in NAMES}, names=["metric"])
    costs = costs.reindex(columns=list(methods)).dropna(how="all").reorder_levels([*WHERE, "metric"])
    values = np.array([_ranked(row) for row in costs.to_numpy(dtype=np.float64)]).reshape(costs.shape)
    return pd.DataFrame(values, index=costs.index, columns=list(methods))


def mean_ranks(ranks: pd.DataFrame) -> pd.DataFrame:
    """Take each method's mean rank by metric and over all runs, the best method first.

    Returns
    -------
    pandas.DataFrame
        One row a method, one column a metric, and `overall`.
    """
    by_metric = ranks.groupby(level="metric").mean().T.reindex(columns=NAMES).dropna(axis=1, how="all")
    table = by_metric.assign(overall=ranks.mean())
    table.columns.name = None
    return table.sort_values("overall", kind="stable")


@dataclass(frozen=True)
class CriticalDifference:
    """Mean ranks, the best first, and which of them differ by more than chance.

    Parameters
    ----------
    methods, mean_ranks
        The methods and their mean ranks.
    runs
        How many rankings the means are over.
    p
        Of Friedman's test that all methods rank alike.
    difference
        Nemenyi's critical difference: mean ranks this far apart differ.
    groups
        The widest groups of methods that do not differ; a method that differs from all others is in none.
    """

    methods: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    runs: int
    p: float
    difference: float
    groups: tuple[tuple[str, ...], ...]

    def alike(self, a: str, b: str) -> bool:
        """Tell whether two methods do not differ significantly."""
        return a == b or any(a in group and b in group for group in self.groups)

    def rank(self, method: str) -> float:
        """Look a method's mean rank up."""
        return self.mean_ranks[self.methods.index(method)]


def can_be_tested(ranks: pd.DataFrame) -> bool:
    """Tell whether there are methods and runs enough for `critical_difference`."""
    runs, methods = ranks.shape
    return bool(runs >= LEAST_RUNS and methods >= LEAST_METHODS)


def critical_difference(ranks: pd.DataFrame, alpha: float = 0.05) -> CriticalDifference:
    """Test which methods differ: Friedman's test over all, then Nemenyi's for each pair.

    Where Friedman's test finds no difference at all, no pair is said to differ.

    Examples
    --------
    >>> table = pd.DataFrame({"a": [1.0] * 8, "b": [2.0, 3.0] * 4, "c": [3.0, 2.0] * 4})
    >>> found = critical_difference(table)
    >>> found.methods, found.groups, found.alike("a", "b")
    (('a', 'b', 'c'), (('b', 'c'),), False)
    """
    runs, count = ranks.shape
    if not can_be_tested(ranks):
        raise ValueError(
            f"The test needs at least {LEAST_METHODS} methods and {LEAST_RUNS} runs, got {count} and {runs}. "
            f"Add methods or data sets."
        )
    from scikit_posthocs import posthoc_nemenyi_friedman

    order = ranks.mean().sort_values(kind="stable")
    sorted_ranks = ranks[order.index].reset_index(drop=True)
    p, apart = 1.0, np.zeros((count, count), dtype=np.bool_)
    if np.ptp(sorted_ranks.to_numpy(), axis=1).any():  # else all are tied everywhere, and there is no test
        p = float(stats.friedmanchisquare(*(sorted_ranks[name] for name in sorted_ranks)).pvalue)
        apart = posthoc_nemenyi_friedman(sorted_ranks).to_numpy() < alpha if p < alpha else apart
    width = float(stats.studentized_range.ppf(1 - alpha, count, np.inf)) / np.sqrt(2)
    difference = width * np.sqrt(count * (count + 1) / (6 * runs))
    names = tuple(str(name) for name in order.index)
    return CriticalDifference(names, tuple(order), runs, p, float(difference), _groups(names, apart))


@dataclass(frozen=True)
class Contest:
    """Methods that can be ranked together, and the means of the cells in which they are."""

    methods: tuple[str, ...]
    means: pd.DataFrame = field(compare=False, repr=False)

    @property
    def ranks(self) -> pd.DataFrame:
        """The ranks in every run."""
        return ranks(self.means, self.methods)


def contests(means: pd.DataFrame, methods: Sequence[str]) -> tuple[Contest, ...]:
    """Decide who is ranked with whom, so that no method loses runs that it was never made for.

    The first contest is over all cells, among the methods that ran on every black box. If some ran on a part
    of the black boxes only, a second one is over the cells in which all of those ran. A method that ran
    nowhere is in neither; nor, where two of them share no cell at all, is the one that ran in fewer.
    """
    ran = means[(means["instances"] > 0) & means["method"].isin(methods)]
    boxes = ran.groupby("method")["black_box"].nunique()
    everywhere = [name for name in methods if boxes.get(name, 0) == ran["black_box"].nunique() > 0]
    cells = {name: set(_places(ran[ran["method"] == name])) for name in methods}
    partly = [name for name in methods if cells[name] and name not in everywhere]
    found = [Contest(tuple(everywhere), means[means["method"].isin(everywhere)])] if everywhere else []
    partly.sort(key=lambda name: -len(cells[name]))
    while partly and not set.intersection(*(cells[name] for name in partly)):
        partly.pop()
    if partly:
        names = tuple(name for name in methods if name in {*everywhere, *partly})
        shared = _places(means).isin(set.intersection(*(cells[name] for name in partly)))
        found.append(Contest(names, means[means["method"].isin(names) & shared]))
    return tuple(found)


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


ENOUGH = 0.8
LEADS = ("dipo", "impl", "inst", "size", "runtime")


def claims(means: pd.DataFrame, settings: Sequence[str] = SETTINGS, peers: Sequence[str] = PEERS) -> Claims:
    """Find out what may be claimed of our settings, the first of which is ranked, against the peers."""
    ran = means[means["instances"] > 0]
    ours = [name for name in settings if name in set(ran["method"])]
    if settings[0] not in ours:
        raise ValueError(f"The claims are about {settings[0]!r}, which has no results. Run it as well.")
    rivals = [name for name in peers if name in set(ran["method"])]
    held = [each.ranks for each in contests(means, [settings[0], *rivals]) if settings[0] in each.methods]
    by_metric = [(name, _of_metric(held[0], name)) for name in LEADS] if held else []
    overall = [Standing("overall", critical_difference(t), settings[0]) for t in held if can_be_tested(t)]
    leads = [Standing(name, critical_difference(t), settings[0]) for name, t in by_metric if can_be_tested(t)]
    sizes = ran.groupby("method")["size"].mean()
    matches = tuple(_match(ran, ours, name, sizes[name]) for name in rivals if sizes[name] >= ENOUGH - TIE)
    return Claims(tuple(overall), matches, tuple(leads))


def _match(ran: pd.DataFrame, settings: Sequence[str], peer: str, size: float) -> Match:
    """Compare a peer with each setting, cell by cell and on the average over cells."""
    costs = ran.set_index(["method", *WHERE])[NAMES] * _SIGNS
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


def _wide(means: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Lay one metric out with a row a data set, black box and k, and a column a method."""
    return means.pivot(index=WHERE, columns="method", values=metric)


def _places(means: pd.DataFrame) -> pd.Series:
    """Name each row's data set, black box and k."""
    return pd.Series(list(means[WHERE].itertuples(index=False, name=None)), index=means.index, dtype=object)


def _ranked(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rank costs, the least first; those without one last."""
    known = np.flatnonzero(~np.isnan(costs))
    order = known[np.argsort(costs[known])]
    level = np.full(len(costs), np.inf)
    level[order] = np.cumsum(np.diff(costs[order], prepend=costs[order][:1]) > TIE)
    return np.asarray(stats.rankdata(level))


def _groups(names: tuple[str, ...], apart: NDArray[np.bool_]) -> tuple[tuple[str, ...], ...]:
    """Find the longest stretches of names, sorted by rank, whose ends do not differ."""
    found: list[tuple[int, int]] = []
    for start in range(len(names)):
        end = max(np.flatnonzero(~apart[start]), default=start)
        if end > start and (not found or end > found[-1][1]):
            found.append((start, int(end)))
    return tuple(names[start : end + 1] for start, end in found)
