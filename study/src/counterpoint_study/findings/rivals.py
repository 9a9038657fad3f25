"""Our default beside every other method: who is better on what, what a decision takes, what was explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from counterpoint_study.findings.ranks import CELL, NAMES, OURS, PEERS, REWRITTEN, SIGNS, TIE, WHERE

# How a reason begins if a peer ran out of time.
TIME_LIMIT = "TimeLimit"


TIMES = {
    "runtime": "seconds alone",
    "batched": "seconds in a batch",
    "model_calls": "model calls",
    "model_rows": "model rows",
}
"""What a decision takes, and what the columns of the table are called."""


@dataclass(frozen=True)
class Rival:
    """Another method beside our default, for each metric on the instances that both have a value for.

    `worse_by` has the metrics on which our default is worse on the average over cells, and by what share of
    the other's value.
    """

    name: str
    explained: int
    asked: int
    size: float
    better: tuple[str, ...]
    worse_by: dict[str, float] = field(default_factory=dict)


def rivals(results: pd.DataFrame, metrics: Sequence[str] = NAMES) -> list[Rival]:
    """Compare our default with all others, on every metric; nothing if it did not run."""
    rows = results[results["instance"] >= 0]
    counts = rows.groupby("method").size()
    if OURS not in counts:
        return []
    return [_rival(results, name, counts, metrics) for name in PEERS if name in counts]


def _rival(results: pd.DataFrame, name: str, counts: pd.Series, metrics: Sequence[str]) -> Rival:
    own, theirs = _both(results, name, list(metrics))
    costs = (own - theirs) * SIGNS[list(metrics)]
    behind = costs[costs > TIE]
    return Rival(
        name,
        int(counts[name]),
        int(counts[OURS]),
        float(theirs["size"]),
        tuple(costs.index[costs < -TIE]),
        {str(metric): _share(float(cost), abs(float(theirs[metric]))) for metric, cost in behind.items()},
    )


def _both(results: pd.DataFrame, name: str, metrics: list[str]) -> tuple[pd.Series, pd.Series]:
    """Take the means over cells of our default and another, of the instances that both have a value for."""
    rows = results[results["method"].isin([OURS, name]) & (results["instance"] >= 0)]
    values = rows.set_index(["method", *WHERE, "instance"])[metrics].astype(float)
    own, theirs = values.loc[OURS].align(values.loc[name], join="inner")
    known = own.notna() & theirs.notna()
    own, theirs = (table.where(known).groupby(WHERE).mean().mean() for table in (own, theirs))
    return own, theirs


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("inf")


def times(results: pd.DataFrame) -> pd.DataFrame:
    """Take what a decision takes, the quickest method first: seconds alone and in a batch, calls and rows.

    Means over cells. Peers that have the model rebuilt in their own process are not seen calling it.
    """
    columns = [name for name in TIMES if name in results]
    ran = results[results["instance"] >= 0].astype(dict.fromkeys(columns, float))
    table = ran.groupby(CELL)[columns].mean().groupby("method").mean()
    # Without a call at all, nothing was counted.
    calls = [name for name in ("model_calls", "model_rows") if name in table]
    table[calls] = table[calls].where(table[calls] > 0, np.nan)
    return table.sort_values("runtime", kind="stable").rename(columns=TIMES).reset_index()


def explained(results: pd.DataFrame) -> pd.DataFrame:
    """Count for each peer on how many instances it was run, and on how many it failed or ran out of time."""
    ran = results[results["instance"] >= 0]
    asked = int(ran.groupby("method").size().max())
    rows = []
    for name in (each for each in PEERS if each not in REWRITTEN and each in set(results["method"])):
        mine, failed = ran[ran["method"] == name], results[results["method"] == name]["error"]
        late = failed.astype(str).str.startswith(TIME_LIMIT) & failed.notna()
        cells = failed.notna() & (results["instance"] < 0)[failed.index]
        rows.append(
            {
                "peer": name,
                "explained": f"{len(mine):,} of {asked:,}",
                "with an answer": int((mine["valid"] > 0).sum()),
                "out of time": int(late.sum()),
                "other errors": int((failed.notna() & ~late & ~cells).sum()),
                "cells that could not run": int(cells.sum()),
            }
        )
    return pd.DataFrame(rows)
