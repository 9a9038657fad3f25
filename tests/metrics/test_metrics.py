"""The ten measures: each against a case worked out by hand, and all against loops over the formulas."""

from dataclasses import asdict, dataclass, fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import counterpoint as cp
from counterpoint.data.distance import Distance
from counterpoint.data.known import Population
from counterpoint.data.schema import Schema
from counterpoint.data.types import Row, Rows
from counterpoint.explainers.fitting import Fitted
from counterpoint.metrics import evaluate as evaluation
from counterpoint.metrics import measures as metrics
from counterpoint.metrics.evaluate import evaluate
from counterpoint.metrics.measures import Measures, measure, nearest_alike
from counterpoint.model.blackbox import BlackBox
from counterpoint.model.representation import Direct
from counterpoint.model.target import Between, Target

# age: median 40, deviations 20 10 0 10 20, MAD 10. gain: MAD 0, mean 2, standard deviation sqrt(80 / 5) = 4.
# So d = (|age| / 10 + |gain| / 4) / 2 + (job differs + sex differs) / 2.
TABLE = pd.DataFrame(
    {
        "age": [20.0, 30.0, 40.0, 50.0, 60.0],
        "gain": [0.0, 0.0, 0.0, 0.0, 10.0],
        "job": ["a", "b", "b", "a", "c"],
        "sex": ["f", "m", "f", "m", "f"],
    }
)
A, B, C = 0, 1, 2  # jobs
F, M = 0, 1
SCHEMA = Schema.infer(TABLE, immutable=["age", "sex"])
KNOWN = Population.of(SCHEMA, SCHEMA.encode(TABLE), np.array(["no", "no", "yes", "yes", "yes"]))
D = KNOWN.distance

X = np.array([30.0, 0, B, M])  # the second known instance, decided "no"
C1 = np.array([40.0, 0, B, M])  # from x: 1/2
C2 = np.array([30.0, 8, C, M])  # from x: 2/2 + 1/2 = 1.5
C3 = np.array([50.0, 4, B, F])  # from x: (2 + 1)/2 + 1/2 = 2
NONE = np.empty((0, 4))


def rows(*each: Row) -> Rows:
    return np.array(each)


def line(values: list[float], labels: list[Any]) -> Population:
    """Known instances with one number each."""
    column = np.array(values)[:, None]
    return Population.of(Schema.infer(column), column, np.array(labels))


# --- each measure, by hand -------------------------------------------------------------------------------


def test_size_is_the_share_of_k() -> None:
    assert metrics.size(rows(C1, C2), k=4) == 0.5
    assert metrics.size(rows(C1), k=1) == 1
    assert metrics.size(NONE, k=4) == 0


def test_act_counts_those_that_keep_what_cannot_change() -> None:
    # C1 changes age, C3 age and sex; only C2 keeps both.
    assert metrics.act(rows(C1, C2, C3), X, SCHEMA.actionable, k=4) == 0.25
    assert metrics.act(rows(C1, C2, C3), X, np.array([False, True, True, False]), k=4) == 0.25
    assert metrics.act(rows(C1, C2, C3), X, [0, 1, 2, 3], k=3) == 1
    assert metrics.act(rows(C1, X), X, (), k=2) == 0.5
    assert metrics.act(NONE, X, SCHEMA.actionable, k=4) == 0


def test_act_holds_a_missing_value_equal_to_a_missing_one() -> None:
    x = np.array([np.nan, 1.0])
    answers = np.array([[np.nan, 2.0], [3.0, 2.0]])
    assert metrics.act(answers, x, [1], k=2) == 0.5


def test_impl_is_the_mean_distance_from_the_closest_known_instance() -> None:
    # C1: x at 1/2 (and the third: sex differs, 1/2). C2: x at 1.5. C3: the third, (1 + 1)/2 = 1.
    assert metrics.impl(rows(C1), KNOWN) == pytest.approx(0.5)
    assert metrics.impl(rows(C1, C2, C3), KNOWN) == pytest.approx((0.5 + 1.5 + 1) / 3)
    assert metrics.impl(KNOWN.rows, KNOWN) == 0


def test_dis_dist_is_the_mean_distance_from_x() -> None:
    assert metrics.dis_dist(rows(C1), X, D) == pytest.approx(0.5)
    assert metrics.dis_dist(rows(C1, C2, C3), X, D) == pytest.approx((0.5 + 1.5 + 2) / 3)


