"""Restoring, exchanging and shrinking, driven by hand: smaller counterfactuals that still flip."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.data.constraints import Rules
from counterpoint.data.distance import changed
from counterpoint.data.known import Population
from counterpoint.data.types import Indices
from counterpoint.model.target import Target
from counterpoint.search.polish import (
    BINS,
    EXCHANGES,
    PARTS,
    PREFIXES,
    exchanged,
    improve,
    restored,
    shrink,
    stretch,
)
from counterpoint.search.task import Question, Refinement

fast = settings(max_examples=40, deadline=None, derandomize=True, database=None)
Flips = Callable[[np.ndarray], np.ndarray]


def pose(X: object, x: object, schema: cp.Schema | None = None, unlike: Flips | None = None) -> cp.Task:
    """Pose the question which rows are labelled True."""
    schema = schema or cp.Schema.infer(X)
    known, rows = schema.encode(X), schema.encode(x)
    labels = np.zeros(len(known), dtype=bool) if unlike is None else unlike(known)
    return cp.Task(
        x=rows,
        decisions=np.zeros(len(rows), dtype=bool),
        k=3,
        known=Population.of(schema, known, labels),
        features=np.array(schema.actionable),
        rules=Rules.of(schema),
        target=Target(),
    )


def restore(task: cp.Task, rows: np.ndarray, instance: Indices) -> Refinement:
    return improve(task, rows, instance, restored(task, rows, instance))


def exchange(task: cp.Task, rows: np.ndarray, instance: Indices) -> Refinement:
    return improve(task, rows, instance, exchanged(task, rows, instance))


def line(step: float | None = None) -> cp.Task:
    """One number between 0 and 10, seen from 0."""
    X = np.array([[0.0], [10.0]])
    return pose(X, [[0.0]], cp.Schema.infer(X).replace("x0", step=step) if step else None)


def plane(features: int = 4, instances: int = 1, unlike: Flips | None = None) -> cp.Task:
    """Numbers between -5 and 5, seen from 0."""
    X = np.random.default_rng(0).uniform(-5, 5, size=(50, features))
    return pose(X, np.zeros((instances, features)), unlike=unlike)


@dataclass
class Driven:
    """A refinement driven to its end by hand, with what it asked."""

    search: object
    flips: Flips
    questions: list[Question] = field(default_factory=list)
    result: Any = None  # rows, or rows and whose they are

    def __post_init__(self) -> None:
        try:
            self.questions.append(next(self.search))
            while True:
                self.questions.append(self.search.send(self.flips(self.questions[-1].rows)))
        except StopIteration as stop:
            self.result = stop.value

    @property
    def asked(self) -> np.ndarray:
        return np.concatenate([question.rows for question in self.questions])


def one(rows: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Make rows that are all about the first instance."""
    return np.array(rows), np.zeros(len(rows), dtype=np.intp)


def counts(rows: np.ndarray, x: np.ndarray) -> np.ndarray:
    return changed(rows, x).sum(axis=1)


def first_above(limit: float) -> Flips:
    return lambda rows: rows[:, 0] > limit


# ---------------------------------------------------------------- restore


def test_restore_puts_back_what_was_changed_in_vain() -> None:
    once = Driven(restore(plane(), *one([[3.0, 1.0, 2.0, 4.0]])), first_above(1))
    np.testing.assert_array_equal(once.result, [[3.0, 1.0, 2.0, 0.0]])  # the dearest that is in vain
    assert len(once.questions) == 1
    twice = Driven(restore(plane(), *one(once.result.tolist())), first_above(1))
    np.testing.assert_array_equal(twice.result, [[3.0, 0.0, 0.0, 0.0]])


def test_restore_never_asks_about_x_itself() -> None:
    task = plane()
    driven = Driven(restore(task, *one([[2.0] * 4, [3.0] * 4])), first_above(1))
    assert changed(driven.asked, task.x[0]).any(axis=1).all()


@pytest.mark.parametrize(
    "rows", [np.empty((0, 4)), np.array([[3.0, 0.0, 0.0, 0.0]])], ids=["none", "one change"]
)
def test_nothing_to_restore_is_no_question(rows: np.ndarray) -> None:
    driven = Driven(restore(plane(), rows, np.zeros(len(rows), dtype=np.intp)), first_above(1))
    assert driven.questions == []
    np.testing.assert_array_equal(driven.result, rows)


