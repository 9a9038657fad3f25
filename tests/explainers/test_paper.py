"""The paper's own method: Algorithm 1, its base explainers by the text, and its search distance."""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp
from counterpoint.data.constraints import Rules
from counterpoint.data.distance import Euclidean
from counterpoint.data.known import Population
from counterpoint.data.search_distance import EuclidJaccard
from counterpoint.explainers.paper import (
    Judge,
    Mixed,
    PaperBruteForce,
    PaperSphere,
    PaperTree,
)
from counterpoint.explainers.paper.base import PaperExplainer, returned_by
from counterpoint.model.target import Target
from counterpoint.search.engine import Budget
from counterpoint.search.pool import Finds, Pool
from counterpoint.search.task import Question
from counterpoint.selection.density import Density

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, 400),
        "income": RNG.lognormal(3, 1, 400),
        "debt": RNG.gamma(2, 5, 400),
        "job": RNG.choice(["clerk", "smith", "cook"], 400),
        "house": RNG.choice(["rent", "own"], 400),
    }
)


def bank(table: pd.DataFrame) -> np.ndarray:
    score = table["income"] - table["debt"] + 10 * (table["house"] == "own")
    return np.where(score > 15, "granted", "refused")


REFUSED = PEOPLE[bank(PEOPLE) == "refused"].head(8)


def pose(X: np.ndarray, x: np.ndarray, flips: Any, k: int = 3, features: list[int] | None = None) -> cp.Task:
    schema = cp.Schema.infer(X)
    return cp.Task(
        x=x,
        decisions=flips(x),
        k=k,
        known=Population.of(schema, X, flips(X)),
        features=np.arange(X.shape[1]) if features is None else np.array(features),
        rules=Rules.of(schema),
        target=Target(),
    )


def answer(explainer: cp.Explainer, task: cp.Task, flips: Any) -> tuple[list[Question], Question]:
    """Answer a search to its end, and give all that it asked and what it returned."""
    search, questions = returned_by(explainer, task), []
    try:
        questions.append(next(search))
        while True:
            questions.append(search.send(flips(questions[-1].rows)))
    except StopIteration as end:
        return questions, end.value


def right(rows: np.ndarray) -> np.ndarray:
    return rows[:, 0] > 5


GRID = np.array([[a, b] for a in (0.0, 2.0, 6.0, 8.0, 10.0) for b in (1.0, 3.0, 9.0)])


# ---------------------------------------------------------------- Algorithm 1


def test_the_kinds_are_drawn_uniformly_and_each_gets_its_own_instances_and_features() -> None:
    ece = cp.Ensemble.paper(size=300, instances=0.1).fit(bank, PEOPLE, immutable=["age"])
    counts = Counter(member.name for member in ece.members_)
    assert set(counts) == {"BCE-B", "BCE-T", "BCE-S"}
    assert min(counts.values()) > 70
    assert max(counts.values()) > min(counts.values())  # not "twice each"
    drawn = []
    for member in ece.members_:
        assert len(member.known.rows) == 40
        assert len(np.unique(member.known.rows, axis=0)) == 40  # drawn without replacement
        drawn.append(tuple(member.features(np.array([1, 2, 3, 4])).tolist()))
        assert len(set(drawn[-1])) == 2
        assert set(drawn[-1]) <= {1, 2, 3, 4}
    counts = Counter(drawn)
    assert len(counts) == 6
    assert min(counts.values()) > 25  # about 50 each
    seen = {row.tobytes() for member in ece.members_ for row in member.known.rows}
    assert len(seen) == 400


def test_shares_of_features_and_what_a_base_explainer_returns_are_parameters() -> None:
    ece = cp.Ensemble.paper(features=1.0, k=2, size=6, lambda_=0.0, h=1).fit(bank, PEOPLE)
    assert all(len(member.features(np.arange(5))) == 5 for member in ece.members_)
    for explanation in ece.explain_many(REFUSED, k=20, progress=False):
        assert 0 < len(explanation) <= 12
        assert max(Counter(explanation.found_by).values()) <= 2 * 6


