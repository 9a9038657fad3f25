"""Constraints given with a question, one set per person: exact, in any batch, and without fitting again."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint import testing
from promises.test_promises import SMALL, constraints, fast, problems

NAMES = ("immutable", "ranges", "increase", "decrease", "costs", "max_change")


@st.composite
def asked(draw: st.DrawFn) -> tuple[testing._Problem, dict[str, list[Any]]]:
    """Draw a problem, and for each of its instances what replaces the constraints it was fitted with."""
    problem = draw(problems(("pandas", "array")))
    frame = pd.DataFrame(problem.X, columns=cp.Schema.infer(problem.X).names)
    few = pd.DataFrame(problem.instances, columns=frame.columns)
    kinds = [_kind(frame[name]) for name in frame]
    people = [draw(constraints(problem.X, frame, few, kinds)) for _ in range(len(few))]
    some = {name: [draw(st.sampled_from([None, each[name]])) for each in people] for name in NAMES}
    return problem, some


def _kind(column: pd.Series) -> str:
    if column.dtype.kind in "iuf" or str(column.dtype) == "Int64":
        return "int" if column.dtype.kind in "iu" else "float"
    return "ordered" if getattr(column.dtype, "ordered", False) else "text"


def fitted(explainer: cp.Explainer, problem: testing._Problem, **more: Any) -> cp.Explainer:
    return explainer.clone().fit(problem.predict, problem.X, **(problem.constraints | more))


def limits_of(explainer: cp.Explainer, count: int, some: dict[str, list[Any]]) -> list[Any]:
    """Read the constraints of each; what cannot hold together is another test's business."""
    try:
        return explainer.fitted_.read_limits(count, **some)
    except ValueError:
        assume(False)
        raise


@fast(max_examples=25)
@given(asked(), st.sampled_from([SMALL, cp.Guided(singles=20), cp.Tree(), cp.Sphere(directions=20)]))
def test_constraints_of_each_hold_alone_and_in_a_batch(
    drawn: tuple[testing._Problem, dict[str, list[Any]]], explainer: cp.Explainer
) -> None:
    problem, some = drawn
    explainer = fitted(explainer, problem)
    count = len(problem.instances)
    limits = limits_of(explainer, count, some)
    ask: dict[str, Any] = {"k": problem.k, "target": problem.target, "max_changes": problem.max_changes}
    batch = explainer.explain_many(problem.instances, progress=False, **ask, **some)
    for index in range(count):
        own = {name: values[index] for name, values in some.items()}
        alone = explainer.explain(problem.instances[index : index + 1], **ask, **own)
        assert testing._difference(batch[index], alone) is None
        features = limits[index].applied(explainer.fitted_.schema).features
        answer = batch[index]
        for feature, old, column in zip(features, answer.row, answer.rows.T, strict=True):
            broken = [testing._broken(feature, old, new) for new in column]
            assert not any(broken), (feature, old, column, broken)
        if problem.target is None and len(answer):
            assert (problem.predict(answer.counterfactuals) != answer.decision).all()


@fast(max_examples=20)
@given(asked(), st.sampled_from([cp.BruteForce(), cp.Neighbours(), cp.CaseBased(), cp.Guided()]))
def test_a_question_with_constraints_is_answered_as_if_fitted_with_them(
    drawn: tuple[testing._Problem, dict[str, list[Any]]], explainer: cp.Explainer
) -> None:
    problem, some = drawn
    once = fitted(explainer, problem)
    limits = limits_of(once, len(problem.instances), some)
    for index, each in enumerate(limits):
        schema = each.applied(once.fitted_.schema)
        if not schema.actionable:
            continue
        x = problem.instances[index : index + 1]
        own = {name: values[index] for name, values in some.items()}
        again = explainer.clone().fit(
            problem.predict, problem.X, schema=schema, rule=problem.constraints["rule"]
        )
        ask: dict[str, Any] = {"k": problem.k, "target": problem.target, "max_changes": problem.max_changes}
        assert testing._difference(once.explain(x, **ask, **own), again.explain(x, **ask)) is None