def test_dis_count_is_the_mean_share_of_features_changed() -> None:
    assert metrics.dis_count(rows(C1), X) == 1 / 4
    assert metrics.dis_count(rows(C1, C2, C3), X) == pytest.approx((1 + 2 + 3) / (3 * 4))


def test_div_dist_averages_over_all_pairs_with_itself_included() -> None:
    # C1-C2: (1 + 2)/2 + 1/2 = 2. C1-C3: (1 + 1)/2 + 1/2 = 1.5. C2-C3: (2 + 1)/2 + 2/2 = 2.5.
    assert metrics.div_dist(rows(C1, C2), D) == pytest.approx(2 * 2 / 4)
    assert metrics.div_dist(rows(C1, C2, C3), D) == pytest.approx(2 * (2 + 1.5 + 2.5) / 9)
    assert metrics.div_dist(rows(C1), D) == 0


def test_div_count_averages_over_all_pairs_with_itself_included() -> None:
    # C1-C2: age, gain, job. C1-C3: age, gain, sex. C2-C3: all four.
    assert metrics.div_count(rows(C1, C2)) == 2 * 3 / (4 * 4)
    assert metrics.div_count(rows(C1, C2, C3)) == pytest.approx(2 * (3 + 3 + 4) / (9 * 4))
    assert metrics.div_count(rows(C1)) == 0


def test_inst_is_the_mean_distance_of_two_answers_over_the_distance_of_their_questions() -> None:
    # d(x, first known) = 1/2 + 2/2 = 1.5; C1-C2 is 2 and C1-C3 is 1.5.
    assert metrics.inst(rows(C1), rows(C2, C3), X, KNOWN.rows[0], D) == pytest.approx(1.75 / 2.5)
    assert metrics.inst(rows(C1), rows(C1), X, KNOWN.rows[0], D) == 0


def test_means_over_no_counterfactual_are_nan() -> None:
    assert np.isnan(metrics.impl(NONE, KNOWN))
    assert np.isnan(metrics.dis_dist(NONE, X, D))
    assert np.isnan(metrics.dis_count(NONE, X))
    assert np.isnan(metrics.div_dist(NONE, D))
    assert np.isnan(metrics.div_count(NONE))
    assert np.isnan(metrics.inst(NONE, rows(C1), X, KNOWN.rows[0], D))
    assert np.isnan(metrics.inst(rows(C1), NONE, X, KNOWN.rows[0], D))


def test_missing_values_are_one_more_value() -> None:
    table = pd.DataFrame({"age": [20.0, 30, 40, 50, 60, np.nan], "job": ["a", "b", "b", "a", None, "a"]})
    schema = Schema.infer(table)
    known = Population.of(schema, schema.encode(table), np.array([0, 0, 0, 1, 1, 1]))
    x, gone, both = known.rows[1], np.array([np.nan, 1.0]), np.array([np.nan, 2.0])
    # A missing age is one MAD from the median 40 of MAD 10: from 30 it is 1 + 1. A missing job differs: 1.
    assert metrics.dis_dist(rows(gone, both), x, known.distance) == pytest.approx((2 + 3) / 2)
    assert metrics.dis_count(rows(gone, both), x) == (1 + 2) / 4
    assert metrics.div_dist(rows(gone, both), known.distance) == pytest.approx(2 * 1 / 4)
    assert metrics.div_count(rows(gone, both)) == 2 * 1 / (4 * 2)
    # The last known instance has no age and another job; gone is 1 from it, and 1 + 0 from the third.
    assert metrics.impl(rows(gone), known) == pytest.approx(1)
    assert metrics.impl(known.rows[-1:], known) == 0


# --- discriminative power, by hand -----------------------------------------------------------------------


def test_dipo_on_mixed_features() -> None:
    # From x: itself 0, first 1.5 (alike); third 1, fourth 1.5, fifth 3.75 (unlike). k = 2: all but the fifth.
    # From C1: x .5, first 2, third .5, fourth 1: the two unlike are closer to C1, the two alike to x.
    assert metrics.dipo(rows(C1), X, KNOWN, "no", k=2) == 1
    # From C2: 1.5, 2.5, 2.5, 2.5: all closer to x, and half of them are alike.
    assert metrics.dipo(rows(C2), X, KNOWN, "no", k=2) == 0.5
    # From C3: 2, 2.5, 1, 1.5: the two unlike are as close to x as to C3, and ties count for x.
    assert metrics.dipo(rows(C3), X, KNOWN, "no", k=2) == 0.5
    assert metrics.dipo(rows(C2, C1), X, KNOWN, "no", k=2) == 1


