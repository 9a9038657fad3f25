"""Explainers that return at most k counterfactuals, and nothing else of what they come by.

Elsewhere in the library every row that flips joins the pool. The paper's C holds only what its base
explainers return, so here a search also returns its answer, and the pool forgets the rest.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterable
from typing import ClassVar

import numpy as np

from counterpoint._util.duplicates import distinct
from counterpoint.data.types import Indices, Labels
from counterpoint.explainers.base import Explainer
from counterpoint.search.engine import step
from counterpoint.search.pool import Asking, Finds, Pool
from counterpoint.search.task import Question, Search, Task

# A search that returns at most k rows per instance.
Returning = Generator[Question, Labels, Question]


class PaperExplainer(Explainer):
    """A base explainer that follows the paper's text, with the name that the paper gives it."""

    paper_name: ClassVar[str]

    @abstractmethod
    def returned(self, task: Task) -> Returning:
        """Search, and return at most k counterfactuals per instance."""

    def search(self, task: Task) -> Search:
        """Search as any explainer does: all that flips is kept by whoever runs it."""
        yield from self.returned(task)

    def gather(self, task: Task, pool: Pool) -> Asking:
        """Fill a pool with what is returned."""
        yield from gather_returned(pool, [(self.paper_name, self.returned(task))])


def gather_returned(pool: Pool, calls: Iterable[tuple[str, Returning]]) -> Asking:
    """Run searches together, and keep in the pool what they return: the paper's C."""
    returned: dict[int, Question] = {}
    for name, call in calls:
        pool.add(_collecting(call, pool.next_finder, returned), name)
    yield from pool.finish()
    parts = [returned[finder] for finder in sorted(returned)]
    rows, instance = (np.concatenate(each) for each in zip(*parts, strict=True))
    finders = np.repeat(sorted(returned), [len(part.rows) for part in parts])
    pool.keep_only(Question(rows, instance), finders)


def _collecting(call: Returning, finder: int, returned: dict[int, Question]) -> Search:
    returned[finder] = yield from call


def returned_by(explainer: Explainer, task: Task) -> Returning:
    """Run any explainer's search, and return at most k counterfactuals per instance.

    What an explainer returns that has no answer of its own is what it would choose if it ran alone.
    """
    if isinstance(explainer, PaperExplainer):
        return (yield from explainer.returned(task))
    rows, instance, labels = [task.x[:0]], [np.empty(0, dtype=np.intp)], [task.decisions[:0]]
    search = explainer.search(task)
    answer = None
    while (question := step(search, answer)) is not None:
        answer = yield question
        flips = task.flips(answer)
        rows.append(question.rows[flips])
        instance.append(question.instance[flips])
        labels.append(answer[flips])
    found = Question(np.concatenate(rows), np.concatenate(instance))
    first = distinct_by_instance(found)
    finds = Finds(
        found.rows[first],
        found.instance[first],
        np.concatenate(labels)[first],
        np.zeros(len(first), dtype=np.intp),
        np.zeros(len(first), dtype=np.bool_),
    )
    picked = np.concatenate([np.empty(0, dtype=np.intp), *explainer.choose(task, finds)])
    return Question(finds.rows[picked], finds.instance[picked])


def distinct_by_instance(found: Question) -> Indices:
    """Find the first of equal rows, sorted by instance and then in the order they were found."""
    first, _ = distinct(found.rows, found.instance, np.arange(len(found.instance)))
    return first[np.argsort(found.instance[first], kind="stable")]
