"""The six promises over random tables, models, constraints and settings."""

from __future__ import annotations

import copy
import pickle
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import counterpoint as cp
from soak.judges import judge
from soak.processes import run
from soak.tables import Case, cells, draw, names
from soak.trials import Failure, Trials

Judge: TypeAlias = Callable[[Case, cp.Explanations], Iterator[str]]


class Cases(Trials):
    """Cases of which each is checked by one function, in blocks that have a process of their own."""

    @abstractmethod
    def check(self, number: int) -> list[str]:
        """Run one case; name what it breaks."""

    def trial(self, start: int, count: int, folder: Path) -> list[Failure]:
        """Judge a block of cases."""

        def work() -> int:
            for number in range(start, start + count):
                for broken in self.check(number):
                    print(f"{number}\t{broken}", flush=True)
            return 0

        ended = run(work, folder, seconds=60 + 5 * count)
        failures = [Failure(self.kind, *line.split("\t", 1)) for line in ended.out.splitlines()]
        if ended.code != 0:
            last = ended.err.strip().splitlines()[-1:]
            failures.append(Failure(self.kind, f"{start} to {start + count - 1}", f"{ended.ending}: {last}"))
        return failures


class Promises(Cases):
    """Cases of the six promises."""

    kind = "promises"
    full = 100_000

    def check(self, number: int) -> list[str]:
        """Run one case; name what it breaks."""
        return broken_by(draw(number), number, judge)


def broken_by(case: Case, number: int, judge: Judge) -> list[str]:
    """Run one case; name what it breaks."""
    before = pickle.dumps((cells(case.known), cells(case.asked)))
    kept = copy.deepcopy((case.known, case.asked))
    try:
        explainer = fitted(case)
    except ValueError as error:
        return [] if is_refusal(error) else [f"fit: {error!r}"]
    except Exception as error:
        return [f"fit: {error!r}"]
    try:
        answers = explainer.explain_many(case.asked, case.k, progress=False, **case.ask)
    except Exception as error:
        return [f"explain_many: {error!r}"]
    broken = list(judge(case, answers))
    broken += _not_the_same(case, explainer, answers, number)
    if pickle.dumps((cells(case.known), cells(case.asked))) != before or not _equal(kept, case):
        broken.append("promise 6: the caller's tables were written to")
    return broken


def fitted(case: Case, explainer: cp.Explainer | None = None) -> cp.Explainer:
    """Fit the explainer of a case, or another one."""
    columns = names(case.known)
    fit: dict[str, Any] = {
        name: [columns[i] for i in case.fit[name]] for name in ("immutable", "increase", "decrease")
    }
    fit["ranges"] = {columns[i]: limits for i, limits in case.fit["ranges"].items()}
    made = explainer or case.explainer
    return made.fit(case.model, case.known, missing=case.fit["missing"], progress=False, **fit, **case.more)


def is_refusal(error: ValueError) -> bool:
    """Tell whether a case has no answer by its making: one decision only, or nothing that may change."""
    text = str(error)
    return "decides every known instance as" in text or "immutable" in text or "nothing" in text


def _not_the_same(case: Case, explainer: cp.Explainer, answers: cp.Explanations, number: int) -> list[str]:
    """Ask again: each row alone, in another batch, and an explainer that was fitted again."""
    broken = []
    first = [cells(answer.counterfactuals) for answer in answers]
    places = np.random.default_rng([21, number]).permutation(len(first)).tolist()
    asked = case.asked.iloc[places] if hasattr(case.asked, "iloc") else case.asked[places]
    batch = explainer.explain_many(asked, case.k, progress=False, **case.ask)
    if [cells(answer.counterfactuals) for answer in batch] != [first[place] for place in places]:
        broken.append("promise 5: another order of rows gives other answers")
    one = case.asked.iloc[[0]] if hasattr(case.asked, "iloc") else case.asked[:1]
    one = one[0] if isinstance(one, np.ndarray) else one
    if cells(explainer.explain(one, case.k, **case.ask).counterfactuals) != first[0]:
        broken.append("promise 5: a row alone gets other answers than in a batch")
    again = fitted(case, case.explainer.clone())
    if cells(again.explain(one, case.k, **case.ask).counterfactuals) != first[0]:
        broken.append("promise 5: fitted again, the same question gets other answers")
    return broken


def _equal(kept: tuple[Any, Any], case: Case) -> bool:
    """Compare tables bit for bit, with their types."""
    for before, after in zip(kept, (case.known, case.asked), strict=True):
        if isinstance(before, np.ndarray):
            if before.tobytes() != after.tobytes():
                return False
        elif not before.equals(after) or list(before.columns) != list(after.columns):
            return False
    return True
