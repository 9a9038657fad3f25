"""Several studies together, run with different seeds; see the rule for claims in docs/claims.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from counterpoint_study.findings.claims import Match, beside
from counterpoint_study.findings.ranks import NAMES, SIGNS

TUNED = (0, 1)
"""The seeds that weights of settings may be chosen on."""

HELD_OUT = (4, 5, 6)
"""The seeds that claims about settings are made on."""

# Instances of different studies are told apart by their numbers.
APART = 10_000


def pooled(studies: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put the results of several studies together.

    Examples
    --------
    >>> studies = [pd.DataFrame({"instance": [0, 1]}), pd.DataFrame({"instance": [0, -1]})]
    >>> pooled(studies)["instance"].tolist()
    [0, 1, 10000, -1]
    """
    parts = []
    for place, study in enumerate(studies):
        ran = study["instance"] >= 0
        parts.append(study.assign(instance=study["instance"].where(~ran, study["instance"] + place * APART)))
    return pd.concat(parts, ignore_index=True)


def lines(studies: pd.DataFrame, match: Match) -> list[dict[str, Any]]:
    """Show a peer, the setting of ours that comes closest to the claim, and by how much that is worse."""
    own, theirs = (table.mean() for table in beside(studies, match.best.setting, match.peer))
    worse = 100 * (own - theirs) * SIGNS / theirs.abs()
    rows = {match.peer: theirs, match.best.setting: own, "worse by, %": worse}
    return [{"": name, **row[NAMES].to_dict()} for name, row in rows.items()]
