"""Links between columns: declared, kept exactly, and repaired where a search breaks them."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp

RNG = np.random.default_rng(0)
COUNT = 600
SEX = RNG.choice(["f", "m"], COUNT)
ROLE = np.where(RNG.random(COUNT) < 0.5, np.where(SEX == "m", "husband", "wife"), "single")
START = RNG.integers(0, 50, COUNT)
X = pd.DataFrame(
    {
        "start": START,
        "end": START + RNG.integers(0, 20, COUNT),
        "role": ROLE,
        "sex": SEX,
        "pay": RNG.normal(30, 10, COUNT).round(1),
    }
)
LINKS = [
    cp.implies(role="husband", then={"sex": "m"}),
    cp.implies(role="wife", then={"sex": "f"}),
    "start <= end",
]


def decide(table: pd.DataFrame) -> Any:
    points = table["start"] + table["pay"] + 25 * (table["role"] == "husband") + 5 * (table["sex"] == "m")
    return np.where(points > 80, "yes", "no")


def keeps(table: pd.DataFrame) -> Any:
    roles = ~((table["role"] == "husband") & (table["sex"] == "f"))
    return roles & ~((table["role"] == "wife") & (table["sex"] == "m")) & (table["start"] <= table["end"])


SOME = X[decide(X) == "no"][:60]


@pytest.mark.parametrize("k", [1, 5, 20])
def test_no_answer_breaks_a_link_and_there_are_as_many_as_without(k: int) -> None:
    without, with_ = (
        cp.Ensemble().fit(decide, X, links=links).explain_many(SOME, k, progress=False)
        for links in ((), LINKS)
    )
    assert not keeps(without.frame).all()
    assert keeps(with_.frame).all()
    many = np.array([(len(a), len(b)) for a, b in zip(without, with_, strict=True)])
    exist = many[:, 0] > 0
    assert (many[exist, 1] >= many[exist, 0]).mean() >= 0.95


def test_searches_repair_what_a_rule_would_throw_away() -> None:
    """Only rows on a line are admissible: hardly any candidate of a search lies on it by chance."""
    line = pd.DataFrame({"a": RNG.normal(size=300), "c": RNG.normal(size=300)}).assign(b=lambda t: t["a"])
    some = line[line["a"] < 0][:20]
    decides = {"yes": lambda t: t["b"] > 1}["yes"]
    by_rule = cp.Ensemble().fit(decides, line, immutable=["c"], rule=lambda t, x: t["a"] == t["b"])
    by_link = cp.Ensemble().fit(decides, line, immutable=["c"], links=["a == b"])
    ruled, linked = (each.explain_many(some, 5, progress=False) for each in (by_rule, by_link))
    assert (linked.frame["a"] == linked.frame["b"]).all()
    assert [len(answer) for answer in linked] == [5] * 20
    assert (linked.frame.groupby("instance")["distance"].min().mean()) <= (
        ruled.frame.groupby("instance")["distance"].min().mean()
    )


def repaired(x: dict[str, Any], row: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Repair one candidate of x."""
    explainer = cp.Neighbours().fit(decide, X, links=LINKS, **options)
    fitted, schema = explainer.fitted_, explainer.fitted_.schema
    rows = [schema.read_one(each).rows for each in (x, row)]
    task = fitted.task(rows[0], np.array(["no"]), (0,))
    return dict(schema.decode(task.repaired(rows[1], np.array([0]))).iloc[0])


PERSON = {"start": 10, "end": 20, "role": "single", "sex": "f", "pay": 20.0}


def test_a_condition_takes_what_it_requires() -> None:
    assert repaired(PERSON, PERSON | {"role": "husband"}) == PERSON | {"role": "husband", "sex": "m"}


def test_a_condition_is_undone_if_what_it_requires_may_not_change() -> None:
    assert repaired(PERSON, PERSON | {"role": "husband"}, immutable=["sex"]) == PERSON


def test_a_consequence_that_changes_leaves_the_condition() -> None:
    wife = PERSON | {"role": "wife"}
    assert repaired(wife, wife | {"sex": "m"})["role"] in ("single", "husband")


def test_the_other_side_of_a_comparison_moves_along() -> None:
    assert repaired(PERSON, PERSON | {"start": 30}) == PERSON | {"start": 30, "end": 30}
    assert repaired(PERSON, PERSON | {"end": 5}) == PERSON | {"start": 5, "end": 5}


def test_the_side_that_changed_moves_back_if_the_other_may_not() -> None:
    assert repaired(PERSON, PERSON | {"start": 30}, immutable=["end"]) == PERSON | {"start": 20}
    assert repaired(PERSON, PERSON | {"start": 30}, max_change={"end": 2}) == PERSON | {"start": 20}


def test_steps_are_kept_when_a_side_moves() -> None:
    schema = cp.Schema.infer(X).replace("end", step=7)
    assert repaired(PERSON, PERSON | {"start": 30}, schema=schema) == PERSON | {"start": 30, "end": 35}


def test_an_x_that_breaks_a_link_is_explained_and_no_answer_breaks_it() -> None:
    x = PERSON | {"start": 30, "role": "husband", "pay": 5.0}
    answer = cp.Ensemble().fit(decide, X, links=LINKS).explain(x, 5)
    assert len(answer) == 5
    assert keeps(answer.counterfactuals).all()


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("start <= finish", "must compare two columns.*'start <= finish'"),
        ("start + end", "must compare two columns"),
        ("role <= sex", "compares numbers.*'role'"),
        (cp.implies(role="king", then={"sex": "m"}), "known values of 'role'"),
        (cp.implies(crown=True, then={"sex": "m"}), "must name known features.*'crown'"),
        (cp.implies(pay=(3, 1), then={"sex": "m"}), "ends \\(low, high\\)"),
        (7, "A link must be a comparison"),
    ],
)
def test_links_that_cannot_be_meant_are_refused(link: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        cp.Ensemble().fit(decide, X, links=[link])
    with pytest.raises(TypeError, match="links must be a list"):
        cp.Ensemble().fit(decide, X, links="start <= end")


def test_an_implication_needs_both_sides() -> None:
    with pytest.raises(ValueError, match="implies needs a condition"):
        cp.implies(then={"sex": "m"})
    with pytest.raises(ValueError, match="implies needs then"):
        cp.implies(role="wife", then={})
