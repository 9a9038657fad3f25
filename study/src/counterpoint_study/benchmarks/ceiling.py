"""How well the days of ItalyPowerDemand (power) can be told apart at all: a measure for its network.

``python -m counterpoint_study.benchmarks.ceiling``
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from counterpoint.datasets import load_arrays
from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.models import SEED

FOLDS = 10


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("ceiling", __doc__)
    parser.parse_args(arguments)
    data = load_arrays("power")
    known, unseen = (each.reshape(len(each), -1) for each in (data.X_train, data.X_test))
    every, labels = np.concatenate([known, unseen]), np.concatenate([data.y_train, data.y_test])
    classifiers = {
        "logistic regression": LogisticRegression(max_iter=5000),
        "support vectors, straight": SVC(kernel="linear"),
        **{f"support vectors, gamma {gamma}": SVC(C=10, gamma=gamma) for gamma in (0.01, 0.03, 0.1)},
        "extra trees": ExtraTreesClassifier(500, random_state=SEED),
    }
    lines = [
        {
            "classifier": name,
            f"trained on the {len(known)} training series": classifier.fit(known, data.y_train).score(
                unseen, data.y_test
            ),
            f"{FOLDS}-fold over all {len(every):,}": cross_val_score(
                classifier, every, labels, cv=FOLDS
            ).mean(),
        }
        for name, classifier in classifiers.items()
    ]
    results.show("power: accuracy", lines)
    results.write("ceiling", SEED, {"accuracies": lines})


if __name__ == "__main__":
    main()
