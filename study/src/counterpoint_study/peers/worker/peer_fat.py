"""FAT Forensics' brute force: a grid search over single features and pairs, its default length.

Its default step of 1 in raw units would give millions of rows for an amount of money, and its default
distance would add up raw units, so a step is a twentieth of a feature's range and a distance is relative to
the range.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .rows import Codes
from .task import Explain, Task

STEPS = 20


def setup(task: Task) -> Explain:
    """Prepare FAT, which works on codes and takes the immutable features."""
    from fatf.transparency.predictions.counterfactuals import CounterfactualExplainer

    rows = task.rows
    spans = {j: float(np.ptp(task.train[:, j])) for j in task.mutable if j in rows.continuous}
    explainer = CounterfactualExplainer(
        predictive_function=task.model.predict,
        dataset=task.train,
        categorical_indices=rows.categorical,
        numerical_indices=rows.continuous,
        counterfactual_feature_indices=task.mutable,
        step_sizes={j: _step(span, whole=j in rows.whole) for j, span in spans.items()} or None,
        distance_functions={j: _relative_distance(span) for j, span in spans.items()} or None,
    )

    def explain(x: Codes) -> Codes:
        # All that flip within the grid, the nearest first.
        answers, _, _ = explainer.explain_instance(x)
        return np.asarray(answers, dtype=np.float64)

    return explain


def _step(span: float, whole: bool) -> float:
    step = span / STEPS
    return max(1.0, float(round(step))) if whole else step


def _relative_distance(span: float) -> Callable[[float, float], float]:
    return lambda a, b: abs(a - b) / span
