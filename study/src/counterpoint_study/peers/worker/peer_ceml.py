"""CEML's search by gradient on the network. It gives one answer whatever k is, and knows numbers only.

The class asked for is the runner-up: the most probable of the others. The category with the largest column is
taken for the answer, and whole numbers are rounded (see `ScaledOneHot.answers`).

The search is BFGS, the one of CEML's own that uses gradients; its default for a network, Nelder-Mead, ignores
them. The change is penalised by its L1 norm, and the penalty is weakened tenfold until a counterfactual is
found, which is what CEML's list of penalties is for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .onehot import Floats, ScaledOneHot
from .rebuilt import Layer, check_rebuilt, rebuilt_layers, torch_layers
from .rows import Codes
from .task import Explain, Task

PENALTIES = [1.0, 0.1, 0.01, 0.001]

NO_FOREST = (
    "CEML searches a forest anew from each counterfactual of each of its trees: on german a thousand starts, "
    "each of ten seconds and more, and none found in 100 s"
)


def setup(task: Task) -> Explain:
    """Prepare CEML, which works on a network in torch."""
    if task.blueprint is None:
        raise NotImplementedError(NO_FOREST)
    from ceml.torch import generate_counterfactual

    # CEML's search by gradient reads a list of mutable columns as if they were the first ones. So they are.
    fixed = [place for place in range(len(task.rows.columns)) if place not in task.mutable]
    space = ScaledOneHot(task.rows, task.train, order=[*task.mutable, *fixed])
    mutable = space.columns(task.mutable)
    network = _network(rebuilt_layers(task.blueprint, space))
    check_rebuilt(task, space, lambda rows: _probabilities(network, rows))

    def explain(x: Codes) -> Codes:
        row = space.encode(x[None])
        found = generate_counterfactual(
            network,
            row[0].astype(np.float32),
            y_target=_runner_up(_probabilities(network, row)[0]),
            features_whitelist=mutable,
            regularization="l1",
            C=PENALTIES,
            optimizer="bfgs",
        )
        return space.answers(found["x_cf"][None], x)

    return explain


def _runner_up(probabilities: Floats) -> int:
    return int(np.argsort(-probabilities, kind="stable")[1])


def _network(layers: Sequence[Layer]) -> Any:
    """Return the network as CEML wants it: a torch module that knows its own loss."""
    import torch
    from ceml.backend.torch.costfunctions import CostFunctionDifferentiableTorch
    from ceml.model import ModelWithLoss

    class Loss(CostFunctionDifferentiableTorch):  # type: ignore[misc]
        # CEML's own likelihood loss is handed the instance instead of the network's answer when there is a
        # penalty, so this one asks the network itself.
        def __init__(self, scores: Any, wanted: int) -> None:
            super().__init__()
            self.scores, self.wanted = scores, wanted

        def score_impl(self, x: Any) -> Any:
            return -self.scores(x).log_softmax(dim=-1)[self.wanted]

    class Network(torch.nn.Module, ModelWithLoss):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.scores = torch_layers(layers)

        def predict(self, x: Any, dim: int = 1) -> Any:
            return self.scores(x).argmax(dim=dim)

        def get_loss(self, y_target: int, pred: Any = None) -> Any:
            return Loss(self.scores, y_target)

    torch.set_num_threads(1)
    return Network().eval()


def _probabilities(network: Any, rows: Floats) -> Floats:
    import torch

    with torch.no_grad():
        found: Floats = network.scores(torch.tensor(rows, dtype=torch.float32)).softmax(dim=-1).numpy()
    return found
