"""Several studies together, run with different seeds; see the rule for claims in docs/claims.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from counterpoint_study.findings.claims import Claims, Match, beside
from counterpoint_study.findings.ranks import NAMES, OURS, SIGNS, TIE

TUNED = (0, 1)
"""The seeds that weights of settings may be chosen on."""

HELD_OUT = (4, 5, 6)
"""The seeds that claims about settings are made on."""

LINES_BY_SEED = {"overall": "", "quantiles": ", second distance"}
"""The standings that are shown for each seed, and how their columns end."""

# Instances of different studies are told apart by their numbers.
APART = 10_000


def judged(studies: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """Keep the studies that claims are made on: those with a held-out seed or, if there are none, all."""
    held_out = [study for study in studies if study["seed"].min() in HELD_OUT]
    return held_out or list(studies)


def pooled(studies: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put the results of several studies together, the smallest seed first, with what their files say.

    Examples
    --------
    >>> four = pd.DataFrame({"instance": [0, 1], "seed": 4})
    >>> five = pd.DataFrame({"instance": [0, -1], "seed": 5})
    >>> pooled([five, four])["instance"].tolist()
    [0, 1, 10000, -1]
    """
    parts = []
    ordered = sorted(studies, key=lambda study: int(study["seed"].min()))
    for place, study in enumerate(ordered):
        ran = study["instance"] >= 0
        parts.append(study.assign(instance=study["instance"].where(~ran, study["instance"] + place * APART)))
    together = pd.concat(parts, ignore_index=True)
    together.attrs = _notes([study.attrs for study in ordered])
    return together


def seeds_of(results: pd.DataFrame) -> list[int]:
    """List the seeds of results."""
    return sorted(int(seed) for seed in results["seed"].dropna().unique()) if "seed" in results else []


def by_seed(results: pd.DataFrame, judge: Callable[[pd.DataFrame], Claims]) -> pd.DataFrame:
    """Give each seed a line: what our default's rank would be from that seed alone, by both distances."""
    rows = []
    for seed in seeds_of(results):
        part = results[results["seed"] == seed]
        ran = part[part["instance"] >= 0]
        row: dict[str, Any] = {
            "seed": seed,
            "methods": ran["method"].nunique(),
            "instances per method": int(ran.groupby("method").size().max()),
        }
        found = judge(part) if OURS in set(ran["method"]) else None
        for standing in (each for each in found.overall if each.runs in LINES_BY_SEED) if found else ():
            title = LINES_BY_SEED[standing.runs]
            row[f"mean rank{title}"] = standing.test.rank(OURS)
            row[f"best other{title}"] = next(name for name in standing.test.methods if name != OURS)
            row[f"first{title}"] = standing.first
        if found and found.packages:
            as_good = sum(match.holds for match in found.packages)
            row["peers that a setting is as good as"] = f"{as_good} of {len(found.packages)}"
        rows.append(row)
    return pd.DataFrame(rows)


def _notes(notes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join what files say: commands one after the other, accuracies as means, the rest from the first."""
    if len(notes) < 2:
        return dict(notes[0]) if notes else {}
    commands = [str(each["command"]) for each in notes if each.get("command")]
    accuracies = pd.DataFrame([row for each in notes for row in each.get("accuracies", [])])
    joined: dict[str, Any] = {**notes[0], "command": "; ".join(commands)}
    if len(accuracies):
        means = accuracies.groupby(["set", "black_box"], sort=False).mean(numeric_only=True).reset_index()
        joined["accuracies"] = means.to_dict("records")
    if "plan" in joined:
        joined["plan"] = {name: value for name, value in joined["plan"].items() if name != "seed"}
    return joined


def settings_beside(studies: pd.DataFrame, matches: Sequence[Match]) -> pd.DataFrame:
    """Show each peer, the setting of ours that comes closest to the claim, and by how much that is worse."""
    return pd.DataFrame([row for match in matches for row in lines(studies, match)])


def lines(studies: pd.DataFrame, match: Match) -> list[dict[str, Any]]:
    """Show a peer, the setting of ours that comes closest to the claim, and by how much that is worse."""
    own, theirs = (table.mean() for table in beside(studies, match.best.setting, match.peer))
    apart = (own - theirs) * SIGNS
    worse = 100 * apart.where(apart.abs() > TIE, 0.0) / theirs.abs()
    rows = {match.peer: theirs, match.best.setting: own, "worse by, %": worse}
    return [{"method": name, **row[NAMES].to_dict()} for name, row in rows.items()]
