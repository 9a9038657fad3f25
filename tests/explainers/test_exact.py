"""The proven nearest answer, compared with all rows that there are."""

from itertools import product
from time import monotonic
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import counterpoint as cp
from counterpoint import testing
from counterpoint.explanation.records import record

CATEGORIES = ["job", "town"]
NUMBERS = ["age", "savings", "debt"]


def table(seed: int, count: int = 80) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 6, count),
            "savings": rng.integers(0, 9, count),
            "debt": rng.integers(0, 4, count),
            "job": rng.choice(list("abc"), count),
            "town": rng.choice(list("uv"), count),
        }
    )


def labels(X: pd.DataFrame, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    points = X["savings"] - X["debt"] * 1.5 + (X["job"] == "a") * 2 + rng.normal(size=len(X))
    return (points > np.median(points)).astype(int).to_numpy()


def model(kind: str, X: pd.DataFrame, y: Any) -> Any:
    encoded = (
        make_column_transformer((OneHotEncoder(), CATEGORIES), remainder="passthrough"),
        make_column_transformer((OrdinalEncoder(), CATEGORIES), (StandardScaler(), NUMBERS)),
    )
    trees = {
        "forest": RandomForestClassifier(6, random_state=0),
        "forest of fractions": RandomForestClassifier(6, min_samples_leaf=4, random_state=0),
        "boosting": GradientBoostingClassifier(n_estimators=6, random_state=0),
        "xgboost": xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1, random_state=0),
        "lightgbm": lightgbm.LGBMClassifier(
            n_estimators=6, min_child_samples=5, n_jobs=1, verbose=-1, random_state=0
        ),
    }
    return make_pipeline(encoded[len(kind) % 2], trees[kind]).fit(X, y)


KINDS = ("forest", "forest of fractions", "boosting", "xgboost", "lightgbm")

constraints = st.fixed_dictionaries(
    {},
    optional={
        "immutable": st.lists(st.sampled_from([*NUMBERS, *CATEGORIES]), max_size=2, unique=True),
        "increase": st.just(["savings"]),
        "decrease": st.just(["debt"]),
        "ranges": st.sampled_from([{"age": (1, 4)}, {"job": ["a", "b"]}, {"savings": (4, 12)}]),
        "max_change": st.sampled_from([{"savings": 2}, {"age": "50%"}]),
        "costs": st.sampled_from(
            [
                {"savings": 3.0},
                {"debt": cp.Cost(up=1, down=4)},
                {"job": cp.Cost(changes={("a", "b"): 3, ("c", "a"): float("inf")})},
            ]
        ),
        "order": st.just({"job": ["c", "a", "b"]}),
    },
)


def every_distance(explainer: cp.Explainer, x: pd.DataFrame, fitted_model: Any) -> Any:
    """Measure all admissible rows that flip, in order of their distance."""
    fitted = explainer.fitted_
    row = fitted.schema.encode(x)
    decision = fitted_model.predict(x)
    task = fitted.task(row, decision, (0,))
    values = []
    for index, feature in enumerate(fitted.schema.features):
        if feature.is_categorical:
            values.append(np.arange(len(feature.categories), dtype=float))
        else:
            values.append(np.arange(fitted.rules.low[index], fitted.rules.high[index] + 1))
            values[-1] = np.unique(np.append(values[-1], row[0, index]))
    rows = np.array(list(product(*values)))
    rows = rows[task.admissible(rows, np.zeros(len(rows), dtype=np.intp))]
    rows = rows[fitted_model.predict(fitted.schema.decode(rows)) != decision[0]] if len(rows) else rows
    return np.sort(task.measure.from_x(rows, row)), rows[np.argsort(task.measure.from_x(rows, row))]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=10, derandomize=True)
