"""Widens the answers of an explainer: how far each changed value can move while the answer holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.data.types import Indices
from counterpoint.explainers.run import Run, Settings
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.ranges import Range, Ranges
from counterpoint.explanation.relaxation import Relaxation
from counterpoint.search.engine import Budget
from counterpoint.search.pool import Asking, Finds, Pool
from counterpoint.search.task import Search, Task
from counterpoint.search.why import Why
from counterpoint.search.widen import widen

if TYPE_CHECKING:
    from counterpoint.explainers.base import Explainer


def ranges_of(
    explainer: Explainer, explanations: Sequence[Explanation], settings: Settings, max_seconds: float | None
) -> list[Ranges]:
    """Widen answers of an explainer to one question, all together."""
    if any(each.schema.form.shape for each in explanations):
        raise ValueError("ranges is for tables; the cells of images and series are too many to widen.")
    fitted = explainer.fitted_
    widening = _Widening([each for each in explanations if len(each)])
    if widening.answers:
        schema = widening.answers[0].schema
        sight = fitted.view.read(schema.decode(np.stack([each.row for each in widening.answers])))
        deadline = None if max_seconds is None else monotonic() + max_seconds
        limits = tuple(each.limits for each in widening.answers)
        own = any(not each.is_empty for each in limits)
        asked = replace(settings, budget=Budget(None, deadline), limits=limits if own else ())
        Run(widening, fitted, asked, sight).explanations(progress=False)
    found = iter(widening.found[place] for place in range(len(widening.answers)))
    return [Ranges(each.schema, next(found) if len(each) else ()) for each in explanations]


@dataclass
class _Widening:
    """What a run asks about: the answers themselves, with other values."""

    answers: Sequence[Explanation]
    seed: int = 0
    found: dict[int, tuple[Range, ...]] = field(default_factory=dict)

    @property
    def keeps_needless(self) -> bool:
        return False

    @property
    def leaves_out(self) -> Why:
        return Why.NOT_WORTH_IT

    def gather(self, task: Task, pool: Pool) -> Asking:
        pool.add(self._search(task, pool), "ranges")
        yield from pool.finish()

    def choose(self, task: Task, finds: Finds) -> list[Indices]:
        return [np.empty(0, dtype=np.intp)] * len(task)

    def ask_relaxed(
        self, explanation: Explanation, settings: Settings, keep: Iterable[Any], max_seconds: float | None
    ) -> Relaxation | None:
        raise NotImplementedError("What is widened has an answer already.")

    def ask_ranges(
        self, explanations: Sequence[Explanation], settings: Settings, max_seconds: float | None
    ) -> list[Ranges]:
        raise NotImplementedError("What is widened is not widened again.")

    def _search(self, task: Task, pool: Pool) -> Search:
        places = pool.places
        mine = [self.answers[place] for place in places.tolist()]
        instance = np.repeat(np.arange(len(mine)), [len(each) for each in mine])
        number = np.concatenate([np.arange(1, len(each) + 1) for each in mine])
        rows = np.concatenate([each.rows for each in mine])
        rows = np.where(task.rules.frozen, task.x[instance], rows)
        widths = yield from widen(task, rows, instance, pool.has_rule)
        for index, place in enumerate(places.tolist()):
            self.found[place] = tuple(
                Range(
                    int(number[each.row]),
                    each.feature,
                    each.low,
                    each.high,
                    each.codes,
                    each.points,
                    each.is_certain,
                )
                for each in widths
                if instance[each.row] == index
            )
