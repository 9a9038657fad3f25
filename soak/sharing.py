"""One fitted explainer used by four threads and by two processes at once: the same answers as alone."""

from __future__ import annotations

import threading
from pathlib import Path

import polars as pl

import counterpoint as cp
from soak.processes import Running, run
from soak.promises import fitted as fit
from soak.promises import is_refusal
from soak.tables import Case, cells, draw
from soak.trials import Failure, Trials

THREADS, PROCESSES = 4, 2


class Sharing(Trials):
    """Cases in which many ask at once."""

    kind = "threads and processes"
    full = 2_000
    block = 20

    def trial(self, start: int, count: int, folder: Path) -> list[Failure]:
        """Ask in processes, each with threads."""
        end = run(lambda: _work(start, count), folder, 120 + 10 * count)
        failures = [Failure(self.kind, *line.split("\t", 1)) for line in end.out.splitlines()]
        if end.code != 0:
            failures.append(Failure(self.kind, f"{start}", f"{end.ending}: {end.err[-300:]}"))
        return failures


def _work(start: int, count: int) -> int:
    for number in range(start, start + count):
        for wrong in _shared(number):
            print(f"{number}\t{wrong}", flush=True)
    return 0


def _shared(number: int) -> list[str]:
    case = draw(500_000 + number)
    try:
        fitted = fit(case)
    except ValueError as error:
        return [] if is_refusal(error) else [f"fit: {error!r}"]
    # Fitted again, so that nothing is cached that a lone run left behind.
    expected = _answers(case, fit(case, case.explainer.clone()))
    wrong: list[str] = []
    threads = [
        threading.Thread(target=_compare, args=(case, fitted, expected, f"thread {i}", wrong))
        for i in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    if isinstance(case.known, pl.DataFrame):  # polars does not work in a fork of a process that used it
        return wrong
    again = fit(case, case.explainer.clone())
    running = [Running(lambda: _differs(case, again, expected), Path.cwd()) for _ in range(PROCESSES)]
    ends = [each.ended() for each in running]
    return wrong + [f"process: {end.ending} {end.err[-300:]}" for end in ends if end.code != 0]


def _answers(case: Case, fitted: cp.Explainer) -> list[list[list[object]]]:
    answers = fitted.explain_many(case.asked, case.k, progress=False, **case.ask)
    return [cells(answer.counterfactuals) for answer in answers]


def _differs(case: Case, fitted: cp.Explainer, expected: object) -> int:
    return int(_answers(case, fitted) != expected)


def _compare(case: Case, fitted: cp.Explainer, expected: object, who: str, wrong: list[str]) -> None:
    try:
        if not all(_answers(case, fitted) == expected for _ in range(3)):
            wrong.append(f"{who} got other answers than alone")
    except Exception as error:
        wrong.append(f"{who}: {error!r}")
