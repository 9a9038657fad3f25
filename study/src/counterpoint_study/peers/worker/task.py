"""All that a peer is given."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blackbox import BlackBox
from .blueprint import Blueprint
from .rows import Codes, Rows

# From one row of codes to rows of codes, the best first; no rows where there is no counterfactual.
Explain = Callable[[Codes], Codes]


@dataclass(frozen=True, eq=False)
class Task:
    """A model, what it was trained on, and what is wanted of the peer.

    Attributes
    ----------
    model
        The black box, which takes rows of codes.
    rows
        What the columns are.
    train, labels
        The training instances as codes, and the numbers of their classes.
    blueprint
        The model's weights, if it is the study's network.
    job
        The rest: ``method`` (the peer's name), ``k``, ``seed``, ``time_limit``, and ``immutable`` and
        ``categorical`` (names of columns).
    """

    model: BlackBox
    rows: Rows
    train: Codes
    labels: NDArray[np.int64]
    blueprint: Blueprint | None
    job: dict[str, Any]

    @property
    def k(self) -> int:
        """How many counterfactuals to ask for."""
        return int(self.job["k"])

    @property
    def seed(self) -> int:
        """The seed of the whole job; the generators are also seeded anew for each instance."""
        return int(self.job["seed"])

    @property
    def mutable(self) -> list[int]:
        """Places of the features that may change and have something to change to."""
        fixed = set(self.job["immutable"])
        names = enumerate(self.rows.columns)
        return [place for place, name in names if name not in fixed and self.rows.seen[place] > 1]


def read_job(folder: Path) -> dict[str, Any]:
    """Read what is wanted."""
    job: dict[str, Any] = json.loads((folder / "job.json").read_text())
    return job


def read_task(folder: Path, job: dict[str, Any], model: BlackBox) -> tuple[Task, Codes]:
    """Read the task in a folder, and the instances to explain."""
    with np.load(folder / "arrays.npz", allow_pickle=False) as file:
        train, labels, instances = (file[name] for name in ("train", "labels", "instances"))
    path = folder / "blueprint.npz"
    blueprint = Blueprint.load(path) if path.exists() else None
    return Task(model, Rows(job["columns"]), train, labels, blueprint, job), instances
