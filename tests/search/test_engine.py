"""Many searches in lockstep: merged questions, budgets, and what happens where a model or a search fails."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Barrier, current_thread, local, main_thread
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import counterpoint as cp
from counterpoint.model.blackbox import BlackBox
from counterpoint.model.representation import Direct
from counterpoint.search.engine import Budget, Lockstep, Reply, label, run
from counterpoint.search.task import Question

X = np.random.default_rng(0).normal(size=(60, 2))


class Model:
    """Says which rows are above 0, counts its calls, and fails where it is told to."""

    def __init__(self, fails: Callable[[np.ndarray], Any] = lambda rows: False) -> None:
        self.sizes: list[int] = []
        self.fails = fails

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        self.sizes.append(len(rows))
        if np.any(self.fails(rows)):
            raise ValueError("cannot take this")
        return rows[:, 0] > 0


def blackbox(model: Model, max_cells: int = 100_000) -> BlackBox:
    return BlackBox(model, Direct(cp.Schema.infer(X)), max_cells=max_cells)


def asks(values: list[float], instance: list[int] | int = 0) -> Question:
    rows = np.column_stack([values, np.zeros(len(values))])
    return Question(rows, np.broadcast_to(np.array(instance, dtype=np.intp), len(values)))


def asking(told: list, *questions: list[float]) -> Generator[Question, np.ndarray, None]:
    """Ask questions about one instance, and tell what was answered."""
    for question in questions:
        labels = yield asks(question)
        told.append(labels.tolist())
    told.append("done")


def values(question: Question | None) -> list[float]:
    assert question is not None
    return question.rows[:, 0].tolist()


# ---------------------------------------------------------------- Lockstep


def test_lockstep_asks_all_questions_of_a_round_together() -> None:
    a, b = [], []
    both = Lockstep(np.empty(0, dtype=bool))
    both.add(asking(a, [1.0, 2.0], [3.0]))
    both.add(asking(b, [-1.0]))
    assert values(both.question()) == [1.0, 2.0, -1.0]
    assert both.owners.tolist() == [0, 0, 1]
    both.answer(np.array([True, True, False]))
    assert values(both.question()) == [3.0]
    assert both.owners.tolist() == [0]
    both.answer(np.array([True]))
    assert both.question() is None
    assert a == [[True, True], [True], "done"]
    assert b == [[False], "done"]


def test_lockstep_keeps_which_instance_each_row_is_about() -> None:
    def search(question: Question) -> Generator[Question, np.ndarray, None]:
        yield question

    both = Lockstep(np.empty(0, dtype=bool))
    both.add(search(asks([1.0, 2.0], [4, 7])))
    both.add(search(asks([3.0], [4])))
    question = both.question()
    assert question is not None
    assert question.instance.tolist() == [4, 7, 4]


def test_a_search_can_join_while_others_are_under_way() -> None:
    first, second = [], []
    both = Lockstep(np.empty(0, dtype=bool))
    both.add(asking(first, [1.0], [2.0]))
    both.question()
    both.answer(np.array([True]))
    both.add(asking(second, [5.0]))
    assert values(both.question()) == [2.0, 5.0]


def test_questions_without_rows_are_answered_without_asking() -> None:
    told: list = []
    both = Lockstep(np.empty(0, dtype=bool))
    both.add(asking(told, [], [], [1.0], [], [2.0]))
    assert values(both.question()) == [1.0]
    both.answer(np.array([True]))
    assert values(both.question()) == [2.0]
    both.answer(np.array([False]))
    assert told == [[], [], [True], [], [False], "done"]


def test_searches_that_never_ask_end_at_once() -> None:
    a, b = [], []
    both = Lockstep(np.empty(0, dtype=bool))
    assert both.question() is None
    both.add(asking(a))
    both.add(asking(b, []))
    assert both.question() is None
    assert (a, b) == (["done"], [[], "done"])


def test_lockstep_hands_scores_back_as_they_are() -> None:
    a, b = [], []
    both = Lockstep(np.empty(0, dtype=bool))
    both.add(asking(a, [1.0]))
    both.add(asking(b, [2.0, 3.0]))
    both.question()
    both.answer(np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]))
    assert a == [[[0.1, 0.9]], "done"]
    assert b == [[[0.2, 0.8], [0.3, 0.7]], "done"]


def test_lockstep_tells_which_search_raised() -> None:
    def breaks() -> Generator[Question, np.ndarray, None]:
        yield asks([0.0])
        raise LookupError("gone")

    both = Lockstep(np.empty(0, dtype=bool))
    both.add(asking([], [1.0], [2.0]))
    both.add(breaks())
    both.question()
    with pytest.raises(LookupError):
        both.answer(np.array([True, False]))
    assert both.current == 1


# ---------------------------------------------------------------- label: one call for all


def test_questions_of_all_groups_are_one_call() -> None:
    model = Model()
    replies = label([asks([1.0, -1.0]), asks([-2.0]), asks([3.0, 4.0])], blackbox(model))
    assert [reply.labels.tolist() for reply in replies] == [[True, False], [False], [True, True]]
    assert model.sizes == [5]
    assert not any(reply.failed for reply in replies)


def test_long_questions_are_split_into_calls() -> None:
    model = Model()
    (reply,) = label([asks([1.0] * 7 + [-1.0] * 4)], blackbox(model, max_cells=5 * X.shape[1]))
    assert model.sizes == [5, 5, 1]
    assert reply.labels.tolist() == [True] * 7 + [False] * 4


def test_only_the_instance_whose_rows_the_model_cannot_take_fails() -> None:
    model = Model(lambda rows: rows[:, 0] == 99)
    one, two = asks([1.0, -1.0, 99.0, 2.0], [0, 1, 2, 2]), asks([-5.0], 0)
    first, second = label([one, two], blackbox(model))
    assert list(first.failed) == [2]
    assert first.failed[2].position == 2
    assert "cannot take this" in str(first.failed[2])
    assert first.labels[:2].tolist() == [True, False]
    assert second.failed == {}
    assert second.labels.tolist() == [False]


def test_a_model_that_is_down_is_not_asked_about_every_instance() -> None:
    model = Model()
    box = blackbox(model)
    label([asks([1.0])], box)
    model.fails = lambda rows: True
    (reply,) = label([asks([1.0] * 100, list(range(100)))], box)
    assert len(reply.failed) == 100
    assert len(model.sizes) <= 10


def test_labels_of_different_widths_survive_a_failure() -> None:
    def model(rows: np.ndarray) -> np.ndarray:
        if (rows[:, 0] == 99).any():
            raise ValueError("no")
        return np.array(["yes" if row[0] > 0 else "certainly not" for row in rows])

    (reply,) = label([asks([1.0, 99.0, -1.0], [0, 1, 2])], BlackBox(model, Direct(cp.Schema.infer(X))))
    assert reply.labels[[0, 2]].tolist() == ["yes", "certainly not"]


# ---------------------------------------------------------------- run


def group(told: list, *questions: list[float]) -> Generator[Question, Reply, None]:
    for question in questions:
        reply = yield asks(question)
        told.append(reply.labels.tolist())


def test_groups_run_side_by_side_and_do_not_wait_for_each_other() -> None:
    model, told = Model(), {0: [], 1: [], 2: []}
    plans = {0: ([1.0],), 1: ([1.0], [-2.0], [3.0]), 2: ()}

    def start(places: np.ndarray) -> Generator[Question, Reply, None]:
        return group(told[int(places[0])], *plans[int(places[0])])

    assert run([np.array([i]) for i in range(3)], start, blackbox(model)) == {}
    assert told == {0: [[True]], 1: [[True], [False], [True]], 2: []}
    assert model.sizes == [2, 1, 1]


def test_a_group_in_which_something_raises_is_run_again_one_by_one() -> None:
    runs: list[list[int]] = []

    def start(places: np.ndarray) -> Generator[Question, Reply, None]:
        runs.append(places.tolist())
        yield asks([1.0])
        if 2 in places:
            raise LookupError("gone")

    failed = run([np.array([0, 2, 3]), np.array([4])], start, blackbox(Model()))
    assert list(failed) == [2]
    assert isinstance(failed[2], LookupError)
    assert sorted(runs) == [[0], [0, 2, 3], [2], [3], [4]]


def test_nothing_to_run_is_no_call() -> None:
    model = Model()
    assert run([], lambda places: group([]), blackbox(model)) == {}
    assert model.sizes == []


def test_time_left_is_endless_without_a_deadline() -> None:
    assert Budget().seconds_left() == np.inf
    assert Budget(deadline=monotonic() - 1).seconds_left() < 0


# ---------------------------------------------------------------- budgets, as the caller sees them

BELOW = np.array([-1.0, 0.0])


@pytest.mark.parametrize(
    "explainer", [cp.Ensemble(size=5), cp.BruteForce(features=2)], ids=["Ensemble", "one"]
)
@pytest.mark.parametrize("most", [1, 7, 70])
def test_no_more_than_max_rows_are_asked_about_and_the_answer_says_so(
    explainer: cp.Explainer, most: int
) -> None:
    model = Model()
    explainer.fit(model, X)
    model.sizes.clear()
    explanation = explainer.explain(BELOW, k=100, max_rows=most)
    assert sum(model.sizes) <= most + 1  # and x itself
    assert explanation.model_rows == sum(model.sizes)
    assert explanation.shortfall is not None
    assert f"{most} model row" in explanation.shortfall.reason


def test_what_was_found_before_the_budget_ran_out_is_returned() -> None:
    explanation = cp.Neighbours().fit(Model(), X).explain(BELOW, k=5, max_rows=5)
    assert len(explanation) == 5
    assert explanation.shortfall is None


def test_max_rows_is_for_each_instance() -> None:
    explainer = cp.Ensemble(size=5).fit(Model(), X)
    many = explainer.explain_many(X[:4], k=3, max_rows=50, progress=False)
    alone = [explainer.explain(x, k=3, max_rows=50) for x in X[:4]]
    for a, b in zip(many, alone, strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)
        assert a.model_rows <= 51


def test_max_seconds_ends_a_slow_model() -> None:
    class Slow(Model):
        def __call__(self, rows: np.ndarray) -> np.ndarray:
            end = monotonic() + 0.001 * len(rows)
            while monotonic() < end:
                pass
            return super().__call__(rows)

    explainer = cp.Ensemble(size=5).fit(Slow(), X)
    began = monotonic()
    explanation = explainer.explain(BELOW, k=100, max_seconds=0.1)
    assert monotonic() - began < 3
    assert explanation.shortfall is not None
    assert "time limit" in explanation.shortfall.reason


def test_all_groups_share_the_time() -> None:
    class Slow:
        """Ten decisions, so that instances are explained in ten groups; a row takes a millisecond."""

        rows = 0

        def __call__(self, rows: np.ndarray) -> np.ndarray:
            self.rows += len(rows)
            sleep(0.001 * len(rows))
            return np.digitize(rows[:, 0], np.linspace(-1.2, 1.2, 9))

    table, model = np.random.default_rng(0).normal(size=(200, 4)), Slow()
    explainer = cp.Ensemble(size=5).fit(model, table)
    model.rows = 0
    explainer.explain_many(table[:60], max_seconds=0.5, progress=False)
    assert model.rows < 60 + 2 * 500


def test_a_run_counts_its_own_calls_and_rows_only() -> None:
    """Two runs at once: each waits in its second call of the model until the other has made one."""
    barrier, turns = Barrier(2, timeout=60), local()

    def model(rows: np.ndarray) -> np.ndarray:
        turns.count = getattr(turns, "count", 0) + 1
        if turns.count <= 2 and current_thread() is not main_thread():
            barrier.wait()
        return rows[:, 0] > 0

    explainer = cp.Neighbours().fit(model, X)
    alone = explainer.explain_many(X[:5], progress=False)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: explainer.explain_many(X[:5], progress=False), range(2)))
    assert {(each.model_calls, each.model_rows) for each in both} == {(alone.model_calls, alone.model_rows)}


# ---------------------------------------------------------------- failures, as the caller sees them


@dataclass
class Probe(cp.Explainer):
    """Asks about x moved by 1 and by 2; its search breaks for an x above `breaks`."""

    breaks: float = np.inf
    seed: int = 0

    def search(self, task: cp.Task) -> cp.Search:
        yield task.question([x + np.array([[1.0, 0.0], [2.0, 0.0]]) for x in task.x])
        if (task.x[:, 0] > self.breaks).any():
            raise LookupError("nothing is that large")


LINE = np.array([[-1.25, 0.0], [-1.0, 0.0], [-0.5, 0.0], [-0.75, 0.0]])


def cannot_take_a_half(rows: np.ndarray) -> np.ndarray:
    """Fail on the candidate -0.5 + 1, and on no other."""
    return rows[:, 0] == 0.5


def test_only_the_guilty_instance_fails_and_the_error_names_it_and_the_explainer() -> None:
    explainer = Probe().fit(Model(cannot_take_a_half), X)
    with pytest.raises(cp.IncompleteError) as caught:
        explainer.explain_many(LINE[[0, 2, 3]], k=2, progress=False)
    error = caught.value
    assert list(error.failed) == [1]
    assert error.places == [0, 2]
    assert [item.row[0] for item in error.finished] == [-1.25, -0.75]
    for part in ("X[1]", "Probe", "cannot take this", "1 of 3"):
        assert part in str(error)


def test_the_others_are_answered_as_if_nothing_had_happened() -> None:
    whole = Probe().fit(Model(), X).explain_many(LINE[[0, 3]], k=2, progress=False)
    broken = Probe().fit(Model(cannot_take_a_half), X)
    with pytest.raises(cp.IncompleteError) as caught:
        broken.explain_many(LINE[[0, 2, 3]], k=2, progress=False)
    for a, b in zip(whole, caught.value.finished, strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)


def test_one_decision_raises_the_models_own_error() -> None:
    explainer = Probe().fit(Model(cannot_take_a_half), X)
    with pytest.raises(cp.ModelError, match=r"cannot take this.*Probe"):
        explainer.explain(LINE[2], k=2)


def test_the_models_own_exception_is_the_cause() -> None:
    explainer = Probe().fit(Model(cannot_take_a_half), X)
    with pytest.raises(cp.ModelError) as caught:
        explainer.explain(LINE[2], k=2)
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_ensemble_names_the_voice_whose_rows_the_model_cannot_take() -> None:
    model = Model()
    explainer = cp.Ensemble([cp.Neighbours(), Probe()], size=2, polish=None).fit(model, X)
    model.fails = cannot_take_a_half
    with pytest.raises(cp.ModelError, match="Probe"):
        explainer.explain(LINE[2], k=2)


def test_an_instance_that_the_model_cannot_take_is_named_and_the_others_are_explained() -> None:
    explainer = Probe().fit(Model(lambda rows: rows[:, 0] == 99), X)
    with pytest.raises(cp.IncompleteError, match=r"X\[1\]") as caught:
        explainer.explain_many(np.array([[-0.5, 0.0], [99.0, 0.0], [-0.7, 0.0]]), k=1, progress=False)
    assert list(caught.value.failed) == [1]
    assert caught.value.places == [0, 2]


def test_a_model_that_is_down_stops_quickly() -> None:
    model = Model()
    explainer = Probe().fit(model, X)
    count = len(model.sizes)
    # It answers about the instances themselves, and then no more.
    model.fails = lambda rows: len(model.sizes) > count + 1
    with pytest.raises(cp.IncompleteError) as caught:
        explainer.explain_many(np.tile(LINE, (12, 1)), k=1, progress=False)
    assert len(caught.value.failed) == 48
    assert len(caught.value.finished) == 0
    assert len(model.sizes) - count <= 12


def test_an_error_in_a_search_names_the_explainer_and_the_instance() -> None:
    explainer = Probe(breaks=-0.6).fit(Model(), X)
    with pytest.raises(cp.IncompleteError, match=r"X\[2\].*nothing is that large") as caught:
        explainer.explain_many(LINE, k=1, progress=False)
    assert list(caught.value.failed) == [2]
    assert "Probe" in "".join(caught.value.failed[2].__notes__)
    assert caught.value.places == [0, 1, 3]


def test_an_error_in_a_voice_of_an_ensemble_names_the_voice() -> None:
    explainer = cp.Ensemble([cp.Neighbours(), Probe(breaks=-9)], size=2).fit(Model(), X)
    with pytest.raises(LookupError) as caught:
        explainer.explain(LINE[0], k=1)
    assert "Probe" in "".join(caught.value.__notes__)


def test_an_error_in_the_users_rule_is_not_laid_at_an_explainers_door() -> None:
    explainer = cp.Ensemble(size=3).fit(Model(), X, rule=lambda table, x: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        explainer.explain(LINE[0], k=1)
    assert caught.value.__notes__ == ["It was raised by rule=<lambda>, not by the library."]


def test_a_search_that_yields_rows_without_their_instances_is_told_what_to_yield() -> None:
    @dataclass
    class Bare(cp.Explainer):
        seed: int = 0

        def search(self, task: cp.Task) -> cp.Search:
            yield task.x

    with pytest.raises(TypeError, match=r"task\.(question|project)") as caught:
        Bare().fit(Model(), X).explain(LINE[0])
    assert "Bare" in "".join(caught.value.__notes__)


def test_no_instances_no_explanations() -> None:
    assert len(Probe().fit(Model(), X).explain_many(X[:0], progress=False)) == 0


def test_a_search_with_nothing_to_ask_meets_outputs_of_the_models_own_shape() -> None:
    def scores(rows: np.ndarray) -> np.ndarray:
        return np.column_stack([rows[:, 1] < 0, rows[:, 1] >= 0]).astype(float)

    explainer = cp.CaseBased().fit(scores, X, immutable=[1])
    assert len(explainer.explain(np.array([0.0, -1.0]), 3, target=lambda output: output[:, 1] > 0.5)) == 0


def test_several_guilty_instances_in_a_row_do_not_take_the_others_with_them() -> None:
    explainer = Probe().fit(Model(cannot_take_a_half), X)
    with pytest.raises(cp.IncompleteError) as caught:
        explainer.explain_many(LINE[[2, 2, 2, 2, 0, 1, 3]], k=2, progress=False)
    assert sorted(caught.value.failed) == [0, 1, 2, 3]