@dataclass
class Two(PaperExplainer):
    """Asks about many rows that flip, and returns two."""

    seed: int = 0
    paper_name = "two"

    def returned(self, task: cp.Task) -> Any:
        rows = np.repeat(task.x[:1], 40, axis=0)
        rows[:, 0] = 6 + np.arange(40) / 10
        question = task.project(rows, np.zeros(40, dtype=np.intp))
        yield question
        return Question(question.rows[[5, 7]], question.instance[:2])


def test_only_what_base_explainers_return_is_selected_from() -> None:
    ece = cp.Ensemble.paper([Two()], size=3, features=1.0, lambda_=0.0, h=1).fit(right, GRID)
    explanation = ece.explain(np.array([0.0, 3.0]), k=10)
    assert sorted(explanation.counterfactuals[:, 0].tolist()) == [6.5, 6.7]
    assert explanation.found_by == ("two", "two")
    alone = Two().fit(right, GRID).explain(np.array([0.0, 3.0]), k=10)
    assert sorted(alone.counterfactuals[:, 0].tolist()) == [6.5, 6.7]


def test_an_explainer_without_an_answer_of_its_own_returns_its_k_nearest() -> None:
    task = pose(GRID, np.array([[0.0, 3.0]]), right, k=2)
    _, returned = answer(cp.Neighbours(), task, right)
    assert returned.rows.tolist() == [[6.0, 3.0], [8.0, 3.0]]


def test_max_changes_and_no_flip_at_all_leave_an_empty_answer() -> None:
    ece = cp.Ensemble.paper().fit(bank, PEOPLE)
    for explanation in ece.explain_many(REFUSED, k=5, max_changes=1, progress=False):
        assert (explanation.counterfactuals != explanation.x.to_numpy()).sum(axis=1).le(1).all()
    nothing = ece.explain(REFUSED.iloc[[0]], target=lambda outputs: outputs == "never")
    assert len(nothing) == 0
    assert nothing.shortfall is not None


def test_the_same_answers_alone_and_in_a_batch() -> None:
    ece = cp.Ensemble.paper(seed=3).fit(bank, PEOPLE, immutable=["age"])
    many = ece.explain_many(REFUSED, k=4, progress=False)
    for place, explanation in enumerate(many):
        alone = ece.explain(REFUSED.iloc[[place]], k=4)
        assert alone.rows.tobytes() == explanation.rows.tobytes()
        assert alone.found_by == explanation.found_by


@pytest.mark.parametrize(
    "explainer", [cp.Ensemble.paper(lambda_=0.1), PaperTree(), PaperSphere(draws=100)], ids=str
)
def test_the_promises_are_kept(explainer: cp.Explainer) -> None:
    cp.testing.check_explainer(explainer)


def test_it_runs_as_a_base_explainer_of_another_ensemble() -> None:
    outer = cp.Ensemble([cp.Ensemble.paper(size=3)], size=1).fit(bank, PEOPLE)
    assert len(outer.explain(REFUSED.iloc[[0]], k=3)) == 3


def test_it_works_through_a_codec_with_the_euclidean_distance() -> None:
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8)[:400]
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(images.reshape(400, -1), labels[:400])

    def model(images: np.ndarray) -> np.ndarray:
        return tree.predict(images.reshape(len(images), -1))

    ece = cp.Ensemble.paper(codec=cp.Kernel(2), lambda_=0.0).fit(model, images)
    assert isinstance(ece.known_.distance, Euclidean)
    found = ece.explain_many(images[:6], k=3, progress=False)
    assert sum(map(len, found)) >= 6
    for x, explanation in zip(images, found, strict=False):
        assert (model(explanation.counterfactuals) != model(x[None])).all()


