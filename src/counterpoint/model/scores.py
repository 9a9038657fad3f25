"""How far a row is from a decision, by the scores or the numbers that a model gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Mask, Row

# Smaller probabilities count as this one.
SMALLEST = 1e-4


class ScoreKind(StrEnum):
    """What a score is."""

    PROBABILITY = "probability"  # of a class, by predict_proba
    SCORE = "score"  # of a class, by decision_function
    OUTPUT = "output"  # the model's own output, which is a number


@dataclass(frozen=True)
class Standing:
    """How a row stands: its score, and the score that is needed.

    Parameters
    ----------
    kind
        What the score is.
    score
        The score of the wanted class, or the model's output.
    needed
        The score at which the decision changes; of more than two classes, the score of the strongest other
        class. None if the model decides by something else than its largest score.
    wanted
        The wanted class, or several that are wanted together; empty if the model's output is a number.
    rival
        Of more than two classes, the strongest one that is not wanted: `needed` is its score.
    is_strict
        Whether the score must exceed `needed`, or may be equal to it.
    """

    kind: ScoreKind
    score: float
    needed: float | None = None
    wanted: tuple[Any, ...] = ()
    rival: Any = None
    is_strict: bool = False


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of rows: one column per class.

    Examples
    --------
    >>> scores = Scores(np.array([[0.54, 0.46]]), ("no", "yes"), ScoreKind.PROBABILITY)
    >>> scores.margins(np.array([False, True])).round(2)
    array([-0.08])
    >>> standing = scores.standing(0, np.array([False, True]))
    >>> standing.score, standing.needed, standing.wanted
    (0.46, 0.5, ('yes',))
    """

    numbers: NDArray[Any]
    classes: tuple[Any, ...]
    kind: ScoreKind

    @classmethod
    def of(cls, numbers: NDArray[Any], classes: Sequence[Any], kind: ScoreKind) -> Scores | None:
        """Read what a model gives; None if it does not fit its classes."""
        if numbers.ndim == 1 and len(classes) == 2:
            numbers = np.column_stack([-numbers, numbers])
        if numbers.ndim != 2 or numbers.shape[1] != len(classes) or len(classes) < 2:
            return None
        return cls(numbers.astype(np.float64), tuple(classes), kind)

    def margins(self, wanted: Mask) -> Row:
        """Compute by how much the best wanted class leads; negative where another does."""
        return np.asarray(self.numbers[:, wanted].max(axis=1) - self.numbers[:, ~wanted].max(axis=1))

    def leads(self, wanted: Mask) -> Row:
        """Compute margins in log-odds, in which the effects of several changes come closest to a sum.

        Examples
        --------
        >>> scores = Scores(np.array([[0.5, 0.5], [0.1, 0.9]]), ("no", "yes"), ScoreKind.PROBABILITY)
        >>> scores.leads(np.array([False, True])).round(1)
        array([0. , 2.2])
        """
        if self.kind is not ScoreKind.PROBABILITY:
            return self.margins(wanted)
        best, rival = self.numbers[:, wanted].max(axis=1), self.numbers[:, ~wanted].max(axis=1)
        return np.asarray(np.log(np.maximum(best, SMALLEST)) - np.log(np.maximum(rival, SMALLEST)))

    def standing(self, index: int, wanted: Mask) -> Standing:
        """Tell how one row stands."""
        row = self.numbers[index]
        best, rival = (int(np.where(mask, row, -np.inf).argmax()) for mask in (wanted, ~wanted))
        needed: float | None = float(row[rival])
        name = self.classes[rival]
        if len(row) == 2:
            needed, name = (0.5 if self.kind is ScoreKind.PROBABILITY else 0.0), None
        if row[best] > row[rival]:  # the model does not decide by its largest score
            needed = None
        return Standing(self.kind, float(row[best]), needed, (self.classes[best],), name, is_strict=True)
