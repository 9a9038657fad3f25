"""Every counterfactual seen for one x.

A labelled row that flips the decision is a counterfactual already paid for, whether or not the search that
asked about it returns it. A `Pool` listens to searches, keeps all flips, and sees to it that the model is
asked about admissible rows only.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from counterpoint.blackbox import Labels, ModelError
from counterpoint.engine import Lockstep, OutOfBudget, advance
from counterpoint.schema import Rows
from counterpoint.task import Task

T = TypeVar("T")


class Pool:
    """The flips found so far for one task: their rows, labels and finders."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.rows: Rows = np.empty((0, len(task.x)))
        self.labels: Labels = np.empty(0)
        self.finders: NDArray[np.object_] = np.empty(0, dtype=object)
        self.asked = 0

    def __len__(self) -> int:
        return len(self.rows)

    def listen(
        self, searches: list[Generator[Rows, Labels, T]], names: list[str]
    ) -> Generator[Rows, Labels, list[T | None]]:
        """Run searches together; keep their flips, and refuse rows that break a constraint.

        A refused row costs nothing and is answered with x's own decision: it does not flip.
        """
        chorus = Lockstep(searches)
        search = chorus.search()
        labels: Labels | None = None
        try:
            while True:
                rows = advance(search, labels)
                labels = yield from self._ask(rows, chorus, names)
        except StopIteration as stop:
            return list(stop.value)
        except (ModelError, OutOfBudget):
            raise
        except Exception as error:
            error.add_note(f"It was raised by {names[chorus.current]}.")
            raise

    def _ask(self, rows: Rows, chorus: Lockstep[T], names: list[str]) -> Generator[Rows, Labels, Labels]:
        """Ask about the admissible ones among rows, each distinct one once."""
        admissible = np.flatnonzero(self.task.admissible(rows))
        keys = row_keys(rows[admissible])
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        places = admissible[first]
        try:
            answer = (yield rows[places]) if len(places) else None
        except ModelError as error:
            if error.position is not None:
                owner = chorus.owners[places[error.position]]
                error.args = (f"{error} It was asked by {names[owner]}.",)
            raise
        labels = _repeat(self.task.decision, len(rows))
        if answer is not None:
            labels = labels.astype(np.result_type(labels, answer), copy=False)
            labels[admissible] = answer[inverse]
            self._keep(rows[places], answer, [names[owner] for owner in chorus.owners[places]])
        return labels

    def _keep(self, rows: Rows, labels: Labels, names: list[str]) -> None:
        """Keep what flips and may be an answer."""
        self.asked += len(rows)
        flips = self.task.flips(labels)
        if not flips.any():
            return
        keep = np.flatnonzero(flips)
        keep = keep[self.task.answers(rows[keep])]
        self.rows = np.concatenate([self.rows, rows[keep]])
        self.labels = np.concatenate([self.labels, labels[keep]]) if len(self.labels) else labels[keep]
        self.finders = np.concatenate([self.finders, np.array([names[i] for i in keep], dtype=object)])
        _, first = np.unique(row_keys(self.rows), return_index=True)
        if len(first) < len(self.rows):
            first.sort()
            self.rows, self.labels, self.finders = self.rows[first], self.labels[first], self.finders[first]

    def places(self, rows: Rows) -> NDArray[np.intp]:
        """Find rows in the pool; those it does not hold are left out, as they were never seen to flip."""
        known = {key: place for place, key in enumerate(row_keys(self.rows).tolist())}
        found = [known[key] for key in row_keys(rows).tolist() if key in known]
        return np.array(list(dict.fromkeys(found)), dtype=np.intp)


def row_keys(rows: Rows) -> NDArray[np.void]:
    """Turn each row into one comparable key; equal rows have equal keys."""
    rows = np.ascontiguousarray(rows + 0.0)  # -0.0 becomes 0.0
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()


def _repeat(decision: object, count: int) -> Labels:
    """Answer `count` rows with x's own decision."""
    one = np.asarray(decision)[None]
    return np.repeat(one, count, axis=0)
