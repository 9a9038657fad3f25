"""What the paper reports on tables, each statement judged by the results of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from counterpoint.study.claims import Claims, Standing
from counterpoint.study.ranks import ECE, NAMES, PEERS, SIGNS, TIE, WHERE, means

HOLDS, PARTLY, FAILS, UNKNOWN = "holds", "in part", "does not hold", "not measured"
NONE = "–"

DICE = [name for name in PEERS if name.startswith("DiCE")]
SINGLE = ["CEM", "CEGP", "WACH"]
REST = [*DICE, "CBCE", "FAT", "CEML"]
EVERYONE = [ECE, *REST, *SINGLE]
"""The paper's methods; those we compare with beyond it are in none of its statements."""

# "In line with" and "equivalent" are not numbers: here they mean that means are at most this far apart.
NEAR = 0.1
MANY = 0.25
NOTABLE = 0.5
MOST = 0.8
MINUTE = 60.0
SPREAD = ("dis_dist", "dis_count", "div_dist", "div_count")

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


def statements(results: pd.DataFrame, found: Claims | None) -> list[Statement]:
    """Judge what the paper's text says of the plots on tables, by the results."""
    table = means(results)
    seen = _Seen(table[table["instances"] > 0])
    return [
        *_on_size(seen),
        *_on_spread(seen),
        *_on_plausibility(seen),
        *_on_stability(seen, results),
        Statement.judged(
            "All but FAT and ECE take more than a minute an instance.",
            "mean runtime; another machine, and a time limit for peers",
            seen.only("runtime", [n for n in EVERYONE if n not in (ECE, "FAT")], lambda x: x > MINUTE),
        ),
        Statement.judged(
            "ECE ranks best over all runs, and the difference is significant.",
            "mean rank, Nemenyi's test at 95 %, against all who ran on every black box",
            _standing_parts(found.overall[0]) if found and found.overall else [],
        ),
    ]


def _on_size(seen: _Seen) -> list[Statement]:
    """Judge who returns how many, and how many of them are actionable."""
    return [
        Statement.judged(
            "Only ECE, DiCE, CBCE and FAT return at least 80 % of the counterfactuals wanted.",
            f"mean size ≥ {MOST} for these and for no other",
            seen.only("size", [ECE, *DICE, "CBCE", "FAT"], lambda x: x >= MOST - TIE),
        ),
        Statement.judged(
            "Most other methods return a single one.",
            "at most one on average at the largest k",
            seen.single([*SINGLE, "CEML"]),
        ),
        Statement.judged(
            "Only ECE, FAT and CBCE return a notable share of actionable counterfactuals.",
            f"mean act ≥ {NOTABLE} for these and for no other",
            seen.only("act", [ECE, "FAT", "CBCE"], lambda x: x >= NOTABLE - TIE),
        ),
    ]


def _on_spread(seen: _Seen) -> list[Statement]:
    """Judge who is how far from the instance, and how diverse."""
    return [
        Statement.judged(
            "CBCE, and also DiCE, are diverse but far from the instance.",
            "div and dis, both kinds, at least the median of the paper's methods",
            [part for name in SPREAD for part in seen.above_median(name, ["CBCE", *DICE])],
        ),
        Statement.judged(
            "FAT is closer to the instance than ECE.", "mean dis_dist", seen.beats("FAT", [ECE], "dis_dist")
        ),
        Statement.judged(
            "FAT is less diverse than ECE.", "mean div_dist", seen.beats(ECE, ["FAT"], "div_dist")
        ),
        Statement.judged(
            "FAT and ECE are equivalent in features changed and features that differ.",
            f"mean dis_count and div_count at most {NEAR} apart",
            [*seen.near(ECE, "FAT", "dis_count"), *seen.near(ECE, "FAT", "div_count")],
        ),
    ]


