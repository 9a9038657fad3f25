"""Explain many instances and measure the answers: the paper's ten measures as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from time import perf_counter
from typing import Any, Protocol

import numpy as np
import pandas as pd

from counterpoint.data.known import Population
from counterpoint.data.schema import Schema
from counterpoint.data.types import Labels, Row, Rows
from counterpoint.metrics.measures import as_set, measure, nearest_alike
from counterpoint.model.adapters import ask
from counterpoint.model.adapters.probability import ClassProbability
from counterpoint.model.target import Target


class _Answer(Protocol):
    """The parts of an explanation that are used here."""

    @property
    def row(self) -> Row: ...
    @property
    def rows(self) -> Rows: ...
    @property
    def labels(self) -> Labels: ...
    @property
    def decision(self) -> Any: ...


class _Fitted(Protocol):
    """The parts of an explainer's fitted state that are used here."""

    @property
    def schema(self) -> Schema: ...
    @property
    def known(self) -> Population: ...
    def read_target(self, target: Any) -> Target: ...
    def facing(self, target: Target) -> _Fitted: ...


class _Explainer(Protocol):
    """The parts of a fitted explainer that are used here."""

    @property
    def fitted_(self) -> _Fitted: ...
    def explain_many(
        self, X: Any, *, k: int, target: Any, margin: Any = None, progress: bool
    ) -> Sequence[_Answer]: ...


def evaluate(
    explainer: _Explainer,
    X_test: Any,
    k: int | Sequence[int] = 5,
    *,
    target: Any = None,
    others: Sequence[Any] = (),
    margin: Any = None,
) -> pd.DataFrame:
    """Explain instances and compute the mean of each measure over them, for one k or several.

    Instances without counterfactuals count in size, act, dipo and runtime; the other means skip them.
    Runtime is wall-clock seconds per instance, without the time to explain the similar instances for inst.

    Parameters
    ----------
    explainer
        A fitted explainer.
    X_test
        A table of instances to explain.
    k
        How many counterfactuals per instance; each of several values gives one row.
    target
        What counts as a different decision, as in `explain`.
    others
        Other models, such as this one trained again on other samples. The column survival is then the share
        of counterfactuals that these models decide as wanted too, on average over models and instances.
    margin
        How far from the boundary answers must be, as in `explain`.

    Returns
    -------
    pandas.DataFrame
        One row per k, with the columns k, instances, the ten measures, and survival if there are others.

    Examples
    --------
    >>> from counterpoint import Neighbours
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> explainer = Neighbours().fit(lambda rows: rows[:, 0] > 0, X)
    >>> evaluate(explainer, X[:10], k=[1, 5])[["k", "instances", "size", "act"]]
       k  instances  size  act
    0  1         10   1.0  1.0
    1  5         10   1.0  1.0
    """
    if explainer.fitted_.schema.form.shape:
        raise TypeError(
            "evaluate is for tables; for images and series, see `counterpoint study images --help`."
        )
    wanted = explainer.fitted_.read_target(target)
    if callable(others) or not isinstance(others, Sequence):
        raise TypeError(f"others must be a list of models, got {others!r}.")
    several = [k] if isinstance(k, int | np.integer) else list(k)
    asked = {"target": target} if margin is None else {"target": target, "margin": margin}
    return pd.DataFrame(
        [_evaluate_one(explainer, X_test, int(each), asked, wanted, others) for each in several]
    )


def _evaluate_one(
    explainer: _Explainer, X: Any, k: int, asked: dict[str, Any], wanted: Target, others: Sequence[Any]
) -> dict[str, float]:
    """Compute one row of `evaluate`'s result."""
    start = perf_counter()
    answers = explainer.explain_many(X, k=k, progress=False, **asked)
    seconds = perf_counter() - start
    if not len(answers):
        raise ValueError("X_test must hold at least one instance, got an empty table.")
    known, schema = explainer.fitted_.facing(wanted).known, explainer.fitted_.schema
    measures = [
        measure(
            answer.rows,
            answer.row,
            answer.decision,
            known,
            k=k,
            schema=schema,
            flips=wanted.flips,
            labels=answer.labels,
            alike=alike,
            runtime=seconds / len(answers),
        )
        for answer, alike in zip(
            answers, explain_alike(explainer, answers, k, asked["target"], wanted), strict=True
        )
    ]
    means = pd.DataFrame([asdict(each) for each in measures]).mean()
    line = {"k": k, "instances": len(answers), **means}
    return line | {"survival": survival(answers, schema, others, wanted)} if others else line


def survival(answers: Sequence[_Answer], schema: Schema, others: Sequence[Any], wanted: Target) -> float:
    """Measure the share of counterfactuals that other models decide as wanted too. More is better.

    It is the mean over instances that have any; NaN if none has.
    """
    found = [answer for answer in answers if len(answer.rows)]
    if not found:
        return np.nan
    rows = np.concatenate([answer.rows for answer in found])
    table, ends = schema.decode(rows), np.cumsum([len(answer.rows) for answer in found])[:-1]
    shares = []
    for other in others:
        if wanted.probability is not None:
            other = ClassProbability(other, wanted.probability.classes).check()
        labels = np.split(np.asarray(ask(other, table)(table)), ends)
        shares += [
            wanted.flips(part, answer.decision).mean() for part, answer in zip(labels, found, strict=True)
        ]
    return float(np.mean(shares))


def explain_alike(
    explainer: _Explainer, answers: Sequence[_Answer], k: int, target: Any, wanted: Target
) -> list[tuple[Row, Rows] | None]:
    """Explain the known instance closest to each x with the same decision; None if there is none."""
    schema, known = explainer.fitted_.schema, explainer.fitted_.facing(wanted).known
    rows = np.stack([answer.row for answer in answers])
    indices = nearest_alike(rows, [answer.decision for answer in answers], known, wanted.flips)
    # Several instances often share the closest one, which is explained once.
    shared = np.unique(indices[indices >= 0])
    if not len(shared):
        return [None] * len(answers)
    alike = explainer.explain_many(schema.decode(known.rows[shared]), k=k, target=target, progress=False)
    found = {
        index: (answer.row, as_set(answer.rows, answer.row, answer.decision, k, wanted.flips, answer.labels))
        for index, answer in zip(shared.tolist(), alike, strict=True)
    }
    return [found.get(index) for index in indices.tolist()]