def test_restore_keeps_a_row_that_needs_all_its_changes() -> None:
    rows, instance = one([[3.0, 3.0, 3.0, 3.0]])
    driven = Driven(restore(plane(), rows, instance), lambda rows: (rows > 1).all(axis=1))
    np.testing.assert_array_equal(driven.result, rows)


def test_restore_puts_back_categories_and_missing_values_too() -> None:
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "b": ["u", "v", "u", "v"], "c": [0, 1, 2, 3]})
    task = pose(X, pd.DataFrame({"a": [np.nan], "b": ["u"], "c": [0]}))
    driven = Driven(restore(task, *one([[3.0, 1.0, 3.0]])), lambda rows: rows[:, 2] > 1)
    np.testing.assert_array_equal(driven.result, [[np.nan, 0.0, 3.0]])


def test_restore_goes_back_to_the_x_that_a_row_is_about() -> None:
    task = pose(np.random.default_rng(0).uniform(-5, 5, size=(50, 2)), np.array([[0.0, 0.0], [0.5, -2.0]]))
    rows, instance = np.array([[3.0, 3.0], [4.0, 4.0]]), np.array([1, 0])
    driven = Driven(restore(task, rows, instance), first_above(1))
    np.testing.assert_array_equal(driven.result, [[3.0, -2.0], [4.0, 0.0]])
    assert set(driven.questions[0].instance.tolist()) == {0, 1}


# ---------------------------------------------------------------- exchange


def either(rows: np.ndarray) -> np.ndarray:
    """Flip by a large first or a small second number."""
    return (rows[:, 0] > 4) | (rows[:, 1] > 0.4)


def test_exchange_puts_a_cheaper_change_in_the_place_of_the_dearest() -> None:
    task = plane(3, unlike=either)
    driven = Driven(exchange(task, *one([[4.5, 0.0, 0.0]])), either)
    (row,) = driven.result
    assert row[0] == 0
    assert row[1] > 0.4
    assert task.distance(driven.result, np.array([0])) < task.distance(*one([[4.5, 0.0, 0.0]]))


def test_exchange_leaves_the_other_changes_alone() -> None:
    driven = Driven(exchange(plane(3, unlike=either), *one([[4.5, 0.0, 0.7]])), either)
    assert (driven.asked[:, 0] == 0).all()
    assert (counts(driven.asked, np.zeros(3)) <= 2).all()


def test_exchange_tries_no_more_than_so_many_changes_of_a_row() -> None:
    task = plane(30)  # no known instance flips, so that no change looks better than another
    assert len(exchanged(task, *one([[4.9] * 30])).rows) <= EXCHANGES


def test_exchange_is_tried_once_for_rows_that_differ_in_their_dearest_change_only() -> None:
    task = plane(3, unlike=either)
    alone = exchanged(task, *one([[4.5, 0.0, 0.7]]))
    several = exchanged(task, *one([[4.5, 0.0, 0.7], [4.8, 0.0, 0.7], [4.9, 0.0, 0.7]]))
    np.testing.assert_array_equal(several.rows, alone.rows)
    assert (several.origins == 0).all()


def test_exchange_asks_nothing_where_nothing_is_cheaper() -> None:
    driven = Driven(exchange(line(), *one([[0.1]])), first_above(0))
    assert driven.questions == []
    np.testing.assert_array_equal(driven.result, [[0.1]])


# ---------------------------------------------------------------- shrink


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("boundary", [0.01, 1.0, 3.333, 9.9])
def test_each_round_divides_the_distance_to_the_boundary_by_eight(rounds: int, boundary: float) -> None:
    driven = Driven(shrink(line(), *one([[10.0]]), rounds), first_above(boundary))
    (nearest,) = driven.result.ravel()
    assert boundary < nearest <= boundary + 10 / 8**rounds + 1e-9
    assert len(driven.questions) <= rounds
    assert all(len(question.instance) <= len(PARTS) == 7 for question in driven.questions)


def test_shrink_keeps_to_whole_steps_and_finds_the_first_that_flips() -> None:
    driven = Driven(shrink(line(step=1), *one([[10.0]]), 3), first_above(3.5))
    np.testing.assert_array_equal(driven.asked, np.rint(driven.asked))
    assert driven.result.tolist() == [[4.0]]