def test_dipo_knows_alike_and_unlike_whatever_the_number_of_classes() -> None:
    known = line([0, 1, 2, 3, 4, 5], ["low", "low", "mid", "mid", "high", "high"])
    x = np.array([2.0])
    # Alike: 2 (x itself), 3. Unlike: 1, then 0, which comes before 4, as far away.
    assert metrics.dipo(np.array([[0.5]]), x, known, "mid", k=2) == 1
    # 3 is as close to x as to 4: called alike, rightly; 1 and 0 are called alike, wrongly.
    assert metrics.dipo(np.array([[4.0]]), x, known, "mid", k=2) == 0.5
    # 3 is the counterfactual itself: called unlike, wrongly, as are 1 and 0 called alike.
    assert metrics.dipo(np.array([[3.0]]), x, known, "mid", k=2) == 0.25
    # k = 3: there are but two alike; unlike are 1, 0 and 4. Right: 2, 3, 4.
    assert metrics.dipo(np.array([[4.0]]), x, known, "mid", k=3) == pytest.approx(3 / 5)


def test_dipo_of_nothing_is_a_guess() -> None:
    assert metrics.dipo(NONE, X, KNOWN, "no", k=2) == 0.5


def test_dipo_when_no_known_instance_is_unlike() -> None:
    known = line([0, 1, 2], ["no", "no", "no"])
    assert metrics.dipo(np.array([[3.0]]), np.array([0.0]), known, "no", k=2) == 1


def test_dipo_of_a_number_takes_what_counts_as_a_flip() -> None:
    known = line([0, 1, 2, 3], [0.1, 0.2, 0.7, 0.9])
    flips = Target(test=Between(low=0.5)).flips
    assert metrics.dipo(np.array([[3.0]]), np.array([0.0]), known, 0.1, k=2, flips=flips) == 1


def test_dipo_refuses_scores_without_a_target() -> None:
    known = line([0, 1], [[0.1, 0.9], [0.8, 0.2]])
    with pytest.raises(ValueError, match=r"one truth value per row.*flips=Target"):
        metrics.dipo(np.array([[1.0]]), np.array([0.0]), known, np.array([0.1, 0.9]), k=1)


# --- all measures of an answer ---------------------------------------------------------------------------


def test_measure_takes_all() -> None:
    taken = measure(rows(C1, C2), X, "no", KNOWN, k=4, alike=(KNOWN.rows[0], rows(C2, C3)), runtime=0.5)
    # k = 4 takes all five known instances for dipo: the fifth is (2 + 2.5)/2 + 1 from C1, 2.25 from C2.
    # inst: C1-C2 2, C1-C3 1.5, C2-C2 0, C2-C3 2.5.
    by_hand = Measures(
        size=0.5,
        act=0.25,
        impl=1.0,
        dis_dist=1.0,
        dis_count=3 / 8,
        div_dist=1.0,
        div_count=3 / 8,
        dipo=1.0,
        inst=1.5 / 2.5,
        runtime=0.5,
        actions=0.5,
    )
    assert asdict(taken) == pytest.approx(asdict(by_hand))


def test_measure_of_no_answer() -> None:
    empty: list[Any] = [[], NONE]
    for nothing in empty:
        taken = measure(nothing, X, "no", KNOWN, k=2, labels=[], alike=(KNOWN.rows[0], rows(C1)))
        assert (taken.size, taken.act, taken.dipo) == (0, 0, 0.5)
        others = ["impl", "dis_dist", "dis_count", "div_dist", "div_count", "inst", "runtime"]
        assert all(np.isnan(getattr(taken, name)) for name in others)


def test_measure_leaves_out_what_is_not_valid() -> None:
    with_invalid = measure(rows(C1, C2, C3), X, "no", KNOWN, k=3, labels=["yes", "no", "yes"])
    assert repr(with_invalid) == repr(measure(rows(C1, C3), X, "no", KNOWN, k=3))


def test_measure_counts_a_repeated_row_once() -> None:
    gone = np.array([np.nan, 0, B, M])
    known = Population.of(SCHEMA.replace("age", missing=True), KNOWN.rows, KNOWN.labels)
    repeated = measure(rows(gone, C1, gone, C1), X, "no", known, k=2)
    assert repr(repeated) == repr(measure(rows(gone, C1), X, "no", known, k=2))
    assert repeated.size == 1