def _on_plausibility(seen: _Seen) -> list[Statement]:
    """Judge who is discriminative, and who plausible."""
    return [
        Statement.judged(
            "ECE's discriminative power is slightly below that of DiCE, CBCE, FAT and CEML.",
            "mean dipo",
            [part for name in REST for part in seen.beats(name, [ECE], "dipo")],
        ),
        Statement.judged(
            "ECE is the most plausible, methods that return a single counterfactual aside.",
            "mean impl, without CEM, CEGP and WACH",
            seen.beats(ECE, REST, "impl"),
        ),
        Statement.judged(
            "ECE's implausibility is constantly below that of DiCE and FAT.",
            "mean impl at every k",
            seen.always(ECE, [*DICE, "FAT"], "impl"),
        ),
        Statement.judged(
            "ECE's implausibility is in line with CBCE's.",
            f"mean impl at most {NEAR} apart",
            seen.near(ECE, "CBCE", "impl"),
        ),
    ]


def _on_stability(seen: _Seen, results: pd.DataFrame) -> list[Statement]:
    """Judge who is stable, and who cannot be asked."""
    lacking = results[results["instance"] >= 0].groupby("method")["inst"].apply(lambda x: x.isna().mean())
    compared = [ECE, *REST]
    return [
        Statement.judged(
            "ECE is slightly less stable than FAT.", "mean inst", seen.beats("FAT", [ECE], "inst")
        ),
        Statement.judged(
            "ECE is slightly more stable than DiCE.", "mean inst", seen.beats(ECE, DICE, "inst")
        ),
        Statement.judged(
            "CEML is the most stable.",
            "mean inst, without CEM, CEGP and WACH",
            seen.beats("CEML", [name for name in compared if name != "CEML"], "inst"),
        ),
        Statement.judged(
            "CBCE is the least stable.",
            "mean inst, without CEM, CEGP and WACH",
            [part for name in compared if name != "CBCE" for part in seen.beats(name, ["CBCE"], "inst")],
        ),
        Statement.judged(
            "CEM, CEGP and WACH often lack counterfactuals for one of two similar instances.",
            f"inst missing for at least {MANY:.0%} of instances",
            [(f"{n} {lacking[n]:.0%}", lacking[n] >= MANY) for n in SINGLE if n in lacking],
        ),
    ]


def _standing_parts(standing: Standing) -> list[Part]:
    """Say how our method stands, and whom it does not beat."""
    test = standing.test
    best = next(name for name in test.methods if name != standing.ours)
    text = f"{standing.ours} {test.rank(standing.ours):.2f}, the best other {best} {test.rank(best):.2f}"
    tied = [(f"{name} is not significantly worse", False) for name in standing.not_beaten]
    return [(text, standing.first), *tied]


@dataclass(frozen=True)
class _Seen:
    """The cells that ran, asked for what the statements are about; each answer is a part of a judgement."""

    table: pd.DataFrame

    def only(self, metric: str, those: Sequence[str], test: Callable[[float], bool]) -> list[Part]:
        """Find whether those methods pass a test, and no others of the paper's."""
        means = self._each(metric, EVERYONE)
        return [(f"{name} {x:.2f}", test(x) == (name in those)) for name, x in means.items()]

    def single(self, names: Sequence[str]) -> list[Part]:
        """Find whether methods return one counterfactual at most where more are wanted."""
        k, largest = list(self._by_k().items())[-1]
        counts = {name: k * x for name, x in largest._each("size", names).items()}
        return [(f"{name} {x:.2f} of {k}", x <= 1 + TIE) for name, x in counts.items() if k > 1]

    def above_median(self, metric: str, names: Sequence[str]) -> list[Part]:
        """Find whether methods have at least the median of the paper's methods' means."""
        means = self._each(metric, EVERYONE)
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

    def _by_k(self) -> dict[int, _Seen]:
        """Look at the cells of each k alone, the smallest first."""
        return {int(k): _Seen(part) for k, part in self.table.groupby("k")}

    @cached_property
    def _wide(self) -> pd.DataFrame:
        return self.table.pivot(index=WHERE, columns="method", values=NAMES)


def _better(metric: str, a: float, b: float) -> bool:
    """Tell whether a mean is better than another."""
    return bool(SIGNS[metric] * (b - a) > TIE)