def test_a_saved_one_gives_the_same_answers(tmp_path: Path) -> None:
    for distance in (Mixed(), Judge()):
        ece = cp.Ensemble.paper(size=4, lambda_=0.2, h=3, distance=distance, seed=2).fit(bank, PEOPLE)
        cp.save(ece, tmp_path / "ece.cp")
        again = cp.load(tmp_path / "ece.cp", bank)
        assert again == ece
        for a, b in zip(
            *(each.explain_many(REFUSED, k=3, progress=False) for each in (ece, again)), strict=True
        ):
            assert a.rows.tobytes() == b.rows.tobytes()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"instances": 0}, "instances must be a share"),
        ({"features": 1.5}, "features must be a share"),
        ({"size": 0}, "size must be at least 1"),
        ({"h": 0}, "h must be at least 1"),
        ({"k": 0}, "k must be at least 1"),
        ({"lambda_": -1}, "lambda_ must be at least 0"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cp.Ensemble.paper(**parameters)
    with pytest.raises(TypeError, match="at least one explainer"):
        cp.Ensemble.paper([])


# ---------------------------------------------------------------- the objective


def brute(finds: np.ndarray, x: np.ndarray, k: int, h: int, lambda_: float) -> float:
    """Evaluate the paper's formula for every set of at most k, and give the greatest ½ f − cost."""
    away = np.abs(finds[:, None] - finds[None]).sum(axis=2)
    near = [
        set(np.argsort(line - (np.arange(len(line)) == i), kind="stable")[:h]) for i, line in enumerate(away)
    ]
    cost = lambda_ * np.abs(finds - x).sum(axis=1)
    sets = [each for count in range(k + 1) for each in combinations(range(len(finds)), count)]
    return max(len(set().union(*(near[i] for i in each))) / 2 - cost[list(each)].sum() for each in sets)


@pytest.mark.parametrize("seed", range(20))
def test_the_selection_keeps_its_bound_against_every_set_of_at_most_k(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 2))
    weight = 1 / np.median(np.abs(X - np.median(X, axis=0)), axis=0) / 2
    x, lambda_, h, k = np.array([[-1.0, 0.0]]), float(rng.choice([0.0, 0.3, 1.0, 3.0])), 3, 3
    rows = np.abs(rng.normal(size=(8, 2)))
    task = pose(X, x, lambda rows: rows[:, 0] > 0, k=k)
    zeros = np.zeros(8, dtype=np.intp)
    (chosen,) = Density(lambda_, h).select(
        task, Finds(rows, zeros, np.ones(8, dtype=bool), zeros, zeros == 1)
    )
    scaled, at = rows * weight, x[0] * weight
    away = np.abs(scaled[:, None] - scaled[None]).sum(axis=2)
    covered = {int(j) for i in chosen for j in np.argsort(away[i] - (np.arange(8) == i), kind="stable")[:h]}
    value = len(covered) - lambda_ * np.abs(scaled[chosen] - at).sum()
    assert len(chosen) <= k
    assert value >= brute(scaled, at, k, h, lambda_) - 1e-9


def test_the_selection_stops_where_nothing_is_worth_its_cost() -> None:
    ece = {lambda_: cp.Ensemble.paper(lambda_=lambda_).fit(bank, PEOPLE) for lambda_ in (0.01, 1000.0)}
    cheap, dear = (each.explain_many(REFUSED, k=5, progress=False) for each in ece.values())
    assert sum(map(len, cheap)) > 0
    assert sum(map(len, dear)) == 0
    some = next(e for c, e in zip(cheap, dear, strict=True) if len(c))
    assert some.shortfall is not None
    assert some.shortfall.why is cp.Why.NOT_WORTH_IT


# ---------------------------------------------------------------- base explainers by the text


def test_bce_b_returns_the_nearest_k_variations_each_moved_towards_x() -> None:
    task = pose(GRID, np.array([[0.0, 3.0]]), right, k=2)
    questions, returned = answer(PaperBruteForce(), task, right)
    # Ten bins over x0 = 6 to 10 of those decided otherwise: the centres start at 6.2.
    assert questions[0].rows[:, 0].max() == pytest.approx(9.8)
    assert len(returned.rows) == 2
    assert (returned.rows[:, 1] == 3.0).all()
    assert ((returned.rows[:, 0] > 5) & (returned.rows[:, 0] < 5.2)).all()