def test_measure_refuses_what_is_no_answer() -> None:
    with pytest.raises(ValueError, match="at most k = 1 counterfactuals, got 2"):
        measure(rows(C1, C2), X, "no", KNOWN, k=1)
    with pytest.raises(ValueError, match=r"rows of 4 features as x is, got an array of shape \(4,\)"):
        measure(C1, X, "no", KNOWN, k=1)


def test_measure_takes_actionable_features_from_a_given_schema() -> None:
    assert measure(rows(C1), X, "no", KNOWN, k=1).act == 0
    assert measure(rows(C1), X, "no", KNOWN, k=1, schema=Schema.infer(TABLE)).act == 1


def test_measuring_writes_to_nothing() -> None:
    answer, x, before = rows(C1, C2), X.copy(), KNOWN.rows.copy()
    for array in (answer, x):
        array.flags.writeable = False
    measure(answer, x, "no", KNOWN, k=2)
    nearest_alike(answer, ["no", "yes"], KNOWN)
    np.testing.assert_array_equal(KNOWN.rows, before)


# --- the closest known instance decided alike ------------------------------------------------------------


def test_nearest_alike_is_not_x_itself_and_has_its_decision() -> None:
    known = line([0, 1, 1, 2, 4, 5], ["no", "no", "no", "yes", "no", "yes"])
    asked = np.array([[1.0], [0.5], [3.5], [2.0]])
    # 1 is known twice, both are x. 0 and 1 are as far from .5: the earlier. 3.5: 4. 2: the other "yes", 5.
    np.testing.assert_array_equal(nearest_alike(asked, ["no", "no", "no", "yes"], known), [0, 0, 4, 5])


def test_nearest_alike_may_be_none() -> None:
    known = line([0, 1, 2], ["no", "yes", "yes"])
    np.testing.assert_array_equal(nearest_alike(known.rows, known.labels, known), [-1, 2, 1])


def test_nearest_alike_of_a_number_is_one_that_does_not_flip() -> None:
    known = line([0, 1, 2], [0.1, 0.9, 0.3])
    flips = Target(test=Between(low=0.5)).flips
    np.testing.assert_array_equal(nearest_alike(known.rows[:1], [0.1], known, flips), [2])


def test_nearest_alike_on_mixed_features() -> None:
    np.testing.assert_array_equal(nearest_alike(rows(X, C1), ["no", "yes"], KNOWN), [0, 2])


# --- a whole evaluation ----------------------------------------------------------------------------------

COLUMNS = ["k", "instances", *(field.name for field in fields(Measures))]


@dataclass
class NearestUnlike:
    """Explains by the nearest known instances decided differently; `clock` advances 2 seconds a table."""

    known: Population
    reach: float = np.inf
    clock: float = 0.0

    @property
    def fitted_(self) -> Fitted:
        return Fitted(BlackBox(lambda table: table, Direct(self.known.schema)), self.known)

    def explain_many(
        self, X: Any, *, k: int = 5, target: Any = None, progress: bool = True
    ) -> list[SimpleNamespace]:
        assert not progress
        self.clock += 2.0
        return [self._explain(row, k) for row in self.known.schema.encode(X)]

    def _explain(self, row: Row, k: int) -> SimpleNamespace:
        known = self.known
        for feature, value in zip(known.schema.features, row, strict=True):
            if feature.range and not feature.range[0] <= value <= feature.range[1]:
                raise ValueError(f"{value} is outside {feature.range}")
        away = known.distance.from_x(known.rows, row)
        decision = known.labels[away.argmin()]
        away[(known.labels == decision) | (away > self.reach)] = np.inf
        places = np.argsort(away, kind="stable")[: min(k, int(np.isfinite(away).sum()))]
        return SimpleNamespace(
            row=row, rows=known.rows[places], labels=known.labels[places], decision=decision
        )


# The MAD is 1, so distances are plain differences.
FIVE = line([0, 1, 2, 3, 4], ["no", "no", "no", "yes", "yes"])


