"""How close `explain_many` comes to the time of the model alone, and what one decision takes.

``python -m counterpoint_study.benchmarks.speed``
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import mean, median
from typing import Any

import pandas as pd

from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.models import SEED, fit, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.models.training import Trained

NAME = "adult"


class Recorder:
    """A model that keeps every table it is asked about. A callable, as `fit` takes one too."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.steps = model.steps  # so that it is known for the forest that it is
        self.tables: list[pd.DataFrame] = []

    def __call__(self, table: pd.DataFrame) -> Any:
        """Label a table."""
        self.tables.append(table)
        return self.model.predict(table)

    def take(self) -> list[pd.DataFrame]:
        """Return the tables since the last time."""
        tables, self.tables = self.tables, []
        return tables


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Do something; return what it gave, and its wall and CPU seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    value = work()
    return value, time.perf_counter() - wall, time.process_time() - cpu


def record(trained: Trained, X: pd.DataFrame, k: int) -> list[pd.DataFrame]:
    """Return the very tables that `explain_many` asks the model about, one a call."""
    recorder = Recorder(trained.model)
    explainer = fit(trained, recorder)
    recorder.take()
    explainer.explain_many(X, k=k, progress=False)
    return recorder.take()


def race(trained: Trained, X: pd.DataFrame, k: int, asked: pd.DataFrame) -> dict[str, float]:
    """Time `explain_many` and one bulk call about the same rows, one right after the other.

    The explainer is fitted anew, so that what it only builds when it is first asked counts as well.
    """
    explainer, fit_wall, _ = timed(partial(fit, trained))
    answers, wall, cpu = timed(lambda: explainer.explain_many(X, k=k, progress=False))
    rows = sum(answer.model_rows for answer in answers)
    if rows != len(asked):
        raise RuntimeError(f"The timed run asked about {rows} rows, the recorded one about {len(asked)}.")
    _, bulk_wall, bulk_cpu = timed(lambda: trained.model.predict(asked))
    return {
        "fit s": fit_wall,
        "wall s": wall,
        "CPU s": cpu,
        "bulk wall s": bulk_wall,
        "bulk CPU s": bulk_cpu,
        "wall ratio": wall / bulk_wall,
        "CPU ratio": cpu / bulk_cpu,
    }


def many(trained: Trained, count: int, k: int, pairs: int) -> tuple[list[Figure], list[dict[str, float]]]:
    """Measure `explain_many`."""
    X = trained.instances(count)
    tables = record(trained, X, k)
    asked = pd.concat(tables, ignore_index=True)
    races = [{"pair": i + 1, **race(trained, X, k, asked)} for i in range(pairs)]
    ratios = sorted(each["wall ratio"] for each in races)
    figures = [
        Figure("model calls in all", len(tables), 30),
        Figure("model rows an instance", len(asked) / count, 3000),
        Figure("wall time / bulk call, median", median(ratios), 1.4),
        Figure("wall time / bulk call, smallest", ratios[0]),
        Figure("wall time / bulk call, largest", ratios[-1]),
        Figure("CPU time / bulk call's, median", median(each["CPU ratio"] for each in races), 1.4),
        Figure("CPU ms an instance, median", median(each["CPU s"] for each in races) / count * 1000),
    ]
    return figures, races


def alone(trained: Trained, count: int, k: int) -> tuple[list[Figure], list[dict[str, float]]]:
    """Measure one decision at a time, against the model's time for one row."""
    recorder = Recorder(trained.model)
    recorded, plain = fit(trained, recorder), fit(trained)
    X = trained.instances(count)
    plain.explain_many(X, k=k, progress=False)  # what is built once is not part of one decision's time
    recorder.take()
    lines = []
    for place in range(count):
        x = X.iloc[[place]]
        answer, wall, _ = timed(partial(plain.explain, x, k=k))
        _, call, _ = timed(partial(trained.model.predict, x))
        recorded.explain(x, k=k)
        calls = len(recorder.take())
        lines.append({"calls": calls, "rows": answer.model_rows, "ms": wall * 1e3, "call ms": call * 1e3})
    return _alone_figures(lines), lines


def _alone_figures(lines: Sequence[dict[str, float]]) -> list[Figure]:
    call = median(line["call ms"] for line in lines)
    latency = median(line["ms"] for line in lines)
    return [
        Figure("one decision: model calls, most", max(line["calls"] for line in lines), 15),
        Figure("one decision: model calls, mean", mean(line["calls"] for line in lines)),
        Figure("one decision: model rows, mean", mean(line["rows"] for line in lines)),
        Figure("one decision: ms, median", latency),
        Figure("one decision: ms, most", max(line["ms"] for line in lines)),
        Figure("one row, one model call: ms, median", call),
        Figure("one decision / one model call of one row", latency / call),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("speed", __doc__)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--alone", type=int, default=20, help="how many instances to explain one by one")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--pairs", type=int, default=15, help="how often to race against the bulk call")
    options = parser.parse_args(arguments)

    trained = train(NAME)
    figures, races = many(trained, options.instances, options.k, options.pairs)
    more_figures, lines = alone(trained, options.alone, options.k)
    figures += more_figures
    title = f"Speed: {NAME}, {options.instances} instances, k = {options.k}"
    results.show(f"{title}: each pair of explain_many and one bulk call", races)
    results.show(title, [figure.cells() for figure in figures])
    body = {"options": vars(options), "figures": [f.plain() for f in figures], "pairs": races, "alone": lines}
    results.write("speed", SEED, body)


if __name__ == "__main__":
    main()