def test_shrink_moves_all_numbers_together_or_one_alone_whichever_is_nearer() -> None:
    task = plane(2)
    together = Driven(shrink(task, *one([[4.0, 4.0]]), 4), lambda rows: rows.min(axis=1) > 1).result[0]
    assert together[0] == together[1] == pytest.approx(1, abs=0.02)
    alone = Driven(shrink(task, *one([[4.0, 4.0]]), 4), lambda rows: rows[:, 1] > 3.9).result[0]
    assert alone.tolist() == [pytest.approx(0, abs=0.02), 4.0]


def test_shrink_leaves_categories_and_missing_values_alone() -> None:
    X = pd.DataFrame({"a": [0.0, 9.0, np.nan], "b": ["u", "v", "w"], "c": [0.0, 9.0, 9.0]})
    task = pose(X, X[:1], cp.Schema.infer(X, missing="allow"))
    driven = Driven(shrink(task, *one([[np.nan, 2.0, 8.0]])), lambda rows: rows[:, 2] > 2)
    assert np.isnan(driven.asked[:, 0]).all()
    assert (driven.asked[:, 1] == 2).all()
    assert driven.result[0, 2] < 2.2


@pytest.mark.parametrize("rows", [np.empty((0, 2)), np.array([[0.0, 1.0]])], ids=["none", "categories only"])
def test_nothing_to_shrink_is_no_question(rows: np.ndarray) -> None:
    X = pd.DataFrame({"a": [0.0, 9.0], "b": ["u", "v"]})
    driven = Driven(
        shrink(pose(X, X[:1]), rows, np.zeros(len(rows), dtype=np.intp)), lambda rows: rows[:, 1] > 0
    )
    assert driven.questions == []
    np.testing.assert_array_equal(driven.result, rows)


# ---------------------------------------------------------------- all of them


def straight(weights: np.ndarray) -> Flips:
    return lambda rows: (rows * weights).sum(axis=1) > 1


def banded(weights: np.ndarray) -> Flips:
    """Not even monotone: flips in bands."""
    return lambda rows: np.sin((rows * weights).sum(axis=1)) > 0.3


SEARCHES: dict[str, Callable] = {"restore": restore, "exchange": exchange, "shrink": shrink}


