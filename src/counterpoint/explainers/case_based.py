"""CBCE: the case-based explainer of Keane and Smyth (2020), which reuses counterfactuals known to exist."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.narrow import any_of_each, count_of_each
from counterpoint.data.types import Indices, Rows
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.search.grouped import nearest
from counterpoint.search.task import Question, Search, Task

# Pairs are sought among at most this many known instances of each decision: their number grows as its square.
MOST = 1000


@dataclass
class CaseBased(Explainer):
    """Differences between known instances of opposite decision, transplanted onto x.

    An explanation case is a pair of known instances, one decided like x and one not, that differ in at most
    `differences` features. The difference of the nearest case is transplanted onto x. Where that does not
    flip, the same features take their values from the unlike instances nearest to the candidate.

    Parameters
    ----------
    differences
        The most features in which a case differs; more where there are fewer such pairs than `cases`.
    tolerance
        Continuous values this many MADs apart count as equal.
    cases
        How many of the nearest cases are tried.
    instances
        How many unlike instances lend their values where a case does not flip.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [8.0, 5.0], [9.0, 1.0]])
    >>> CaseBased().fit(lambda rows: rows[:, 0] > 5, X).explain(X[0], k=1).counterfactuals
    array([[8., 5.]])
    """

    differences: int = 2
    tolerance: float = 0.1
    cases: int = 50
    instances: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "differences", "cases", "instances")
        at_least(0, self, "tolerance")

    def search(self, task: Task) -> Search:
        """Transplant the nearest cases, then adapt those that do not flip."""
        library = task.learned(
            ("cases", self.differences, self.tolerance, self.cases), lambda: self._library(task)
        )
        case = nearest(task.known.distance.between(task.x, library.alike), self.cases).ravel()
        instance = np.repeat(np.arange(len(task)), len(case) // len(task))
        differs = library.differs[case]
        question = task.project(np.where(differs, library.unlike[case], task.x[instance]), instance)
        stays = ~task.flips((yield question))
        yield self._adapted(task, question.rows[stays], instance[stays], differs[stays])

    def _adapted(self, task: Task, rows: Rows, instance: Indices, differs: NDArray[np.bool_]) -> Question:
        """Take the differing features' values from the unlike instances nearest to each candidate."""
        distance, known, unlike = task.known.distance, task.known.rows, task.unlike()
        embedded = task.learned("lenders", lambda: distance.embed(known[unlike]))
        lenders = nearest(distance.measure(distance.embed(rows), embedded), self.instances)
        instance = np.repeat(instance, lenders.shape[1])
        values = known[unlike[lenders.ravel()]]
        lent = np.where(np.repeat(differs, lenders.shape[1], axis=0), values, task.x[instance])
        return task.project(lent, instance)

    def _library(self, task: Task) -> _Library:
        """Find pairs of opposite decision that differ in few features."""
        flips = task.flips(task.known.labels)
        rng = task.rng()
        alike, unlike = (
            rows[np.sort(rng.permutation(len(rows))[:MOST])]
            for rows in (task.known.rows[~flips], task.known.rows[flips])
        )
        differs = self._differs(task, alike, unlike)
        counts = count_of_each(differs)
        usable = ~any_of_each(differs & ~task.free)
        # So many differences that there are enough cases to choose from.
        fewest = np.sort(counts[usable])[: self.cases]
        i, j = np.nonzero(usable & (counts <= max([self.differences, *fewest[-1:]])))
        return _Library(alike[i], unlike[j], differs[i, j])

    def _differs(self, task: Task, alike: Rows, unlike: Rows) -> NDArray[np.bool_]:
        """Tell for each pair which features differ beyond the tolerance."""
        distance = task.known.distance
        differs = np.empty((len(alike), len(unlike), alike.shape[1]), dtype=np.bool_)
        for i, row in enumerate(alike):
            prices = distance.prices(unlike, row)
            slack = np.where(task.is_coded, 0.0, self.tolerance / max(1, len(distance.continuous)))
            differs[i] = prices > slack
        return differs


@dataclass(frozen=True)
class _Library:
    """Explanation cases: pairs of opposite decision, and the features in which they differ."""

    alike: Rows
    unlike: Rows
    differs: NDArray[np.bool_]