def test_evaluate_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = NearestUnlike(FIVE)
    monkeypatch.setattr(evaluation, "perf_counter", lambda: explainer.clock)
    table = evaluate(explainer, np.array([[0.0], [1.0]]), k=[1, 2, 3])
    # k = 1: both get 3. k = 2: both get 3 and 4, whose mean distance over 4 pairs is 1/2. k = 3: the same.
    # inst: 1 is the nearest alike of 0, and 0 of 1; both get the same: (0 or 1/2) / (1 + 1).
    # dipo: 3 and 4 are closer to 3 or 4, 0 and 1 to x. For k = 3, 2 is alike too: closer to 3 if x is 0.
    by_hand = pd.DataFrame(
        [
            [1, 2, 1, 1, 0, 2.5, 1, 0, 0, 1, 0, 1, 1],
            [2, 2, 1, 1, 0, 3.0, 1, 0.5, 0.5, 1, 0.25, 1, 1 / 2],
            [3, 2, 2 / 3, 2 / 3, 0, 3.0, 1, 0.5, 0.5, 0.9, 0.25, 1, 1 / 3],
        ],
        columns=COLUMNS,
    )
    pd.testing.assert_frame_equal(table, by_hand, check_dtype=False)
    assert table["k"].dtype.kind == "i"
    assert table["instances"].dtype.kind == "i"


def test_evaluate_takes_one_k() -> None:
    numpy_int: Any = np.int64(2)
    table = evaluate(NearestUnlike(FIVE), np.array([[0.0]]))
    assert list(table.columns) == COLUMNS
    assert table["k"].tolist() == [5]
    assert evaluate(NearestUnlike(FIVE), np.array([[0.0]]), k=numpy_int)["size"].tolist() == [1]


def test_evaluate_skips_means_that_do_not_exist() -> None:
    # Within 2, only 1 has a counterfactual, and its nearest alike, 0, has none.
    table = evaluate(NearestUnlike(FIVE, reach=2), np.array([[0.0], [1.0]]), k=1)
    assert table.loc[0, ["size", "act", "dis_dist", "impl"]].tolist() == [0.5, 0.5, 2, 0]
    assert table.loc[0, "dipo"] == 0.75
    assert np.isnan(table.loc[0, "inst"])


def test_evaluate_where_nothing_is_alike() -> None:
    table = evaluate(NearestUnlike(line([0, 1, 2], ["no", "yes", "yes"])), np.array([[0.0]]), k=1)
    assert np.isnan(table.loc[0, "inst"])
    assert table.loc[0, "size"] == 1


def test_evaluate_gives_tables_of_the_callers_form() -> None:
    table = evaluate(NearestUnlike(KNOWN), TABLE.iloc[:2], k=2)
    # Both get the third and the fourth: from the first 1.5 and 2, from x 1 and 1.5.
    # These are 1.5 apart, as are the first and x.
    assert table.loc[0, "dis_dist"] == pytest.approx((1.5 + 2 + 1 + 1.5) / 4)
    assert table.loc[0, "inst"] == pytest.approx(1.5 / 2 / 2.5)


def test_evaluate_refuses_no_instances() -> None:
    with pytest.raises(ValueError, match="at least one instance"):
        evaluate(NearestUnlike(FIVE), np.empty((0, 1)), k=1)


def test_evaluate_of_a_number_takes_what_counts_as_a_flip() -> None:
    known = line([0, 1, 2, 3, 4], [0.1, 0.2, 0.3, 0.7, 0.9])

    class Last(NearestUnlike):
        def _explain(self, row: Row, k: int) -> SimpleNamespace:
            return SimpleNamespace(row=row, rows=known.rows[3:], labels=known.labels[3:], decision=0.1)

    with pytest.raises(ValueError, match=r"outputs are numbers.*target="):
        evaluate(Last(known), np.array([[0.0]]), k=2)
    table = evaluate(Last(known), np.array([[0.0]]), k=2, target=Between(low=0.8))
    # Only 4 counts. Alike are 0 and 1, unlike is 4; for the nearest alike, 1, too only 4 counts.
    assert table.loc[0, ["size", "dis_dist", "dipo", "inst"]].tolist() == [0.5, 4, 1, 0]


# --- the formulas as loops -------------------------------------------------------------------------------


def naive_d(a: Row, b: Row, schema: Schema, known: Rows) -> float:
    total = 0.0
    for i, feature in enumerate(schema.features):
        if feature.is_categorical:
            total += (a[i] != b[i]) / len(schema.categorical)
        else:
            mad = np.median(np.abs(known[:, i] - np.median(known[:, i]))) or np.std(known[:, i])
            total += abs(a[i] - b[i]) / mad / len(schema.continuous)
    return total


