"""What a study found, laid out as tables: the facts are those of `findings`, and nothing is judged here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from counterpoint_study.findings.claims import Claims
from counterpoint_study.findings.ranks import CELL, OURS, Contest, CriticalDifference, mean_ranks


def of_cells(table: pd.DataFrame, held: Sequence[Contest], metrics: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Lay out the cells, and the mean ranks in each contest."""
    ranked = [mean_ranks(each.ranks).rename_axis("method").reset_index() for each in held]
    tables = {"cells": table[[*CELL, "instances", "valid", "errors", *metrics, "batched"]]}
    return tables | dict(zip(("mean_ranks", "mean_ranks_limited"), ranked, strict=False))


def claims(found: Claims) -> dict[str, pd.DataFrame]:
    """Lay the claims out, one table each."""
    overall, leads = found.overall, found.leads
    duels = [(match, duel) for match in found.matches for duel in match.duels]
    columns: dict[str, dict[str, list[Any]]] = {
        "claim_overall": {
            "over": [s.runs for s in overall],
            "methods": [len(s.test.methods) for s in overall],
            "runs": [s.test.runs for s in overall],
            OURS: [s.test.rank(s.ours) for s in overall],
            "critical difference": [s.test.difference for s in overall],
            "Friedman p": [s.test.p for s in overall],
            "first": [s.first for s in overall],
            "not significantly worse": [", ".join(s.not_beaten) for s in overall],
        },
        "claim_settings": {
            "peer": [match.peer for match, _ in duels],
            "size": [match.size for match, _ in duels],
            "explained": [f"{match.explained} of {match.asked}" for match, _ in duels],
            "cells": [match.cells for match, _ in duels],
            "cells matched by any": [match.matched for match, _ in duels],
            "setting": [duel.setting for _, duel in duels],
            "cells matched": [duel.best_cells for _, duel in duels],
            "metrics as good": [duel.as_good for _, duel in duels],
            "worse on": [", ".join(duel.loses) for _, duel in duels],
        },
        "claim_metrics": {
            "metric": [s.runs for s in leads],
            OURS: [s.test.rank(s.ours) for s in leads],
            "first method": [s.test.methods[0] for s in leads],
            "its rank": [s.test.mean_ranks[0] for s in leads],
            "critical difference": [s.test.difference for s in leads],
            "first": [s.first for s in leads],
            "first or tied": [s.tied_first for s in leads],
        },
    }
    # From rows, not columns: pandas would take columns without any value as numbers.
    return {
        name: pd.DataFrame(zip(*each.values(), strict=True), columns=list(each))
        for name, each in columns.items()
    }


def summary(table: pd.DataFrame, test: CriticalDifference) -> pd.DataFrame:
    """Give each method of a test one line: its mean rank, and its means over the cells in which it ran.

    The distance is a median, because a few cells have heavy tails.
    """
    ran = table[(table["instances"] > 0) & table["method"].isin(test.methods)].groupby("method")
    means_, medians = ran.mean(numeric_only=True), ran["dis_dist"].median()
    lines = {
        "method": test.methods,
        "mean rank": test.mean_ranks,
        "found of k": [means_["size"][name] for name in test.methods],
        "actionable": [means_["act"][name] for name in test.methods],
        "median distance": [medians[name] for name in test.methods],
        "implausibility": [means_["impl"][name] for name in test.methods],
        "discriminative power": [means_["dipo"][name] for name in test.methods],
        "seconds": [means_["runtime"][name] for name in test.methods],
        "seconds in a batch": [means_["batched"][name] for name in test.methods],
        "instances": [int(ran["instances"].sum()[name]) for name in test.methods],
    }
    return pd.DataFrame(lines)


def failures(results: pd.DataFrame) -> pd.DataFrame:
    """List who gave no answer where and why, and how often."""
    failed = results[results["error"].notna()]
    rows = []
    for (method, box, reason), group in failed.groupby(["method", "black_box", "error"]):
        sets, ks = (", ".join(str(x) for x in sorted(group[name].unique())) for name in ("set", "k"))
        ran = int((group["instance"] >= 0).sum())
        rows.append((method, box, sets, ks, f"{ran} answers missing" if ran else "could not run", reason))
    return pd.DataFrame(rows, columns=["method", "black_box", "sets", "k", "what", "reason"])
