"""Whether our settings hold beside peers over several studies of tables, run with different seeds.

``python -m counterpoint_study.benchmarks.seeds study-results/tables study-1 study-2``, after commands such as
``counterpoint study tables --seed 1 --out study-1``. Each seed has another split, other black boxes and other
instances.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from counterpoint_study.benchmarks import results
from counterpoint_study.findings.claims import claims
from counterpoint_study.findings.seeds import lines, pooled


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("seeds", __doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="output folders of studies of tables")
    options = parser.parse_args(arguments)
    studies = pooled([pd.read_parquet(folder / "results.parquet") for folder in options.folders])
    tables = {match.peer: lines(studies, match) for match in claims(studies).matches}
    for peer, table in tables.items():
        results.show(f"{peer}: means over cells, on the instances that it has values for", table)
    seeds = sorted(int(seed) for seed in studies["seed"].unique())
    results.write("seeds", seeds[0], {"seeds": seeds, "tables": tables})


if __name__ == "__main__":
    main()
