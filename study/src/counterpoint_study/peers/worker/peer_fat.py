"""FAT Forensics' brute force: a grid search over single features and pairs, its default length.

Its default step of 1 in raw units would give millions of rows for an amount of money, and its default
distance would add up raw units. So both are in units that fit each feature: its median absolute deviation, or
its standard deviation where that is 0, as in the distance that answers are judged with. A grid has at most
`STEPS` steps per feature: on compas, `length_of_stay` has a deviation of 1 and a range of 800, and a grid of
800 × 800 points for one pair of features would take minutes per instance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .rows import Codes
from .task import Explain, Task

STEPS = 100


def setup(task: Task) -> Explain:
    """Prepare FAT, which works on codes and takes the immutable features."""
    from fatf.transparency.predictions.counterfactuals import CounterfactualExplainer

    rows = task.rows
    numbers = {j: task.train[:, j] for j in task.mutable if j in rows.continuous}
    explainer = CounterfactualExplainer(
        predictive_function=task.model.predict,
        dataset=task.train,
        categorical_indices=rows.categorical,
        numerical_indices=rows.continuous,
        counterfactual_feature_indices=task.mutable,
        step_sizes={j: step(values, whole=j in rows.whole) for j, values in numbers.items()} or None,
        distance_functions={j: _in_units_of(unit(values)) for j, values in numbers.items()} or None,
    )

    def explain(x: Codes) -> Codes:
        # All that flip within the grid, the nearest first.
        answers, _, _ = explainer.explain_instance(x)
        return np.asarray(answers, dtype=np.float64)

    return explain


def step(values: Codes, whole: bool) -> float:
    """Choose the step of a feature's grid: its unit, or more where that would give too many steps."""
    size = max(unit(values), float(np.ptp(values)) / STEPS)
    return max(1.0, float(round(size))) if whole else size


def unit(values: Codes) -> float:
    """Measure a feature's median absolute deviation, or its standard deviation where that is 0."""
    deviation = float(np.median(np.abs(values - np.median(values))))
    return deviation or float(np.std(values)) or 1.0


def _in_units_of(size: float) -> Callable[[float, float], float]:
    return lambda a, b: abs(a - b) / size