PEOPLE = pd.DataFrame(
    {
        "age": np.arange(20, 60).repeat(5),
        "income": np.tile(np.linspace(10.0, 100.0, 40), 5),
        "job": np.tile(["clerk", "smith", "nurse", "none"], 50),
    }
)


def decide(table: pd.DataFrame) -> Any:
    points = table["income"] + table["age"] + 20 * (table["job"] == "nurse")
    return np.where(points > 110, "granted", "refused")


@pytest.fixture(scope="module")
def explainer() -> cp.Explainer:
    return cp.Ensemble(size=5).fit(decide, PEOPLE, immutable=["age"], increase=["income"])


X = PEOPLE[(decide(PEOPLE) == "refused") & (PEOPLE["income"] > 60)][:4]


def test_the_model_is_not_asked_about_known_instances_again() -> None:
    asked: list[int] = []

    def counting(table: pd.DataFrame) -> Any:
        asked.append(len(table))
        return decide(table)

    explainer = cp.Ensemble(size=5).fit(counting, PEOPLE)
    asked.clear()
    explainer.explain(X.iloc[0], 2, immutable=["job"])
    alone = len(asked)
    asked.clear()
    each = [["job"], ["age"], ["income"], []]
    many = explainer.explain_many(X, 2, immutable=each, progress=False)
    assert len(asked) <= 2 * alone  # all groups share each call
    assert sum(asked) == many.model_rows


def test_what_fit_locked_can_be_set_free_and_what_it_left_free_locked(explainer: cp.Explainer) -> None:
    free = explainer.explain(X.iloc[0], 3, immutable=["income", "job"])
    assert len(free)
    assert set(free.changes["feature"]) == {"age"}
    assert "age" not in set(explainer.explain(X.iloc[0], 3).changes["feature"])
    assert free.limits.immutable == ("income", "job")


def test_every_voice_can_use_a_feature_that_is_set_free(explainer: cp.Explainer) -> None:
    assert all(set(voice.features) == {0, 1, 2} for voice in explainer.voices_)  # type: ignore[attr-defined]


def test_a_person_who_may_change_nothing_gets_an_empty_answer_that_says_so(explainer: cp.Explainer) -> None:
    answer = explainer.explain(X.iloc[0], 3, immutable=["age", "income", "job"])
    assert len(answer) == 0
    assert answer.shortfall is not None
    assert answer.shortfall.why is cp.Why.NOT_ALLOWED


def test_a_new_value_is_refused_only_where_it_may_change(explainer: cp.Explainer) -> None:
    keeps_job = cp.Ensemble(size=5).fit(decide, PEOPLE, immutable=["job"])
    odd = X.assign(job=["king", "clerk", "king", "clerk"])
    assert len(keeps_job.explain_many(odd, 1, progress=False)) == 4
    found = keeps_job.explain_many(odd, 1, immutable=[["job"], None, [], []], invalid="skip", progress=False)
    assert [(problem.row, problem.value) for problem in found.skipped] == [(2, "king")]
    with pytest.raises(cp.InvalidError, match="No known instance has this category"):
        keeps_job.explain(odd.iloc[0], immutable=[])
    # The constraints of the rows that are left stay theirs.
    assert found[2].limits.immutable == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"immutable": [["age"], None]}, "one entry per instance.*4 instances, got 2"),
        ({"immutable": ["salary"]}, "immutable must name known features"),
        ({"ranges": [{"age": (1, 5)}, {"age": (5, 1)}, None, None]}, "must be a pair of numbers"),
        ({"decrease": ["income"]}, "replaces what fit was given"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    explainer: cp.Explainer, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        explainer.explain_many(X, 1, progress=False, **given)


def test_images_take_no_constraints_with_a_question() -> None:
    images = np.random.default_rng(0).normal(size=(40, 6, 6))
    explainer = cp.Ensemble(size=5).fit(lambda table: table[:, 0, 0] > 0, images)
    with pytest.raises(ValueError, match="immutable per question is for the columns of tables"):
        explainer.explain(images[0], immutable=["a"])
