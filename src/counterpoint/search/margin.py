"""Answers that keep a distance from the boundary, so that they still hold when the model is trained again.

Where the model has probabilities, the wanted decision must have at least a certain one. Otherwise rows around
an answer are asked about: its changes partly undone, and its numbers moved by chance. Most of them must flip
too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from counterpoint.data.types import Indices, Mask, Row, Rows
from counterpoint.model.blackbox import BlackBox, ModelError
from counterpoint.model.scores import ScoreKind
from counterpoint.search.task import Task


@dataclass(frozen=True)
class Margin:
    """How far from the boundary answers have to be.

    Parameters
    ----------
    probability
        The least probability of the wanted decision, for models with ``predict_proba``.
    rows
        For other models, how many rows around an answer are asked about.
    undone
        Up to which share the changes of numbers are undone in them.
    spread
        By how many median absolute deviations their numbers are moved.
    share
        The least share of them that must flip.

    Examples
    --------
    >>> Margin(probability=0.7)
    Margin(probability=0.7, rows=12, undone=0.4, spread=0.4, share=0.9)
    """

    probability: float = 0.62
    rows: int = 12
    undone: float = 0.4
    spread: float = 0.4
    share: float = 0.9

    def __post_init__(self) -> None:
        for name in ("probability", "undone", "share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"Margin.{name} must be between 0 and 1, got {getattr(self, name)!r}.")
        if self.rows < 1 or not self.spread >= 0:
            raise ValueError("Margin.rows must be at least 1, and Margin.spread at least 0.")

    @classmethod
    def read(cls, margin: Any) -> Margin | None:
        """Read what a caller gives: a margin, the least probability, or None for none.

        Examples
        --------
        >>> Margin.read(0.8).probability
        0.8
        """
        if margin is None or isinstance(margin, Margin):
            return margin
        if isinstance(margin, bool) or not isinstance(margin, int | float | np.number):
            raise TypeError(f"margin must be cp.SAFE, a Margin or a probability such as 0.6, got {margin!r}.")
        return replace(SAFE, probability=float(margin))

    def holds(
        self, task: Task, blackbox: BlackBox, group: Indices, rows: Rows, instance: Indices
    ) -> tuple[Mask, int]:
        """Tell which rows that flip are far enough from the boundary, and how many rows were asked for each.

        `group` holds the indices, in the run, of the instances of the task.
        """
        chances = self._chances(task, blackbox, rows, group[instance])
        if chances is not None:
            return chances >= self.probability, 1
        around = np.concatenate([self._moved(task, rows, instance, turn) for turn in range(self.rows)])
        try:
            labels = blackbox.predict(around, np.tile(group[instance], self.rows))
        except ModelError:  # it refuses rows like these: then nothing is known about what is around
            return np.zeros(len(rows), dtype=np.bool_), self.rows
        flips = task.flips(labels).reshape(self.rows, len(rows))
        return np.asarray(flips.mean(axis=0) >= self.share), self.rows

    def _chances(self, task: Task, blackbox: BlackBox, rows: Rows, places: Indices) -> Row | None:
        """Ask for the probability of the wanted decisions; None if the model has none."""
        if task.target.test is not None:
            return None
        scores = blackbox.class_scores(rows, places)
        if scores is None or scores.kind is not ScoreKind.PROBABILITY:
            return None
        wanted = task.target.among(scores.classes, task.decisions[0])
        return np.asarray(scores.numbers[:, wanted].sum(axis=1))

    def _moved(self, task: Task, rows: Rows, instance: Indices, turn: int) -> Rows:
        """Undo a part of the changes and move numbers by chance: in the same way for every row."""
        rng = np.random.default_rng([0, turn])
        rules, width = task.rules, rows.shape[1]
        back, noise = rng.uniform(0, self.undone), rng.normal(0, self.spread, width)
        numbers = ~rules.is_coded & (task.known.distance.weight > 0)
        count = max(1, int(numbers.sum()))
        with np.errstate(divide="ignore"):
            unit = np.where(numbers, 1 / task.known.distance.weight / count, 0.0)
        home = task.home[instance]
        moved = rows + np.where(numbers, back * (home - rows), 0.0) + noise * unit
        moved = np.clip(moved, np.fmin(rules.low, rows), np.fmax(rules.high, rows))
        settled = rules.grid.settle(moved.ravel(), np.tile(np.arange(width), len(rows))).reshape(rows.shape)
        return np.asarray(np.where(numbers & np.isfinite(settled), settled, rows))


SAFE = Margin()
