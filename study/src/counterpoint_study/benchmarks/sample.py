"""Known instances from a table that may be larger than memory: `--data` as a folder of parquet files.

``python -m counterpoint_study.benchmarks.sample``
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import skops.io

from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.growth import resampled
from counterpoint_study.benchmarks.models import SEED, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import NAME
from counterpoint_study.benchmarks.stream import watch

PIECE = 250_000  # rows per file


def make_files(folder: Path, rows: int) -> list[str]:
    """Write a model, known instances file by file, and a row; give the command that explains it."""
    trained = train(NAME)
    skops.io.dump(trained.model, folder / "model.skops")
    trained.instances(1).to_parquet(folder / "row.parquet", index=False)
    (folder / "known").mkdir()
    for number, start in enumerate(range(0, rows, PIECE)):
        part = resampled(trained.known, min(PIECE, rows - start), seed=number)
        part.to_parquet(folder / "known" / f"{number:04}.parquet", index=False)
    command = [sys.executable, "-m", "counterpoint.cli", "explain", "--quiet", "-k", "1"]
    command += ["--model", f"{folder / 'model.skops'}", "--data", f"{folder / 'known'}"]
    command += ["--row", f"{folder / 'row.parquet'}", "--out", f"{folder / 'found.csv'}"]
    return [*command, "--immutable", ",".join(trained.data.immutable)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("sample", __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**7])
    options = parser.parse_args(arguments)
    lines = []
    for rows in options.rows:
        with tempfile.TemporaryDirectory() as name:
            run = watch(make_files(Path(name), rows), lambda: False)
            sizes = [path.stat().st_size for path in Path(name, "known").iterdir()]
        disk = sum(sizes) / 2**20
        lines.append({"rows": rows, "files": len(sizes), "MB on disk": disk, **run.cells("")})
        lines[-1].pop("run")
    found = [Figure(f"peak memory, {line['rows']:,} rows: MB", line["peak MB"], 1000) for line in lines]
    found.append(Figure("commands that failed", sum(line["exit code"] not in (0, 1) for line in lines), 0))
    results.show(f"`counterpoint explain --data folder`, rows like those of {NAME}", lines)
    results.show("Sample", [figure.cells() for figure in found])
    results.write("sample", SEED, {"runs": lines, "figures": [figure.plain() for figure in found]})


if __name__ == "__main__":
    main()
