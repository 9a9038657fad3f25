"""Which constraints to release where there is no counterfactual: the fewest that give an answer.

All sets of one size are tried in one run: copies of x, each with constraints of its own, share the model
calls. First all constraints are released together. If there is still no answer, they are not what stands in
the way. Then each alone is released, then pairs. If no pair helps, the constraints that an answer without any
of them breaks are released, and put back one by one where an answer remains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from counterpoint.data.constraint import Constraint, ConstraintKind, constraints_of, without
from counterpoint.data.constraints import Rules
from counterpoint.data.distance import changed
from counterpoint.data.schema import resolve
from counterpoint.explainers.run import Run, Settings
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.relaxation import Relaxation
from counterpoint.explanation.shortfall import Shortfall
from counterpoint.search.engine import Budget

if TYPE_CHECKING:
    from counterpoint.explainers.base import Explainer

# At most this many constraints are tried alone, and this many pairs of them.
ALONE, PAIRS = 200, 120
# Answers without any constraint, each of which shows a set of constraints that is enough to release.
FREE = 10
# How often one of a larger set is put back.
ROUNDS = 8

Released = tuple[Constraint, ...]


@dataclass(frozen=True)
class Relaxing:
    """One question without an answer, to be asked again with fewer constraints."""

    explainer: Explainer
    explanation: Explanation
    settings: Settings
    keep: frozenset[Any] = frozenset()

    def relax(self) -> Relaxation | None:
        """Find the fewest constraints whose release gives an answer; None if no release does."""
        every = self._releasable()
        free = self._tried([every], FREE)[0] if every else None
        if free is None or not len(free):
            return None
        broken = self._broken(every, free)
        hints = list(broken)
        if () in broken:  # this time, the search found an answer that keeps all
            return Relaxation((), _only(free, broken[()], self.explanation.k))
        # What answers without constraints break comes first, in case there are too many to try.
        ranked = list(dict.fromkeys([*(each for hint in hints for each in hint), *every]))[:ALONE]
        found = self._best([(each,) for each in ranked])
        if not found:
            pairs = [hint for hint in hints if len(hint) == 2]
            pairs += combinations(ranked[: int((2 * PAIRS) ** 0.5)], 2)
            found = self._best(list({frozenset(pair): tuple(pair) for pair in pairs}.values())[:PAIRS])
        if not found:
            found = self._shrunk(hints[0], _only(free, broken[hints[0]], self.explanation.k))
        released = found[0][0]
        full = self._tried([released], self.explanation.k)[0]
        alternatives = tuple(_in_order(each, every) for each, _ in found[1:])
        return Relaxation(_in_order(released, every), full if len(full) else found[0][1], alternatives)

    def _releasable(self) -> Released:
        """List the constraints that may be released."""
        fitted = self.explainer.fitted_.within(self.explanation.limits)
        found = constraints_of(fitted.constrained, self.settings.max_changes)
        locked = [feature.name for feature in fitted.constrained.features if feature.immutable]
        # What no known instance has cannot be explained unless it is kept.
        problems = fitted.schema.freeing(locked).read_one(self.explanation.x).problems
        odd = {problem.column for problem in problems}
        return tuple(
            each
            for each in found
            if each.feature not in self.keep
            and not (each.kind is ConstraintKind.IMMUTABLE and each.feature in odd)
        )

    def _tried(self, sets: Sequence[Released], k: int) -> list[Explanation]:
        """Ask the question again, each time without some of the constraints."""
        answers: dict[int, Explanation] = {}
        for frees in (False, True):
            mine = [i for i, each in enumerate(sets) if _frees_count(each) == frees]
            if mine:
                asked = self._asked([sets[i] for i in mine], k, None if frees else self.settings.max_changes)
                answers |= dict(zip(mine, asked, strict=True))
        return [answers[i] for i in range(len(sets))]

    def _asked(self, sets: Sequence[Released], k: int, max_changes: int | None) -> list[Explanation]:
        fitted = self.explainer.fitted_
        constrained = fitted.within(self.explanation.limits).constrained
        limits = tuple(without(constrained, each) for each in sets)
        sight = fitted.view.read_one(self.explanation.x)
        copies = sight.instances.take(np.zeros(len(sets), dtype=np.intp))
        settings = replace(self.settings, k=k, max_changes=max_changes, limits=limits)
        run = Run(self.explainer, fitted, settings, sight._replace(instances=copies))
        return list(run.explanations(progress=False))

    def _broken(self, every: Released, free: Explanation) -> dict[Released, int]:
        """Find the constraints that answers without any of them break, the smallest sets first.

        Each set comes with the index of the nearest answer that breaks it.
        """
        constrained = self.explainer.fitted_.within(self.explanation.limits).constrained
        broken = np.zeros((len(free), len(every)), dtype=np.bool_)
        x = np.repeat(free.row[None], len(free), axis=0)
        rows = np.where(constrained.following, x, free.rows)  # what follows breaks no constraint
        for i, constraint in enumerate(every):
            if constraint.kind is ConstraintKind.MAX_CHANGES:
                broken[:, i] = changed(rows, free.row).sum(axis=1) > constraint.value
                continue
            others = [each for each in every if each != constraint]
            rules = Rules.of(without(constrained, others).applied(constrained))
            broken[:, i] = ~rules.around(x).admissible(rows)
        sets: dict[Released, int] = {}
        for index, mask in enumerate(broken):  # answers are sorted by distance
            sets.setdefault(tuple(every[i] for i in np.flatnonzero(mask)), index)
        return dict(sorted(sets.items(), key=lambda each: len(each[0])))

    def _best(self, sets: list[Released]) -> list[_Found]:
        """Try sets, and list those that give an answer, the nearest first."""
        if not sets or self.settings.budget.seconds_left() <= 0:
            return []
        pairs = zip(sets, self._tried(sets, 1), strict=True)
        return sorted((pair for pair in pairs if len(pair[1])), key=lambda pair: _away(pair[1]))

    def _shrunk(self, released: Released, answer: Explanation) -> list[_Found]:
        """Put back constraints one by one, as long as there is an answer."""
        best: _Found = (released, answer)
        for _ in range(ROUNDS):
            released = best[0]
            fewer = [tuple(each for each in released if each != one) for one in released]
            found = self._best(fewer)
            if not found:
                break
            best = found[0]
        return [best]


_Found = tuple[Released, Explanation]


def _frees_count(released: Released) -> bool:
    return any(each.kind is ConstraintKind.MAX_CHANGES for each in released)


def _away(answer: Explanation) -> float:
    """Tell how far the nearest counterfactual is, by what changes cost."""
    return float((answer.distance if answer.cost is None else answer.cost).min())


def _only(answer: Explanation, index: int, k: int) -> Explanation:
    """Keep one counterfactual of an answer."""
    part = slice(index, index + 1)
    return replace(
        answer,
        rows=answer.rows[part],
        labels=answer.labels[part],
        found_by=answer.found_by[part],
        distance=answer.distance[part],
        cost=None if answer.cost is None else answer.cost[part],
        k=k,
        shortfall=None if k == 1 else Shortfall(k, 1, count=answer.model_rows, target=answer.target),
    )


def _in_order(released: Released, every: Released) -> Released:
    return tuple(each for each in every if each in released)


def relax(
    explainer: Explainer,
    explanation: Explanation,
    settings: Settings,
    keep: Iterable[Any],
    max_seconds: float | None,
) -> Relaxation | None:
    """Release constraints of a question, unless it has an answer already."""
    if explanation.schema.form.shape:
        raise ValueError(
            "relax is for tables; of images and series, release cells yourself: fit again with a smaller "
            "mask immutable=."
        )
    if len(explanation) or (explanation.shortfall is not None and explanation.shortfall.already):
        return Relaxation((), explanation)
    kept = frozenset(resolve(keep, explanation.schema.form, "keep"))
    deadline = None if max_seconds is None else monotonic() + max_seconds
    settings = replace(settings, budget=Budget(settings.budget.rows, deadline))
    return Relaxing(explainer, explanation, settings, kept).relax()
