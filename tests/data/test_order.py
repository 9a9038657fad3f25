"""Ordered categories: distance in steps of rank, searches along the order, and how an order is declared."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpoint as cp
from counterpoint.data.constraints import Rules
from counterpoint.data.distance import Distance
from counterpoint.data.known import Population
from counterpoint.data.schema import Feature, Schema
from counterpoint.metrics import measures

GRADES = [f"grade {i}" for i in range(8)]


def people(size: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, size),
            "grade": rng.choice(GRADES, size),
            "job": rng.choice(["clerk", "smith", "nurse"], size),
        }
    )


def passes(table: pd.DataFrame) -> np.ndarray:
    """Pass from the fourth grade on, whatever else."""
    return table["grade"].map(GRADES.index).astype(int).to_numpy() >= 4


# ---------------------------------------------------------------- distance


def ranked(values: list, **changes) -> tuple[Schema, np.ndarray]:
    table = pd.DataFrame({"grade": pd.Series(values, dtype=object), "job": ["a", "b"] * (len(values) // 2)})
    schema = Schema.infer(table, order={"grade": sorted({v for v in values if v is not None})}, **changes)
    return schema, schema.encode(table)


def test_an_average_change_costs_as_much_as_a_change_of_an_unordered_category():
    schema, rows = ranked(["a", "b", "b", "c", "d", "d"])
    distance = Distance.fit(schema, rows)
    grades = rows[:, 0]
    steps = np.abs(grades[:, None] - grades)
    prices = distance.prices(np.repeat(rows, len(rows), axis=0), np.tile(rows, (len(rows), 1)))[:, 0]
    assert prices[steps.ravel() > 0].mean() == pytest.approx(0.5)
    assert prices == pytest.approx(steps.ravel() * 0.5 / steps[steps > 0].mean())


def test_prices_sum_to_distances():
    schema, rows = ranked(["a", "b", None, "c", "d", "d"])
    distance = Distance.fit(schema, rows)
    between = distance.between(rows, rows)
    assert between == pytest.approx(between.T)
    for row, line in zip(rows, between, strict=True):
        assert distance.from_x(rows, row) == pytest.approx(line)


@pytest.mark.parametrize("ordered", [False, True])
def test_two_categories_cost_the_same_with_and_without_an_order(ordered):
    table = pd.DataFrame({"risk": ["low", "high", "low"], "job": ["a", "b", "c"]})
    schema = Schema.infer(table, order={"risk": ["low", "high"]} if ordered else None)
    rows = schema.encode(table)
    distance = Distance.fit(schema, rows)
    assert distance.between(rows, rows).tolist() == [[0, 1, 0.5], [1, 0, 1], [0.5, 1, 0]]
    assert not len(distance.ranked)


def test_a_missing_category_is_an_average_change_from_the_median():
    schema, rows = ranked(["a", "b", "b", "b", "d", None], missing="allow")
    distance = Distance.fit(schema, rows)
    missing, step = rows[5], distance.weight[0]
    assert distance.prices(rows[:5], missing)[:, 0] == pytest.approx([0.5 + step, 0.5, 0.5, 0.5, 0.5 + step])
    assert distance.prices(missing[None], missing)[0, 0] == 0


def test_metrics_are_the_papers():
    schema, rows = ranked(["a", "b", "c", "d", "e", "f"])
    known = Population.of(schema, rows, np.array([0, 0, 0, 1, 1, 1]))
    C = np.array([[1.0, 0.0], [5.0, 0.0]])
    found = measures.measure(C, rows[0], 0, known, k=2)
    assert found.dis_dist == 0.5
    assert known.distance.from_x(C, rows[0])[0] < 0.5 < known.distance.from_x(C, rows[0])[1]
    unordered = Schema.infer(schema.decode(rows))
    plain = Population.of(unordered, unordered.encode(schema.decode(rows)), known.labels)
    assert str(measures.measure(C, rows[0], 0, plain, k=2)) == str(found)


def test_default_distance_is_unchanged_by_bools_and_unordered_categories():
    table = people().assign(member=lambda t: t["age"] > 40)
    schema = Schema.infer(table)
    distance = Distance.fit(schema, schema.encode(table))
    assert distance.without_order() is distance
    assert not Rules.of(schema).is_category[0]
    assert Rules.of(schema).is_category[1:].all()


# ---------------------------------------------------------------- searches


@pytest.mark.parametrize(
    "explainer", [cp.Ensemble(size=10), cp.Guided(), cp.BruteForce()], ids=["ensemble", "guided", "brute"]
)
def test_the_smallest_step_that_flips_is_found(explainer):
    X = people()
    x = {"age": 40, "grade": "grade 2", "job": "clerk"}
    found = explainer.fit(passes, X, order={"grade": GRADES}).explain(x, k=1)
    assert found.changes["to"].tolist() == ["grade 4"]
    assert found.distance[0] < 1 / 2


def test_without_an_order_all_categories_are_equally_far():
    X = people()
    x = {"age": 40, "grade": "grade 2", "job": "clerk"}
    assert cp.Ensemble(size=10).fit(passes, X).explain(x, k=1).distance[0] == 1 / 2


def test_polish_moves_along_the_order_to_levels_that_no_other_known_instance_has():
    X = people()
    X = X[X["grade"] != "grade 4"]  # no known instance that passes is so close
    schema = Schema.infer(X.assign(grade=pd.Categorical(X["grade"], GRADES, ordered=True)))
    X = X.assign(grade=pd.Categorical(X["grade"], GRADES, ordered=True))
    x = X[X["grade"] == "grade 1"].iloc[[0]]
    explainer = cp.Ensemble(size=10, selection=cp.CLOSE)
    explainer.fit(lambda t: (t["grade"].cat.codes >= 4).to_numpy(), X, schema=schema)
    assert explainer.explain(x, k=1).changes["to"].tolist() == ["grade 4"]


def test_values_between_admissible_categories_move_to_the_nearest():
    table = pd.DataFrame({"grade": GRADES})
    schema = Schema.infer(table, order={"grade": GRADES}, ranges={"grade": ["grade 0", "grade 3", "grade 7"]})
    bounds = Rules.of(schema).around(np.array([0.0]))
    moved = [
        bounds.project(np.array([[value]]), np.array([True]))[0, 0] for value in (0.4, 2.2, 4.9, 6.0, 9.0)
    ]
    assert moved == [0.0, 3.0, 3.0, 7.0, 7.0]
    assert bounds.admissible(np.array([[0.0], [3.0], [3.5], [4.0], [7.0]])).tolist() == [
        False, True, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("way", ["increase", "decrease"])
def test_one_way(way):
    X = people()
    x = {"age": 40, "grade": "grade 2", "job": "clerk"}
    explainer = cp.Ensemble(size=10).fit(
        lambda t: (np.abs(t["grade"].map(GRADES.index).astype(int) - 2) > 1).to_numpy(),
        X,
        order={"grade": GRADES},
        **{way: ["grade"]},
    )
    found = explainer.explain(x, k=5)
    ranks = found.counterfactuals["grade"].map(GRADES.index)
    # Nothing but the grade is needed, so there is one answer per grade that is far enough: 4 to 7, or 0.
    assert len(found) == {"increase": 4, "decrease": 1}[way]
    assert (ranks > 2).all() if way == "increase" else (ranks < 2).all()


# ---------------------------------------------------------------- declaring an order


def test_ways_to_declare_an_order():
    X = people(50)
    by_argument = Schema.infer(X, order={"grade": GRADES})
    by_dtype = Schema.infer(X.assign(grade=pd.Categorical(X["grade"], GRADES, ordered=True)))
    by_schema = Schema.infer(X).constrain(order={"grade": GRADES})
    by_enum = Schema.infer(pl.from_pandas(X).with_columns(pl.col("grade").cast(pl.Enum(GRADES))))
    for schema in (by_argument, by_dtype, by_schema, by_enum):
        assert schema.features[1].is_ranked
        assert schema.features[1].categories == tuple(GRADES)
    assert Schema.infer(X).replace("grade", ordered=True).features[1].is_ranked


def test_an_ordered_arrow_dictionary():
    values = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2, 1, None]), pa.array(["low", "mid", "high", "never"]), ordered=True
    )
    X = pd.DataFrame({"risk": pd.array(values, dtype=pd.ArrowDtype(values.type)), "age": range(5)})
    schema = Schema.infer(X)
    assert schema.features[0].is_ranked
    assert schema.features[0].categories == ("low", "mid", "high", None)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(X)), X)
    given = Schema.infer(X, order={"risk": ["high", "mid", "low"]})
    assert given.features[0].categories == ("high", "mid", "low", None)


def test_numbers_with_an_order_are_categories():
    X = pd.DataFrame({"code": [3, 1, 2, 3], "age": [20, 30, 40, 50]})
    schema = Schema.infer(X, order={"code": [2, 3, 1]})
    assert schema.features[0].categories == (2, 3, 1)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(X)), X)


@pytest.mark.parametrize(
    ("order", "says"),
    [
        ({"grade": GRADES[:-1]}, r"Left out: \['grade 7'\]"),
        ({"grade": [*GRADES, "grade 8"]}, r"Unknown: \['grade 8'\]"),
        ({"grade": [*GRADES, None]}, r"Unknown: \[None\]"),
        ({"grade": [*GRADES, "grade 7"]}, "each known category once"),
        ({"grade": "grade 1"}, "from the lowest to the highest, got 'grade 1'"),
        ({"grades": GRADES}, r"order must name known features, got \['grades'\]"),
        (["grade"], "order must map feature names to lists of categories"),
    ],
)
def test_orders_that_cannot_be(order, says):
    with pytest.raises((ValueError, TypeError), match=says):
        cp.Tree().fit(passes, people(), order=order)


def test_a_schema_of_numbers_takes_no_order():
    with pytest.raises(ValueError, match=r"it is a number\. Name it in categorical="):
        Schema.infer(people()).constrain(order={"age": [1, 2]})


def test_none_comes_last():
    with pytest.raises(ValueError, match="None must come after its categories"):
        Feature("grade", kind="categorical", categories=("a", None, "b"), ordered=True)


def test_one_way_without_an_order_says_how_to_give_one():
    with pytest.raises(ValueError, match="Give it in order="):
        Schema.infer(people(), increase=["grade"])


# ---------------------------------------------------------------- keeping it


def test_saved_explainers_and_answers_keep_the_order(tmp_path):
    X = people()
    X.loc[::9, "grade"] = None
    model = lambda t: t["grade"].isin(GRADES[4:]).to_numpy()  # noqa: E731
    explainer = cp.Ensemble(size=6).fit(model, X, order={"grade": GRADES})
    x = X.iloc[1]
    found = explainer.explain(x, k=3)
    cp.save(explainer, tmp_path / "saved.cp")
    again = cp.load(tmp_path / "saved.cp", model)
    assert again.fitted_.schema == explainer.fitted_.schema
    assert again.explain(x, k=3).rows.tobytes() == found.rows.tobytes()
    read = cp.Explanation.from_json(found.to_json())
    assert read.schema.features[1].is_ranked
    assert read.changes.equals(found.changes)


def test_an_immutable_ordered_feature_takes_categories_that_were_never_seen():
    X = people()
    explainer = cp.Tree().fit(
        lambda t: (t["age"] > 40).to_numpy(), X, order={"grade": GRADES}, immutable=["grade"]
    )
    found = explainer.explain({"age": 30, "grade": "new", "job": "clerk"}, k=2)
    assert (found.counterfactuals["grade"] == "new").all()
