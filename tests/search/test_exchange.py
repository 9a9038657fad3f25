"""Exchanging: two steps at once bring nearer what no single step does, with scores and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterpoint as cp
from counterpoint.search.exchange import exchange, promise
from counterpoint.search.task import Scored

RNG = np.random.default_rng(5)
X = RNG.normal(size=(500, 4))
Y = X[:, 0] + 2 * X[:, 1] + X[:, 2] > 1.0
FOREST = RandomForestClassifier(30, random_state=0).fit(X, Y)


def fitted(model: Any) -> Any:
    return cp.Ensemble().fit(model, X).fitted_


def linear(rows: Any) -> Any:
    return rows[:, 0] + 2 * rows[:, 1] + rows[:, 2] > 1.0


def run(search: Any, answer: Any) -> list[Any]:
    """Answer all questions of a search, and gather the rows whose labels it asked for."""
    asked, reply = [], None
    while True:
        try:
            question = search.send(reply) if reply is not None else next(search)
        except StopIteration:
            return asked
        reply = answer(question)
        if not isinstance(question, Scored):
            asked.append(question.rows)


def test_an_expensive_change_is_paid_for_by_a_cheaper_one() -> None:
    model = fitted(linear)
    x = np.zeros((1, 4))
    task = model.task(x, np.array([False]), (0,), 1)
    start = np.array([[1.3, 0.0, 0.0, 0.0]])  # changing the second feature is twice as good
    rows = np.concatenate(
        run(exchange(task, start, np.array([0]), np.array([0]), 4), lambda q: linear(q.rows))
    )
    found = rows[linear(rows)]
    away = task.distance(found, np.zeros(len(found), dtype=np.intp))
    assert away.min() < 0.8 * task.distance(start, np.array([0]))[0]


@pytest.mark.parametrize("model", [FOREST, FOREST.predict, linear], ids=["scores", "method", "labels"])
def test_nearest_is_at_least_as_near_as_other_settings(model: Any) -> None:
    some = X[~Y][:15]
    nearest = cp.Ensemble(selection=cp.NEAREST).fit(model, X).explain_many(some, 1, progress=False)
    close = cp.Ensemble(selection=cp.CLOSE).fit(model, X).explain_many(some, 1, progress=False)
    mine, others = ([each.distance.min() for each in many] for many in (nearest, close))
    assert np.mean(mine) < np.mean(others)


def test_nearest_does_not_depend_on_the_batch() -> None:
    explainer = cp.Ensemble(selection=cp.NEAREST).fit(FOREST, X)
    together = explainer.explain_many(X[:6], 2, progress=False)
    for x, each in zip(X[:6], together, strict=True):
        assert (explainer.explain(x, 2).rows == each.rows).all()


def test_nearest_comes_close_to_the_proven_optimum() -> None:
    pytest.importorskip("treecf")
    some = X[~Y][:12]
    proven = cp.Exact().fit(FOREST, X).explain_many(some, 1, progress=False)
    nearest = cp.Ensemble(selection=cp.NEAREST).fit(FOREST, X).explain_many(some, 1, progress=False)
    ratios = [a.distance[0] / b.distance[0] for a, b in zip(nearest, proven, strict=True)]
    assert min(ratios) > 0.999
    assert np.mean(ratios) < 1.1


def test_numbers_of_the_nearest_are_not_rounded() -> None:
    nearest = cp.Ensemble(selection=cp.NEAREST).fit(linear, X).explain(np.zeros(4), 1)
    value = nearest.rows[0][nearest.rows[0] != 0]
    assert any(len(f"{each:.12g}") > 6 for each in value)


def test_a_step_that_saves_exactly_one_unit_divides_by_nothing():
    with np.errstate(all="raise"):
        promised = promise(np.array([[1.0, 0.0, -1.0]]))
    assert promised.tolist() == [[2.0, 1.0, 0.5]]
