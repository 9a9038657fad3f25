"""BCE-T by the text: leaves of a surrogate tree that predict otherwise, and one instance from each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from counterpoint.data.outputs import is_continuous
from counterpoint.data.types import Indices, Labels, Mask, Row, Rows
from counterpoint.explainers.paper.base import PaperExplainer, Returning, distinct_by_instance
from counterpoint.explainers.tree import in_float32, paths
from counterpoint.search.grouped import first_of_each
from counterpoint.search.task import Question, Task


@dataclass
class PaperTree(PaperExplainer):
    """One known instance from each leaf of a surrogate tree that predicts another decision.

    The tree is trained on X' to mimic the black box. Of the conditions on the path to a leaf, only those on
    actionable features count. Leaves come in the order of how many of these conditions x fails; of equally
    many, the one whose instance is nearest comes first. From each leaf comes the instance nearest to x, with
    the values of x in the features that may not change. The first k that flip are returned.

    Parameters
    ----------
    share
        A leaf holds at least this share of the known instances. The paper gives no value; this is that of
        the authors' release.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 1.0], [8.0, 5.0], [9.0, 1.0]])
    >>> PaperTree().fit(lambda rows: rows[:, 0] > 5, X).explain(X[0], k=3).counterfactuals
    array([[8., 5.]])
    """

    share: float = 0.01
    seed: int = 0

    paper_name: ClassVar[str] = "BCE-T"

    def __post_init__(self) -> None:
        if not 0 < self.share <= 0.5:
            raise ValueError(f"PaperTree.share must be in (0, 0.5], got {self.share}.")

    def returned(self, task: Task) -> Returning:
        """Ask about one instance from each leaf, and return the first k that flip."""
        grown, is_flipping = self._grown(task)
        question = task.project(*grown.nearest(task, np.flatnonzero(is_flipping)))
        flips = task.flips((yield question))
        found = Question(question.rows[flips], question.instance[flips])
        first = distinct_by_instance(found)
        first = first[first_of_each(found.instance[first], task.k)]
        return Question(found.rows[first], found.instance[first])

    def _grown(self, task: Task) -> tuple[_Grown, Mask]:
        """Train the tree on what the black box says of X', and tell which leaves predict otherwise."""
        known, seed = task.known, task.stream[0]
        if is_continuous(known.labels):  # scores and quantities have no classes, but flip or do not
            flips = task.flips(known.labels)
            grown = task.once(("grown", self.share), lambda: _Grown.of(known.rows, flips, self.share, seed))
            return grown, np.asarray(grown.predicted, dtype=np.bool_)
        grown = known.once(
            ("grown", self.share, seed), lambda: _Grown.of(known.rows, known.labels, self.share, seed)
        )
        return grown, task.flips(grown.predicted)


@dataclass(frozen=True)
class _Grown:
    """A tree as arrays: the tests of its inner nodes, and the path, prediction and members of each leaf."""

    feature: NDArray[np.intp]
    threshold: Row
    goes_left: Mask  # leaf × node: the path takes the node's left side
    goes_right: Mask
    predicted: Labels
    members: list[Indices]

    @classmethod
    def of(cls, rows: Rows, labels: Labels, share: float, seed: int) -> _Grown:
        """Train a tree."""
        classes, codes = np.unique(labels, return_inverse=True)
        tree = DecisionTreeClassifier(min_samples_leaf=max(1, int(share * len(rows))), random_state=seed)
        tree.fit(in_float32(rows), codes)
        inner, left, right = paths(tree.tree_)
        home, shape = tree.apply(in_float32(rows)), (len(left), len(inner))
        said = tree.classes_[tree.tree_.value[list(left), 0].argmax(axis=1)]
        return cls(
            feature=tree.tree_.feature[inner],
            threshold=tree.tree_.threshold[inner],
            goes_left=np.array(list(left.values()), dtype=np.bool_).reshape(shape),
            goes_right=np.array(list(right.values()), dtype=np.bool_).reshape(shape),
            predicted=classes[said],
            members=[np.flatnonzero(home == leaf) for leaf in left],
        )

    def nearest(self, task: Task, leaves: Indices) -> Question:
        """Take from each of these leaves the member nearest to each x, in the order of failed conditions."""
        is_left = (in_float32(task.x)[:, self.feature] <= self.threshold)[:, None]
        counts = np.isin(self.feature, task.features)
        failed = (self.goes_left[leaves] & ~is_left) | (self.goes_right[leaves] & is_left)
        conditions = (failed & counts).sum(axis=2)  # instance × leaf
        distance = task.known.distance
        away = distance.measure(distance.embed(task.x), task.known.embedded)
        member = np.empty(conditions.shape, dtype=np.intp)
        for place, leaf in enumerate(leaves.tolist()):
            members = self.members[leaf]
            member[:, place] = members[away[:, members].argmin(axis=1)]
        nearest = np.take_along_axis(away, member, axis=1)
        order = np.lexsort([nearest, conditions], axis=1)
        member = np.take_along_axis(member, order, axis=1)
        instance = np.repeat(np.arange(len(task)), len(leaves))
        return Question(task.known.rows[member.ravel()], instance)
