"""DiCE's random and genetic search.

Both run with the library's defaults and take the immutable features. DiCE's "opposite" class is for two
classes only. With more, the class asked for is the runner-up: the most probable of the others, the one
nearest at hand. `random_seed` is left out, because DiCE restarts its generators with it for every feature,
which ties the features' draws together: the worker seeds them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .rows import Codes
from .task import Explain, Task

SEARCHES = {"DiCE random": "random", "DiCE genetic": "genetic"}
OUTCOME = "the class"


class Frames:
    """The black box for frames, which is what DiCE asks with."""

    def __init__(self, task: Task) -> None:
        self.model = task.model
        self.rows = task.rows

    def predict(self, frame: pd.DataFrame) -> NDArray[np.int64]:
        """Return the number of each row's class."""
        return self.model.predict(self._codes(frame))

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return each row's probability of each class."""
        return self.model.predict_proba(self._codes(frame))

    def _codes(self, frame: pd.DataFrame) -> Codes:
        with self.model.bridge():
            return self.rows.codes(frame)


def setup(task: Task) -> Explain:
    """Prepare DiCE, which takes the training data as a frame, its categories as strings."""
    import dice_ml

    rows = task.rows
    frame = rows.frame(task.train).assign(**{OUTCOME: task.labels})
    numbers = [rows.columns[place] for place in rows.continuous]
    data = dice_ml.Data(dataframe=frame, continuous_features=numbers, outcome_name=OUTCOME)
    model = dice_ml.Model(model=Frames(task), backend="sklearn")
    explainer = dice_ml.Dice(data, model, method=SEARCHES[task.job["method"]])
    mutable = [rows.columns[place] for place in task.mutable]

    def explain(x: Codes) -> Codes:
        with task.model.bridge():
            query = rows.frame(x[None])
        found = explainer.generate_counterfactuals(
            query, total_CFs=task.k, desired_class=_wanted(task, x), features_to_vary=mutable
        )
        with task.model.bridge():
            return _answers(task, found.cf_examples_list[0])

    return explain


def _wanted(task: Task, x: Codes) -> str | int:
    if task.model.n_classes == 2:
        return "opposite"
    return int(np.argsort(-task.model.predict_proba(x[None])[0], kind="stable")[1])


def _answers(task: Task, example: Any) -> Codes:
    sparse = example.final_cfs_df_sparse
    frame = example.final_cfs_df if sparse is None else sparse
    return np.empty((0, 0)) if frame is None else task.rows.codes(frame)
