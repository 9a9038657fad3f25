"""Requests that share a run get what they would get alone."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from clients import ROW, quick
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint.web.asked import Reader
from counterpoint.web.limits import Bounds
from counterpoint.web.service.merging import Ask, Merger
from counterpoint.web.service.questions import Questions
from counterpoint.web.wire import answer, dumps
from loans import decide, people

PEOPLE = [each | {"owner": bool(each["owner"])} for each in people(40, seed=3).to_dict("records")]
EXPLAINER = quick().fit(decide, people(120), immutable=["owner"], progress=False)
READER = Reader(EXPLAINER)
QUESTIONS = Questions(READER, Bounds())

names = st.sampled_from(["age", "income", "job", "education"])
constraints = st.fixed_dictionaries(
    {},
    optional={
        "immutable": st.lists(names, max_size=2, unique=True),
        "increase": st.lists(st.sampled_from(["age", "income"]), max_size=1),
        "ranges": st.fixed_dictionaries({"income": st.sampled_from([[None, 70], [20, 90]])}),
        "costs": st.dictionaries(names, st.sampled_from([0.5, 4, "never"]), max_size=2),
        "max_change": st.dictionaries(st.sampled_from(["age", "income"]), st.sampled_from([15, "50%"])),
        "max_changes": st.integers(1, 2),
    },
)
questions = st.fixed_dictionaries(
    {"rows": st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=3), "k": st.integers(1, 2)},
    optional={
        "constraints": constraints,
        "target": st.sampled_from([None, "granted"]),
        "setting": st.sampled_from([None, "close"]),
    },
)


def asks(said: list[dict[str, Any]]) -> list[Ask]:
    return [QUESTIONS.explain(each["rows"], each) for each in said]


def merger(bounds: Bounds | None = None) -> Merger:
    return Merger(READER.explainer_for, bounds or Bounds(wait=0.05))


def texts(results: list[Any]) -> list[bytes]:
    """Write answers as they go over the wire, to compare them byte for byte."""
    assert not [each for each in results if isinstance(each, Exception)]
    return [dumps(answer(0, each)) for each in results]


@settings(max_examples=10, deadline=None)
@given(st.lists(questions, min_size=2, max_size=6))
def test_everybody_gets_the_answer_that_they_would_get_alone(said):
    together = merger()
    waiting = [together.submit(ask) for ask in asks(said)]
    merged = [each.result(60) for each in waiting]
    alone = [merger().submit(ask).result(60) for ask in asks(said)]
    assert [texts(each) for each in merged] == [texts(each) for each in alone]


def test_requests_share_a_run_although_their_constraints_differ():
    limits: list[dict[str, Any]] = [{}, {"immutable": ["age"]}, {"costs": {"income": 3}}]
    together = merger(Bounds(wait=0.5))
    said = [{"rows": [row], "constraints": each} for row, each in zip(PEOPLE, limits * 4, strict=False)]
    waiting = [together.submit(ask) for ask in asks(said)]
    assert all(len(each.result(60)) == 1 for each in waiting)
    assert b"counterpoint_run_requests_count 1.0" in together.metrics.text()
    assert b"counterpoint_run_rows_sum 12.0" in together.metrics.text()


@pytest.mark.parametrize("other", [{"k": 2}, {"setting": "close"}, {"target": "granted"}], ids=str)
def test_other_questions_have_a_run_of_their_own(other):
    together = merger()
    said: list[dict[str, Any]] = [{"rows": [PEOPLE[0]], "k": 1}, {"rows": [PEOPLE[1]], "k": 1, **other}]
    waiting = [together.submit(ask) for ask in asks(said)]
    assert all(len(each.result(60)) == 1 for each in waiting)
    assert b"counterpoint_run_requests_count 2.0" in together.metrics.text()


def test_a_much_shorter_deadline_is_nobody_else_s():
    one, other = asks([{"rows": [ROW], "deadline": 0.2}, {"rows": [ROW]}])
    assert not one.joins(other)
    same, late = asks([{"rows": [ROW], "deadline": 20}, {"rows": [ROW], "deadline": 20.5}])
    assert same.joins(late)


def test_a_value_that_no_column_can_hold_is_explained_alone():
    explainer = quick().fit(decide, people(120), immutable=["education"], progress=False)
    reader = Reader(explainer)
    assert reader.rows([ROW]).joins
    odd = reader.rows([ROW | {"education": "evening classes"}])
    assert not odd.joins  # the categories of a column have a type, which would change for all
    together = Merger(reader.explainer_for, Bounds(wait=0.5))
    futures = [together.submit(Ask(table, k=1)) for table in (reader.rows([ROW]), odd, reader.rows([ROW]))]
    values = [answer(0, each.result(60)[0])["values"]["education"] for each in futures]
    assert values == ["school", "evening classes", "school"]
    assert b"counterpoint_run_requests_count 2.0" in together.metrics.text()


def test_a_run_that_fails_as_a_whole_is_done_again_one_by_one():
    class Broken:
        """Fails as a whole if one of the rows is poor."""

        def explain_many(self, frame: Any, *rest: Any, **asked: Any) -> Any:
            if (frame["income"].astype(float) < 10).any():
                raise KeyboardInterrupt
            return EXPLAINER.explain_many(frame, *rest, **asked)

    together = Merger(lambda setting: Broken(), Bounds(wait=0.05))
    good, bad = asks([{"rows": [ROW]}, {"rows": [ROW | {"income": 5.0}]}])
    futures = together.submit(good), together.submit(bad)
    assert len(futures[0].result(60)) == 1
    with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
        futures[1].result(60)


def test_many_threads_at_once():
    together = merger(Bounds())
    wanted = {place: texts(merger().submit(ask).result(60)) for place, ask in enumerate(_one_each())}
    found: dict[int, list[bytes]] = {}

    def ask(place: int, asked: Ask) -> None:
        found[place] = texts(together.submit(asked).result(60))

    threads = [threading.Thread(target=ask, args=each) for each in enumerate(_one_each())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == wanted


def _one_each() -> list[Ask]:
    return asks([{"rows": [row], "k": 2} for row in PEOPLE[:24]])


def test_a_request_that_is_given_up_is_not_run():
    may_go = threading.Event()

    def slow(table: Any) -> Any:
        may_go.wait(20)
        return decide(table)

    may_go.set()
    explainer = quick().fit(slow, people(120), progress=False)
    may_go.clear()
    together = Merger(lambda setting: explainer, Bounds())
    first = together.submit(Ask(READER.rows([ROW]), k=1))
    while not first.running():
        pass
    second = together.submit(Ask(READER.rows([ROW]), k=1))
    assert second.cancel()
    may_go.set()
    first.result(60)
    third = together.submit(Ask(READER.rows([ROW]), k=1))
    third.result(60)
    assert b"counterpoint_run_rows_sum 2.0" in together.metrics.text()


def test_what_a_run_learns_does_not_pile_up():
    """The explainer remembers what constraints lead to, but only so many."""
    together = merger(Bounds(wait=0.001))
    for cost in np.linspace(1, 2, 40).tolist():
        said = [{"rows": [ROW], "k": 1, "constraints": {"costs": {"income": cost}}}]
        together.submit(asks(said)[0]).result(60)
    assert len(EXPLAINER.fitted_.known._memo) <= 257
