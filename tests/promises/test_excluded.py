"""Actions that a person said no to: no answer holds them, alone or in a batch, and nothing else changes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint import testing
from promises.test_promises import SMALL, fast, problems


@fast(max_examples=25)
@given(problems(("pandas", "array")), st.sampled_from([SMALL, cp.Guided(singles=20), cp.Tree()]), st.data())
def test_no_answer_holds_an_excluded_action_alone_or_in_a_batch(
    problem: testing._Problem, explainer: cp.Explainer, data: st.DataObject
) -> None:
    explainer = explainer.clone().fit(problem.predict, problem.X, **problem.constraints)
    ask: dict[str, Any] = {"k": problem.k, "target": problem.target, "max_changes": problem.max_changes}
    before = explainer.explain_many(problem.instances, progress=False, **ask)
    seen = list(dict.fromkeys(action for answer in before for action in answer.actions))
    said_no = data.draw(st.lists(st.sampled_from(seen), max_size=3)) if seen else []
    batch = explainer.explain_many(problem.instances, progress=False, **ask, exclude=said_no)
    for index, answer in enumerate(batch):
        assert not any(no <= action for no in said_no for action in answer.actions)
        alone = explainer.explain(problem.instances[index : index + 1], **ask, exclude=said_no)
        assert np.array_equal(answer.rows, alone.rows, equal_nan=True)
        if not said_no:
            assert testing._difference(answer, before[index]) is None


def test_saying_no_finds_other_ways(refused: tuple[cp.Explainer, dict[str, Any]]) -> None:
    explainer, person = refused
    first = explainer.explain(person, k=1)
    second = explainer.explain(person, k=1, exclude=first.actions)
    assert len(second) == 1
    assert not first.actions[0] <= second.actions[0]
    third = explainer.explain(person, k=1, exclude=[*first.actions, *second.actions])
    assert len({*first.actions, *second.actions, *third.actions}) == 2 + len(third)


def test_what_is_excluded_stays_so_while_constraints_are_released(
    refused: tuple[cp.Explainer, dict[str, Any]],
) -> None:
    explainer, person = refused
    (usual,) = explainer.explain(person, k=1).actions
    answer = explainer.explain(person, k=1, immutable=list(person), exclude=[usual])
    assert not len(answer)
    relaxed = answer.relax()
    assert relaxed is not None
    assert not any(usual <= action for action in relaxed.explanation.actions)
    assert len(relaxed.explanation)


@pytest.mark.parametrize(
    ("exclude", "error", "words"),
    [
        ([{("height", "up")}], ValueError, "exclude must name known features, got \\['height'\\]"),
        ([{("age", "sideways")}], ValueError, "the way of 'age' must be one of"),
        (["age"], TypeError, "as explanation.actions gives them"),
        ([frozenset()], TypeError, "as explanation.actions gives them"),
    ],
)
def test_a_wrong_action_is_refused_with_its_cure(
    refused: tuple[cp.Explainer, dict[str, Any]], exclude: Any, error: type[Exception], words: str
) -> None:
    explainer, person = refused
    with pytest.raises(error, match=words):
        explainer.explain(person, exclude=exclude)


@pytest.fixture(scope="module")
def refused() -> tuple[cp.Explainer, dict[str, Any]]:
    """An explainer of loans, and somebody who was refused one."""
    import loans

    table = loans.people(400)
    model = lambda X: (X["income"] + 25 * (X["job"] == "smith") + X["age"] > 90).to_numpy()  # noqa: E731
    explainer = cp.Ensemble(size=5).fit(model, table)
    x = table[~model(table) & (table["job"] == "cook")].iloc[0]
    return explainer, x.to_dict()


def test_the_one_call_takes_it_too() -> None:
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = lambda rows: rows[:, 0] + rows[:, 1] > 0  # noqa: E731
    x = np.array([-0.5, -0.5, 0.0])
    first = cp.explain(x, model, X, k=1)
    second = cp.explain(x, model, X, k=1, exclude=first.actions)
    assert len(second) == 1
    assert not first.actions[0] <= second.actions[0]