@given(seed=st.integers(0, 30), place=st.integers(0, 79), given_constraints=constraints)
def test_none_of_all_rows_is_nearer(
    kind: str, seed: int, place: int, given_constraints: dict[str, Any]
) -> None:
    X = table(seed)
    trained = model(kind, X, labels(X, seed))
    if set(given_constraints.get("immutable", ())) & {
        name
        for key in ("increase", "decrease", "ranges", "max_change", "costs", "order")
        for name in given_constraints.get(key, ())
    }:
        given_constraints = {key: given_constraints[key] for key in ("immutable",)}
    exact = cp.Exact(start=cp.Neighbours()).fit(trained, X, **given_constraints)
    x = X.iloc[[place]]
    answer = exact.explain(x, k=1)
    distances, _ = every_distance(exact, x, trained)
    found = answer.distance if answer.cost is None else answer.cost
    assert answer.bound is not None
    if len(distances):
        assert answer.bound.lower <= distances[0] + 1e-9
        assert len(answer) == 1
        if answer.bound.is_proven:
            np.testing.assert_allclose(found[0], distances[0])
        assert (trained.predict(answer.counterfactuals) != trained.predict(x)).all()
    else:
        assert not len(answer)
        if answer.bound.is_proven:
            assert answer.shortfall is not None
            assert answer.shortfall.why in (cp.Why.PROVEN, cp.Why.NOT_ALLOWED)
    if kind == "forest":
        assert answer.bound.is_proven


def trained(kind: str = "forest") -> tuple[Any, pd.DataFrame]:
    X = table(0)
    return model(kind, X, labels(X, 0)), X


def loans() -> tuple[Any, pd.DataFrame]:
    X = testing._loans(0)
    X = X.assign(amount=X["amount"].astype("float32"))
    steps = make_column_transformer((OneHotEncoder(), ["job", "school", "sex"]), remainder="passthrough")
    return make_pipeline(steps, RandomForestClassifier(10, random_state=0)).fit(X, testing._grant(X)), X


@pytest.mark.parametrize(
    ("limits", "k", "max_changes"),
    [
        ({}, 3, None),
        (
            {
                "immutable": ["sex"],
                "ranges": {"income": (0, 120), "job": ["none", "clerk", "smith"]},
                "increase": ["age", "school"],
                "decrease": ["amount"],
                "costs": {"school": 3, "job": cp.Cost(changes={("none", "smith"): 2})},
                "max_change": {"age": 10, "amount": "80%"},
            },
            2,
            2,
        ),
        ({"ranges": {"income": (60, 120), "job": ["clerk", "smith"]}}, 2, None),
    ],
    ids=["free", "limited", "outside its ranges"],
)
def test_every_promise_is_kept(limits: dict[str, Any], k: int, max_changes: int | None) -> None:
    forest, X = loans()
    problem = testing._Problem("loans", forest.predict, X, X[:4], k, limits, max_changes=max_changes)
    checks = list(testing._checks(cp.Exact(start=cp.Neighbours()), problem))
    assert [str(check) for check in checks if not check.passed] == []
    assert checks[0].found >= 4


def test_no_answer_holds_all_changes_of_another_and_the_next_is_the_nearest_such() -> None:
    forest, X = trained()
    exact = cp.Exact(start=None).fit(forest, X)
    for place in range(4):
        x = X.iloc[[place]]
        answer = exact.explain(x, k=3)
        distances, rows = every_distance(exact, x, forest)
        row = exact.fitted_.schema.encode(x)[0]
        differs = rows != row
        expected: list[int] = []
        for index in range(len(rows)):
            if len(expected) < 3 and not any((differs[index] >= differs[e]).all() for e in expected):
                expected.append(index)
        # Several rows can be equally near, and which of them comes first decides about those after it.
        np.testing.assert_allclose(answer.distance[0], distances[0])
        assert len(answer) == len(expected)
        sets = [frozenset(np.flatnonzero(each != row)) for each in answer.rows]
        assert not any(a < b or (a == b and i != j) for i, a in enumerate(sets) for j, b in enumerate(sets))


def test_a_limit_on_changes_is_part_of_the_proof() -> None:
    forest, X = trained()
    exact = cp.Exact(start=None).fit(forest, X, immutable=["savings"])
    for place in range(5):
        x = X.iloc[[place]]
        row = exact.fitted_.schema.encode(x)[0]
        distances, rows = every_distance(exact, x, forest)
        few = distances[(rows != row).sum(axis=1) <= 1]
        answer = exact.explain(x, k=1, max_changes=1)
        assert answer.bound is not None
        assert answer.bound.is_proven
        assert answer.distance.tolist() == pytest.approx(few[:1].tolist())


