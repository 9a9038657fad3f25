"""What every answer must be, judged from the values that a user sees, with no code of the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import counterpoint as cp
from soak.tables import GRADES, NUMERIC, Case, cells


def judge(case: Case, answers: cp.Explanations) -> Iterator[str]:
    """Name every promise that the answers about the rows of a case break."""
    asked, known = cells(case.asked), cells(case.known)
    if len(answers) != len(asked):
        yield f"{len(answers)} answers about {len(asked)} rows"
        return
    for x, answer in zip(asked, answers, strict=True):
        found = cells(answer.counterfactuals)
        yield from _counts(case, x, found, answer)
        yield from _valid(case, answer, found)
        for row in found:
            yield from _allowed(case, known, x, row)


def _counts(case: Case, x: list[Any], found: list[list[Any]], answer: cp.Explanation) -> Iterator[str]:
    if len(found) > case.k:
        yield f"promise 3: {len(found)} answers, {case.k} asked for"
    if any(a == b for i, a in enumerate(found) for b in found[:i]):
        yield "promise 3: an answer is given twice"
    if x in found:
        yield "promise 3: x itself is an answer"
    short = answer.shortfall
    if (short is None) != (len(found) == case.k):
        yield f"promise 4: {len(found)} of {case.k} found, and the shortfall is {short}"
    if short is not None and (short.found != len(found) or not short.reason):
        yield f"promise 4: {len(found)} found, and the shortfall says {short}"


def _valid(case: Case, answer: cp.Explanation, found: list[list[Any]]) -> Iterator[str]:
    """Ask the model itself: about all together, about each alone, and in another order."""
    if not found:
        return
    table = answer.counterfactuals
    together = case.model(table)
    alone = [case.model(_rows(table, [i]))[0] for i in range(len(found))]
    backwards = case.model(_rows(table, list(range(len(found)))[::-1]))[::-1]
    decision = case.model(same_format(case, answer.x))[0]
    for says in (alone, backwards, answer.decisions):
        if not all(a == b for a, b in zip(together, says, strict=True)):
            yield f"promise 1: the model says {together}, and then {says}"
    for label in together:
        if not flips(case, label, decision):
            yield f"promise 1: {label!r} does not flip {decision!r}; wanted: {case.ask.get('target')!r}"


def flips(case: Case, label: Any, decision: Any) -> bool:
    """Tell whether a label is what was asked for."""
    target = case.ask.get("target")
    if isinstance(target, cp.Between):
        return bool(target.low <= label <= target.high)
    return bool(label != decision if target is None else label == target)


def _rows(table: Any, places: list[int]) -> Any:
    return table.iloc[places] if isinstance(table, pd.DataFrame) else table[places]


def same_format(case: Case, x: Any) -> Any:
    """Make one row a table that the model of a case takes."""
    return np.asarray(x).reshape(1, -1) if isinstance(case.known, np.ndarray) else x


def _allowed(case: Case, known: list[list[Any]], x: list[Any], row: list[Any]) -> Iterator[str]:
    changed = [i for i, (before, after) in enumerate(zip(x, row, strict=True)) if before != after]
    most = case.ask.get("max_changes")
    if most is not None and len(changed) > most:
        yield f"promise 2: {len(changed)} changes, at most {most} allowed"
    for place, kind in enumerate(case.kinds):
        before, after = x[place], row[place]
        why = _broken(case, place, kind, before, after, [each[place] for each in known])
        if why:
            yield f"promise 2: {kind} from {before!r} to {after!r}: {why}"


def _broken(case: Case, place: int, kind: str, before: Any, after: Any, known: list[Any]) -> str:
    """Say which constraint a cell breaks."""
    fit = case.fit
    if place in fit["immutable"]:
        return "" if _same(before, after) else "it is immutable"
    limits = fit["ranges"].get(place)
    if after is None:
        return "" if before is None or (fit["missing"] == "allow" and None in known) else "it went missing"
    if type(before) is not type(after) and before is not None:
        return "its type changed"
    if before is not None and place in fit["increase"] and _rank(after) < _rank(before):
        return "it may only rise"
    if before is not None and place in fit["decrease"] and _rank(after) > _rank(before):
        return "it may only fall"
    if kind in (*NUMERIC, "same"):
        return _broken_number(before, after, limits, [each for each in known if each is not None])
    if limits is not None and after not in limits:
        return f"it must be one of {limits}"
    declared = GRADES if kind == "grade" else ()  # by their dtype, also those that no known row has
    return "" if after == before or after in known or after in declared else "no known row has it"


def _broken_number(before: Any, after: Any, limits: Any, known: list[Any]) -> str:
    if limits is not None:
        # A pair that admits no value of this kind cannot be kept.
        return "" if limits[0] <= after <= limits[1] else f"it must be within {limits}"
    return "" if after == before or min(known) <= after <= max(known) else "it is beyond all known values"


def _same(before: Any, after: Any) -> bool:
    return before == after and type(before) is type(after) and repr(before) == repr(after)


def _rank(cell: Any) -> float:
    return float(GRADES.index(cell)) if isinstance(cell, str) else float(cell)
