"""What a person can act on: costs, limits, links and rules, nothing needless, no answer within another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import counterpoint as cp
from soak.judges import flips, judge, same_format
from soak.promises import Cases, broken_by
from soak.tables import NUMERIC, Case, cells, draw, names

SETTINGS = (cp.BALANCED, cp.CLOSE, cp.DIVERSE, cp.NEAREST, cp.SPARSE, cp.VARIED)


Implied: TypeAlias = tuple[int, Any, int, Any]


@dataclass(frozen=True)
class Terms:
    """What is asked of the rows of a case beside the six promises, by the places of columns."""

    never: frozenset[tuple[int, int]]  # columns and the ways (1 up, -1 down) that cost infinitely much
    most: dict[int, tuple[float, bool]]  # how much a number may change; True for a share of x's value
    implied: Implied | None  # this column with this value requires that one with that value
    apart: tuple[int, int] | None  # two columns that may not both change


class Actions(Cases):
    """Cases of costs, limits, links, rules and needless changes."""

    kind = "actions"
    full = 20_000

    def check(self, number: int) -> list[str]:
        """Run one case; name what it breaks."""
        case, rng = draw(number), np.random.default_rng([22, number])
        terms = _terms(rng, case)
        case.more = _written(case, terms)
        if rng.random() < 0.8:
            setting = SETTINGS[int(rng.integers(len(SETTINGS)))]
            case.explainer = cp.Ensemble(size=int(rng.integers(1, 7)), selection=setting, seed=number)
        if rng.random() < 0.3 and terms.most:  # the same, said with the question and not to `fit`
            case.ask["max_change"] = case.more.pop("max_change")
        return broken_by(case, number, judge_of(terms))


def _terms(rng: np.random.Generator, case: Case) -> Terms:
    never: set[tuple[int, int]] = set()
    most: dict[int, tuple[float, bool]] = {}
    table = cells(case.known)
    for place, kind in enumerate(case.kinds):
        drawn = rng.random()
        if place in case.fit["ranges"]:
            continue  # a value outside a range has to change, whatever that costs
        if drawn < 0.1:
            never |= {(place, 1), (place, -1)}
        elif drawn < 0.2 and kind in NUMERIC:
            never.add((place, int(rng.choice([1, -1]))))
        elif drawn < 0.45 and kind in NUMERIC:
            spread = float(np.std([row[place] for row in table if row[place] is not None]))
            share = bool(rng.random() < 0.4)
            most[place] = (float(rng.integers(5, 90)) / 100 if share else spread * float(rng.random()), share)
    return Terms(frozenset(never), most, _implied(rng, case, table), _apart(rng, case))


def _implied(rng: np.random.Generator, case: Case, table: list[list[Any]]) -> Implied | None:
    """Draw two columns of words that some known instance links."""
    words = [place for place, kind in enumerate(case.kinds) if kind in ("word", "grade")]
    if len(words) < 2 or rng.random() < 0.5:
        return None
    one, other = (int(place) for place in rng.permutation(words)[:2])
    row = table[int(rng.integers(len(table)))]
    return one, row[one], other, row[other]


def _apart(rng: np.random.Generator, case: Case) -> tuple[int, int] | None:
    if len(case.kinds) < 3 or rng.random() < 0.75:
        return None
    one, other = rng.permutation(len(case.kinds))[:2].tolist()
    return one, other


def _written(case: Case, terms: Terms) -> dict[str, Any]:
    """Write the terms as arguments of `fit`."""
    columns = names(case.known)
    costs: dict[Any, Any] = {}
    for place, kind in enumerate(case.kinds):
        ways = {way for at, way in terms.never if at == place}
        if len(ways) == 2:
            costs[columns[place]] = inf
        elif ways:
            costs[columns[place]] = cp.Cost(up=inf) if ways == {1} else cp.Cost(down=inf)
        elif kind == "real":
            costs[columns[place]] = 0.2
    most = {
        columns[place]: f"{amount:.0%}" if share else amount for place, (amount, share) in terms.most.items()
    }
    more: dict[str, Any] = {"costs": costs, "max_change": most}
    if terms.implied is not None:
        one, value, other, needed = terms.implied
        more["links"] = [cp.implies({columns[one]: value}, then={columns[other]: needed})]
    if terms.apart is not None:
        more["rule"] = _rule(*terms.apart)
    return more


def _rule(one: int, other: int) -> Callable[[Any, Any], NDArray[np.bool_]]:
    """Make a rule that forbids to change both of two columns."""

    def rule(candidates: Any, x: Any) -> NDArray[np.bool_]:
        home = cells(np.asarray(x).reshape(1, -1) if isinstance(candidates, np.ndarray) else x)[0]
        return np.array([_is_kept(home, row, one, other) for row in cells(candidates)], dtype=bool)

    return rule


def _is_kept(x: list[Any], row: list[Any], one: int, other: int) -> bool:
    return bool(x[one] == row[one] or x[other] == row[other])


def judge_of(terms: Terms) -> Callable[[Case, cp.Explanations], Iterator[str]]:
    """Make a judge of the six promises, these terms, and what is needless."""

    def judge_all(case: Case, answers: cp.Explanations) -> Iterator[str]:
        yield from judge(case, answers)
        for x, answer in zip(cells(case.asked), answers, strict=True):
            found = cells(answer.counterfactuals)
            for row in found:
                yield from _broken(terms, x, row)
            if isinstance(case.explainer, cp.Ensemble) and not answer.may_hold_needless:
                yield from _needless(case, terms, x, answer)
                yield from _within_another(x, found)

    return judge_all


def _broken(terms: Terms, x: list[Any], row: list[Any]) -> Iterator[str]:
    """Say which terms a row breaks."""
    for place, (before, after) in enumerate(zip(x, row, strict=True)):
        if before == after or before is None:
            continue
        ways = {way for at, way in terms.never if at == place}
        way = 1 if after is None or isinstance(after, str) or after > before else -1
        if len(ways) == 2 or (way in ways and after is not None):
            yield f"column {place} changed from {before!r} to {after!r}, which costs infinitely much"
        if place in terms.most and after is not None:
            amount, share = terms.most[place]
            room = amount * abs(before) if share else amount
            if abs(after - before) > room * (1 + 1e-9):
                yield f"column {place} changed from {before!r} to {after!r}, by more than {room!r}"
    if terms.implied is not None:
        one, value, other, needed = terms.implied
        if row[one] == value and row[other] != needed:
            yield f"column {one} is {value!r}, and column {other} is {row[other]!r} and not {needed!r}"
    if terms.apart is not None and not _is_kept(x, row, *terms.apart):
        yield f"columns {terms.apart} both changed, which the rule forbids"


def _needless(case: Case, terms: Terms, x: list[Any], answer: cp.Explanation) -> Iterator[str]:
    """Undo each change alone, and ask the model.

    Where rows are limited, or links hold changes together, some may be left that are not needed.
    """
    if "max_rows" in case.ask or terms.implied is not None or not len(answer):
        return
    decision = case.model(same_format(case, answer.x))[0]
    for place, row in enumerate(cells(answer.counterfactuals)):
        differs = [i for i, (before, after) in enumerate(zip(x, row, strict=True)) if before != after]
        for feature in differs if len(differs) > 1 else ():
            if feature in case.fit["ranges"]:
                continue  # x may lie outside
            label = case.model(_undone(answer.counterfactuals, place, feature, answer.x))[0]
            if flips(case, label, decision):
                yield f"the change of column {feature} is not needed"


def _undone(table: Any, place: int, feature: int, x: Any) -> Any:
    """Give one row of a table, with one cell as x has it."""
    if isinstance(table, np.ndarray):
        row = table[[place]].copy()
        row[0, feature] = np.asarray(x).ravel()[feature]
        return row
    name = table.columns[feature]
    if hasattr(table, "iloc"):
        row = table.iloc[[place]].copy()
        row[name] = x[name].to_numpy() if row[name].dtype == object else x[name].array
        return row
    return table[[place]].with_columns(x[name])


def _within_another(x: list[Any], found: list[list[Any]]) -> Iterator[str]:
    """Tell whether an answer holds all changes of another one, and more."""
    changes = [
        {(i, repr(after)) for i, (before, after) in enumerate(zip(x, row, strict=True)) if before != after}
        for row in found
    ]
    if any(a < b for a in changes for b in changes):
        yield "an answer holds all changes of another one, and more"
