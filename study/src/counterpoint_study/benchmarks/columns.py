"""How the time of a decision grows with the number of columns, for a linear model that reads all of them.

``python -m counterpoint_study.benchmarks.columns``
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

import counterpoint as cp
from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.models import SEED
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import timed

K = 5
KNOWN = 1_000
WIDTHS = (300, 1_000, 3_000)


class Linear:
    """Decides by a weighted sum of all columns, and counts the rows it is given."""

    def __init__(self, width: int) -> None:
        self.weights = np.random.default_rng(SEED).normal(size=width)
        self.rows = 0

    def __call__(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Decide about rows."""
        self.rows += len(rows)
        # Not a matrix product, which may round differently in another batch.
        return np.asarray(np.einsum("ij,j->i", rows, self.weights) > 0)


def by_columns(widths: Sequence[int], count: int) -> list[dict[str, float]]:
    """Time `fit`, and `explain_many` of some instances, with few and with many columns."""
    return [_time_width(width, count) for width in widths]


def _time_width(width: int, count: int) -> dict[str, float]:
    X = np.random.default_rng(SEED).normal(size=(KNOWN, width))
    model, explainer = Linear(width), cp.Ensemble(seed=SEED)
    fit_cpu = timed(partial(explainer.fit, model, X, progress=False))[2]
    model.rows = 0
    answers, wall, cpu = timed(partial(explainer.explain_many, X[:count], k=K, progress=False))
    return {
        "columns": width,
        "fit CPU s": fit_cpu,
        "wall s each": wall / count,
        "CPU s each": cpu / count,
        "CPU ms per column": cpu / count / width * 1000,
        "model rows each": model.rows / count,
        "answers each": sum(map(len, answers)) / count,
    }


def figures(series: Sequence[dict[str, float]]) -> list[Figure]:
    """Set the times per column against that with fewest columns."""
    per_column = [line["CPU ms per column"] for line in series]
    per_cell = [line["CPU ms per column"] / line["model rows each"] for line in series]
    than = f"at its highest / {series[0]['columns']:,} columns"
    return [
        # Linear, but for what other work on the machine adds.
        Figure(f"CPU time per decision and column, {than}", max(per_column) / per_column[0], 1.1),
        Figure(f"CPU time per model row and column, {than}", max(per_cell) / per_cell[0], 1.1),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("columns", __doc__)
    parser.add_argument("--columns", type=int, nargs="+", default=list(WIDTHS))
    parser.add_argument("--instances", type=int, default=10, help="explained with each number of columns")
    options = parser.parse_args(arguments)
    series = by_columns(options.columns, options.instances)
    results.show(f"Time by the number of columns: {KNOWN:,} known instances, k = {K}", series)
    found = figures(series)
    results.show("Growth by columns", [figure.cells() for figure in found])
    body = {"figures": [figure.plain() for figure in found], "by columns": series}
    results.write("columns", SEED, {"options": vars(options), **body})


if __name__ == "__main__":
    main()
