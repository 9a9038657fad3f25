"""Answers as JSON and back: arrays over all answers, followed by the other facts of each answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Generic, TypeVar

import numpy as np
import pandas as pd

from counterpoint._util.damage import DamagedError
from counterpoint._util.short_text import one_line, short
from counterpoint.data import plain as storage
from counterpoint.data.problems import Problem
from counterpoint.data.schema import Schema
from counterpoint.data.stored import check_codes
from counterpoint.data.types import Labels, Row, Rows
from counterpoint.explanation import ranges
from counterpoint.explanation.answer import Answer
from counterpoint.explanation.nearest_miss import NearestMiss
from counterpoint.explanation.shortfall import Shortfall
from counterpoint.explanation.stacked import Stack
from counterpoint.model.scores import ScoreKind, Standing
from counterpoint.model.target import Probability
from counterpoint.search.bound import Bound
from counterpoint.search.why import Why

A = TypeVar("A", bound=Answer)

VERSION = 4


@dataclass(frozen=True, eq=False)
class Document(Generic[A]):
    """The content of a JSON text: answers, the names of their instances, and the cost of their run.

    Names and skipped values that JSON cannot hold are written as strings.

    Examples
    --------
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45]}))
    >>> empty = Document(schema, (), pd.Index([]), model_calls=1, model_rows=2)
    >>> Document.from_json(empty.to_json(), Answer).schema == schema
    True
    """

    schema: Schema
    answers: Sequence[A]
    instances: pd.Index
    model_calls: int
    model_rows: int
    skipped: Sequence[Problem] = ()

    def to_json(self) -> str:
        """Write the answers as JSON."""
        stack = Stack(self.schema, self.answers)
        plain = {
            "version": VERSION,
            "schema": storage.schema_to_plain(self.schema),
            "instances": _labels_to_plain(self.instances),
            "x": storage.numbers_to_plain(stack.x),
            "decision": storage.labels_to_plain(stack.decisions),
            "rows": storage.numbers_to_plain(stack.rows),
            "labels": storage.labels_to_plain(stack.labels),
            "distance": storage.numbers_to_plain(stack.distance),
            "model": [self.model_calls, self.model_rows],
            "skipped": [_problem_to_plain(problem) for problem in self.skipped],
            "items": [_own_to_plain(answer) for answer in self.answers],
        }
        return json.dumps(plain, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, kind: type[A]) -> Document[A]:
        """Read JSON; the answers become objects of the given class."""
        plain = _read(text)
        try:
            return cls._from_plain(plain, kind)
        except ImportError:  # something that the text needs is not installed
            raise
        except Exception as error:  # damage can make anything of a text
            raise DamagedError(
                f"The text holds no saved answers, or it is damaged: {one_line(str(error), 300)}"
            ) from error

    @classmethod
    def _from_plain(cls, plain: dict[str, Any], kind: type[A]) -> Document[A]:
        schema = storage.schema_from_plain(plain["schema"])
        answers = tuple(_answers_from_plain(plain, schema, kind))
        labels = _labels_from_plain(plain["instances"], len(answers))
        if len(labels) != len(answers):
            raise DamagedError(f"it names {len(labels)} instances of {len(answers)} answers.")
        calls, rows = map(_count, plain["model"])
        return cls(schema, answers, labels, calls, rows, _problems_from_plain(plain["skipped"]))


def _read(text: str) -> dict[str, Any]:
    """Parse JSON and check its version."""
    try:
        plain = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise DamagedError(f"Not valid JSON: {one_line(str(error), 300)}") from error
    if not isinstance(plain, dict):
        raise DamagedError("The text holds no saved answers: it is not a JSON object.")
    version = plain.get("version")
    if version != VERSION:
        raise ValueError(
            f"The text has format version {version}, expected {VERSION}. "
            f"Read it with the version of counterpoint that wrote it, or explain again."
        )
    return dict(plain)


def _labels_to_plain(labels: pd.Index) -> list[Any] | None:
    """List the names of instances; None if they are numbered from 0."""
    if isinstance(labels, pd.RangeIndex) and labels.equals(pd.RangeIndex(len(labels))):
        return None
    return [_label_to_plain(label) for label in labels.tolist()]


def _label_to_plain(label: Any) -> Any:
    try:
        return storage.value_to_plain(label)
    except TypeError:
        return str(label)


def _labels_from_plain(plain: list[Any] | None, count: int) -> pd.Index:
    if plain is None:
        return pd.RangeIndex(count)
    return pd.Index([storage.value_from_plain(label) for label in plain], tupleize_cols=False)


def _problem_to_plain(problem: Problem) -> list[Any]:
    """List the facts of a problem; a value that JSON cannot hold becomes a string."""
    named = (_label_to_plain(each) for each in (problem.column, problem.value))
    return [problem.row, *named, problem.reason]


def _problems_from_plain(plain: list[Any]) -> list[Problem]:
    return [
        Problem(row, storage.value_from_plain(column), storage.value_from_plain(value), reason)
        for row, column, value, reason in plain
    ]


def _own_to_plain(answer: Answer) -> dict[str, Any]:
    """Gather what is not in the arrays over all answers."""
    return {
        "found_by": list(answer.found_by),
        "k": answer.k,
        "shortfall": None if answer.shortfall is None else list(astuple(answer.shortfall)),
        "model": [answer.model_calls, answer.model_rows],
        "target": answer.target,
        "classes": [_label_to_plain(each) for each in answer.classes],
        "codec": answer.codec,
        **({"may_hold_needless": True} if answer.may_hold_needless else {}),
        "probability": _probability_to_plain(answer.probability),
        "nearest_miss": _miss_to_plain(answer.nearest_miss),
        **({} if answer.cost is None else {"cost": storage.numbers_to_plain(answer.cost)}),
        **({} if answer.bound is None else {"bound": _bound_to_plain(answer.bound)}),
        **({} if answer.widened is None else {"ranges": ranges.to_plain(answer.widened)}),
    }


def _bound_to_plain(bound: Bound) -> list[Any]:
    ends = storage.numbers_to_plain(np.array([bound.lower, bound.best]))
    return [ends, bound.is_proven, bound.seconds]


def _bound_from_plain(plain: list[Any] | None) -> Bound | None:
    if plain is None:
        return None
    ends, _, seconds = plain
    lower, best = storage.numbers_from_plain(ends).tolist()
    return Bound(lower, best, float(seconds))


def _miss_to_plain(miss: NearestMiss | None) -> dict[str, Any] | None:
    if miss is None:
        return None
    standing = miss.standing
    return {
        "is_counterfactual": False,
        "row": storage.numbers_to_plain(miss.row),
        "decision": storage.labels_to_plain(np.asarray(miss.decision)[None]),
        "kind": str(standing.kind),
        "score": standing.score,
        "needed": standing.needed,
        "is_strict": standing.is_strict,
        "classes": [_label_to_plain(each) for each in (standing.rival, *standing.wanted)],
    }


def _miss_from_plain(plain: dict[str, Any] | None, schema: Schema, x: Row) -> NearestMiss | None:
    if plain is None:
        return None
    rival, *wanted = (storage.value_from_plain(each) for each in plain["classes"])
    return NearestMiss(
        schema,
        x,
        storage.numbers_from_plain(plain["row"]),
        storage.labels_from_plain(plain["decision"])[0],
        Standing(
            ScoreKind(plain["kind"]),
            plain["score"],
            plain["needed"],
            tuple(wanted),
            rival,
            plain["is_strict"],
        ),
    )


def _probability_to_plain(wanted: Probability | None) -> list[Any] | None:
    if wanted is None:
        return None
    return [[_label_to_plain(each) for each in wanted.classes], wanted.at_least, wanted.at_most]


def _probability_from_plain(plain: list[Any] | None) -> Probability | None:
    if plain is None:
        return None
    classes, at_least, at_most = plain
    return Probability([storage.value_from_plain(each) for each in classes], at_least, at_most)


def _answers_from_plain(plain: dict[str, Any], schema: Schema, kind: type[A]) -> Iterator[A]:
    """Split the arrays over all answers."""
    decisions, labels = (storage.labels_from_plain(plain[name]) for name in ("decision", "labels"))
    x, rows = (
        storage.numbers_from_plain(plain[name]).reshape(len(plain[name]), len(schema.features))
        for name in ("x", "rows")
    )
    distance = storage.numbers_from_plain(plain["distance"])
    check_codes(schema, x)
    check_codes(schema, rows)
    _check_counts(plain["items"], x, decisions, rows, labels, distance)
    end = 0
    for i, own in enumerate(plain["items"]):
        start, end = end, end + len(own["found_by"])
        yield kind(
            schema=schema,
            row=x[i],
            decision=decisions[i],
            rows=rows[start:end],
            labels=labels[start:end],
            found_by=tuple(map(str, own["found_by"])),
            k=_count(own["k"]),
            distance=distance[start:end],
            shortfall=_shortfall_from_plain(own["shortfall"]),
            model_calls=_count(own["model"][0]),
            model_rows=_count(own["model"][1]),
            target=str(own["target"]),
            classes=tuple(storage.value_from_plain(each) for each in own.get("classes", ())),
            codec=str(own["codec"]),
            may_hold_needless=bool(own.get("may_hold_needless", False)),
            probability=_probability_from_plain(own.get("probability")),
            nearest_miss=_miss_from_plain(own.get("nearest_miss"), schema, x[i]),
            bound=_bound_from_plain(own.get("bound")),
            widened=None if "ranges" not in own else ranges.from_plain(own["ranges"], schema),
            cost=storage.numbers_from_plain(own["cost"]) if "cost" in own else None,
        )


def _shortfall_from_plain(plain: list[Any] | None) -> Shortfall | None:
    if plain is None:
        return None
    asked, found, why, count, target = plain
    return Shortfall(_count(asked), _count(found), Why(why), _count(count), str(target))


def _check_counts(items: Any, x: Rows, decisions: Labels, rows: Rows, labels: Labels, distance: Row) -> None:
    """Refuse arrays that do not have one entry per answer, or one per counterfactual."""
    answers, found = len(items), sum(len(own["found_by"]) for own in items)
    if not (len(x) == len(decisions) == answers and distance.ndim == 1):
        raise DamagedError(f"it has {answers} answers about {len(x)} instances.")
    if not len(rows) == len(labels) == len(distance) == found:
        raise DamagedError(f"it has {found} counterfactuals, and {len(rows)} rows of them.")


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DamagedError(f"it has {short(value)} where a count must be.")
    return value