def test_bce_b_ranks_pairs_by_a_distance_that_is_no_sum() -> None:
    X = np.array([[a, b] for a in (0.0, 4.0, 8.0) for b in (0.0, 4.0, 8.0)])
    schema = cp.Schema.infer(X)
    known = Population(schema, X, X.sum(axis=1) > 5, EuclidJaccard.fit(schema, X))
    task = cp.Task(np.zeros((1, 2)), np.array([False]), 1, known, np.arange(2), Rules.of(schema), Target())
    questions, _ = answer(PaperBruteForce(n=2, r=4, refine=0), task, lambda rows: rows.sum(axis=1) > 100)
    asked = np.concatenate([question.rows for question in questions])
    away = np.hypot(*asked.T)
    assert len(asked) == 4 + 4 + 16
    assert (np.diff(away) >= -1e-12).all()


def test_bce_t_takes_one_instance_of_each_leaf_that_predicts_otherwise() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(200, 2))

    def corners(rows: np.ndarray) -> np.ndarray:
        return (rows[:, 0] > 6) | (rows[:, 1] > 8)

    task = pose(X, np.array([[1.0, 1.0]]), corners, k=5)
    questions, returned = answer(PaperTree(share=0.05), task, corners)
    (question,) = questions
    tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0).fit(X, corners(X))
    leaves = [leaf for leaf in np.unique(tree.apply(X)) if tree.tree_.value[leaf, 0].argmax() == 1]
    expected = set()
    for leaf in leaves:
        members = X[tree.apply(X) == leaf]
        expected.add(tuple(members[task.known.distance.from_x(members, task.x[0]).argmin()]))
    assert {tuple(row) for row in question.rows.tolist()} == expected
    # x fails one condition of a leaf in either corner, and the nearest such comes first.
    assert corners(returned.rows).all()
    assert len(returned.rows) == min(5, corners(question.rows).sum())


def test_bce_t_disregards_conditions_on_other_features_and_overwrites_them() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(200, 2))

    def both(rows: np.ndarray) -> np.ndarray:
        return (rows[:, 0] > 5) & (rows[:, 1] > 5)

    task = pose(X, np.array([[9.0, 1.0]]), both, k=5, features=[1])
    questions, returned = answer(PaperTree(), task, both)
    assert (questions[0].rows[:, 0] == 9.0).all()
    assert len(returned.rows) >= 1
    assert both(returned.rows).all()


def test_bce_t_mimics_scores_by_what_flips() -> None:
    X = np.random.default_rng(0).uniform(0, 10, size=(300, 2))
    tree = PaperTree().fit(lambda rows: rows[:, 0] * 1.5 + 0.25, X)
    explanation = tree.explain(np.array([1.0, 1.0]), k=2, target=cp.Between(10, 20))
    assert ((explanation.decisions >= 10) & (explanation.decisions <= 20)).all()
    assert len(explanation) == 1  # there is one leaf of what flips


def test_bce_s_halves_the_radius_until_nothing_flips_and_samples_the_ring() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))

    def far(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] > 1.5

    task = pose(X, np.array([[0.0, 0.0]]), far, k=4)
    questions, returned = answer(PaperSphere(draws=200, radius=8.0), task, far)
    questions = [question for question in questions if len(question.rows)]
    crossed = [bool(far(question.rows).any()) for question in questions[:-1]]
    first_without = crossed.index(False)
    assert all(crossed[:first_without])
    assert len(crossed) == first_without + 1  # it stops there
    assert [len(question.rows) for question in questions] == [200] * len(questions)
    ring, rim = questions[-1].rows, questions[first_without - 1].rows
    spread = [np.abs(question.rows).mean() for question in questions]
    assert spread[first_without] < spread[-1] < spread[first_without - 1]
    flipping = np.concatenate([rim[far(rim)], ring[far(ring)]])
    nearest = np.sort(task.distance(flipping, np.zeros(len(flipping), dtype=np.intp)))[:4]
    np.testing.assert_allclose(task.distance(*returned), nearest)


def test_what_bce_s_asks_for_one_does_not_wait_for_the_others() -> None:
    """When rings were sampled all together, what was found first depended on the batch."""
    X = np.random.default_rng(0).normal(size=(300, 2))

    def far(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] > 0.5

    near_and_far = np.array([[0.45, 0.0], [-3.0, 0.0]])
    both, _ = answer(PaperSphere(draws=50), pose(X, near_and_far, far), far)
    for place in (0, 1):
        alone, _ = answer(PaperSphere(draws=50), pose(X, near_and_far[[place]], far), far)
        mine = [question.rows[question.instance == place] for question in both]
        assert [rows.tobytes() for rows in mine if len(rows)] == [
            q.rows.tobytes() for q in alone if len(q.rows)
        ]
        rounds = [i for i, rows in enumerate(mine) if len(rows)]
        assert rounds == [i for i, question in enumerate(alone) if len(question.rows)]


