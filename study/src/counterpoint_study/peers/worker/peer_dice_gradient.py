"""DiCE's search by gradient, on the network, with the library's defaults. It takes the immutable features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from .onehot import Floats, ScaledOneHot
from .rebuilt import Layer, check_rebuilt, rebuilt_layers, torch_layers
from .rows import Codes
from .task import Explain, Task

OUTCOME = "the class"


def setup(task: Task) -> Explain:
    """Prepare DiCE, which works on a network in torch that takes DiCE's own one-hot rows."""
    if task.blueprint is None:
        raise NotImplementedError("DiCE's gradient method explains models in torch only")
    if task.model.n_classes != 2:
        raise NotImplementedError("DiCE's gradient method explains two classes only")
    import dice_ml

    frames = Frames(task)
    network = _network(rebuilt_layers(task.blueprint, frames.space))
    check_rebuilt(task, frames.space, lambda rows: _both(network, rows))
    data = dice_ml.Data(
        dataframe=frames.frame(task.train).assign(**{OUTCOME: task.labels}),
        continuous_features=[frames.names[place] for place in task.rows.continuous],
        outcome_name=OUTCOME,
    )
    model = dice_ml.Model(model=network, backend="PYT", func="ohe-min-max")
    explainer = dice_ml.Dice(data, model, method="gradient")
    _check_order(explainer, frames, task.train[:1])
    mutable = [frames.names[place] for place in task.mutable]

    def explain(x: Codes) -> Codes:
        with task.model.bridge():
            query = frames.frame(x[None])
        found = explainer.generate_counterfactuals(query, total_CFs=task.k, features_to_vary=mutable)
        with task.model.bridge():
            return frames.codes(found.cf_examples_list[0])

    return explain


class Frames:
    """Codes as the data frames that DiCE takes, with names by which it cannot confuse columns.

    DiCE takes a column for a category's if it begins with the feature's name, as ``job_type`` does with
    ``job``. So features and categories go by numbers of equal length, which also sort as the numbers do.
    """

    def __init__(self, task: Task) -> None:
        self.rows = task.rows
        # DiCE puts the numbers first, and then each category's columns.
        self.space = ScaledOneHot(
            task.rows, task.train, order=[*task.rows.continuous, *task.rows.categorical]
        )
        self.names = [f"f{place:04d}" for place in range(len(task.rows.columns))]

    def frame(self, codes: Codes) -> pd.DataFrame:
        """Make a frame of codes."""
        return pd.DataFrame(
            {self.names[place]: self._values(codes[:, place], place) for place in self.space.order}
        )

    def codes(self, example: Any) -> Codes:
        """Read DiCE's answers, after it has put back what need not have changed."""
        sparse = example.final_cfs_df_sparse
        frame = example.final_cfs_df if sparse is None else sparse
        if frame is None:
            return np.empty((0, len(self.names)))
        codes: Codes = frame[self.names].astype(float).to_numpy()
        return codes

    def _values(self, codes: Codes, place: int) -> Any:
        if place in self.rows.levels:
            return [f"{int(code):04d}" for code in codes]
        return codes.astype(np.int64) if place in self.rows.whole else codes


def _network(layers: Sequence[Layer]) -> Any:
    """Return the network with one output, the probability of the second class: the sigmoid of the margin."""
    import torch

    torch.set_num_threads(1)
    *inner, (weights, biases) = layers
    margin = (weights[:, [1]] - weights[:, [0]], biases[[1]] - biases[[0]])
    return torch.nn.Sequential(torch_layers([*inner, margin]), torch.nn.Sigmoid()).eval()


def _both(network: Any, rows: Floats) -> Floats:
    import torch

    with torch.no_grad():
        second = network(torch.tensor(rows, dtype=torch.float32)).numpy()
    return np.hstack([1 - second, second])


def _check_order(explainer: Any, frames: Frames, codes: Codes) -> None:
    """Raise an error if DiCE's one-hot rows are not those that the network was rebuilt for."""
    theirs = explainer.model.transformer.transform(frames.frame(codes)).to_numpy(dtype=float)
    ours = frames.space.encode(codes)
    if theirs.shape != ours.shape or not np.allclose(theirs, ours, atol=1e-5):
        raise RuntimeError("DiCE's one-hot rows are not those that the network was rebuilt for")
