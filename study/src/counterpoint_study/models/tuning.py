"""Find the black boxes' settings by random search: ``python -m counterpoint_study.models.tuning [sets]``.

Settings are drawn from a list of choices, and each draw is judged by its accuracy in a five-fold
cross-validation on the training part alone. The best go into ``tuned.json``. No test row is ever looked at.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import (
    ParameterSampler,
    RepeatedStratifiedKFold,
    cross_val_score,
    train_test_split,
)

from counterpoint.datasets import TABLES, Dataset, load_table
from counterpoint_study.models.training import KINDS, TUNED, build

SEED = 0
FOLDS = 5

# Draws a black box. Learning takes longer on a longer table, and the choice matters less there.
DRAWS = {"german": 60, "compas": 30, "fico": 20, "adult": 15}

# A longer training part is searched on so many of its rows.
SEARCH_ROWS = 10_000

# A shorter one is folded anew until about so many rows are judged: in german, a fold is but 140 rows.
JUDGED_ROWS = 2_500

# A study asks a forest for millions of labels, and each tree adds to the cost of each: hence 200 at most.
FOREST: Mapping[str, Sequence[Any]] = {
    "n_estimators": (50, 75, 100, 150, 200),
    "max_depth": (None, 4, 6, 8, 10, 12, 16, 20),
    "min_samples_leaf": (1, 2, 3, 5, 8, 12, 20),
    "min_samples_split": (2, 4, 8, 16, 32),
    "max_features": ("sqrt", "log2", 0.2, 0.35, 0.5),
    "class_weight": (None, None, "balanced"),
}


@dataclass(frozen=True)
class Finding:
    """The best settings of a search.

    Parameters
    ----------
    settings
        What the black box is to be made with.
    cv_accuracy
        Its mean accuracy in the cross-validation.
    draws
        How many settings were tried.
    """

    settings: dict[str, Any]
    cv_accuracy: float
    draws: int


def space(kind: str, features: int) -> Mapping[str, Sequence[Any]]:
    """List the choices for each setting of a kind of black box; a network's sizes follow the features.

    Examples
    --------
    >>> space("forest", features=20)["n_estimators"]
    (50, 75, 100, 150, 200)
    >>> space("network", features=20)["hidden"][0]
    (20, 128, 64)
    """
    if kind == "forest":
        return FOREST
    return {
        "hidden": ((features, 128, 64), (128, 64), (features, 64), (64, 32), (features,), (128,)),
        "dropout": (0.0, 0.1, 0.2, 0.3, 0.5),
        "learning_rate": (0.0003, 0.001, 0.003, 0.01),
        "epochs": (5, 10, 20, 40),
        "batch": (64, 128, 256),
        "weight_decay": (0.0, 0.001, 0.01, 0.1, 1.0),
    }


def search(data: Dataset, kind: str, draws: int) -> Finding:
    """Draw settings, judge each, and give the best, of equals the first; every judgement is printed."""
    if draws < 1:
        raise ValueError(f"draws must be at least 1, got {draws}.")
    X, y = _sample(data)
    repeats = max(1, round(JUDGED_ROWS / len(X)))
    folds = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repeats, random_state=SEED)
    findings = []
    for settings in ParameterSampler(space(kind, X.shape[1]), draws, random_state=SEED):
        model = build(kind, data.categorical, settings, SEED)
        accuracy = float(np.mean(cross_val_score(model, X, y, cv=folds, scoring="accuracy")))
        findings.append(Finding(settings, round(accuracy, 4), draws))
        print(f"{data.name} {kind} {len(findings)}/{draws}: {accuracy:.4f} {settings}", flush=True)
    return max(findings, key=lambda finding: finding.cv_accuracy)


def tune(names: Sequence[str]) -> None:
    """Search the settings of both black boxes of each data set, and write them down after each."""
    for name in names:
        data = load_table(name, seed=SEED)
        for kind in KINDS:
            _record(name, kind, search(data, kind, DRAWS[name]))


def main() -> None:
    """Tune the black boxes of the data sets named on the command line, or of all."""
    parser = argparse.ArgumentParser(
        prog="python -m counterpoint_study.models.tuning", description=tune.__doc__
    )
    parser.add_argument("sets", nargs="*", metavar="set", help=f"one of {', '.join(TABLES)}; all if none")
    names = parser.parse_args().sets or TABLES
    unknown = [name for name in names if name not in TABLES]
    if unknown:
        parser.error(f"no data set is called {unknown[0]!r}. Known: {', '.join(TABLES)}.")
    tune(names)


def _sample(data: Dataset) -> tuple[pd.DataFrame, pd.Series]:
    """Take the training part, or as many rows of it as are searched on, the classes in equal shares."""
    X, y = data.X_train, data.y_train
    if len(X) <= SEARCH_ROWS:
        return X, y
    X, _, y, _ = train_test_split(X, y, train_size=SEARCH_ROWS, stratify=y, random_state=SEED)
    return X, y


def _record(name: str, kind: str, finding: Finding) -> None:
    """Write a finding into the file of tuned settings, where the others stay."""
    tuned = json.loads(TUNED.read_text(encoding="utf-8"))
    tuned.setdefault(name, {})[kind] = asdict(finding)
    TUNED.write_text(json.dumps(tuned, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
