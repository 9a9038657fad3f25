"""BCE-T: a surrogate decision tree, whose leaves of another decision say what would have to change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from counterpoint._util.duplicates import distinct
from counterpoint.data.types import Indices, Row, Rows
from counterpoint.explainers.base import Explainer, at_least
from counterpoint.search.grouped import nearest
from counterpoint.search.task import WIDE, Question, Search, Task

# Scikit-learn's trees hold numbers as float32, and sum them to see whether one is missing.
LARGEST = 1e30


@dataclass
class Tree(Explainer):
    """Instances from the leaves of a surrogate tree that predict another decision.

    The tree mimics the black box on the known instances. Only leaves are used whose conditions x fails on
    features that may change; those with the fewest such conditions come first. From each leaf come the known
    instances nearest to x, once as they are and once with only those features taken over that the failed
    conditions name, which changes less.

    Parameters
    ----------
    leaves
        How many leaves are tried.
    instances
        How many known instances are taken from each.
    share
        A leaf holds at least this share of the known instances.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 5.0], [2.0, 1.0], [8.0, 5.0], [9.0, 1.0]])
    >>> Tree().fit(lambda rows: rows[:, 0] > 5, X).explain(X[0], k=1).counterfactuals
    array([[8., 5.]])
    """

    leaves: int = 10
    instances: int = 5
    share: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "leaves", "instances")
        if not 0 < self.share <= 0.5:
            raise ValueError(f"Tree.share must be in (0, 0.5], got {self.share}.")

    def search(self, task: Task) -> Search:
        """Ask about instances from the leaves that x is nearest to in conditions."""
        shadow = task.learned(("shadow", self.share), lambda: _Shadow.fit(task, self.share))
        yield task.project(*shadow.candidates(task, task.affordable(self.leaves), self.instances))


@dataclass(frozen=True)
class _Shadow:
    """A tree as arrays: its inner nodes' tests, its flipping leaves' paths, and who lives in each leaf."""

    feature: NDArray[np.intp]
    threshold: Row
    goes_left: NDArray[np.bool_]  # leaf × node: the path takes the node's left side
    goes_right: NDArray[np.bool_]
    members: list[Indices]
    width: int

    @classmethod
    def fit(cls, task: Task, share: float) -> _Shadow:
        """Train the tree on what flips, and keep the leaves that hold flipping instances."""
        rows, flips = task.known.rows, task.flips(task.known.labels)
        # Only "flips or not" matters to the question, so the tree is trained on just that.
        # Of very many features each split looks at a draw, or training would take longer than all else.
        tree = DecisionTreeClassifier(
            min_samples_leaf=max(1, int(share * len(rows))),
            max_features=min(4 * WIDE, rows.shape[1]),
            random_state=task.stream[0],
        )
        tree.fit(in_float32(rows), flips)
        inner, left, right = paths(tree.tree_)
        home = tree.apply(in_float32(rows))
        leaves = [leaf for leaf in left if flips[home == leaf].any()]
        # Of those in a leaf that are the same in the features that may change, one is enough.
        members, _ = distinct(rows[:, task.features], home, np.flatnonzero(flips))
        return cls(
            feature=tree.tree_.feature[inner],
            threshold=tree.tree_.threshold[inner],
            goes_left=np.array([left[leaf] for leaf in leaves], dtype=np.bool_).reshape(
                len(leaves), len(inner)
            ),
            goes_right=np.array([right[leaf] for leaf in leaves], dtype=np.bool_).reshape(
                len(leaves), len(inner)
            ),
            members=[members[home[members] == leaf] for leaf in leaves],
            width=rows.shape[1],
        )

    def candidates(self, task: Task, leaves: int, instances: int) -> Question:
        """Take instances from the leaves with the fewest conditions that each x fails."""
        is_left = (in_float32(task.x)[:, self.feature] <= self.threshold)[:, None]
        failed = (self.goes_left & ~is_left) | (self.goes_right & is_left)  # instance × leaf × node
        impossible = np.asarray((failed & ~np.isin(self.feature, task.features)).any(axis=2))
        conditions = np.where(impossible, np.inf, failed.sum(axis=2))
        used = np.zeros(conditions.shape, dtype=np.bool_)
        np.put_along_axis(used, np.argsort(conditions, axis=1, kind="stable")[:, :leaves], True, axis=1)
        used &= ~impossible
        away, ends = self._away(task), np.cumsum([len(members) for members in self.members])
        rows, instance = [task.x[:0]], [np.empty(0, dtype=np.intp)]
        for leaf in np.flatnonzero(used.any(axis=0)).tolist():
            of_leaf = np.flatnonzero(used[:, leaf])
            near = nearest(away[of_leaf, ends[leaf] - len(self.members[leaf]) : ends[leaf]], instances)
            members = task.known.rows[self.members[leaf][near]]
            # Once with only the features that failed conditions name, which changes less, and once as is.
            fewer = np.where(self._named(failed[of_leaf, leaf])[:, None], members, task.x[of_leaf, None])
            rows += [fewer.reshape(-1, task.x.shape[1]), members.reshape(-1, task.x.shape[1])]
            instance += [np.repeat(of_leaf, members.shape[1])] * 2
        return Question(np.concatenate(rows), np.concatenate(instance))

    def _away(self, task: Task) -> Rows:
        """Measure how far each x is from the members of all leaves, leaf after leaf."""
        distance = task.measure.over(task.features)
        places = np.concatenate([np.empty(0, dtype=np.intp), *self.members])
        embedded = task.learned(("members", task.costs_key), lambda: distance.embed(task.known.rows[places]))
        return distance.measure(distance.embed(task.x), embedded)

    def _named(self, failed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which features the failed conditions name."""
        named = np.zeros((len(failed), self.width), dtype=np.bool_)
        instance, node = np.nonzero(failed)
        named[instance, self.feature[node]] = True
        return named


def in_float32(rows: Rows) -> Rows:
    """Keep numbers within what scikit-learn's trees can hold."""
    return np.clip(rows, -LARGEST, LARGEST)


def paths(
    tree: object,
) -> tuple[NDArray[np.intp], dict[int, NDArray[np.bool_]], dict[int, NDArray[np.bool_]]]:
    """List the inner nodes, and for each leaf which of them its path leaves to the left and to the right."""
    children_left, children_right = tree.children_left, tree.children_right  # type: ignore[attr-defined]
    inner = np.flatnonzero(children_left >= 0)
    place = {int(node): i for i, node in enumerate(inner)}
    left: dict[int, NDArray[np.bool_]] = {}
    right: dict[int, NDArray[np.bool_]] = {}
    nothing = np.zeros(len(inner), dtype=np.bool_)
    stack = [(0, nothing, nothing)]
    while stack:
        node, lefts, rights = stack.pop()
        if node not in place:
            left[node], right[node] = lefts, rights
            continue
        here = np.arange(len(inner)) == place[node]
        stack.append((int(children_left[node]), lefts | here, rights))
        stack.append((int(children_right[node]), lefts, rights | here))
    return inner, left, right