def naive(C: Rows, x: Row, decision: Any, known: Population, k: int, x2: Row, C2: Rows) -> Measures:
    def d(a: Row, b: Row) -> float:
        return naive_d(a, b, known.schema, known.rows)

    n, m = C.shape
    near: dict[bool, list[Row]] = {}
    for same in (True, False):
        members = [
            r for r, label in zip(known.rows, known.labels, strict=True) if (label == decision) == same
        ]
        near[same] = sorted(members, key=lambda r: d(r, x))[:k]
    right = [(d(z, x) <= min(d(z, c) for c in C)) == same for same in (True, False) for z in near[same]]
    frozen = [i for i in range(m) if i not in known.schema.actionable]
    return Measures(
        size=n / k,
        act=sum(all(c[i] == x[i] for i in frozen) for c in C) / k,
        impl=sum(min(d(c, r) for r in known.rows) for c in C) / n,
        dis_dist=sum(d(c, x) for c in C) / n,
        dis_count=sum(c[i] != x[i] for c in C for i in range(m)) / (n * m),
        div_dist=sum(d(a, b) for a in C for b in C) / n**2,
        div_count=sum(a[i] != b[i] for a in C for b in C for i in range(m)) / (n**2 * m),
        dipo=sum(right) / len(right),
        inst=sum(d(a, b) for a in C for b in C2) / (n * len(C2)) / (1 + d(x, x2)),
        runtime=1.0,
    )


@pytest.mark.parametrize("seed", range(6))
def test_measures_agree_with_loops(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "CELLS", 70)  # two rows a block, so that blocks are joined
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=30),
            "b": rng.choice(["p", "q", "r"], size=30),
            "c": np.where(np.arange(30) < 20, 0.0, rng.exponential(9, size=30)),
            "d": rng.choice(["s", "t"], size=30),
        }
    )
    schema = Schema.infer(table, immutable=["c", "d"])
    known = Population.of(schema, schema.encode(table), rng.integers(2 + seed % 2, size=30))
    mixed = np.array([[rng.choice(column) for column in known.rows.T] for _ in range(9)])
    mixed[:, 0] += rng.normal(size=9)
    x, x2, first, second = mixed[0], mixed[1], mixed[2:6], mixed[6:]
    first[0, 2:] = x[2:]
    taken = measure(first, x, 0, known, k=5, alike=(x2, second), runtime=1.0)
    ways = [tuple(np.where([False, True, False, True], row != x, np.sign(row - x))) for row in first]
    by_loops = replace(naive(first, x, 0, known, 5, x2, second), actions=len(set(ways)) / 5)
    assert asdict(taken) == pytest.approx(asdict(by_loops))
    assert_nearest_alike(mixed, rng.integers(2, size=9), known)


def assert_nearest_alike(asked: Rows, decisions: Any, known: Population) -> None:
    for x, decision, place in zip(asked, decisions, nearest_alike(asked, decisions, known), strict=True):
        away = [
            naive_d(x, r, known.schema, known.rows) if label == decision and (r != x).any() else np.inf
            for r, label in zip(known.rows, known.labels, strict=True)
        ]
        assert place == np.argmin(away)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    many = rng.normal(size=(50, 3))
    known = Population.of(Schema.infer(many), many, rng.integers(2, size=50))
    distance: Distance = known.distance
    asked = rng.normal(size=(40, 3))
    whole = metrics.impl(asked, known), metrics.div_dist(asked, distance)
    places = nearest_alike(asked, known.labels[:40], known)
    monkeypatch.setattr(metrics, "CELLS", 1)
    assert (metrics.impl(asked, known), metrics.div_dist(asked, distance)) == pytest.approx(whole)
    np.testing.assert_array_equal(nearest_alike(asked, known.labels[:40], known), places)


def test_every_target_that_explain_takes_can_be_evaluated() -> None:
    """A class that the model knows, though it gives it to no known instance."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, np.digitize(X[:, 0], [0.0, 1.0]))
    known = X[model.predict(X) < 2]
    explainer = cp.Sphere().fit(model, known, ranges={0: (-3, 3)})
    assert len(explainer.explain(known[0], target=2))
    assert cp.evaluate(explainer, known[:5], target=2)["size"].item() > 0
