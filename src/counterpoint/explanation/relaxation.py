"""Which constraints stand in the way where there is no counterfactual."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterpoint.data.constraint import Constraint
from counterpoint.show import wording

if TYPE_CHECKING:
    from counterpoint.explanation.explanation import Explanation


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The smallest set of constraints found whose release gives an answer, and that answer.

    Parameters
    ----------
    released
        The constraints to release; empty if there is an answer already.
    explanation
        The answer without them. It keeps all other constraints.
    alternatives
        Other sets of the same size that give an answer too, those with the nearest answer first.

    Examples
    --------
    >>> import numpy as np
    >>> import counterpoint as cp
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explainer = cp.Ensemble().fit(lambda rows: rows[:, 0] > 0, X, immutable=[0, 2])
    >>> explanation = explainer.explain([-1.0, 0.0, 0.0], k=1)
    >>> explanation.relax().released
    (Constraint(kind='immutable', feature='x0', value=None),)
    """

    released: tuple[Constraint, ...]
    explanation: Explanation
    alternatives: tuple[tuple[Constraint, ...], ...] = ()

    def __str__(self) -> str:
        return f"{wording.relaxation_text(self.released, self.alternatives)}\n\n{self.explanation}"

    def __repr__(self) -> str:
        return f"<Relaxation: {len(self.released)} constraints released, {self.explanation!r}>"
