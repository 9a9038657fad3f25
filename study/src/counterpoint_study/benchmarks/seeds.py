"""Whether our settings hold beside peers over several studies of tables, run with different seeds.

``python -m counterpoint_study.benchmarks.seeds study-results/tables study-1 study-2``, after commands such as
``counterpoint study tables --seed 1 --out study-1``. Each seed has another split, other black boxes and other
instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint_study.benchmarks import results
from counterpoint_study.findings.claims import Match, beside, claims
from counterpoint_study.findings.ranks import NAMES, SIGNS

# Instances of different studies are told apart by their numbers.
APART = 10_000


def pooled(folders: Sequence[Path]) -> pd.DataFrame:
    """Put the results of several studies together."""
    parts = [pd.read_parquet(folder / "results.parquet") for folder in folders]
    for place, part in enumerate(parts):
        ran = part["instance"] >= 0
        part.loc[ran, "instance"] += place * APART
    return pd.concat(parts, ignore_index=True)


def lines(studies: pd.DataFrame, match: Match) -> list[dict[str, Any]]:
    """Show a peer, the setting of ours that comes closest to the claim, and by how much that is worse."""
    own, theirs = (table.mean() for table in beside(studies, match.best.setting, match.peer))
    worse = 100 * (own - theirs) * SIGNS / theirs.abs()
    rows = {match.peer: theirs, match.best.setting: own, "worse by, %": worse}
    return [{"": name, **row[NAMES].to_dict()} for name, row in rows.items()]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("seeds", __doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="output folders of studies of tables")
    options = parser.parse_args(arguments)
    studies = pooled(options.folders)
    tables = {match.peer: lines(studies, match) for match in claims(studies).matches}
    for peer, table in tables.items():
        results.show(f"{peer}: means over cells, on the instances that it has values for", table)
    seeds = sorted(int(seed) for seed in studies["seed"].unique())
    results.write("seeds", seeds[0], {"seeds": seeds, "tables": tables})


if __name__ == "__main__":
    main()
