"""Prints a digest of answers: the same digest before and after a change that should change no answer.

Four tables with every named setting, images through two codecs, and two sets of series.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier

import counterpoint as cp
from counterpoint.datasets import TABLES, load
from counterpoint.selection.selection import NAMED
from counterpoint_study.benchmarks.models import SEED, train

INSTANCES, IMAGES, KNOWN_IMAGES, K = 20, 10, 2_000, 5


class Flat:
    """A forest that sees images and series as lines of numbers."""

    def __init__(self, X: Any, y: Any) -> None:
        self.forest = ExtraTreesClassifier(50, random_state=SEED).fit(X.reshape(len(X), -1), y)

    def predict(self, X: Any) -> Any:
        """Label images or series."""
        return self.forest.predict(X.reshape(len(X), -1))


def answers() -> Iterator[tuple[str, cp.Explanations]]:
    """Explain everything, and name it."""
    for name in TABLES:
        trained = train(name)
        for setting, selection in NAMED.items():
            explainer = cp.Ensemble(selection=selection, seed=SEED)
            explainer.fit(trained.model, trained.known, immutable=trained.data.immutable)
            yield (
                f"{name}, {setting}",
                explainer.explain_many(trained.instances(INSTANCES), K, progress=False),
            )
    codecs = {"mnist": (cp.Kernel(7), cp.PCA(8)), "gunpoint": (cp.Kernel(10),), "power": (cp.Identity(),)}
    for name, through in codecs.items():
        data = load(name)
        X, y = data.X_train[:KNOWN_IMAGES], data.y_train[:KNOWN_IMAGES]
        model = Flat(X, y)
        for codec in through:
            explainer = cp.Ensemble(codec=codec, seed=SEED).fit(model, X)
            yield f"{name}, {codec!r}", explainer.explain_many(data.X_test[:IMAGES], K, progress=False)


def digest(explanations: cp.Explanations) -> str:
    """Sum up answers: their cells, labels, finders and distances."""
    total = hashlib.sha256()
    for answer in explanations:
        for array in (answer.row, answer.rows, np.asarray(answer.labels), answer.distance):
            total.update(np.ascontiguousarray(array).tobytes())
        total.update(repr((answer.found_by, answer.decision)).encode())
    return total.hexdigest()[:16]


def main() -> None:
    """Print a digest for each set and setting, and one of all."""
    lines = []
    for name, explanations in answers():
        lines.append(f"{digest(explanations)}  {sum(map(len, explanations)):4} answers  {name}")
        print(lines[-1], flush=True)
    print(f"{hashlib.sha256(''.join(lines).encode()).hexdigest()[:16]}  all")


if __name__ == "__main__":
    main()
