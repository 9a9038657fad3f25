"""Each base explainer's search, driven by hand: what it asks about, in what order, and how it goes on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import counterpoint as cp
from counterpoint.data.constraints import Rules
from counterpoint.data.distance import changed
from counterpoint.data.known import Population
from counterpoint.explainers.evolution import NEARER
from counterpoint.model.target import Target
from counterpoint.search.task import Question

Flips = Callable[[np.ndarray], np.ndarray]


def pose(
    X: Any,
    x: Any,
    flips: Flips,
    k: int = 3,
    max_changes: int | None = None,
    features: list[int] | None = None,
    **constraints: Any,
) -> cp.Task:
    """Pose the question which rows near x flip; the known instances are labelled by the same rule."""
    schema = cp.Schema.infer(X, **constraints)
    known, rows = schema.encode(X), schema.encode(x)
    return cp.Task(
        x=rows,
        decisions=flips(rows),
        k=k,
        known=Population.of(schema, known, flips(known)),
        features=np.array(schema.actionable if features is None else features),
        rules=Rules.of(schema),
        target=Target(),
        max_changes=max_changes,
    )


def drive(search: cp.Search, flips: Flips) -> list[Question]:
    """Answer a search to its end, and give all that it asked."""
    questions = []
    try:
        questions.append(next(search))
        while True:
            questions.append(search.send(flips(questions[-1].rows)))
    except StopIteration:
        return questions


def asked(questions: list[Question]) -> np.ndarray:
    return np.concatenate([question.rows for question in questions])


def counts(rows: np.ndarray, x: np.ndarray) -> np.ndarray:
    return changed(rows, x).sum(axis=1)


# Numbers x0 and x1 between 0 and 10; what is above 5 in x0 flips.
GRID = np.array([[a, b] for a in (0.0, 2.0, 6.0, 8.0, 10.0) for b in (1.0, 3.0, 9.0)])


def right(rows: np.ndarray) -> np.ndarray:
    return rows[:, 0] > 5


ALL = [
    cp.Neighbours(),
    cp.BruteForce(),
    cp.BruteForce(features=2, refine=0),
    cp.Tree(),
    cp.Sphere(),
    cp.CaseBased(),
    cp.Guided(),
    cp.Evolution(population=20, rounds=3),
]


# ---------------------------------------------------------------- what holds for all


@pytest.mark.parametrize("explainer", ALL, ids=str)
def test_every_search_asks_about_admissible_rows_in_few_rounds_and_comes_by_flips(
    explainer: cp.Explainer,
) -> None:
    task = pose(GRID, GRID[:3], right, ranges={"x0": (0, 9.5)})
    questions = drive(explainer.search(task), right)
    assert 1 <= len(questions) <= 10
    assert right(asked(questions)).any()
    for question in questions:
        assert ((question.instance >= 0) & (question.instance < 3)).all()
        itself = ~changed(question.rows, task.x[question.instance]).any(axis=1)
        assert (itself | task.rules.around(task.x[question.instance]).admissible(question.rows)).all()
        assert question.rows[:, 0].max(initial=0) <= 9.5


@pytest.mark.parametrize("explainer", ALL, ids=str)
def test_every_search_keeps_to_the_features_that_it_was_given(explainer: cp.Explainer) -> None:
    task = pose(GRID, GRID[:2], right, features=[0])
    for question in drive(explainer.search(task), right):
        np.testing.assert_array_equal(question.rows[:, 1], task.x[question.instance, 1])


@pytest.mark.parametrize("explainer", ALL, ids=str)
def test_every_search_asks_the_same_about_an_instance_alone_and_with_others(explainer: cp.Explainer) -> None:
    together = drive(explainer.search(pose(GRID, GRID[:4], right)), right)
    for i in range(4):
        alone = asked(drive(explainer.search(pose(GRID, GRID[[i]], right)), right))
        mine = np.concatenate([question.rows[question.instance == i] for question in together])
        np.testing.assert_array_equal(mine, alone)


@pytest.mark.parametrize("explainer", ALL, ids=str)
def test_every_search_ends_where_no_known_instance_flips(explainer: cp.Explainer) -> None:
    def never(rows: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows), dtype=bool)

    assert len(drive(explainer.search(pose(GRID, GRID[:2], never)), never)) <= 10


@pytest.mark.parametrize("explainer", ALL, ids=str)
def test_an_unfitted_explainer_says_so_and_a_clone_is_unfitted(explainer: cp.Explainer) -> None:
    clone = explainer.clone().fit(right, GRID).clone()
    assert clone == explainer
    with pytest.raises(NotFittedError, match="call fit"):
        clone.explain(GRID[0])


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        (cp.Neighbours, {"candidates": 0}),
        (cp.BruteForce, {"features": 0}),
        (cp.BruteForce, {"bins": 0}),
        (cp.BruteForce, {"refine": -1}),
        (cp.Tree, {"leaves": 0}),
        (cp.Tree, {"share": 0.9}),
        (cp.Sphere, {"directions": 0}),
        (cp.Sphere, {"radius": 0.0}),
        (cp.CaseBased, {"differences": 0}),
        (cp.CaseBased, {"tolerance": -1.0}),
        (cp.Guided, {"candidates": 0}),
        (cp.Evolution, {"population": 0}),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(kind: type, wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{kind.__name__}.{name}"):
        kind(**wrong)


# ---------------------------------------------------------------- Neighbours


def test_neighbours_that_are_the_same_in_what_may_change_are_one() -> None:
    X = np.column_stack([np.repeat([0.0, 6.0, 7.0, 8.0], 5), np.arange(20.0)])
    (question,) = drive(cp.Neighbours(candidates=3).search(pose(X, X[:1], right, immutable=[1])), right)
    assert sorted(question.rows[:, 0]) == [6.0, 7.0, 8.0]


def test_neighbours_asks_about_the_nearest_unlike_instances_nearest_first() -> None:
    task = pose(GRID, GRID[:1], right)
    (question,) = drive(cp.Neighbours(candidates=4).search(task), right)
    assert len(question.rows) == 4
    assert right(question.rows).all()
    away = task.distance(question.rows, question.instance)
    assert (np.diff(away) >= 0).all()
    assert away.max() <= np.sort(task.distance(GRID[right(GRID)], np.zeros(9, dtype=int)))[3]


def test_neighbours_takes_all_unlike_instances_if_there_are_fewer_than_asked_for() -> None:
    (question,) = drive(cp.Neighbours().search(pose(GRID, GRID[:1], right)), right)
    assert sorted(map(tuple, question.rows)) == sorted(map(tuple, GRID[right(GRID)]))


def test_neighbours_puts_back_what_may_not_change() -> None:
    (question,) = drive(cp.Neighbours().search(pose(GRID, GRID[:1], right, immutable=[1])), right)
    assert (question.rows[:, 1] == 1).all()


def test_neighbours_measures_over_the_features_that_may_change() -> None:
    X = np.array([[0.0, 0.0], [6.0, 9.0], [8.0, 0.0], [1.0, 1.0]])
    (question,) = drive(cp.Neighbours(candidates=1).search(pose(X, X[:1], right, immutable=[1])), right)
    assert question.rows.tolist() == [[6.0, 0.0]]


# ---------------------------------------------------------------- BruteForce


def test_brute_force_tries_the_centres_of_bins_over_unlike_instances_only() -> None:
    # x0 of the unlike instances runs from 6 to 10, x1 from 1 to 9.
    (question,) = drive(cp.BruteForce(bins=4, refine=0).search(pose(GRID, GRID[:1], right)), right)
    changes = changed(question.rows, GRID[0])
    assert (changes.sum(axis=1) == 1).all()
    assert sorted(question.rows[changes[:, 0], 0]) == [6.5, 7.5, 8.5, 9.5]
    assert sorted(question.rows[changes[:, 1], 1]) == [2.0, 4.0, 6.0, 8.0]


def test_brute_force_ranks_variations_by_distance() -> None:
    task = pose(GRID, GRID[:1], right)
    rows = asked(drive(cp.BruteForce(features=2, refine=0).search(task), right))
    assert (np.diff(task.distance(rows, np.zeros(len(rows), dtype=int))) >= -1e-12).all()


@pytest.mark.parametrize("features", [1, 2, 3])
def test_brute_force_varies_up_to_n_features_together(features: int) -> None:
    X = np.random.default_rng(0).uniform(0, 10, size=(30, 4))
    task = pose(X, X[~right(X)][:1], right, k=100)
    questions = drive(cp.BruteForce(features=features, bins=3, candidates=5000, refine=0).search(task), right)
    rows = asked(questions)
    assert set(counts(rows, task.x[0])) == set(range(1, features + 1))
    assert len(np.unique(rows, axis=0)) == len(rows)
    # 3 values for each of 4 features: 12 singles, 6 · 9 pairs, 4 · 27 triples.
    assert len(rows) == [12, 12 + 54, 12 + 54 + 108][features - 1]


def test_brute_force_varies_no_more_features_than_may_change() -> None:
    task = pose(GRID, GRID[:1], right, max_changes=1)
    assert counts(asked(drive(cp.BruteForce(features=2, refine=0).search(task), right)), GRID[0]).max() == 1


def test_brute_force_tries_the_categories_that_unlike_instances_hold() -> None:
    X = pd.DataFrame({"job": ["none", "none", "smith", "clerk", "nurse"], "pay": [1.0, 2.0, 6.0, 7.0, 3.0]})
    task = pose(X, X[:1], lambda rows: rows[:, 1] > 5)
    rows = asked(drive(cp.BruteForce(refine=0).search(task), lambda rows: rows[:, 1] > 5))
    jobs = {task.known.schema.features[0].label(code) for code in rows[:, 0]}
    assert jobs == {"none", "smith", "clerk"}


def test_brute_force_stops_asking_once_k_flip() -> None:
    X = np.random.default_rng(0).uniform(0, 10, size=(50, 6))
    x = X[~right(X)][:1]
    few, many = (
        len(asked(drive(cp.BruteForce(features=2, refine=0).search(pose(X, x, right, k=k)), right)))
        for k in (1, 100)
    )
    assert few < many <= 1000


def test_brute_force_asks_about_no_more_than_so_many_candidates() -> None:
    questions = drive(
        cp.BruteForce(features=2, candidates=7, refine=0).search(pose(GRID, GRID[:1], right)), right
    )
    assert len(asked(questions)) == 7


def test_brute_force_moves_what_flips_towards_x() -> None:
    task = pose(GRID, GRID[:1], right)
    rows = asked(drive(cp.BruteForce(refine=5).search(task), right))
    nearest = rows[right(rows)][:, 0].min()
    assert 5 < nearest < 5.1


# ---------------------------------------------------------------- Tree


def test_tree_asks_about_instances_from_leaves_that_flip_as_they_are_and_with_fewer_changes() -> None:
    task = pose(GRID, GRID[:1], right)
    (question,) = drive(cp.Tree().search(task), right)
    as_they_are = {tuple(row) for row in GRID[right(GRID)]}
    fewer = {(row[0], 1.0) for row in as_they_are}
    assert {tuple(row) for row in question.rows} <= as_they_are | fewer
    assert {tuple(row) for row in question.rows} & (fewer - as_they_are) or (6.0, 1.0) in as_they_are


def test_tree_changes_only_what_failed_conditions_name() -> None:
    X = np.random.default_rng(0).uniform(0, 10, size=(60, 3))
    task = pose(X, X[~right(X)][:1], right)
    (question,) = drive(cp.Tree().search(task), right)
    fewest = question.rows[counts(question.rows, task.x[0]) == 1]
    assert len(fewest) >= 1
    assert (fewest[:, 0] > 5).all()


def test_tree_uses_no_leaf_that_is_reached_by_what_may_not_change() -> None:
    task = pose(GRID, GRID[:1], right, immutable=[0])
    assert drive(cp.Tree().search(task), right)[0].rows.shape == (0, 2)


def test_tree_overwrites_what_may_not_change() -> None:
    X = np.random.default_rng(0).uniform(0, 10, size=(60, 3))
    task = pose(X, X[~right(X)][:2], right, immutable=[2])
    (question,) = drive(cp.Tree().search(task), right)
    assert len(question.rows) > 0
    np.testing.assert_array_equal(question.rows[:, 2], task.x[question.instance, 2])


def test_tree_takes_so_many_instances_from_so_many_leaves() -> None:
    X = np.random.default_rng(0).uniform(0, 10, size=(100, 2))

    def stripes(rows: np.ndarray) -> np.ndarray:
        return np.floor(rows[:, 0]) % 2 == 1

    task = pose(X, X[~stripes(X)][:1], stripes)
    (question,) = drive(cp.Tree(leaves=2, instances=3).search(task), stripes)
    assert len(question.rows) == 2 * 3 * 2  # once as they are, once with fewer changes


# ---------------------------------------------------------------- Sphere

PEOPLE = pd.DataFrame(
    {
        "age": np.random.default_rng(0).integers(18, 80, 120),
        "pay": np.random.default_rng(1).gamma(3.0, 10.0, 120),
        "job": np.random.default_rng(2).choice(["none", "clerk", "smith"], 120),
        "town": np.random.default_rng(3).choice(["a", "b", "c", "d"], 120),
    }
)


def rich(rows: np.ndarray) -> np.ndarray:
    return rows[:, 1] + 10 * rows[:, 2] > 40


def poor(count: int) -> pd.DataFrame:
    return PEOPLE[~rich(cp.Schema.infer(PEOPLE).encode(PEOPLE))][:count]


def test_sphere_never_breaks_categories_or_steps_and_never_leaves_ranges() -> None:
    task = pose(PEOPLE, poor(3), rich, ranges={"pay": (0, 60), "town": ["a", "b", "c", "d"]})
    rows = asked(drive(cp.Sphere(radius=20.0).search(task), rich))
    np.testing.assert_array_equal(rows[:, [0, 2, 3]], np.rint(rows[:, [0, 2, 3]]))
    assert rows[:, 0].min() >= PEOPLE["age"].min()
    assert rows[:, 0].max() <= PEOPLE["age"].max()
    assert rows[:, 1].min() >= 0
    assert rows[:, 1].max() <= 60
    assert set(rows[:, 2]) <= {0, 1, 2}
    assert set(rows[:, 3]) <= {0, 1, 2, 3}


def test_sphere_comes_nearer_round_after_round() -> None:
    task = pose(PEOPLE[["age", "pay"]], poor(1)[["age", "pay"]], lambda rows: rows[:, 1] > 40)
    questions = drive(cp.Sphere(rounds=5).search(task), lambda rows: rows[:, 1] > 40)
    assert len(questions) == 6
    nearest = [
        task.distance(question.rows, question.instance)[question.rows[:, 1] > 40].min(initial=np.inf)
        for question in questions
    ]
    best = np.minimum.accumulate(nearest)
    assert best[-1] < best[0]
    assert (np.diff(best) <= 0).all()


def test_sphere_goes_on_only_in_directions_that_cross_the_boundary() -> None:
    task = pose(GRID, GRID[:1], right)
    first, *rest = drive(cp.Sphere(directions=30).search(task), right)
    assert len(first.instance) == 3 * 30
    crossed = right(first.rows).reshape(3, 30).any(axis=0).sum()
    assert [len(question.instance) for question in rest] == [crossed] * 3


def test_sphere_goes_to_no_category_that_no_known_instance_has() -> None:
    seen = pd.DataFrame(
        {"a": pd.Categorical(["u", "v"] * 20, categories=["never", "u", "v"]), "b": range(40)}
    )
    task = pose(seen, seen[:1], lambda rows: rows[:, 1] > 20)
    rows = asked(drive(cp.Sphere(radius=20.0).search(task), lambda rows: rows[:, 1] > 20))
    assert set(rows[:, 0]) == {1, 2}


# ---------------------------------------------------------------- CaseBased


def test_case_based_transplants_at_most_the_differing_features() -> None:
    X = np.random.default_rng(0).integers(0, 4, size=(80, 5))

    def flips(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] + rows[:, 1] > 4

    for differences in (1, 2):
        task = pose(X, X[~flips(X)][:3], flips)
        for question in drive(cp.CaseBased(differences=differences, cases=3).search(task), flips):
            assert counts(question.rows, task.x[question.instance]).max(initial=0) <= differences


def test_case_based_takes_pairs_with_more_differences_where_there_are_too_few() -> None:
    X = np.random.default_rng(0).uniform(0, 10, size=(40, 5))
    task = pose(X, X[~right(X)][:2], right)
    first, *_ = drive(cp.CaseBased(differences=1, cases=20).search(task), right)
    assert np.bincount(first.instance).tolist() == [20, 20]
    assert counts(first.rows, task.x[first.instance]).min() > 1


def test_case_based_reuses_the_difference_of_a_known_pair() -> None:
    X = np.array([[1.0, 5.0, 0.0], [8.0, 5.0, 0.0], [2.0, 1.0, 9.0], [9.0, 7.0, 3.0]])
    task = pose(X, np.array([[0.0, 4.0, 2.0]]), right)
    first, *_ = drive(cp.CaseBased(differences=1, cases=1).search(task), right)
    assert first.rows.tolist() == [[8.0, 4.0, 2.0]]


def test_case_based_adapts_only_what_did_not_flip() -> None:
    X = np.random.default_rng(0).integers(0, 5, size=(60, 3))

    def flips(rows: np.ndarray) -> np.ndarray:
        return rows.sum(axis=1) > 7

    task = pose(X, X[~flips(X)][:1], flips)
    first, second = drive(cp.CaseBased(instances=2).search(task), flips)
    assert len(second.instance) == 2 * (~flips(first.rows)).sum()


def test_case_based_uses_no_pair_that_differs_in_what_may_not_change() -> None:
    X = np.random.default_rng(0).integers(0, 4, size=(80, 4))
    task = pose(X, X[~right(X * 2)][:2], lambda rows: right(rows * 2), immutable=[1])
    for question in drive(cp.CaseBased().search(task), lambda rows: right(rows * 2)):
        np.testing.assert_array_equal(question.rows[:, 1], task.x[question.instance, 1])


# ---------------------------------------------------------------- Guided and Evolution


def test_guided_asks_about_one_or_two_changes_and_no_more_than_so_many() -> None:
    X = np.random.default_rng(0).normal(size=(300, 6))

    def flips(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] + rows[:, 1] > 1.5

    task = pose(X, X[~flips(X)][:2], flips)
    alone, pairs = drive(cp.Guided(candidates=80, singles=30).search(task), flips)
    assert np.bincount(pairs.instance).max() <= 80
    assert set(counts(alone.rows, task.x[alone.instance])) == {1}
    assert set(counts(pairs.rows, task.x[pairs.instance])) == {2}


def test_guided_makes_no_pairs_of_what_flips_alone() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))

    def flips(rows: np.ndarray) -> np.ndarray:
        return (rows[:, 0] > 0.5) | (rows[:, 1] + rows[:, 2] > 1)

    task = pose(X, np.full((1, 3), -0.9), flips, k=1)
    _, pairs = drive(cp.Guided().search(task), flips)
    assert (pairs.rows[:, 0] <= task.x[0, 0]).all()  # rising alone is enough
    assert flips(pairs.rows).any()


def test_guided_finds_flips_where_brute_force_of_as_many_rows_does_not() -> None:
    X = np.random.default_rng(0).normal(size=(1000, 10))

    def flips(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] + rows[:, 1] > 2.2

    task = pose(X, np.full((1, 10), -0.5), flips)
    guided = drive(cp.Guided(candidates=150).search(task), flips)
    brute = drive(cp.BruteForce(features=2, candidates=150, refine=0).search(task), flips)
    assert flips(asked(guided)).sum() > flips(asked(brute)).sum()


def test_guided_makes_single_changes_only_if_one_may_change() -> None:
    task = pose(GRID, GRID[:1], right, max_changes=1)
    assert counts(asked(drive(cp.Guided().search(task), right)), GRID[0]).max() == 1


def test_evolution_finds_rare_flips() -> None:
    X = np.random.default_rng(0).normal(size=(600, 5))

    def flips(rows: np.ndarray) -> np.ndarray:
        return (rows[:, :3] > 0.9).all(axis=1)

    task = pose(X, np.full((1, 5), -1.0), flips)
    rng = np.random.default_rng(1)
    random = np.column_stack([rng.choice(column, 2000) for column in X.T])
    rows = asked(drive(cp.Evolution().search(task), flips))
    assert flips(random).mean() < 0.02
    assert flips(rows).mean() > 5 * flips(random).mean()


def test_evolution_comes_nearer_once_something_flips_and_then_stops() -> None:
    X = np.random.default_rng(0).normal(size=(300, 4))

    def flips(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] + rows[:, 1] > 1

    task = pose(X, np.full((1, 4), -1.0), flips)
    questions = drive(cp.Evolution(rounds=20).search(task), flips)
    first = next(i for i, question in enumerate(questions) if flips(question.rows).any())
    assert len(questions) == first + 1 + NEARER
    nearest = [task.distance(q.rows, q.instance)[flips(q.rows)].min() for q in questions[first:]]
    assert nearest[-1] < nearest[0]


def test_evolution_asks_no_more_than_so_often_and_so_much() -> None:
    def never(rows: np.ndarray) -> np.ndarray:
        return np.zeros(len(rows), dtype=bool)

    task = pose(GRID, GRID[:2], right)
    questions = drive(cp.Evolution(rounds=4, candidates=30, islands=3).search(task), never)
    assert len(questions) == 4
    assert all(np.bincount(question.instance).max() <= 30 for question in questions)


def test_one_change_is_found_wherever_it_is() -> None:
    X = np.random.default_rng(0).normal(size=(200, 20))
    for feature in range(0, 20, 5):
        explainer = cp.Ensemble().fit(lambda rows, feature=feature: rows[:, feature] > 0, X)
        for explanation in explainer.explain_many(X[:10], k=2, max_changes=1, progress=False):
            assert len(explanation) == 2
            assert explanation.changes["feature"].unique().tolist() == [f"x{feature}"]
