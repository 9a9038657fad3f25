"""Scores guide searches: a scan of single changes tells which pairs should flip; labels decide."""

from __future__ import annotations

from time import sleep
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp
from counterpoint.search.scan import scan
from counterpoint.search.task import Scored

RNG = np.random.default_rng(3)
X = RNG.normal(size=(400, 4))
Y = X[:, 0] + X[:, 1] + X[:, 2] > 1.5
FOREST = RandomForestClassifier(20, random_state=0).fit(X, Y)


class Counting(RandomForestClassifier):
    """A forest that notes how many rows it was asked about, and how."""

    def predict_proba(self, X: Any) -> Any:
        self.scored_ = getattr(self, "scored_", 0) + len(X)
        return super().predict_proba(X)


def fitted_to(model: Any) -> Any:
    return cp.Ensemble().fit(model, X).fitted_


def task_of(model: Any, x: Any, k: int = 3) -> Any:
    fitted = fitted_to(model)
    decision = fitted.blackbox.predict(x)
    return fitted.task(x, decision, (0,), k)


def test_only_models_whose_scores_do_not_depend_on_the_batch_guide() -> None:
    assert task_of(FOREST, X[:1]).has_scores
    assert task_of(FOREST.predict, X[:1]).has_scores  # the method belongs to the forest
    assert not task_of(lambda rows: rows[:, 0] > 0, X[:1]).has_scores
    assert not task_of(RandomForestClassifier(20, n_jobs=2, random_state=0).fit(X, Y), X[:1]).has_scores


def additive(rows: Any) -> Any:
    """A lead that is a sum: both of the first two features must rise."""
    return rows[:, 0] + rows[:, 1] - 3.0


def scanned(x: Any) -> Any:
    task = task_of(FOREST, x)
    search = scan(task, 10)
    question = next(search)
    assert isinstance(question, Scored)
    assert (question.rows[: len(x)] == x).all()
    with pytest.raises(StopIteration) as ended:
        search.send(additive(question.rows))
    return ended.value.value


def test_pairs_that_should_flip_do_if_effects_add_up() -> None:
    x = np.zeros((1, 4))
    pairs = scanned(x).pairs(1)
    assert (additive(pairs.rows) > 0).all()
    assert (pairs.rows != x).sum() == 2


def test_single_changes_that_should_flip_are_asked_about_with_the_nearest_value() -> None:
    x = np.array([[0.0, 2.5, 0.0, 0.0]])
    found = scanned(x)
    alone = found.alone().rows
    assert len(alone)
    assert (additive(alone) > 0).all()
    rises = [row[0] for row in alone if row[0] > 0]
    values = found.changes.values[0][found.changes.feature == 0]
    assert rises == [values[values > 0.5].min()]


def test_a_row_without_a_score_is_never_suggested() -> None:
    task = task_of(FOREST, np.zeros((1, 4)))
    search = scan(task, 10)
    question = next(search)
    with pytest.raises(StopIteration) as ended:
        search.send(np.full(len(question.rows), np.nan))
    found = ended.value.value
    assert not len(found.alone().rows)
    assert not len(found.pairs(10).rows)


def test_scores_are_asked_within_the_budget() -> None:
    model = Counting(20, random_state=0).fit(X, Y)
    explainer = cp.Ensemble().fit(model, X)
    model.scored_ = 0
    answer = explainer.explain(X[Y][0], 2, max_rows=150)
    # The forest's predict asks for its own probabilities, so every row is counted once.
    assert answer.model_rows <= 150
    assert 0 < model.scored_ <= 150


def test_a_model_that_fails_on_scores_is_explained_by_its_labels() -> None:
    class Shy(DecisionTreeClassifier):
        def predict_proba(self, X: Any) -> Any:
            raise RuntimeError("no scores today")

        def predict(self, X: Any) -> Any:
            return X[:, 0] + X[:, 1] > 1.0

    model = Shy().fit(X, Y)
    explainer = cp.Ensemble().fit(model, X)
    together = explainer.explain_many(X[:6], 3, progress=False)
    assert all(len(each.rows) == 3 for each in together)
    alone = explainer.explain(X[4], 3)
    assert (alone.rows == together[4].rows).all()


def test_answers_guided_by_scores_do_not_depend_on_the_batch() -> None:
    explainer = cp.Ensemble().fit(FOREST, X)
    together = explainer.explain_many(X[:8], 4, progress=False)
    for x, each in zip(X[:8], together, strict=True):
        assert (explainer.explain(x, 4).rows == each.rows).all()


class Slow(RandomForestClassifier):
    """A forest whose scores take much longer than its labels."""

    def predict_proba(self, X: Any) -> Any:
        sleep(0.2)
        return super().predict_proba(X)

    def predict(self, X: Any) -> Any:
        return super().predict_proba(X)[:, 1] > 0.5


def test_the_time_that_scores_take_counts() -> None:
    blackbox = fitted_to(Slow(5, random_state=0).fit(X, Y)).blackbox
    before = blackbox.rows_in(1.0)
    for _ in range(3):
        blackbox.class_scores(X[:10], np.zeros(10, dtype=np.intp))
    assert blackbox.rows_in(1.0) < before / 2


def test_scores_are_asked_in_calls_of_limited_size() -> None:
    blackbox = fitted_to(FOREST).blackbox
    blackbox.max_rows = 7
    calls = blackbox.count.calls
    scores = blackbox.class_scores(X[:20], np.zeros(20, dtype=np.intp))
    assert blackbox.count.calls - calls == 3
    assert (scores.numbers == FOREST.predict_proba(X[:20])).all()
