"""Facts about a study: means, ranks, and which differences are significant.

All of it is computed from the results, one row an instance; nothing here draws or prints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from counterpoint.selection.selection import NAMED

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
    Metric("runtime", False, "Runtime", "seconds per decision, one at a time"),
)
"""The ten metrics in the paper's order."""

NAMES = [metric.name for metric in METRICS]

ON_SIGNALS = tuple(name for name in NAMES if name != "act")
"""The metrics for images and series: all their cells may change, so that act would be size once more."""

SIGNS = pd.Series({metric.name: -1.0 if metric.more else 1.0 for metric in METRICS})
"""Times these, less is better in every metric."""

OURS = "Counterpoint"
"""Our ensemble as it comes, which the claims are about."""

SETTINGS = (OURS, *(f"{OURS} {name}" for name in list(NAMED)[1:]))
"""Our ensemble as it comes, and its named settings."""

CODECS = (f"{OURS} I", f"{OURS} K4", f"{OURS} K7")
"""Our ensemble on images and series with codecs other than the autoencoder: identity and kernels."""

PAPER = "ECE (paper)"
"""The paper's own method, to the letter."""

PAPER_CODECS = ("ECE_I (paper)", "ECE_K4 (paper)", "ECE_K7 (paper)")
"""The same on images and series with codecs other than the autoencoder."""

ABLATION = (PAPER, "+ whole pool", "+ our selection", "+ Polish", "+ our base explainers", OURS)
"""The way from the paper's method to ours, one step at a time; the last step adds Guided and Evolution."""

STEPS = ABLATION[1:-1]
"""The methods in between. They are in the table of the ablation only, as they would shift all ranks."""

BY_DISTANCE = ("impl", "dis_dist", "div_dist", "dipo", "inst")
"""The metrics that depend on a distance."""

ANOTHER = "_quantile"
"""Ends the names of the columns with these metrics under a distance that no method searches with."""

BASES = ("BCE-B", "BCE-T", "BCE-S", "BCE-N")
"""Our base explainers, each alone."""

PEERS = (
    PAPER,
    *PAPER_CODECS,
    *("DiCE random", "DiCE genetic", "DiCE gradient", "FAT", "CEM", "CEGP", "WACH", "CEML", "NICE", "CFNOW"),
    *("CBCE", "Wildboar"),
)
"""Those we compare with: the paper's method, other packages, and the case-based explainer written anew."""

REWRITTEN = ("CBCE", PAPER, *PAPER_CODECS)
"""Of these, what is in our own package: ranked with the others, but nothing to pick instead of it."""


def means(results: pd.DataFrame) -> pd.DataFrame:
    """Take the mean of each metric in each cell: a data set, a black box, a method and a k.

    Values that do not exist are skipped. Beside the means stand `instances`, how many they are over (0 where
    the method could not run), `valid`, the share of counterfactuals among the rows given, `errors`, and
    `batched`, the seconds per decision in a batch, for methods that take batches.

    Examples
    --------
    >>> row = dict(set="toy", black_box="forest", method="Counterpoint", k=1, given=1, valid=1, error=None)
    >>> row |= dict.fromkeys(NAMES, 0.5)
    >>> table = means(pd.DataFrame([row | {"instance": 0, "inst": None}, row | {"instance": 1, "size": 1.0}]))
    >>> table[["method", "size", "inst", "instances", "valid"]].values.tolist()
    [['Counterpoint', 0.75, 0.5, 2, 1.0]]
    """
    lacking = [name for name in [*CELL, "instance", "given", "valid", "error", *NAMES] if name not in results]
    if lacking:
        raise ValueError(f"Results must have the columns {lacking}. Take the frame that the study returns.")
    rows = results.assign(batched=results.get("batched", np.nan)).astype(
        dict.fromkeys([*NAMES, "batched"], float)
    )
    rows["instances"] = (rows["instance"] >= 0).astype(int)
    rows["errors"] = rows["error"].notna().astype(int)
    grouped = rows.groupby(CELL, sort=False, observed=True)
    table = grouped[[*NAMES, "batched"]].mean()
    sums = grouped[["instances", "given", "valid", "errors"]].sum()
    table["instances"] = sums["instances"]
    table["valid"] = sums["valid"] / sums["given"].where(sums["given"] > 0)
    table["errors"] = sums["errors"]
    return table.reset_index()


