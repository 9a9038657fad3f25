"""CFNOW's greedy and random search.

CFNOW has no parameter for fixed features: it is shown the others only, and the model the whole row. It
accepts ties as valid, and may answer with fractions for whole-numbered features, which stay, as rounding
could undo the answer.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .rows import Codes
from .task import Explain, Task

STRATEGIES = {"CFNOW": "greedy", "CFNOW random": "random"}

# CFNOW's own limit, which it mostly uses up. It does not hold for its first search, which may take longer
# than the rest, so it is also no more than a third of the instance's limit.
MOST_SECONDS = 10.0


def setup(task: Task) -> Explain:
    """Prepare CFNOW, which has nothing to learn."""
    from cfnow import find_tabular

    strategy = STRATEGIES[task.job["method"]]
    seconds = min(MOST_SECONDS, float(task.job["time_limit"]) / 3)

    def explain(x: Codes) -> Codes:
        with task.model.bridge():
            space = OneHot(task, x)
        found = find_tabular(
            factual=space.factual,
            model_predict_proba=space.predict_proba,
            count_cf=task.k,
            feat_types=space.kinds,
            has_ohe=True,
            cf_strategy=strategy,
            limit_seconds=seconds,
        )
        with task.model.bridge():
            # The answers come sorted, nearest first, and there are more than were asked for.
            return np.array([space.codes(np.asarray(row)) for row in found.cfs[: task.k]])

    return explain


class OneHot:
    """One instance's mutable features as CFNOW wants them: a column a category, ``feature_category``."""

    def __init__(self, task: Task, x: Codes) -> None:
        self.model = task.model
        self.x = x
        # (place in x, column), and (place in x, columns, the columns' categories)
        self.numbers: list[tuple[int, int]] = []
        self.groups: list[tuple[int, list[int], NDArray[np.int64]]] = []
        values: dict[str, float] = {}
        # CFNOW groups columns by what stands before "_", so features go by their places.
        for j in task.mutable:
            if j in task.rows.levels:
                # Training's categories, and the instance's own where training has not seen it.
                codes = np.union1d(np.arange(task.rows.seen[j]), [int(x[j])])
                self.groups.append((j, [len(values) + i for i in range(len(codes))], codes))
                values |= {f"c{j}_{code}": float(code == x[j]) for code in codes}
            else:
                self.numbers.append((j, len(values)))
                values[f"n{j}"] = float(x[j])
        self.factual = pd.Series(values, dtype=float)
        self.kinds = {column: "cat" if column.startswith("c") else "num" for column in values}

    def predict_proba(self, rows: pd.DataFrame | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the model's probabilities for one-hot rows."""
        with self.model.bridge():
            codes = self.codes(np.asarray(rows, dtype=np.float64))
        return self.model.predict_proba(codes)

    def codes(self, rows: NDArray[np.float64]) -> Codes:
        """Return codes for one-hot rows (or one for one), the other features as in the instance."""
        codes = np.broadcast_to(self.x, (*rows.shape[:-1], len(self.x))).copy()
        for j, column in self.numbers:
            codes[..., j] = rows[..., column]
        for j, columns, categories in self.groups:
            codes[..., j] = categories[rows[..., columns].argmax(axis=-1)]
        return codes
