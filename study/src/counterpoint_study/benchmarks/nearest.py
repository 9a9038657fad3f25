"""How near our nearest answer is to the nearest possible one, which `cp.Exact` proves.

``python -m counterpoint_study.benchmarks.nearest``

Ratios are over the instances whose optimum is proven. Building uses ``--seed 1``, judging the default.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import counterpoint as cp
from counterpoint.data.distance import changed
from counterpoint.datasets import TABLES, Dataset, load_table
from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.results import Figure

TREES = 100
WITHIN = 1.05  # so near counts as the nearest
DEFAULT, NEAREST = "default, nearest of 5", "NEAREST, k = 1"


def _lightgbm() -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=TREES, random_state=0, n_jobs=1, verbose=-1)


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=TREES, random_state=0, n_jobs=1)


MODELS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(TREES, random_state=0),
    "lightgbm": _lightgbm,
    "xgboost": _xgboost,
}


def settings() -> dict[str, tuple[cp.Explainer, int]]:
    """List what is compared: explainers, and the k that they are asked for."""
    found: dict[str, tuple[cp.Explainer, int]] = {
        DEFAULT: (cp.Ensemble(), 5),
        "CLOSE, k = 1": (cp.Ensemble(selection=cp.CLOSE), 1),
    }
    nearest = getattr(cp, "NEAREST", None)
    return found if nearest is None else {**found, NEAREST: (cp.Ensemble(selection=nearest), 1)}


@dataclass(frozen=True)
class Measured:
    """What an explainer answers: the distance of its nearest, and what that costs per decision."""

    distance: NDArray[np.float64]  # NaN where there is none
    rows: float
    cpu: float  # seconds
    changes: NDArray[np.int64]  # of the nearest
    proven: NDArray[np.bool_]

    @classmethod
    def of(cls, explainer: cp.Explainer, X: pd.DataFrame, k: int) -> Measured:
        """Explain instances."""
        start = process_time()
        many = explainer.explain_many(X, k, progress=False)
        cpu = (process_time() - start) / len(X)
        return cls(
            np.array([each.distance.min() if len(each) else np.nan for each in many]),
            float(np.mean([each.model_rows for each in many])),
            cpu,
            np.array([_changes(each) for each in many]),
            np.array([each.bound is not None and each.bound.is_proven and len(each) > 0 for each in many]),
        )


def _changes(explanation: cp.Explanation) -> int:
    nearest = explanation.rows[:1]
    return int(changed(nearest, explanation.row).sum()) if len(nearest) else 0


def problem(name: str, kind: str, count: int, seed: int) -> tuple[Dataset, Any, pd.DataFrame]:
    """Train a model on a table, and draw test instances.

    Of more than two classes, the most frequent one is told from the rest.
    """
    data = load_table(name, seed=0)
    labels = data.y_train
    if labels.nunique() > 2:
        labels = labels == labels.mode()[0]
    codes = pd.factorize(labels, sort=True)[0]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, list(data.categorical)), remainder="passthrough")
    model = make_pipeline(columns, MODELS[kind]())
    test = data.X_test
    for column in data.categorical:
        test = test[test[column].isin(data.X_train[column].unique())]
    drawn = np.random.default_rng(seed).permutation(len(test))[:count]
    return data, model.fit(data.X_train, codes), test.iloc[drawn].reset_index(drop=True)


def compare(name: str, kind: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure all settings on one table with one model."""
    data, model, X = problem(name, kind, options.instances, options.seed)
    exact = cp.Exact(steps=options.steps).fit(model, data.X_train, immutable=data.immutable)
    best = Measured.of(exact, X, 1)
    lines = []
    for setting, (explainer, k) in settings().items():
        explainer = explainer.clone().fit(model, data.X_train, immutable=data.immutable)
        mine = Measured.of(explainer, X, k)
        ratio = np.where(best.proven, mine.distance / best.distance, np.nan)
        lines.append(
            {
                "set": name,
                "model": kind,
                "setting": setting,
                "proven": int(best.proven.sum()),
                "mean": _mean(ratio),
                "within 5 %": _share(ratio),
                **{f"of {size}": _share(ratio[_needs(best.changes, size)]) for size in ("1", "2", "3", "4+")},
                "rows": mine.rows,
                "CPU ms": mine.cpu * 1000,
                "exact CPU ms": best.cpu * 1000,
                "ratios": ratio.tolist(),
                "needed": best.changes.tolist(),
            }
        )
    results.show(f"{name}, {kind}, {len(X)} instances", lines, COLUMNS)
    return lines


COLUMNS = (
    *("setting", "proven", "mean", "within 5 %", "of 1", "of 2", "of 3", "of 4+"),
    *("rows", "CPU ms", "exact CPU ms"),
)


def _needs(changes: NDArray[np.int64], size: str) -> NDArray[np.bool_]:
    """Tell which optima change so many features."""
    return np.asarray(changes >= 4 if size == "4+" else changes == int(size))


def _mean(ratio: NDArray[np.float64]) -> float:
    known = ratio[np.isfinite(ratio)]
    return float(known.mean()) if len(known) else float("nan")


def _share(ratio: NDArray[np.float64]) -> float:
    known = ratio[np.isfinite(ratio)]
    return float((known <= WITHIN).mean()) if len(known) else float("nan")


def _figures(lines: list[dict[str, Any]]) -> list[Figure]:
    """Judge each setting over all tables and models."""
    figures = []
    for setting in dict.fromkeys(line["setting"] for line in lines):
        mine = [line for line in lines if line["setting"] == setting]
        ratio = np.concatenate([line["ratios"] for line in mine])
        needed = np.concatenate([line["needed"] for line in mine])
        cpu, exact = (float(np.mean([line[name] for line in mine])) for name in ("CPU ms", "exact CPU ms"))
        is_nearest = setting == NEAREST
        mean = 1.05 if is_nearest else 1.15 if setting == DEFAULT else None
        figures += [
            Figure(f"{setting}: mean ratio to the optimum", _mean(ratio), mean),
            Figure(f"{setting}: within 5 %", _share(ratio), 0.9 if is_nearest else None, ">="),
            Figure(
                f"{setting}: within 5 % where three features are needed",
                _share(ratio[needed == 3]),
                0.75 if is_nearest else None,
                ">=",
            ),
            Figure(f"{setting}: CPU ms per decision, below that of Exact", cpu, exact, "<"),
            Figure(f"{setting}: rows per decision", float(np.mean([line["rows"] for line in mine]))),
        ]
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("nearest", __doc__)
    parser.add_argument("--sets", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--instances", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0, help="draws the instances")
    parser.add_argument("--steps", type=int, default=300_000, help="how far a proof may go")
    options = parser.parse_args(arguments)
    lines = [
        line for name in options.sets for kind in options.models for line in compare(name, kind, options)
    ]
    figures = _figures(lines)
    results.show("All tables and models", [figure.cells() for figure in figures])
    results.write(
        "nearest", options.seed, {"lines": lines, "figures": [figure.plain() for figure in figures]}
    )


if __name__ == "__main__":
    main()