def under_another_distance(results: pd.DataFrame) -> pd.DataFrame | None:
    """Measure the same answers with a distance that no method searches with; None if that was not done.

    Examples
    --------
    >>> results = pd.DataFrame({"impl": [1.0], "impl_quantile": [0.25], "size": [1.0]})
    >>> under_another_distance(results.assign(**{f"{n}{ANOTHER}": 0.5 for n in BY_DISTANCE[1:]})).impl.item()
    0.25
    """
    names = [f"{name}{ANOTHER}" for name in BY_DISTANCE]
    if not all(name in results for name in names):
        return None
    return results.assign(**{name: results[f"{name}{ANOTHER}"] for name in BY_DISTANCE})


def ranks(means: pd.DataFrame, methods: Sequence[str], metrics: Sequence[str] = NAMES) -> pd.DataFrame:
    """Rank the methods, 1 is best, in every run: a data set, a black box, a k and one of the metrics.

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
    wide = {name: ours.pivot(index=WHERE, columns="method", values=name) for name in metrics}
    costs = pd.concat({name: wide[name] * SIGNS[name] for name in metrics}, names=["metric"])
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
    if p < alpha:
        apart = posthoc_nemenyi_friedman(sorted_ranks).to_numpy() < alpha
    width = float(stats.studentized_range.ppf(1 - alpha, count, np.inf)) / np.sqrt(2)
    difference = width * np.sqrt(count * (count + 1) / (6 * runs))
    names = tuple(str(name) for name in order.index)
    return CriticalDifference(names, tuple(order), runs, p, float(difference), _groups(names, apart))


@dataclass(frozen=True)
class Contest:
    """Methods that can be ranked together, the means of the cells in which they are, and by which metrics."""

    methods: tuple[str, ...]
    means: pd.DataFrame = field(compare=False, repr=False)
    metrics: tuple[str, ...] = tuple(NAMES)

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """The ranks in every run."""
        return ranks(self.means, self.methods, self.metrics)


def contests(
    means: pd.DataFrame, methods: Sequence[str], metrics: Sequence[str] = NAMES
) -> tuple[Contest, ...]:
    """Decide who is ranked with whom, so that no method loses runs that it was never made for.

    The first contest is over all cells, among the methods that ran on every black box. If some ran on a part
    of the black boxes only, a second one is over the cells in which all of those ran. A method that ran
    nowhere is in neither; nor, where two of them share no cell at all, is the one that ran in fewer.
    """
    ran = means[(means["instances"] > 0) & means["method"].isin(methods)]
    boxes = ran.groupby("method")["black_box"].nunique()
    everywhere = [name for name in methods if boxes.get(name) == ran["black_box"].nunique()]
    cells = {name: set(_places(ran[ran["method"] == name])) for name in methods}
    partly = [name for name in methods if cells[name] and name not in everywhere]
    found = []
    if everywhere:
        found.append(Contest(tuple(everywhere), means[means["method"].isin(everywhere)], tuple(metrics)))
    partly.sort(key=lambda name: -len(cells[name]))
    while partly and not (shared := set.intersection(*(cells[name] for name in partly))):
        partly.pop()
    if partly:
        names = tuple(name for name in methods if name in {*everywhere, *partly})
        cells_of_all = means[means["method"].isin(names) & _places(means).isin(shared)]
        found.append(Contest(names, cells_of_all, tuple(metrics)))
    return tuple(found)


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
