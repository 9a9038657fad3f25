"""Open ends of ranges, and numbers near the ends of what a float can hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterpoint as cp
from counterpoint.explainers.paper import PaperBruteForce, PaperSphere
from counterpoint.selection.greedy import cost_scaled_greedy
from counterpoint.selection.selection import NAMED

EXPLAINERS = [
    cp.BruteForce(),
    cp.Tree(),
    cp.Sphere(directions=20),
    cp.Neighbours(),
    cp.CaseBased(),
    cp.Guided(),
    cp.Evolution(population=20, generations=2),
    PaperBruteForce(),
]


def people(size: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({"rate": rng.gamma(2, 1, size), "income": rng.integers(10, 100, size)})


def grant(table: pd.DataFrame) -> np.ndarray:
    return (table["rate"] * 10 + table["income"] > 60).to_numpy()


def copies(answers: cp.Explanations) -> int:
    return sum(len(answer) - len({row.tobytes() for row in answer.rows}) for answer in answers)


@pytest.mark.parametrize("setting", list(NAMED))
def test_an_open_end_gives_each_answer_once_and_none_out_of_reach(setting: str) -> None:
    X = people()
    ensemble = cp.Ensemble(selection=NAMED[setting])
    ensemble.fit(grant, X, ranges={"rate": (0, np.inf), "income": (-np.inf, np.inf)})
    answers = ensemble.explain_many(X[:20], progress=False)
    assert sum(map(len, answers)) == 100
    assert not copies(answers)
    table = answers.frame
    spread = X.max() - X.min()
    assert (table[["rate", "income"]] <= X.max() + spread).all(axis=None)
    assert (table["income"] >= X["income"].min() - spread["income"]).all()
    assert (table["rate"] >= 0).all()


def test_an_open_end_goes_on_from_a_range_beyond_what_is_known() -> None:
    X = people()
    explainer = cp.Neighbours().fit(grant, X, ranges={"income": (150, np.inf)})
    rules = explainer.fitted_.rules
    assert rules.low[1] == 150
    assert rules.high[1] == 150 + X["income"].max() - X["income"].min()


def test_a_feature_made_by_hand_stays_within_what_is_known() -> None:
    X = people()
    schema = cp.Schema.infer(X).replace("rate", seen=(-np.inf, np.inf))
    answers = (
        cp.Ensemble(selection=cp.VARIED).fit(grant, X, schema=schema).explain_many(X[:10], progress=False)
    )
    assert answers.frame["rate"].between(X["rate"].min(), X["rate"].max()).all()


def test_a_forest_can_be_asked_about_an_open_end() -> None:
    X = people().astype({"rate": np.float32})
    forest = RandomForestClassifier(10, random_state=0).fit(X, grant(X))
    ranges = {"rate": (0, np.inf), "income": (0, np.inf)}
    answers = (
        cp.Ensemble(selection=cp.DIVERSE).fit(forest, X, ranges=ranges).explain_many(X[:5], progress=False)
    )
    assert sum(map(len, answers)) == 25


@pytest.mark.parametrize("scale", [1.7e308, 1e200, 1e-200, 1e-315])
@pytest.mark.parametrize("setting", list(NAMED))
def test_the_largest_and_smallest_floats_are_explained_like_any_other(scale: float, setting: str) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (300, 3)) * scale
    ensemble = cp.Ensemble(selection=NAMED[setting]).fit(lambda rows: rows[:, 0] / 2 + rows[:, 1] / 4 > 0, X)
    answers = ensemble.explain_many(X[:10], progress=False)
    assert sum(map(len, answers)) == 50
    assert not copies(answers)
    assert all(np.isfinite(answer.distance).all() for answer in answers)


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda explainer: type(explainer).__name__)
def test_every_explainer_takes_the_largest_floats(explainer: cp.Explainer) -> None:
    X = np.random.default_rng(1).uniform(-1, 1, (300, 3)) * 1.7e308
    answers = explainer.clone().fit(lambda rows: rows[:, 0] / 2 + rows[:, 1] / 4 > 0, X)
    found = answers.explain_many(X[:10], progress=False)
    assert sum(map(len, found)) == 50
    assert all(np.isfinite(answer.distance).all() for answer in found)


def test_the_papers_sphere_finds_as_much_among_the_largest_floats_as_among_small_ones() -> None:
    """It returns what flips in its ring, which may be fewer than k."""
    X = np.random.default_rng(1).uniform(-1, 1, (300, 3))
    found = []
    for scale in (1.0, 1.7e308):
        sphere = PaperSphere().fit(lambda rows: rows[:, 0] / 2 + rows[:, 1] / 4 > 0, X * scale)
        found.append([len(each) for each in sphere.explain_many(X[:10] * scale, progress=False)])
    assert found[0] == found[1]
    assert min(found[0]) > 0


@pytest.mark.parametrize("fill", [True, False])
def test_greedy_chooses_nothing_twice_whatever_it_is_given(fill: bool) -> None:
    rng = np.random.default_rng(0)
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0])
    for _ in range(50):
        covers = rng.random((2, 6, 6)) < 0.5
        between = rng.choice(odd, (2, 6))
        with np.errstate(invalid="ignore"):
            chosen = cost_scaled_greedy(covers, rng.choice(odd, (2, 6)), 4, fill, lambda _, b=between: b)
        for line in chosen:
            taken = line[line >= 0].tolist()
            assert len(taken) == len(set(taken))


def test_an_answer_with_copies_is_refused() -> None:
    schema = cp.Schema.infer(people())
    row = np.array([2.0, 50.0])
    with pytest.raises(ValueError, match="each counterfactual once"):
        cp.Explanation(
            schema,
            row=np.array([1.0, 20.0]),
            decision=False,
            rows=np.stack([row, row]),
            labels=np.array([True, True]),
            found_by=("Tree", "Tree"),
            k=2,
            distance=np.ones(2),
        )
