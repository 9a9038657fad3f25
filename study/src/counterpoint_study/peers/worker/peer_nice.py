"""NICE with its sparsity reward. It gives one answer whatever k is, and cannot hold a feature fixed."""

from __future__ import annotations

import numpy as np

from .rows import Codes
from .task import Explain, Task


def setup(task: Task) -> Explain:
    """Prepare NICE, which works on codes."""
    from nice import NICE

    explainer = NICE(
        predict_fn=task.model.predict_proba,
        X_train=task.train,
        cat_feat=task.rows.categorical,
        num_feat=task.rows.continuous,
        y_train=task.labels,
        optimization="sparsity",
        justified_cf=True,
    )

    def explain(x: Codes) -> Codes:
        return np.asarray(explainer.explain(x[None]), dtype=np.float64)

    return explain
