"""ECE, the paper's Algorithm 1: sample instances and features, run the base explainers, select."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.blackbox import BlackBox, Labels
from counterpoint.engine import OutOfBudget
from counterpoint.explainers import BruteForce, Evolution, Explainer, Guided, Neighbours, Sphere, Tree
from counterpoint.explainers.base import Answer, at_least
from counterpoint.explanation import Explanation
from counterpoint.polish import Polish
from counterpoint.pool import Pool
from counterpoint.population import Population
from counterpoint.schema import Rows, Schema
from counterpoint.selection import BALANCED, Selection
from counterpoint.task import Rule, Search, Task


@dataclass(frozen=True)
class Voice:
    """A base explainer of an ensemble, with the instances and features drawn for it."""

    explainer: Explainer
    known: Population
    features: tuple[int, ...]
    stream: tuple[int, ...]

    def search(self, task: Task) -> Search:
        """Search on this voice's sample."""
        features = self.features if task.max_changes is None else self.features[: task.max_changes]
        return self.explainer.search(task.narrow(self.known, features, self.stream))


def _default_explainers() -> tuple[Explainer, ...]:
    return (BruteForce(refine=0), Tree(), Sphere(), Neighbours(), Guided())


@dataclass
class Ensemble(Explainer):
    """An ensemble of base explainers."""

    explainers: Sequence[Explainer] = field(default_factory=_default_explainers)
    size: int = 10
    instances: float = 0.2
    polish: Polish | None = field(default_factory=Polish)
    selection: Selection = BALANCED
    starts: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        at_least(1, self, "size", "starts")

    def _fit_known(self, schema, blackbox, known, rule):  # type: ignore
        super()._fit_known(schema, blackbox, known, rule)
        self.voices_ = self._draw(self.fitted_.known)
        return self

    def _draw(self, known: Population) -> list[Voice]:
        rng = np.random.default_rng([self.seed, 1])
        kinds = _least_used(rng, len(self.explainers), self.size)
        actionable = known.schema.actionable
        few = max(2, int(np.sqrt(len(actionable))))
        rows = max(1000, int(self.instances * len(known.rows)))
        voices = []
        for place, kind in enumerate(kinds):
            count = len(actionable) if kinds[:place].count(kind) % 2 == 0 else few
            features = rng.permutation(actionable)[:count]
            voices.append(
                Voice(
                    self.explainers[kind],
                    known.sample(np.random.default_rng([self.seed, 2, place]), min(rows, 5000)),
                    tuple(int(f) for f in features),
                    (self.seed, place),
                )
            )
        return voices

    def search(self, task: Task) -> Search:
        answer = yield from self.answer(task)
        return answer.rows

    def answer(self, task: Task) -> Generator[Rows, Labels, Answer]:
        pool, stopped = Pool(task), None
        try:
            yield from self._sing(task, pool)
        except OutOfBudget as stop:
            stopped = str(stop)
        return Answer.of(pool, self.selection.select(task, pool.rows, task.k), stopped)

    def _sing(self, task: Task, pool: Pool) -> Generator[Rows, Labels, None]:
        names = [type(v.explainer).__name__ for v in self.voices_]
        yield from pool.listen([v.search(task) for v in self.voices_], names)
        if len(pool) < 2 * task.k:
            yield from pool.listen([Evolution().search(task)], ["Evolution"])
        if self.polish is not None and len(pool):
            starts = pool.rows[self.selection.select(task, pool.rows, self.starts)]
            yield from pool.listen([self.polish.search(task, starts)], ["Polish"])


def _least_used(rng: np.random.Generator, kinds: int, size: int) -> list[int]:
    """Draw kinds at random among the least used, so that each has its share."""
    draws = [rng.permutation(kinds) for _ in range(-(-size // kinds))]
    return [int(kind) for kind in np.concatenate(draws)[:size]]


def explain(x: Any, model: Any, X: Any, k: int = 5, *, seed: int = 0, **options: Any) -> Explanation:
    """Explain one decision in one call: the paper's f_k(x, b, X, A), with the ensemble's defaults.

    `options` are those of `Ensemble.fit` (immutable, ranges, …) and of `Ensemble.explain` (target, …).
    For more than a few decisions, fit an `Ensemble` once.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> explain(X[0], lambda rows: rows[:, 0] > 0, X, k=2).decisions
    array([False, False])
    """
    asked = {name: options.pop(name) for name in _ASKED & set(options)}
    return Ensemble(seed=seed).fit(model, X, **options).explain(x, k, **asked)


_ASKED = {"target", "max_changes", "max_rows", "max_seconds"}
