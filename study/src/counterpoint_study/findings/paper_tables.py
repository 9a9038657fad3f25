"""What the paper reports on tables, each statement judged by the results of a study."""

from __future__ import annotations

import pandas as pd

from counterpoint_study.findings.claims import Claims, Standing
from counterpoint_study.findings.ranks import PAPER, PEERS, TIE
from counterpoint_study.findings.statements import NEAR, Part, Seen, Statement

DICE = [name for name in PEERS if name.startswith("DiCE")]
SINGLE = ["CEM", "CEGP", "WACH"]
REST = [*DICE, "CBCE", "FAT", "CEML"]
EVERYONE = [PAPER, *REST, *SINGLE]
"""The paper's methods; those we compare with beyond it are in none of its statements."""

MANY = 0.25
NOTABLE = 0.5
MOST = 0.8
MINUTE = 60.0
SPREAD = ("dis_dist", "dis_count", "div_dist", "div_count")


def statements(results: pd.DataFrame, table: pd.DataFrame, found: Claims | None) -> list[Statement]:
    """Judge what the paper's text says of the plots on tables, by the results and their means."""
    seen = Seen(table[table["instances"] > 0], EVERYONE)
    return [
        *_on_size(seen),
        *_on_spread(seen),
        *_on_plausibility(seen),
        *_on_stability(seen, results),
        Statement.judged(
            "All but FAT and ECE take more than a minute an instance.",
            "mean runtime; another machine, and a time limit for peers",
            seen.only("runtime", [n for n in EVERYONE if n not in (PAPER, "FAT")], lambda x: x > MINUTE),
        ),
        Statement.judged(
            "ECE ranks best over all runs, and the difference is significant.",
            "mean rank, Nemenyi's test at 95 %, against all who ran on every black box",
            _standing_parts(found.paper) if found and found.paper else [],
        ),
    ]


def _on_size(seen: Seen) -> list[Statement]:
    """Judge who returns how many, and how many of them are actionable."""
    return [
        Statement.judged(
            "Only ECE, DiCE, CBCE and FAT return at least 80 % of the counterfactuals wanted.",
            f"mean size ≥ {MOST} for these and for no other",
            seen.only("size", [PAPER, *DICE, "CBCE", "FAT"], lambda x: x >= MOST - TIE),
        ),
        Statement.judged(
            "Most other methods return a single one.",
            "at most one on average at the largest k",
            seen.single([*SINGLE, "CEML"]),
        ),
        Statement.judged(
            "Only ECE, FAT and CBCE return a notable share of actionable counterfactuals.",
            f"mean act ≥ {NOTABLE} for these and for no other",
            seen.only("act", [PAPER, "FAT", "CBCE"], lambda x: x >= NOTABLE - TIE),
        ),
    ]


def _on_spread(seen: Seen) -> list[Statement]:
    """Judge who is how far from the instance, and how diverse."""
    return [
        Statement.judged(
            "CBCE, and also DiCE, are diverse but far from the instance.",
            "div and dis, both kinds, at least the median of the paper's methods",
            [part for name in SPREAD for part in seen.above_median(name, ["CBCE", *DICE])],
        ),
        Statement.judged(
            "FAT is closer to the instance than ECE.", "mean dis_dist", seen.beats("FAT", [PAPER], "dis_dist")
        ),
        Statement.judged(
            "FAT is less diverse than ECE.", "mean div_dist", seen.beats(PAPER, ["FAT"], "div_dist")
        ),
        Statement.judged(
            "FAT and ECE are equivalent in features changed and features that differ.",
            f"mean dis_count and div_count at most {NEAR} apart",
            [*seen.near(PAPER, "FAT", "dis_count"), *seen.near(PAPER, "FAT", "div_count")],
        ),
    ]


def _on_plausibility(seen: Seen) -> list[Statement]:
    """Judge who is discriminative, and who plausible."""
    return [
        Statement.judged(
            "ECE's discriminative power is slightly below that of DiCE, CBCE, FAT and CEML.",
            "mean dipo",
            [part for name in REST for part in seen.beats(name, [PAPER], "dipo")],
        ),
        Statement.judged(
            "ECE is the most plausible, methods that return a single counterfactual aside.",
            "mean impl, without CEM, CEGP and WACH",
            seen.beats(PAPER, REST, "impl"),
        ),
        Statement.judged(
            "ECE's implausibility is constantly below that of DiCE and FAT.",
            "mean impl at every k",
            seen.always(PAPER, [*DICE, "FAT"], "impl"),
        ),
        Statement.judged(
            "ECE's implausibility is in line with CBCE's.",
            f"mean impl at most {NEAR} apart",
            seen.near(PAPER, "CBCE", "impl"),
        ),
    ]


def _on_stability(seen: Seen, results: pd.DataFrame) -> list[Statement]:
    """Judge who is stable, and who cannot be asked."""
    lacking = results[results["instance"] >= 0].groupby("method")["inst"].apply(lambda x: x.isna().mean())
    compared = [PAPER, *REST]
    return [
        Statement.judged(
            "ECE is slightly less stable than FAT.", "mean inst", seen.beats("FAT", [PAPER], "inst")
        ),
        Statement.judged(
            "ECE is slightly more stable than DiCE.", "mean inst", seen.beats(PAPER, DICE, "inst")
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
