"""What the paper reports on images and series, each statement judged by the results of a study.

The paper's text is about images, and says that results on series are similar, with few differences.
"""

from __future__ import annotations

import pandas as pd

from counterpoint_study.findings.claims import Claims
from counterpoint_study.findings.ranks import PAPER, PAPER_CODECS, CriticalDifference
from counterpoint_study.findings.statements import Part, Seen, Statement

VARIANTS = [PAPER, *PAPER_CODECS]
PEERS = ["CEM", "CEGP", "WACH"]
QUICK = ["CEGP", *PAPER_CODECS[:2]]


def statements(results: pd.DataFrame, table: pd.DataFrame, found: Claims | None) -> list[Statement]:
    """Judge what the paper's text says of the plots on images and series, by the results and their means."""
    seen = Seen(table[table["instances"] > 0], [*VARIANTS, *PEERS])
    return [
        *_on_answers(seen),
        *_on_runtime(seen),
        Statement.judged(
            "ECE and its variants rank best.",
            "each has a better mean rank than every peer",
            _ahead(found.paper.test) if found and found.paper else [],
        ),
    ]


def _on_answers(seen: Seen) -> list[Statement]:
    """Judge who returns how many, how diverse and how plausible."""
    return [
        Statement.judged(
            "CEM, CEGP and WACH return a single counterfactual.",
            "at most one on average at the largest k",
            seen.single(PEERS),
        ),
        Statement.judged(
            "ECE returns more alternatives than they do.", "mean size", seen.beats(PAPER, PEERS, "size")
        ),
        Statement.judged("ECE is the most diverse.", "mean div_dist", seen.beats(PAPER, PEERS, "div_dist")),
        Statement.judged(
            "WACH is the most plausible.", "mean impl", seen.beats("WACH", [*VARIANTS, "CEM", "CEGP"], "impl")
        ),
        Statement.judged(
            "CEM is less plausible than ECE and its variants.",
            "mean impl",
            [part for name in VARIANTS for part in seen.beats(name, ["CEM"], "impl")],
        ),
    ]


def _on_runtime(seen: Seen) -> list[Statement]:
    """Judge who is how fast."""
    slow = [name for name in (*VARIANTS, *PEERS) if name not in QUICK]
    return [
        Statement.judged(
            "CEGP, ECE_I and ECE_K4 are the fastest.",
            "each has a lower mean runtime than every other",
            [part for name in QUICK for part in seen.beats(name, slow, "runtime")],
        ),
        Statement.judged(
            "The autoencoder makes ECE slower.",
            "mean runtime beside that with other codecs",
            [part for name in PAPER_CODECS for part in seen.beats(name, [PAPER], "runtime")],
        ),
        Statement.judged(
            "CEM and WACH are the slowest.",
            "each has a higher mean runtime than every other; peers had a time limit",
            [part for name in (*VARIANTS, "CEGP") for part in seen.beats(name, ["CEM", "WACH"], "runtime")],
        ),
    ]


def _ahead(test: CriticalDifference) -> list[Part]:
    """Compare each of ours with the best peer."""
    ours = [name for name in test.methods if name in VARIANTS]
    rivals = [name for name in test.methods if name in PEERS]
    if not rivals:
        return []
    best = test.rank(rivals[0])
    return [
        (f"{name} {test.rank(name):.2f}, {rivals[0]} {best:.2f}", test.rank(name) < best) for name in ours
    ]
