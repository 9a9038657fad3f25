"""Restoring and shrinking, driven by hand: smaller counterfactuals that still flip, in few rounds and rows."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint.bounds import Rules
from counterpoint.distances import changed
from counterpoint.polish import restore, restore_singles, shrink
from counterpoint.population import Population
from counterpoint.target import Target

fast = settings(max_examples=60, deadline=None, derandomize=True, database=None)
Flips = Callable[[np.ndarray], np.ndarray]


def pose(X: object, x: object, schema: cp.Schema | None = None) -> cp.Task:
    """Pose the question which rows are labelled True."""
    schema = schema or cp.Schema.infer(X)
    rows = schema.encode(X)
    row = schema.encode_one(x)
    return cp.Task(
        x=row,
        decision=False,
        k=3,
        known=Population.of(schema, rows, np.zeros(len(rows), dtype=bool)),
        features=np.array(schema.actionable),
        bounds=Rules.of(schema).around(row),
        target=Target(),
    )


@dataclass
class Driven:
    """A search driven to its end by hand, with what it asked."""

    search: cp.Search
    flips: Flips
    questions: list[np.ndarray] = field(default_factory=list)
    result: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        try:
            self.questions.append(next(self.search))
            while True:
                self.questions.append(self.search.send(self.flips(self.questions[-1])))
        except StopIteration as stop:
            self.result = stop.value


def line(step: float | None = None) -> cp.Task:
    """One number between 0 and 10, seen from 0."""
    X = np.array([[0.0], [10.0]])
    return pose(X, [0.0], cp.Schema.infer(X).replace("x0", step=step) if step else None)


def plane(count: int = 4) -> cp.Task:
    return pose(np.random.default_rng(0).uniform(-5, 5, size=(50, count)), np.zeros(count))


# ---------------------------------------------------------------- restore


def test_restore_puts_back_what_was_changed_in_vain() -> None:
    task = plane()
    driven = Driven(restore(task, np.array([[3.0, 1.0, 2.0, 4.0]])), lambda rows: rows[:, 0] > 1)
    np.testing.assert_array_equal(driven.result, [[3.0, 0.0, 0.0, 0.0]])
    assert len(driven.questions) == 1


def test_restore_never_asks_about_x_itself() -> None:
    task = plane()
    driven = Driven(restore(task, np.full((3, 4), 2.0)), lambda rows: rows[:, 0] > 1)
    assert changed(np.concatenate(driven.questions), task.x).any(axis=1).all()


def test_restore_asks_nothing_about_rows_with_one_change() -> None:
    driven = Driven(restore(plane(), np.array([[3.0, 0.0, 0.0, 0.0]])), lambda rows: rows[:, 0] > 1)
    assert driven.questions == []
    np.testing.assert_array_equal(driven.result, [[3.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("search", [restore, restore_singles])
def test_nothing_to_restore_is_no_question(search: Callable) -> None:
    driven = Driven(search(plane(), np.empty((0, 4))), lambda rows: rows[:, 0] > 1)
    assert driven.questions == []
    assert driven.result.shape == (0, 4)


def test_restore_keeps_a_row_that_needs_all_its_changes() -> None:
    row = np.array([[3.0, 3.0, 3.0, 3.0]])
    driven = Driven(restore(plane(), row), lambda rows: (rows > 1).all(axis=1))
    np.testing.assert_array_equal(driven.result, row)


def test_restore_singles_puts_back_the_dearest_needless_change() -> None:
    driven = Driven(restore_singles(plane(3), np.array([[3.0, 4.0, 1.0]])), lambda rows: rows[:, 0] > 1)
    np.testing.assert_array_equal(driven.result, [[3.0, 0.0, 1.0]])
    assert len(driven.questions[0]) == 3


def test_restore_puts_back_categories_and_missing_values_too() -> None:
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "b": ["u", "v", "u", "v"], "c": [0, 1, 2, 3]})
    task = pose(X, {"a": np.nan, "b": "u", "c": 0})
    driven = Driven(restore(task, np.array([[3.0, 1.0, 2.0]])), lambda rows: rows[:, 2] > 1)
    np.testing.assert_array_equal(driven.result, [[np.nan, 0.0, 2.0]])


@fast
@given(st.integers(0, 10_000), st.sampled_from([restore, restore_singles, None]))
def test_polished_rows_flip_and_are_neither_farther_nor_more_changed(
    seed: int, search: Callable | None
) -> None:
    rng = np.random.default_rng(seed)
    task, weights, cut = plane(), rng.normal(size=4), rng.uniform(0.5, 2)

    def flips(rows: np.ndarray) -> np.ndarray:
        return rows @ weights > cut

    rows = task.project(rng.uniform(-5, 5, size=(30, 4)) * (rng.random((30, 4)) < 0.7))
    rows = rows[flips(rows)]
    driven = Driven((search or cp.Polish().search)(task, rows), flips)
    after = driven.result
    assert flips(after).all()
    if search is not None:
        assert len(after) == len(rows)
    # What polishing returns beyond a row for each row are those rows shrunk further.
    limit = np.resize(np.arange(len(rows)), len(after)) if search else None
    if limit is not None and len(rows):
        assert (task.distance(after) <= task.distance(rows)[limit] + 1e-12).all()
        assert (changed(after, task.x).sum(axis=1) <= changed(rows, task.x).sum(axis=1)).all()
    elif len(rows):
        assert task.distance(after).max() <= task.distance(rows).max() + 1e-12
        assert task.distance(after).min() <= task.distance(rows).min() + 1e-12


# ---------------------------------------------------------------- shrink


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 5])
def test_each_round_divides_the_distance_to_the_boundary_by_four(rounds: int) -> None:
    for boundary in (0.01, 1.0, 3.333, 9.9):
        driven = Driven(shrink(line(), np.array([[10.0]]), rounds), lambda rows, b=boundary: rows[:, 0] > b)
        nearest = driven.result.min()
        assert boundary < nearest <= boundary + 10 / 4**rounds + 1e-9
        assert len(driven.questions) <= rounds
        assert all(len(question) <= 3 for question in driven.questions)


def test_shrink_keeps_the_rows_it_was_given() -> None:
    rows = np.array([[10.0], [8.0]])
    result = Driven(shrink(line(), rows), lambda rows: rows[:, 0] > 3).result
    np.testing.assert_array_equal(result[:2], rows)


def test_shrink_keeps_to_whole_steps_and_finds_the_first_that_flips() -> None:
    driven = Driven(shrink(line(step=1), np.array([[10.0]]), 3), lambda rows: rows[:, 0] > 3.5)
    asked = np.concatenate(driven.questions)
    np.testing.assert_array_equal(asked, np.rint(asked))
    assert driven.result.min() == 4.0


def test_shrink_moves_all_numbers_together_and_each_alone() -> None:
    task = plane(2)
    result = Driven(shrink(task, np.array([[4.0, 4.0]]), 4), lambda rows: rows.sum(axis=1) > 5).result
    together, first, second = result[1:]
    assert together[0] == pytest.approx(together[1])
    assert first[1] == 4.0
    assert second[0] == 4.0
    assert (result[1:].sum(axis=1) < 5.1).all()


def test_shrink_leaves_categories_and_missing_values_alone() -> None:
    X = pd.DataFrame({"a": [0.0, 9.0, np.nan], "b": ["u", "v", "w"], "c": [0.0, 9.0, 9.0]})
    task = pose(X, {"a": 0.0, "b": "u", "c": 0.0})
    driven = Driven(shrink(task, np.array([[np.nan, 2.0, 8.0]])), lambda rows: rows[:, 2] > 2)
    asked = np.concatenate(driven.questions)
    assert np.isnan(asked[:, 0]).all()
    assert (asked[:, 1] == 2).all()
    assert driven.result[:, 2].min() < 2.2


@pytest.mark.parametrize("rows", [np.empty((0, 2)), np.array([[0.0, 1.0]])], ids=["none", "categories only"])
def test_nothing_to_shrink_is_no_question(rows: np.ndarray) -> None:
    task = pose(pd.DataFrame({"a": [0.0, 9.0], "b": ["u", "v"]}), {"a": 0.0, "b": "u"})
    driven = Driven(shrink(task, rows), lambda rows: rows[:, 1] > 0)
    assert driven.questions == []
    np.testing.assert_array_equal(driven.result, rows)


@fast
@given(st.integers(0, 10_000), st.integers(1, 4))
def test_shrunk_rows_flip_and_are_never_farther(seed: int, rounds: int) -> None:
    rng = np.random.default_rng(seed)
    task, weights = plane(3), rng.normal(size=3)

    def flips(rows: np.ndarray) -> np.ndarray:
        # Not even monotone: flips in bands.
        return np.sin(rows @ weights) > 0.3

    rows = task.project(rng.uniform(-5, 5, size=(10, 3)))
    rows = rows[flips(rows)]
    for row in rows:
        driven = Driven(shrink(task, row[None], rounds), flips)
        assert flips(driven.result).all()
        assert (task.distance(driven.result) <= task.distance(row[None]) + 1e-12).all()
        assert (changed(driven.result, task.x) <= changed(row, task.x)).all()
        assert task.bounds.admissible(np.concatenate(driven.questions)).all()


# ---------------------------------------------------------------- Polish


@pytest.mark.parametrize(("passes", "rounds"), [(0, 0), (1, 0), (2, 3), (0, 4)])
def test_polish_asks_so_often_and_so_much_at_most(passes: int, rounds: int) -> None:
    task, features = plane(6), 6
    rows = np.random.default_rng(1).uniform(1, 5, size=(20, features))
    driven = Driven(cp.Polish(passes, rounds).search(task, rows), lambda rows: rows.sum(axis=1) > 4)
    assert len(driven.questions) <= passes + rounds
    prefixes, lines = 2 * (features - 1), features + 1
    assert all(len(question) <= len(rows) * max(prefixes, 3 * lines) for question in driven.questions)


def test_no_polish_returns_the_rows_as_they_are() -> None:
    rows = np.array([[3.0, 2.0, 0.0, 1.0]])
    driven = Driven(cp.Polish(passes=0, rounds=0).search(plane(), rows), lambda rows: rows[:, 0] > 1)
    assert len(np.unique(driven.result, axis=0)) == 1
    np.testing.assert_array_equal(driven.result[:1], rows)


def test_polish_makes_one_small_change_of_many_large_ones() -> None:
    rows = np.array([[4.0, 4.0, 4.0, 4.0]])
    result = Driven(cp.Polish().search(plane(), rows), lambda rows: rows[:, 2] > 1).result
    best = result[np.argmin(plane().distance(result))]
    np.testing.assert_allclose(best, [0.0, 0.0, 1.0, 0.0], atol=0.07)


@pytest.mark.parametrize("wrong", [{"passes": -1}, {"rounds": -1}])
def test_polish_refuses_negative_numbers(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 0"):
        cp.Polish(**wrong)
