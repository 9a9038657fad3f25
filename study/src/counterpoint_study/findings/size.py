"""How the metrics depend on the size of X: the experiment that the paper mentions and does not show."""

from __future__ import annotations

import pandas as pd

from counterpoint_study.findings.ranks import BASES, NAMES, OURS, PAPER, means

SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
"""The shares of the known instances that methods are given; the paper goes down to 20 % as well."""

METHODS = (OURS, PAPER, *BASES, "CBCE", "DiCE random", "FAT", "NICE")
"""Who is in it: our methods, and the peers that are fast enough to run five times."""

KS = (5,)

PERCENT = "% of X"


def by_size(results: pd.DataFrame) -> pd.DataFrame:
    """Take the means of each cell at each size of X, from the results of runs with different shares.

    Examples
    --------
    >>> row = dict(set="toy", black_box="forest", method="CBCE", k=5, instance=0, given=1, valid=1)
    >>> row |= {"error": None}
    >>> rows = [row | dict.fromkeys(NAMES, share) | {"share": share} for share in (0.2, 1.0)]
    >>> by_size(pd.DataFrame(rows))[[PERCENT, "size"]].values.tolist()
    [[20.0, 0.2], [100.0, 1.0]]
    """
    parts = {share: means(part) for share, part in results.groupby("share")}
    return pd.concat([part.assign(**{PERCENT: round(100 * share)}) for share, part in parts.items()])


def size_table(results: pd.DataFrame) -> pd.DataFrame:
    """Take each method's means over cells at each size of X."""
    cells = by_size(results)
    ran = cells[cells["instances"] > 0]
    table = ran.groupby(["method", PERCENT])[NAMES].mean()
    return table.reindex(dict.fromkeys(ran["method"]), level="method").reset_index()