def random_problem(
    seed: int, kind: Callable, step: float | None
) -> tuple[cp.Task, Flips, np.ndarray, Indices]:
    """Pose a question about some instances, with rows that flip."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-5, 5, size=(40, 4))
    flips = kind(rng.normal(size=4))
    schema = cp.Schema.infer(X).replace("x1", step=step)
    x = X[~flips(X)][:3]
    task = pose(X, x, schema, unlike=flips)
    instance = np.sort(rng.integers(len(x), size=20)) if len(x) else np.empty(0, dtype=np.intp)
    rows = task.project(
        np.where(rng.random((len(instance), 4)) < 0.6, rng.uniform(-5, 5, (len(instance), 4)), x[instance]),
        instance,
    ).rows
    return task, flips, rows[flips(rows)], instance[flips(rows)]


@fast
@given(st.integers(0, 10_000), st.sampled_from([straight, banded]), st.sampled_from([None, 0.5]))
def test_polish_gives_rows_of_every_instance_that_flip_and_are_nearer(
    seed: int, kind: Callable, step: float | None
) -> None:
    task, flips, rows, instance = random_problem(seed, kind, step)
    driven = Driven(cp.Polish().search(task, rows, instance), flips)
    after = driven.result
    assert flips(after.rows).all()
    assert np.unique(after.instance).tolist() == np.unique(instance).tolist()
    away, before = task.distance(*after), task.distance(rows, instance)
    for one in np.unique(instance).tolist():
        better, worse = (np.sort(away[after.instance == one]), np.sort(before[instance == one]))
        assert len(better) <= len(worse)
        assert better[0] <= worse[0] + 1e-12
        assert better[-1] <= worse[-1] + 1e-12
    for question in driven.questions:
        assert task.rules.around(task.x[question.instance]).admissible(question.rows).all()


@pytest.mark.parametrize("search", SEARCHES)
@fast
@given(st.integers(0, 10_000), st.sampled_from([straight, banded]), st.sampled_from([None, 0.5]))
def test_polished_rows_flip_and_are_neither_farther_nor_more_changed(
    search: str, seed: int, kind: Callable, step: float | None
) -> None:
    task, flips, rows, instance = random_problem(seed, kind, step)
    driven = Driven(SEARCHES[search](task, rows, instance), flips)
    after = driven.result
    assert after.shape == rows.shape
    assert flips(after).all()
    for one in range(len(task)):
        # Polishing may change the order of an instance's rows.
        for measure in (task.distance, lambda rows, instance: task.changed(rows, instance).sum(axis=1)):
            better, worse = (np.sort(measure(each, instance)[instance == one]) for each in (after, rows))
            assert (better <= worse + 1e-12).all()
    for question in driven.questions:
        assert task.rules.around(task.x[question.instance]).admissible(question.rows).all()


@pytest.mark.parametrize("search", SEARCHES)
def test_the_rows_given_are_not_written_to(search: str) -> None:
    rows, instance = one([[4.5, 3.0, 2.0], [3.0, 2.0, 4.0]])
    before = rows.copy()
    Driven(SEARCHES[search](plane(3, unlike=either), rows, instance), either)
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize("search", SEARCHES)
def test_what_becomes_of_a_row_does_not_depend_on_other_instances(search: str) -> None:
    x = np.random.default_rng(1).uniform(-2, 0, size=(3, 3))
    X = np.random.default_rng(0).uniform(-5, 5, size=(50, 3))
    rows, instance = np.random.default_rng(2).uniform(1, 5, size=(9, 3)), np.repeat([0, 1, 2], 3)
    together = Driven(SEARCHES[search](pose(X, x, unlike=either), rows, instance), either).result
    for i in range(3):
        task = pose(X, x[[i]], unlike=either)
        alone = Driven(SEARCHES[search](task, rows[instance == i], np.zeros(3, dtype=np.intp)), either).result
        np.testing.assert_array_equal(together[instance == i], alone)


# ---------------------------------------------------------------- Polish


@pytest.mark.parametrize(("near", "rounds"), [(0, 0), (5, 0), (16, 3), (0, 4)])
def test_polish_asks_so_often_and_so_much_at_most(near: int, rounds: int) -> None:
    features = 30
    task = plane(features, unlike=lambda rows: rows.sum(axis=1) > 4)
    rows, instance = np.random.default_rng(1).uniform(1, 5, size=(20, features)), np.zeros(20, dtype=np.intp)
    driven = Driven(cp.Polish(near, rounds).search(task, rows, instance), lambda rows: rows.sum(axis=1) > 4)
    assert len(driven.questions) <= 2 + rounds
    sizes, near = [len(question.instance) for question in driven.questions], max(near, 4 * task.k)
    assert sizes[0] <= len(rows) * 2 * PREFIXES
    assert sizes[1] <= near * (2 * PREFIXES + BINS * features)
    assert max(sizes[2:], default=0) <= near * len(PARTS) * (features + 1)
    assert len(driven.result.rows) == min(len(rows), near)


def test_polish_makes_one_small_change_of_many_large_ones() -> None:
    driven = Driven(cp.Polish().search(plane(), *one([[4.0] * 4])), lambda rows: rows[:, 2] > 1)
    np.testing.assert_allclose(driven.result.rows, [[0.0, 0.0, 1.0, 0.0]], atol=0.07)


@pytest.mark.parametrize("wrong", [{"nearest": -1}, {"rounds": -1}])
def test_polish_refuses_negative_numbers(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        cp.Polish(**wrong)


# ---------------------------------------------------------------- stretch


def test_stretch_moves_changed_numbers_half_way_and_all_the_way_to_their_ends() -> None:
    once = Driven(stretch(line(), *one([[4.0]])), first_above(1))
    np.testing.assert_array_equal(once.asked, [[7.0], [10.0]])
    assert len(once.questions) == 1


def test_stretch_moves_numbers_together_and_each_by_itself_and_leaves_the_rest() -> None:
    task = plane(features=3)
    low, high = task.known.rows.min(axis=0), task.known.rows.max(axis=0)
    once = Driven(stretch(task, *one([[1.0, -1.0, 0.0]])), first_above(1))
    asked = {tuple(row) for row in once.asked}
    assert (high[0], low[1], 0.0) in asked
    assert {(high[0], -1.0, 0.0), (1.0, low[1], 0.0)} <= asked
    assert all(row[2] == 0 for row in asked)


def test_stretch_leaves_categories_alone() -> None:
    frame = pd.DataFrame({"job": ["a", "b", "c"]})
    once = Driven(stretch(pose(frame, frame[:1]), *one([[1.0]])), lambda rows: rows[:, 0] == 1)
    assert len(once.asked) == 0
