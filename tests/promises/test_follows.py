"""Columns that follow others: computed before the model sees a row, in any combination of constraints."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoint as cp
from counterpoint import testing
from promises.test_promises import EXPLAINERS, SMALL, fast


def total(table: Any) -> Any:
    return table["a"] * 2 + table["b"]


def is_large(table: Any) -> Any:
    """Computed from a column that follows itself."""
    return np.where(np.asarray(table["total"]) > 3, "large", "small")


FOLLOWS = {"total": total, "size": is_large}


def table(seed: int, size: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=size).round(3),
            "b": rng.integers(-5, 6, size),
            "c": rng.choice(["x", "y", "z"], size),
        }
    )
    frame["total"] = total(frame).round(1)  # as it is stored: not quite what the function gives
    frame["size"] = is_large(frame)
    return frame


def decide(frame: Any) -> Any:
    points = np.asarray(frame["total"]) + 2.0 * (np.asarray(frame["c"]) == "x")
    return np.where(points + (np.asarray(frame["size"]) == "large") > 2, "yes", "no")


@st.composite
def constraints(draw: st.DrawFn) -> dict[str, Any]:
    """Draw constraints that can be given with a question, too."""
    found: dict[str, Any] = {
        "immutable": draw(st.sampled_from([[], [], ["b"], ["c"]])),
        "costs": draw(st.sampled_from([{}, {"a": 4}, {"b": cp.Cost(up=np.inf)}])),
        "max_change": draw(st.sampled_from([{}, {"a": 1.5}])),
        "ranges": draw(st.sampled_from([{}, {"total": (-3, 4)}, {"size": ["small"]}, {"b": (0, 5)}])),
    }
    if "b" in found["immutable"]:
        found["costs"].pop("b", None)
    return found


def check(answer: cp.Explanation, explainer: cp.Explainer) -> None:
    """Check that what follows does, and stays in its range."""
    found, x = answer.counterfactuals, answer.x
    own = total(x).iloc[0]
    for i in range(len(found)):
        row = found.iloc[[i]]
        value = total(row).iloc[0]
        assert row["total"].iloc[0] == (x["total"].iloc[0] if value == own else value)
        expected = is_large(row)[0]
        assert row["size"].iloc[0] == (x["size"].iloc[0] if expected == is_large(x)[0] else expected)
    schema = answer.limits.applied(explainer.fitted_.schema)
    for feature, old, column in zip(schema.features, answer.row, answer.rows.T, strict=True):
        assert not any(testing._broken(feature, old, new) for new in column)
    if len(found):
        assert (decide(found) != answer.decision).all()
        acts = answer.changes.loc[~answer.changes["follows"]]
        assert set(acts["feature"]) <= {"a", "b", "c"}
        assert set(acts["counterfactual"]) == set(range(1, len(found) + 1))


@fast(max_examples=25)
@given(st.integers(0, 99), constraints(), constraints(), st.sampled_from([SMALL, *EXPLAINERS]), st.booleans())
def test_what_follows_does_alone_in_a_batch_and_per_person(
    seed: int, at_fit: dict[str, Any], own: dict[str, Any], explainer: cp.Explainer, links: bool
) -> None:
    X = table(seed)
    more = {"links": ["b <= total", cp.implies(c="x", then={"b": (0, 5)})]} if links else {}
    explainer = explainer.clone().fit(decide, X, follows=FOLLOWS, **at_fit, **more)
    given = {name: [None, value, None] for name, value in own.items()}
    batch = explainer.explain_many(X[:3], 3, max_changes=2, progress=False, **given)
    for index, answer in enumerate(batch):
        check(answer, explainer)
        mine = {name: values[index] for name, values in given.items()}
        alone = explainer.explain(X.iloc[index], 3, max_changes=2, **mine)
        assert testing._difference(answer, alone) is None
        if links and len(answer):
            found = answer.counterfactuals
            assert (found["b"] <= found["total"]).all()
            assert ((found["c"] != "x") | (found["b"] >= 0)).all()


def test_the_model_sees_no_row_in_which_a_column_does_not_follow() -> None:
    X = table(0).assign(total=lambda frame: total(frame))
    X["size"] = is_large(X)

    def strict(frame: pd.DataFrame) -> Any:
        assert (frame["total"] == total(frame)).all()
        assert (frame["size"] == is_large(frame)).all()
        return decide(frame)

    answers = cp.Ensemble(size=5).fit(strict, X, follows=FOLLOWS).explain_many(X[:10], 3, progress=False)
    assert min(map(len, answers)) == 3


def test_a_consequence_is_told_from_an_action() -> None:
    X = table(1)
    answer = cp.Ensemble(size=5).fit(decide, X, follows=FOLLOWS, immutable=["c"]).explain(X.iloc[0], 2)
    assert answer.changes.columns.tolist() == ["counterfactual", "feature", "from", "to", "follows"]
    assert ", so total becomes " in answer.sentences()[0]
    assert "total (follows)" in str(answer)
    assert answer.importance()["total"] == 0
    again = cp.Explanation.from_json(answer.to_json())
    assert again.sentences() == answer.sentences()
    assert again.changes.equals(answer.changes)


def test_columns_of_polars_frames_and_arrays_follow_too() -> None:
    X = pl.DataFrame(table(2))
    functions = {"total": lambda c: c["a"] * 2 + c["b"], "size": is_large}
    answer = cp.Ensemble(size=5).fit(decide, X, follows=functions).explain(X[0], 3)
    found = answer.counterfactuals
    assert (found["total"] == found["a"] * 2 + found["b"]).all()
    rows = np.random.default_rng(0).normal(size=(90, 3)).round(3)
    rows[:, 2] = rows[:, 0] * rows[:, 1]
    explainer = cp.Ensemble(size=5).fit(
        lambda r: r[:, 2] > 0.2, rows, follows={2: lambda r: r[:, 0] * r[:, 1]}
    )
    found = explainer.explain(rows[rows[:, 2] < 0][0], 3).counterfactuals
    assert len(found) == 3
    assert (found[:, 2] == found[:, 0] * found[:, 1]).all()


def test_functions_are_given_again_when_loaded(tmp_path: Any) -> None:
    X = table(3)
    explainer = cp.Ensemble(size=5).fit(decide, X, follows=FOLLOWS, links=["b <= total"])
    cp.save(explainer, tmp_path / "e.cp")
    with pytest.raises(ValueError, match=r"\['size', 'total'\].*give follows= again"):
        cp.load(tmp_path / "e.cp", decide)
    again = cp.load(tmp_path / "e.cp", decide, follows=FOLLOWS)
    assert again.fitted_.schema.links == explainer.fitted_.schema.links
    one, other = (each.explain(X.iloc[0], 3) for each in (explainer, again))
    assert testing._difference(one, other) is None


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda c: c["a"][:3], "one value per candidate"),
        (lambda c: c["a"] * 1.5, "whole numbers"),
        (lambda c: c["c"], "not a number"),
        (lambda c: c["d"], "d"),
    ],
)
def test_functions_that_cannot_work_are_refused_at_fit(function: Any, message: str) -> None:
    with pytest.raises((ValueError, KeyError), match=message) as caught:
        cp.Ensemble().fit(decide, table(0), follows={"b": function})
    notes = "".join(getattr(caught.value, "__notes__", ()))
    assert "follows['b']" in str(caught.value) + notes


@pytest.mark.parametrize(
    "more", [{"immutable": ["total"]}, {"increase": ["total"]}, {"max_change": {"total": 1}}]
)
def test_what_follows_has_no_constraint_but_a_range(more: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="follows other features"):
        cp.Ensemble().fit(decide, table(0), follows=FOLLOWS, **more)