def test_that_none_exists_is_proven_and_said() -> None:
    X = table(1)
    forest = model("forest", X, (X["savings"] > 4).astype(int))
    exact = cp.Exact(start=cp.Neighbours()).fit(forest, X, ranges={"savings": (0, 2)})
    answer = exact.explain({"age": 3, "savings": 1, "debt": 1, "job": "a", "town": "u"}, k=1)
    assert answer.shortfall is not None
    assert answer.shortfall.why is cp.Why.PROVEN
    assert "it is proven that none exists" in str(answer)
    assert answer.bound == cp.Bound(np.inf, np.inf)
    again = cp.Explanation.from_json(answer.to_json())
    assert (again.bound, again.shortfall) == (answer.bound, answer.shortfall)


def test_too_few_steps_give_a_bound_that_holds() -> None:
    forest, X = loans()
    proven = cp.Exact(start=cp.Neighbours()).fit(forest, X)
    short = cp.Exact(start=cp.Neighbours(), steps=30).fit(forest, X)
    for full, part in zip(proven.explain_many(X[:6], 1), short.explain_many(X[:6], 1), strict=True):
        assert full.bound is not None
        assert part.bound is not None
        assert part.bound.lower <= full.distance[0] * (1 + 1e-9)
        assert part.distance[0] >= full.distance[0] * (1 - 1e-9)
    assert not all(each.bound.is_proven for each in short.explain_many(X[:6], 1))
    first = next(each for each in short.explain_many(X[:6], 1) if not each.bound.is_proven)
    assert "best possible" in str(first) or "not known whether" in str(first)
    assert "proven that none is nearer" in str(proven.explain(X[:1], 1))
    frame = proven.explain_many(X[:6], 2, progress=False).frame
    assert (frame["bound"] <= frame["distance"] * (1 + 1e-9)).all()
    assert record(0, proven.explain(X[:1], 1))["bound"]["is_proven"]


def test_what_cannot_be_proven_is_refused_with_the_reason() -> None:
    forest, X = trained()
    exact = cp.Exact(start=None)
    numbers = X[NUMBERS]
    line = LogisticRegression().fit(numbers, labels(X, 0))
    with pytest.raises(TypeError, match=r"LogisticRegression is not among .* Use Ensemble instead"):
        exact.fit(line, numbers)
    several = model("forest", X, np.arange(len(X)) % 3)
    with pytest.raises(TypeError, match="does not decide between two classes"):
        exact.fit(several, X)
    with pytest.raises(TypeError, match="its decisions about known instances are not those of its trees"):
        exact.fit(_Contrary(forest.steps), X)
    with pytest.raises(ValueError, match="cannot take links"):
        exact.fit(forest, X, links=["debt <= savings"])
    with pytest.raises(ValueError, match="cannot take rule"):
        exact.fit(forest, X, rule=lambda table, x: table["age"] > 0)


class _Contrary(Pipeline):
    """A pipeline that turns the decisions of its trees round."""

    def predict(self, X: Any) -> Any:
        return 1 - super().predict(X)


def test_it_is_saved_with_what_it_starts_from(tmp_path: Any) -> None:
    forest, X = trained()
    exact = cp.Exact(start=cp.Neighbours(candidates=7), steps=1000).fit(forest, X)
    cp.save(exact, tmp_path / "exact.cp")
    again = cp.load(tmp_path / "exact.cp", forest)
    assert again == exact
    assert (again.explain(X[:1]).rows == exact.explain(X[:1]).rows).all()


def test_what_x_misses_may_come_and_is_then_not_proven_away() -> None:
    X = table(2).astype({"savings": float})
    X.loc[::4, "savings"] = np.nan
    steps = make_column_transformer((OneHotEncoder(), CATEGORIES), remainder="passthrough")
    forest = make_pipeline(steps, RandomForestClassifier(6, random_state=0)).fit(X, labels(X.fillna(3), 2))
    exact = cp.Exact(start=cp.Neighbours()).fit(forest, X)
    for answer in exact.explain_many(X[::4][:4], 1):
        assert len(answer) == 1
        assert answer.bound is not None
        lost = exact.fitted_.known.distance.lost[1]
        assert answer.bound.lower <= lost or answer.bound.is_proven


def test_limits_of_rows_and_time_end_the_proof_too() -> None:
    forest, X = loans()
    exact = cp.Exact(start=cp.Neighbours()).fit(forest, X)
    few = exact.explain_many(X[:4], 2, max_rows=5, progress=False)
    assert all(each.model_rows <= 6 for each in few)
    started = monotonic()
    late = exact.explain_many(X[:40], 2, max_seconds=1e-3, progress=False)
    assert monotonic() - started < 5
    assert all(each.bound is not None for each in late)
