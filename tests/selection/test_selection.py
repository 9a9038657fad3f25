"""S: the guarantee of cost-scaled greedy against exhaustive search, and what a selection does for a task."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import counterpoint as cp
from counterpoint.data.constraints import Rules
from counterpoint.data.known import Population
from counterpoint.data.schema import Schema
from counterpoint.metrics.measures import div_count
from counterpoint.model.target import Target
from counterpoint.search.pool import Finds
from counterpoint.search.task import Task
from counterpoint.selection.greedy import cost_scaled_greedy, neighbourhoods, on_one_way, ways
from counterpoint.selection.selection import Traits, implausibility
from counterpoint.selection.steps import shortest_steps

fast = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@st.composite
def covers(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    """Draw who covers whom, what each costs, and k."""
    size, things = draw(st.integers(1, 7)), draw(st.integers(1, 8))
    mask = draw(arrays(np.bool_, (size, things)))
    cost = draw(arrays(np.float64, size, elements=st.floats(0, 4)))
    return mask, cost, draw(st.integers(1, size + 1))


def greedy(mask: np.ndarray, cost: np.ndarray, k: int, fill: bool = False) -> list[int]:
    """Choose for one instance."""
    (chosen,) = cost_scaled_greedy(mask[None], cost[None], k, fill)
    return chosen[chosen >= 0].tolist()


def subsets(size: int, k: int) -> list[tuple[int, ...]]:
    return [chosen for count in range(k + 1) for chosen in combinations(range(size), count)]


def coverage(mask: np.ndarray, chosen: list[int] | tuple[int, ...]) -> int:
    return int(mask[list(chosen)].any(axis=0).sum()) if len(chosen) else 0


# ---------------------------------------------------------------- cost-scaled greedy


@fast
@given(covers())
def test_greedy_keeps_its_guarantee_against_every_other_choice(problem: tuple) -> None:
    mask, cost, k = problem
    chosen = greedy(mask, cost, k)
    value = coverage(mask, chosen) - cost[chosen].sum()
    best = max(coverage(mask, t) / 2 - cost[list(t)].sum() for t in subsets(len(cost), k))
    assert value >= best - 1e-9


@fast
@given(covers())
def test_greedy_that_fills_keeps_its_guarantee_against_every_choice_of_as_many(problem: tuple) -> None:
    mask, cost, k = problem
    chosen = greedy(mask, cost, k, fill=True)
    value = coverage(mask, chosen) - cost[chosen].sum()
    others = [each for each in subsets(len(cost), k) if len(each) == len(chosen)]
    assert value >= max(coverage(mask, t) / 2 - cost[list(t)].sum() for t in others) - 1e-9


def test_greedy_that_fills_can_be_far_from_a_choice_of_fewer() -> None:
    """The bound of a greedy that may stop does not hold for one that fills: the docs must not claim it."""
    mask, cost = np.array([[1, 1, 1], [0, 0, 1]], dtype=bool), np.array([0.0, 9.0])
    chosen = greedy(mask, cost, 2, fill=True)
    assert coverage(mask, chosen) - cost[chosen].sum() < coverage(mask, [0]) / 2 - cost[0]
    assert greedy(mask, cost, 2) == [0]


@fast
@given(covers(), st.integers(0, 99))
def test_each_choice_is_the_best_addition_to_those_before_it_whatever_pairs_are_worth(
    problem: tuple, seed: int
) -> None:
    mask, cost, k = problem
    pairs = np.random.default_rng(seed).normal(0, 3, size=(len(cost), len(cost)))
    (chosen,) = cost_scaled_greedy(mask[None], cost[None], k, True, lambda best: pairs[best])
    assert len(set(chosen.tolist())) == min(k, len(cost))
    for step, choice in enumerate(chosen.tolist()):
        before = chosen[:step].tolist()
        gains = {
            other: coverage(mask, [*before, other])
            - coverage(mask, before)
            + sum(pairs[one, other] for one in before)
            - 2 * cost[other]
            for other in range(len(cost))
            if other not in before
        }
        assert gains[choice] >= max(gains.values()) - 1e-6


def test_with_dispersion_the_choice_can_cover_less_than_the_bound_of_the_rest() -> None:
    """No setting with redundancy or dispersion may claim a bound, not even for coverage alone."""
    mask = np.concatenate([np.repeat(np.eye(4, dtype=bool), 4, axis=1), np.zeros((3, 16), dtype=bool)])
    far = np.zeros((7, 7))
    far[0, 4:] = 10.0  # three that cover nothing are far from the first
    (chosen,) = cost_scaled_greedy(mask[None], np.zeros((1, 7)), 4, True, lambda best: far[best])
    assert sorted(chosen.tolist()) == [0, 4, 5, 6]
    assert coverage(mask, chosen.tolist()) == 4 < coverage(mask, [0, 1, 2, 3]) / 2


@fast
@given(covers())
def test_greedy_never_does_worse_than_choosing_nothing(problem: tuple) -> None:
    mask, cost, k = problem
    chosen = greedy(mask, cost, k)
    assert coverage(mask, chosen) - cost[chosen].sum() >= -1e-9


@fast
@given(covers())
def test_greedy_chooses_at_most_k_and_each_once_and_fill_chooses_k(problem: tuple) -> None:
    mask, cost, k = problem
    chosen, filled = greedy(mask, cost, k), greedy(mask, cost, k, fill=True)
    assert len(chosen) <= k
    assert len(set(filled)) == len(filled) == min(k, len(cost))
    assert filled[: len(chosen)] == chosen


@fast
@given(covers(), st.integers(0, 99))
def test_greedy_chooses_for_each_of_several_instances_as_for_it_alone(problem: tuple, seed: int) -> None:
    mask, cost, k = problem
    rng = np.random.default_rng(seed)
    masks = np.stack([mask, rng.permutation(mask), ~mask])
    costs = np.stack([cost, cost / 3, rng.permutation(cost)])
    for fill in (False, True):
        together = cost_scaled_greedy(masks, costs, k, fill)
        alone = [greedy(*each, k, fill) for each in zip(masks, costs, strict=True)]
        assert [chosen[chosen >= 0].tolist() for chosen in together] == alone


def test_greedy_takes_the_cheaper_of_equals_and_then_what_covers_more() -> None:
    mask = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]], dtype=bool)
    cost = np.array([0.3, 0.2, 0.1, 0.4])
    assert greedy(mask, cost, 3) == [1, 2, 3]


def test_greedy_stops_where_nothing_is_worth_twice_its_cost() -> None:
    mask = np.eye(3, dtype=bool)
    assert greedy(mask, np.array([0.6, 0.5, 0.4]), 3) == [2]
    assert greedy(mask, np.array([0.6, 0.5, 0.4]), 3, fill=True) == [2, 1, 0]


def test_greedy_of_nothing_chooses_nothing() -> None:
    assert greedy(np.zeros((0, 0), dtype=bool), np.empty(0), 3) == []


# ---------------------------------------------------------------- neighbourhoods


@fast
@given(
    st.integers(1, 9).flatmap(lambda n: arrays(np.float64, (n, 2), elements=st.integers(-3, 3))),
    st.integers(1, 10),
)
def test_a_neighbourhood_is_oneself_and_the_nearest_others(points: np.ndarray, h: int) -> None:
    away = np.abs(points[:, None] - points[None]).sum(axis=2)
    masks = neighbourhoods(away, h)
    assert (masks.sum(axis=1) == min(h, len(points))).all()
    assert masks.diagonal().all()
    for inside, far in zip(masks, away, strict=True):
        assert inside.all() or far[inside].max() <= far[~inside].min()
    np.testing.assert_array_equal(neighbourhoods(np.stack([away[::-1, ::-1], away]), h)[1], masks)


def test_of_equally_near_ones_the_first_are_neighbours() -> None:
    away = np.ones((4, 4)) - np.eye(4)
    assert neighbourhoods(away, 2).tolist() == [
        [True, True, False, False],
        [True, True, False, False],
        [True, False, True, False],
        [True, False, False, True],
    ]


def test_neighbourhoods_leave_the_distances_as_they_are() -> None:
    away = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    before = away.copy()
    neighbourhoods(away, 2)
    np.testing.assert_array_equal(away, before)


# ---------------------------------------------------------------- select

X = np.random.default_rng(0).normal(size=(80, 3))


def pose(*x: list[float]) -> cp.Task:
    schema = cp.Schema.infer(X)
    return cp.Task(
        x=np.array(x),
        decisions=np.zeros(len(x), dtype=bool),
        k=3,
        known=Population.of(schema, X, X[:, 0] > 0),
        features=np.arange(3),
        rules=Rules.of(schema),
        target=Target(),
    )


def found(*rows: np.ndarray) -> Finds:
    """Make finds of the rows of each instance."""
    instance = np.repeat(np.arange(len(rows)), [len(each) for each in rows])
    return Finds(
        np.concatenate(rows),
        instance,
        np.ones(len(instance), dtype=bool),
        np.zeros(len(instance), dtype=np.intp),
        np.zeros(len(instance), dtype=bool),
    )


def normal(size: int, seed: int, spread: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(size, 3)) * spread


TASK = pose([-1.0, 0.0, 0.0])
NAMED = [cp.BALANCED, cp.CLOSE, cp.DIVERSE, cp.PLAUSIBLE, cp.SPARSE, cp.VARIED]
SELECTIONS = [*NAMED, cp.Selection(most=5)]


@fast
@given(st.integers(0, 40), st.integers(1, 12), st.sampled_from(SELECTIONS), st.integers(0, 99))
def test_select_gives_distinct_places_at_most_k(
    size: int, k: int, selection: cp.Selection, seed: int
) -> None:
    (chosen,) = selection.select(TASK, found(normal(size, seed)), k)
    assert len(set(chosen.tolist())) == len(chosen) <= min(k, size)
    assert ((chosen >= 0) & (chosen < size)).all()
    assert len(chosen) == min(k, size)


@fast
@given(st.lists(st.integers(0, 12), min_size=3, max_size=3), st.sampled_from(SELECTIONS), st.integers(0, 99))
def test_the_choice_for_one_does_not_depend_on_the_others(
    sizes: list[int], selection: cp.Selection, seed: int
) -> None:
    x = normal(3, seed).tolist()
    rows = [normal(size, seed + i) for i, size in enumerate(sizes)]
    together = selection.select(pose(*x), found(*rows), 3)
    for i, start in enumerate(np.cumsum([0, *sizes[:-1]])):
        (alone,) = selection.select(pose(x[i]), found(rows[i]), 3)
        assert (together[i] - start).tolist() == alone.tolist()


@fast
@given(st.integers(2, 9), st.integers(1, 4), st.floats(0, 2), st.floats(0, 1), st.integers(0, 99))
def test_a_selection_without_pairs_keeps_the_bound_that_the_docs_state(
    size: int, k: int, distance: float, changes: float, seed: int
) -> None:
    """Against every other set of as many: actions may repeat, and there is no redundancy nor dispersion."""
    selection = replace(cp.CLOSE, distance=distance, changes=changes, repeat=True)
    finds = found(normal(size, seed))
    (chosen,) = selection.select(TASK, finds, k)
    h = min(size, max(2, round(size / k)))
    cover = neighbourhoods(TASK.known.distance.between(finds.rows, finds.rows), h)
    cost = h * selection.costs(Traits(TASK, finds))

    def value(those: tuple[int, ...], share: float) -> float:
        return share * coverage(cover, those) - cost[list(those)].sum()

    others = combinations(range(size), len(chosen))
    assert value(tuple(chosen), 1.0) >= max(value(each, 0.5) for each in others) - 1e-6


def test_only_the_settings_that_the_docs_name_have_no_terms_about_pairs() -> None:
    without = [each for each in NAMED if not each.redundancy and not each.dispersion]
    assert without == [cp.BALANCED, cp.CLOSE]


def test_select_does_not_mind_rows_that_are_all_alike() -> None:
    rows = np.repeat([[1.0, 0.0, 0.0]], 6, axis=0)
    assert len(cp.BALANCED.select(TASK, found(rows), 3)[0]) == 3


def test_select_does_not_mind_rows_that_are_known_instances() -> None:
    assert len(cp.PLAUSIBLE.select(TASK, found(X[X[:, 0] > 0][:10]), 4)[0]) == 4


def test_one_of_each_cluster_is_chosen() -> None:
    centres = np.array([[1.0, 0.0, 0.0], [1.0, 3.0, 0.0], [1.0, 0.0, 3.0]])
    rows = np.repeat(centres, 10, axis=0) + normal(30, 0, 0.01)
    (chosen,) = replace(cp.DIVERSE, repeat=True).select(TASK, found(rows), 3)
    assert sorted(chosen // 10) == [0, 1, 2]


def test_a_dearer_distance_chooses_nearer_rows() -> None:
    finds = found(normal(60, 1, 2.0))
    near, far = (
        TASK.distance(finds.rows[chosen], finds.instance[chosen]).mean()
        for (chosen,) in (cp.CLOSE.select(TASK, finds, 5), cp.DIVERSE.select(TASK, finds, 5))
    )
    assert near < far


def test_a_dearer_implausibility_chooses_rows_nearer_to_known_ones() -> None:
    finds = found(np.concatenate([X[X[:, 0] > 0][:20], normal(40, 1, 3.0)]))
    odd = implausibility(TASK, finds)
    (plausible,), (diverse,) = cp.PLAUSIBLE.select(TASK, finds, 5), cp.DIVERSE.select(TASK, finds, 5)
    assert odd[plausible].mean() < odd[diverse].mean()


@given(size=st.integers(5, 200), k=st.integers(2, 6), seed=st.integers(0, 1000))
@pytest.mark.parametrize("selection", [cp.BALANCED, cp.CLOSE, cp.DIVERSE, cp.SPARSE, cp.VARIED])
def test_the_nearest_of_all_is_among_several_answers(
    selection: cp.Selection, size: int, k: int, seed: int
) -> None:
    finds = found(normal(size, seed, 2.0))
    (chosen,) = selection.select(TASK, finds, k)
    assert TASK.distance(finds.rows, finds.instance).argmin() in chosen


def test_a_rounded_variant_comes_before_others() -> None:
    finds = found(np.array([[1.01, 0.0, 0.0], [1.02, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]]))
    settled = replace(finds, settled=np.array([False, False, True, True]))
    (chosen,) = cp.BALANCED.select(TASK, settled, 2)
    assert set(chosen.tolist()) == {2, 3}


def test_each_change_has_its_price() -> None:
    finds = found(np.array([[1.0, 0.0, 0.0], [1.0, 1e-9, 0.0], [1.0, 1e-9, 1e-9]]))
    cost = cp.Selection(distance=0.0, implausibility=0.0, changes=0.5).costs(Traits(TASK, finds))
    np.testing.assert_allclose(cost, [0.5, 1.0, 1.5])


def test_distance_costs_its_price_on_average() -> None:
    finds = found(normal(20, 1), normal(10, 2, 5.0))
    cost = cp.Selection(distance=0.7, implausibility=0.0, changes=0.0).costs(
        Traits(pose([-1.0, 0, 0], [0, 0, 0]), finds)
    )
    assert cost[:20].mean() == pytest.approx(0.7)
    assert cost[20:].mean() == pytest.approx(0.7)


def test_implausibility_is_the_distance_to_the_nearest_known_instance() -> None:
    rows = normal(10, 1)
    np.testing.assert_allclose(
        implausibility(TASK, found(rows)), TASK.known.distance.between(rows, TASK.known.rows).min(axis=1)
    )
    np.testing.assert_allclose(implausibility(TASK, found(X[:5])), 0.0, atol=1e-12)


def test_implausibility_counts_what_may_not_change_too() -> None:
    people = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0, "u", "v"), "d": X[:, 2]})
    plain = cp.Schema.infer(people)
    task = cp.Task(
        x=plain.encode(people)[:2],
        decisions=np.zeros(2, dtype=bool),
        k=3,
        known=Population.of(plain, plain.encode(people), X[:, 0] > 0),
        features=np.arange(4),
        rules=replace(Rules.of(plain), frozen=np.array([False, True, True, False])),
        target=Target(),
    )
    rows = [task.x[i] + np.array([1.0, 0.0, 0.0, 0.5]) * np.arange(1, 4)[:, None] for i in range(2)]
    expected = task.known.distance.between(np.concatenate(rows), task.known.rows).min(axis=1)
    np.testing.assert_allclose(implausibility(task, found(*rows)), expected)


def test_what_lies_on_the_way_to_a_choice_or_behind_it_comes_last() -> None:
    # The second and third go on where the first ends; the fourth goes elsewhere, at a higher price.
    finds = found(np.array([[0.2, 0.0, 0.0], [0.4, 0.0, 0.0], [0.6, 0.1, 0.0], [-1.0, 0.0, 4.0]]))
    chosen = (
        cp.Selection(0.8, 1.5, 0.4, redundancy=10.0, dispersion=0.4, repeat=True)
        .select(TASK, finds, 2)[0]
        .tolist()
    )
    assert sorted(chosen) == [0, 3]
    assert 3 not in cp.Selection(redundancy=0.0, distance=9.0, repeat=True).select(TASK, finds, 2)[0].tolist()
    assert len(cp.Selection(redundancy=10.0).select(TASK, finds, 4)[0]) == 4


@pytest.mark.parametrize(
    ("change", "on_the_way"),
    [
        ([3.0, 0.0, 0.0], True),  # further
        ([1.0, 0.0, 0.0], True),  # not as far
        ([2.0, 0.0, 1.0], True),  # and something else
        ([-1.0, 0.0, 0.0], False),  # the other way
        ([3.0, 0.0, 1.0], True),
        ([1.0, 0.0, 1.0], False),  # less of one, more of another
        ([0.0, 0.0, 1.0], False),
    ],
)
def test_changes_lie_on_one_way_if_one_contains_the_other(change: list[float], on_the_way: bool) -> None:
    along = ways(np.array([[2.0, 0.0, 0.0], change]).T[:, None], np.array([False, True, False]))
    assert on_one_way(along, np.array([0])).tolist() == [[True, on_the_way]]
    assert on_one_way(along, np.array([1])).tolist() == [[on_the_way, True]]


def test_another_category_is_another_way() -> None:
    along = ways(np.array([[[1.0, 2.0, 1.0, 0.0, -1.0]]]), np.array([True]))
    assert on_one_way(along, np.array([0])).tolist() == [[True, False, True, True, False]]


def test_a_number_that_goes_missing_goes_a_way_of_its_own() -> None:
    along = ways(np.array([[[np.nan, 2.0, -1.0, 0.0, np.nan]]]), np.array([False]))
    assert on_one_way(along, np.array([0])).tolist() == [[True, False, False, True, True]]
    assert on_one_way(along, np.array([1])).tolist() == [[False, True, False, True, False]]


def test_each_of_several_instances_has_its_own_way() -> None:
    along = ways(np.array([[[1.0, 2.0, -1.0], [-1.0, 2.0, -3.0]]]), np.array([False]))
    assert on_one_way(along, np.array([0, 2])).tolist() == [[True, True, False], [True, False, True]]


def test_what_x_misses_does_not_hide_that_two_changes_lie_on_one_way() -> None:
    X = np.column_stack([np.arange(20.0), np.where(np.arange(20) % 2, np.nan, 1.0)])
    # What is plausible depends on what x misses; which changes lie on one way does not.
    ensemble = cp.Ensemble(size=5, selection=cp.Selection(implausibility=0.0))
    explainer = ensemble.fit(lambda rows: rows[:, 0] > 10, X, immutable=[1])
    missing, known = (
        explainer.explain(np.array([0.0, value]), k=3).counterfactuals[:, 0] for value in (np.nan, 1.0)
    )
    np.testing.assert_array_equal(missing, known)


def test_nothing_found_is_nothing_chosen() -> None:
    assert [len(chosen) for chosen in cp.BALANCED.select(TASK, found(X[:0]), 3)] == [0]


@pytest.mark.parametrize("wrong", [{"distance": -1.0}, {"changes": np.nan}, {"most": 0}, {"neighbours": 0}])
def test_a_selection_refuses_what_makes_no_sense(wrong: dict) -> None:
    with pytest.raises(ValueError, match="at least"):
        cp.Selection(**wrong)


def test_more_than_most_are_chosen_where_k_asks_for_them() -> None:
    assert len(cp.Selection(most=10).select(TASK, found(normal(40, 0)), 20)[0]) == 20


def test_dispersion_takes_what_is_far_from_the_others_and_differs_in_more_features() -> None:
    rows = np.array([[0.1, 0.0, 0.0], [0.2, 0.0, 0.0], [0.1, 3.0, 0.0], [0.1, 0.0, -3.0], [4.0, 0.0, 0.0]])
    plain = cp.Selection(implausibility=0.0, redundancy=0.0, repeat=True)
    near = plain.select(TASK, found(rows), 3)[0]
    far = replace(plain, dispersion=20.0).select(TASK, found(rows), 3)[0]
    distance = TASK.known.distance
    assert distance.between(rows[far], rows[far]).sum() > distance.between(rows[near], rows[near]).sum()
    assert div_count(rows[far]) > div_count(rows[near])


def test_answers_are_different_actions_and_variants_come_last() -> None:
    up, further, down, other = [-0.8, 0.0, 0.0], [-0.7, 0.0, 0.0], [-2.0, 0.0, 0.0], [-1.0, 0.0, 2.0]
    finds = found(np.array([up, further, down, other]))
    for setting in (cp.BALANCED, cp.CLOSE, cp.DIVERSE, cp.SPARSE):
        assert set(setting.select(TASK, finds, 3)[0].tolist()) in ({0, 2, 3}, {1, 2, 3})
        assert len(setting.select(TASK, finds, 4)[0]) == 4
    assert set(replace(cp.CLOSE, repeat=True).select(TASK, finds, 2)[0].tolist()) == {0, 1}


def test_actions_that_need_less_come_first() -> None:
    # The first alone is enough, so an action that holds it and more is larger than it has to be.
    finds = found(np.array([[2.0, 0.0, 0.0], [-0.9, 0.0, 0.1], [-1.0, 0.0, 3.0], [-1.0, 0.0, -0.05]]))
    assert set(cp.BALANCED.select(TASK, finds, 3)[0].tolist()) == {0, 2, 3}


def test_a_single_change_that_is_very_far_loses_against_several_near_ones() -> None:
    nearest, several, single = [-0.9, 0.0, 0.0], [-1.0, -0.3, 0.3], [-1.0, 2.0, 0.0]
    finds = found(np.array([nearest, several, single]))
    assert set(cp.BALANCED.select(TASK, finds, 2)[0].tolist()) == {0, 2}
    finds = found(np.array([nearest, several, [-1.0, 60.0, 0.0]]))
    assert set(cp.BALANCED.select(TASK, finds, 2)[0].tolist()) == {0, 1}


@pytest.mark.parametrize("setting", [cp.BALANCED, cp.CLOSE, cp.DIVERSE])
def test_a_shortlist_has_the_nearest_and_as_many_actions_as_there_is_room_for(setting: cp.Selection) -> None:
    up, further, down, other = [-0.8, 0.0, 0.0], [-0.7, 0.0, 0.0], [-2.0, 0.0, 0.0], [-1.0, 0.0, 2.0]
    finds = found(np.array([up, further, down, other]), np.array([[0.0, 0.0, 5.0]]))
    task = pose([-1.0, 0.0, 0.0], [0.0, 0.0, 0.0])
    few = setting.shortlist(task, finds, 3, Traits(task, finds))
    assert set(few.tolist()) in ({0, 2, 3, 4}, {1, 2, 3, 4})
    assert set(setting.shortlist(task, finds, 4, Traits(task, finds)).tolist()) == {0, 1, 2, 3, 4}


def test_the_nearest_of_all_is_among_the_answers() -> None:
    finds = found(np.array([[2.0, 0.0, 0.0], [-0.9, 0.0, 0.1], [-1.0, 0.0, 3.0]]))
    for setting in (cp.BALANCED, cp.CLOSE):
        assert 1 in setting.select(TASK, finds, 2)[0].tolist()


def test_of_finds_that_differ_in_the_steps_of_an_ordered_category_the_shortest_is_kept():
    grades = pd.DataFrame({"grade": list("abcdef") * 4, "age": range(24)})
    schema = Schema.infer(grades, order={"grade": list("abcdef")})
    rows = schema.encode(grades)
    known = Population.of(schema, rows, (rows[:, 0] > 2).astype(int))
    x = np.array([[1.0, 5.0], [1.0, 6.0]])
    task = Task(x, np.zeros(2), 2, known, np.arange(2), Rules.of(schema), Target())
    near, far, other, down = [3.0, 5.0], [5.0, 5.0], [4.0, 9.0], [0.0, 5.0]
    found = np.array([far, near, other, down, [5.0, 6.0], [4.0, 6.0]])
    finds = Finds(
        found, np.array([0, 0, 0, 0, 1, 1]), np.ones(6), np.zeros(6, dtype=np.intp), np.zeros(6, bool)
    )
    # The second instance keeps both of its finds, as two are asked for.
    assert shortest_steps(task, finds).tolist() == [1, 2, 3, 4, 5]