def test_bce_s_tries_smaller_radii_if_the_largest_flips_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))

    def near(rows: np.ndarray) -> np.ndarray:
        return np.hypot(rows[:, 0] - 3.0, rows[:, 1]) < 0.4

    task = pose(X, np.array([[3.5, 0.0]]), near, k=2)
    questions, returned = answer(PaperSphere(draws=100, radius=16.0), task, near)
    assert not near(questions[0].rows).any()
    assert len(returned.rows) == 2


# ---------------------------------------------------------------- the search distance


def test_the_search_distance_is_euclid_and_jaccard_weighted_by_their_shares() -> None:
    schema = cp.Schema.infer(PEOPLE)
    rows = schema.encode(PEOPLE)
    distance = EuclidJaccard.fit(schema, rows)
    scaled = rows[:, :3] / rows[:, :3].std(axis=0)
    for i, j in [(0, 1), (2, 7), (5, 5), (10, 11)]:
        sets = [{(name, PEOPLE[name][place]) for name in ("job", "house")} for place in (i, j)]
        jaccard = 1 - len(sets[0] & sets[1]) / len(sets[0] | sets[1])
        expected = 0.6 * np.linalg.norm(scaled[i] - scaled[j]) + 0.4 * jaccard
        assert distance.between(rows[[i]], rows[[j]])[0, 0] == pytest.approx(expected)
        assert distance.from_x(rows[[i]], rows[j])[0] == pytest.approx(expected)


def test_the_price_of_a_single_change_is_its_distance() -> None:
    schema = cp.Schema.infer(PEOPLE)
    rows = schema.encode(PEOPLE)
    distance = EuclidJaccard.fit(schema, rows)
    for feature in range(5):
        one = rows[0].copy()
        one[feature] = rows[1:, feature][rows[1:, feature] != one[feature]][0]
        assert distance.prices(one[None], rows[:1]).sum() == pytest.approx(
            distance.from_x(one[None], rows[0])[0]
        )


def test_the_judge_and_the_search_may_differ() -> None:
    mixed = cp.Ensemble.paper().fit(bank, PEOPLE)
    same = cp.Ensemble.paper(distance=Judge()).fit(bank, PEOPLE)
    assert isinstance(mixed.known_.distance, EuclidJaccard)
    assert same.known_.distance is same.fitted_.known.distance
    explanation = next(each for each in mixed.explain_many(REFUSED, progress=False) if len(each))
    judged = mixed.fitted_.known.distance.from_x(explanation.rows, explanation.row)
    np.testing.assert_allclose(explanation.distance, judged)


# ---------------------------------------------------------------- the pool


def test_a_pool_forgets_what_was_not_returned_and_what_never_flipped() -> None:
    task = pose(GRID, np.array([[0.0, 3.0], [2.0, 1.0]]), right, k=2)
    pool = Pool(task, Budget(None, None), lambda: np.inf)

    def search() -> cp.Search:
        rows = np.array([[6.0, 3.0], [8.0, 3.0], [1.0, 3.0], [6.0, 3.0]])
        yield Question(rows, np.array([0, 0, 0, 1]))

    pool.add(search(), "some")
    asking = pool.finish()
    question = next(asking)
    with pytest.raises(StopIteration):
        asking.send(type("Reply", (), {"labels": right(question.rows), "failed": {}})())
    returned = np.array([[8.0, 3.0], [1.0, 3.0], [6.0, 3.0], [8.0, 3.0]])
    pool.keep_only(Question(returned, np.array([0, 0, 1, 0])), np.array([4, 5, 6, 7]))
    finds = pool.finds()
    assert finds.finders.tolist() == [4, 6]
    assert finds.rows.tolist() == [[8.0, 3.0], [6.0, 3.0]]
    assert finds.instance.tolist() == [0, 1]
