"""The study's network, rebuilt for rows of scaled numbers, so that a peer can take its exact gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blueprint import Blueprint
from .onehot import Floats, ScaledOneHot
from .task import Task

Layer = tuple[Floats, Floats]

# As many training rows are compared, and their probabilities may differ by so much: float32 is no better.
COMPARED = 200
TOLERANCE = 1e-4


def rebuilt_layers(blueprint: Blueprint, space: ScaledOneHot) -> list[Layer]:
    """Return weights (inputs × outputs) and biases of each layer, for rows as the space has them.

    The first layer is the network's own with the change of scale folded in. As in the blueprint, there is a
    ReLU after each layer but the last, and a softmax after the last.
    """
    (weights, biases), *rest = blueprint.layers
    folded = np.zeros((space.width, weights.shape[1]))
    biases = biases.copy()
    row = 0
    for column in blueprint.columns:
        place = space.rows.columns.index(column.name)
        columns = space.slice(place)
        if column.levels is None:
            folded[columns.start] = weights[row] * space.step[place] / column.scale
            biases += weights[row] * (space.offset[place] - column.mean) / column.scale
            row += 1
            continue
        for number, level in enumerate(space.rows.levels[place][: columns.stop - columns.start]):
            if level in column.levels:
                folded[columns.start + number] = weights[row + column.levels.index(level)]
        row += len(column.levels)
    return [(folded, biases), *rest]


def torch_layers(layers: Sequence[Layer]) -> Any:
    """Return layers as a torch module: what comes out of the last, before any softmax."""
    import torch

    parts: list[Any] = []
    for weights, biases in layers:
        linear = torch.nn.Linear(*weights.shape)
        linear.load_state_dict({"weight": torch.tensor(weights.T), "bias": torch.tensor(biases)})
        parts += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


def check_rebuilt(
    task: Task, space: ScaledOneHot, predict_proba: Callable[[Floats], NDArray[np.floating]]
) -> None:
    """Raise an error if the rebuilt network does not answer as the black box does."""
    codes = task.train[:COMPARED]
    worst = float(np.abs(predict_proba(space.encode(codes)) - task.model.predict_proba(codes)).max())
    if not worst <= TOLERANCE:
        raise RuntimeError(
            f"the rebuilt network's probabilities differ by {worst:.2g} from the black box's, "
            f"more than {TOLERANCE:g}"
        )
