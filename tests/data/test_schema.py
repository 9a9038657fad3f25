"""What a column is, the way from the caller's tables to rows and back, and what constraints allow."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoint import Feature, Schema
from counterpoint.data.constraints import Rules
from counterpoint.data.distance import changed
from counterpoint.data.tables import TableFormat

EDUCATION = pd.CategoricalDtype(["school", "college", "doctorate"], ordered=True)


def pandas_people():
    return pd.DataFrame(
        {
            "age": [31, 45, 28],
            "hours": pd.Series([40, 38, 20], dtype="int8"),
            "income": [1.5, 2.25, 0.1],
            "weight": pd.Series([0.1, 70.5, 3.3], dtype="float32"),
            "job": ["clerk", "smith", "clerk"],
            "city": pd.Series(["Bonn", "Ulm", "Ulm"], dtype=object),
            "owner": [True, False, True],
            "education": pd.Categorical(["school", "college", "school"], dtype=EDUCATION),
            "band": pd.cut([1, 5, 9], [0, 4, 10]),
            "grade": pd.Categorical([3, 1, 3]),
            "children": pd.array([0, 2, 1], dtype="Int64"),
            "rate": pd.array([0.5, 0.25, 0.1], dtype="Float64"),
            "member": pd.array([True, False, True], dtype="boolean"),
            "note": pd.array(["a", "b", "a"], dtype="string"),
        }
    )


def polars_people():
    return pl.DataFrame(
        {
            "age": [31, 45, 28],
            "income": [1.5, 2.25, 0.1],
            "job": ["clerk", "smith", "clerk"],
            "own": [True, False, True],
        }
    ).with_columns(
        weight=pl.Series([0.1, 70.5, 3.3], dtype=pl.Float32),
        hours=pl.Series([40, 38, 20], dtype=pl.UInt8),
        city=pl.Series(["Bonn", "Ulm", "Ulm"], dtype=pl.Categorical),
        education=pl.Series(
            ["school", "college", "school"], dtype=pl.Enum(["school", "college", "doctorate"])
        ),
        price=pl.Series([Decimal("0.10"), Decimal("0.29"), Decimal("12.00")], dtype=pl.Decimal(10, 2)),
    )


# Kinds


def test_kinds_follow_the_dtypes():
    features = {feature.name: feature for feature in Schema.infer(pandas_people()).features}
    kinds = {name: feature.kind for name, feature in features.items()}
    numbers = ["age", "hours", "income", "weight", "children", "rate"]
    assert [name for name, kind in kinds.items() if kind == "continuous"] == numbers
    assert [features[name].step for name in numbers] == [1, 1, None, None, 1, None]


def test_the_same_kinds_from_polars():
    features = {feature.name: feature for feature in Schema.infer(polars_people()).features}
    steps = {name: feature.step for name, feature in features.items() if feature.kind == "continuous"}
    assert steps == {"age": 1, "income": None, "weight": None, "hours": 1, "price": 0.01}


def test_whole_numbers_stay_whole_though_some_are_missing():
    for table in (
        pd.DataFrame({"n": pd.array([1, None, 7], dtype="Int64")}),
        pl.DataFrame({"n": [1, None, 7]}),
    ):
        (feature,) = Schema.infer(table).features
        assert (feature.step, feature.missing, feature.seen) == (1, True, (1, 7))


def test_columns_of_an_object_array_are_read_one_by_one():
    X = np.array([[1, 0.5, "a", True], [2, 1, "b", False]], dtype=object)
    features = Schema.infer(X).features
    assert [(f.kind, f.step) for f in features] == [
        ("continuous", 1),
        ("continuous", None),
        ("categorical", None),
        ("categorical", None),
    ]


def test_declared_categories_are_known_though_no_row_has_them():
    (feature,) = Schema.infer(pandas_people()[["education"]]).features
    assert feature.categories == ("school", "college", "doctorate")
    assert feature.ordered


def test_a_polars_enum_is_ordered_and_a_categorical_has_only_the_categories_of_its_column():
    _ = pl.Series(["Paris", "Rome"], dtype=pl.Categorical)  # all Categorical columns share one pool
    features = {feature.name: feature for feature in Schema.infer(polars_people()).features}
    assert features["city"].categories == ("Bonn", "Ulm")
    assert features["education"].ordered
    assert not features["city"].ordered


def test_categories_of_several_types_have_an_order_that_does_not_depend_on_the_rows():
    first, second = (
        Schema.infer(pd.DataFrame({"a": pd.Series(values, dtype=object)})).features[0].categories
        for values in ([1, "b", 2.5], [2.5, "b", 1])
    )
    assert first == second


# Round trips


@pytest.mark.parametrize("people", [pandas_people(), pandas_people()[["age", "job"]]])
def test_a_pandas_frame_comes_back_as_it_was(people):
    schema = Schema.infer(people)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(people)), people)


def test_a_polars_frame_comes_back_as_it_was():
    people = polars_people()
    schema = Schema.infer(people)
    back = schema.decode(schema.encode(people))
    assert back.schema == people.schema
    assert back.equals(people)


@pytest.mark.parametrize(
    "X",
    [
        np.array([[1.5, 2.0], [0.1, 3.0]]),
        np.array([[1.5, 2.0], [0.1, 3.0]], dtype=np.float32),
        np.array([[1, 2], [3, 4]]),
        np.array([[True, False], [False, False]]),
        np.array([["a", "b"], ["c", "b"]]),
        np.array([[1, "b", 0.5, None], [2, "c", 1.5, "x"]], dtype=object),
    ],
    ids=["float", "float32", "int", "bool", "text", "object"],
)
def test_an_array_comes_back_as_it_was(X):
    schema = Schema.infer(X)
    back = schema.decode(schema.encode(X))
    assert back.dtype == X.dtype
    assert back.tolist() == X.tolist()
    assert [type(v) for v in back.ravel().tolist()] == [type(v) for v in X.ravel().tolist()]


@pytest.mark.parametrize("mark", [None, np.nan, pd.NA], ids=repr)
@pytest.mark.parametrize("values", [["a", "b"], [1, 2], [0.5, 1.5]], ids=["texts", "ints", "floats"])
def test_what_stands_for_a_missing_value_in_an_object_column_is_kept(mark, values):
    people = pd.DataFrame({"a": pd.Series([values[0], mark, values[1]], dtype=object)})
    schema = Schema.infer(people)
    assert schema.decode(schema.encode(people))["a"].iloc[1] is mark


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "string", "category", "str", "float64"])
def test_missing_values_of_every_dtype_come_back(dtype):
    values = {"boolean": [True, None, False], "string": ["a", None, "b"], "str": ["a", None, "b"]}
    people = pd.DataFrame({"a": pd.Series(values.get(dtype, [1, None, 2]), dtype=dtype)})
    schema = Schema.infer(people)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(people)), people)


def test_columns_in_another_order_are_put_right():
    people = pandas_people()
    schema = Schema.infer(people)
    assert (schema.encode(people[people.columns[::-1]]) == schema.encode(people)).all()


def test_names_need_not_be_texts():
    people = pd.DataFrame([[1, 2.5], [3, 4.5]], columns=[0, ("a", 1)])
    schema = Schema.infer(people, immutable=[("a", 1)])
    assert schema.actionable == (0,)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(people)), people)


def test_what_the_model_writes_into_its_table_does_not_reach_the_rows():
    for table in (pandas_people()[["income", "rate"]], np.array([[1.5, 2.0], [0.1, 3.0]])):
        schema = Schema.infer(table)
        rows = schema.encode(table)
        kept = rows.copy()
        given_ = schema.decode(rows)
        if isinstance(given_, pd.DataFrame):
            given_.loc[:, "income"] = 0.0
        else:
            given_[:] = 0.0
        assert (rows == kept).all()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_frame_comes_back_as_it_was(data):
    size = data.draw(st.integers(1, 6))
    columns = {
        "float": st.floats(allow_infinity=False, allow_nan=False),
        "float32": st.floats(allow_infinity=False, allow_nan=False, width=32),
        "int": st.integers(-(2**53), 2**53),
        "text": st.text(max_size=3),
        "bool": st.booleans(),
    }
    drawn = {name: data.draw(st.lists(each, min_size=size, max_size=size)) for name, each in columns.items()}
    people = pd.DataFrame(drawn).astype({"float32": "float32", "text": "str"})
    schema = Schema.infer(people)
    pd.testing.assert_frame_equal(schema.decode(schema.encode(people)), people, check_exact=True)


# Changing a schema


def test_constraints_add_to_those_of_the_schema():
    schema = Schema.infer(pandas_people(), immutable=["age"])
    more = schema.constrain(immutable=["job"], ranges={"income": (0, 5)}, increase=["education"])
    features = {feature.name: feature for feature in more.features}
    assert features["age"].immutable
    assert features["job"].immutable
    assert features["income"].range == (0, 5)
    assert features["education"].direction == 1
    assert schema.features[1].range is None  # the first one is as it was


def test_a_feature_can_be_replaced():
    schema = Schema.infer(pandas_people()).replace("grade", categories=(1, 3, 5)).replace("age", step=5)
    assert schema.features[0].step == 5
    assert schema.features[9].categories == (1, 3, 5)


def test_columns_of_an_array_are_named_by_place_or_by_name():
    X = np.zeros((2, 3)) + np.arange(2)[:, None]
    assert Schema.infer(X, immutable=[0, -1]).actionable == (1,)
    assert Schema.infer(X, immutable=["x0", np.int64(2)]).actionable == (1,)


def test_numbers_can_be_taken_as_categories():
    schema = Schema.infer(pandas_people()[["age", "income"]], categorical=["age"])
    assert schema.features[0].categories == (28, 31, 45)
    assert schema.decode(np.array([[2.0, 1.5]]))["age"].tolist() == [45]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "ordinal"}, "'a': kind must be one of .*'ordinal'"),
        ({"step": 0}, "'a': step must be positive, got 0"),
        ({"direction": 2}, "'a': direction must be one of"),
        ({"kind": "categorical"}, "'a' is categorical, so its categories must be given"),
        ({"kind": "categorical", "categories": ("x", "x")}, "'a'.*each once"),
        ({"range": (5, 1)}, r"ranges\['a'\] must be a pair of numbers \(low, high\), got \[5, 1\]"),
        ({"range": (0, 1, 2)}, r"ranges\['a'\] must be a pair"),
        ({"range": (0.5, 0.75), "step": 1}, r"ranges\['a'\] = \(0.5, 0.75\) contains no whole multiple"),
        ({"immutable": True, "direction": 1}, "'a' cannot be both immutable and one-way"),
    ],
)
def test_a_feature_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Feature("a", **change)


def test_a_range_of_one_decimal_step_is_not_lost_to_rounding():
    assert Feature("a", step=0.1, range=(0.3, 0.3)).range == (0.3, 0.3)


def test_a_schema_whose_columns_could_not_hold_its_values_is_refused():
    schema = Schema.infer(pandas_people()[["age", "income", "owner"]])
    with pytest.raises(ValueError, match=r"'age' holds whole numbers \(int64\).*whole number, got None"):
        schema.replace("age", step=None)
    with pytest.raises(TypeError, match="'owner' is continuous, but its column holds bool"):
        schema.replace("owner", kind="continuous")
    with pytest.raises(ValueError, match="one feature per column, in order"):
        Schema(schema.features[::-1], schema.form)


def test_a_feature_says_its_values_as_people_know_them():
    job = Feature("job", kind="categorical", categories=("clerk", None))
    age, income = Feature("age", step=1), Feature("income")
    labels = [job.label(0.0), job.label(1.0), age.label(31.0), income.label(31.0), income.label(np.nan)]
    assert labels == ["clerk", None, 31, 31.0, None]
    assert [type(label) for label in labels[2:4]] == [int, float]


# What constraints allow


def bounds(x, *features, dtype="float64"):
    names = tuple(feature.name for feature in features)
    held = tuple(np.dtype(object if feature.is_categorical else dtype) for feature in features)
    schema = Schema(features, TableFormat("pandas", names, held))
    return Rules.of(schema).around(np.array(x, dtype=float))


def allowed(x, feature, values, **options):
    """List those of some values that a feature may change to."""
    rows = np.array(values, dtype=float)[:, None]
    return rows[bounds([x], feature, **options).admissible(rows), 0].tolist()


def is_x(around, rows):
    """Tell which rows are x itself, which is no counterfactual."""
    return ~changed(rows, around.x).any(axis=1)


def test_an_immutable_value_stays_bit_for_bit():
    assert allowed(0.0, Feature("a", immutable=True), [-0.0, 1e-300]) == []
    minus = bounds([-0.0], Feature("a", immutable=True)).project(np.array([[0.0]]), np.array([True]))
    assert np.signbit(minus[0, 0])


def test_numbers_stay_where_known_instances_are_unless_a_range_says_otherwise():
    assert allowed(2, Feature("a", seen=(0, 5)), [-1, 0, 5, 6]) == [0, 5]
    assert allowed(2, Feature("a", seen=(0, 5), range=(-9, 9)), [-10, -1, 6, 9]) == [-1, 6, 9]


def test_an_x_that_no_known_instance_is_like_may_keep_its_value():
    around = bounds([99, 1], Feature("a", seen=(0, 5)), Feature("b", seen=(0, 5)))
    assert around.admissible(np.array([[99.0, 2.0], [98.0, 2.0], [5.0, 2.0]])).tolist() == [True, False, True]


def test_x_itself_is_no_counterfactual():
    around = bounds([2, np.nan], Feature("a", seen=(0, 5)), Feature("b", missing=True))
    assert around.admissible(np.array([[2.0, np.nan], [3.0, np.nan]])).tolist() == [False, True]


def test_steps_hold():
    assert allowed(2, Feature("a", seen=(0, 5), step=1), [1, 1.5, 3]) == [1, 3]
    assert allowed(2, Feature("a", seen=(0, 5), step=0.1), [0.3, 0.30000000000000004]) == [0.3]
    projected = bounds([2], Feature("a", seen=(0, 5), step=0.1)).project(
        np.array([[0.31], [4.96]]), np.array([True])
    )
    assert projected.tolist() == [[0.3], [5.0]]


def test_open_ranges_with_steps_start_on_a_step():
    around = bounds([2], Feature("a", step=1, range=(0.5, np.inf)))
    assert around.project(np.array([[-7.0], [1e6 + 0.2]]), np.array([True])).tolist() == [[1.0], [1e6]]


def test_one_way_numbers_only_rise_or_only_fall():
    assert allowed(2, Feature("a", seen=(0, 5), direction=1), [1, 2, 3]) == [3]
    assert allowed(2, Feature("a", seen=(0, 5), direction=-1), [1, 2, 3]) == [1]


def test_ordered_categories_only_rise_and_never_go_missing():
    education = Feature("e", "categorical", categories=("a", "b", "c", None), ordered=True, direction=1)
    assert allowed(0, education, [0, 1, 2, 3]) == [1, 2]
    assert allowed(3, education, [0, 1, 2, 3]) == []  # what is missing is neither above nor below


def test_a_one_way_number_that_is_missing_stays_missing():
    assert allowed(np.nan, Feature("a", seen=(0, 5), missing=True, direction=1), [np.nan, 3]) == []


def test_a_number_goes_missing_only_if_asked_where_known_instances_miss_it_and_no_range_is_given():
    gone, asked = np.array([[np.nan]]), {"missing": True, "may_go_missing": True}
    assert bounds([1], Feature("a", **asked)).admissible(gone).all()
    assert not bounds([1], Feature("a", missing=True)).admissible(gone).any()
    assert not bounds([1], Feature("a", may_go_missing=True)).admissible(gone).any()
    assert not bounds([1], Feature("a", **asked, range=(0, 5))).admissible(gone).any()


def test_a_category_goes_missing_only_if_asked_and_only_as_its_first_mark():
    job = Feature("job", "categorical", categories=("a", "b", None, None), missing_as=("None", "nan"))
    assert allowed(0, job, [0, 1, 2, 3]) == [1]
    assert allowed(0, replace(job, may_go_missing=True), [0, 1, 2, 3]) == [1, 2]
    assert allowed(0, replace(job, range=("a", None)), [0, 1, 2, 3]) == [2]
    assert allowed(3, replace(job, may_go_missing=True), [0, 1, 2, 3, 4, np.nan]) == [0, 1]


def test_only_allowed_categories_are_taken():
    job = Feature("j", "categorical", categories=("a", "b", "c"), range=("a", "c"))
    assert allowed(0, job, [0, 1, 2, 3, -1, 0.5]) == [2]


def test_limits_are_what_a_column_of_coarser_floats_can_hold():
    feature = Feature("a", range=(0.1, 0.7))
    around = bounds([0.5], feature, dtype="float32")
    (low,), (high,) = around.low, around.high
    assert low >= 0.1
    assert high <= 0.7
    assert np.float32(low) == low
    assert np.float32(high) == high


def test_limits_are_what_a_column_of_small_integers_can_hold():
    assert allowed(5, Feature("a", step=1, range=(-1000, 1000)), [-1, 0, 255, 256], dtype="uint8") == [0, 255]


@st.composite
def problems(draw):
    """Draw features with any constraints, an x that keeps them, and any rows."""
    features = [draw(_features(f"f{i}")) for i in range(draw(st.integers(1, 4)))]
    dtype = draw(st.sampled_from(["float64", "float32"]))
    x = np.array([draw(_x_values(feature, dtype)) for feature in features])
    values = st.one_of(
        st.floats(-20, 20),
        st.integers(-2, 6).map(float),
        st.just(np.nan),
        st.sampled_from([-0.0, 1e300, -np.inf]),
    )
    rows = np.array(draw(st.lists(st.tuples(*[values] * len(features)), min_size=1, max_size=8)))
    rows = np.where(draw(st.booleans()), rows, np.where(rows > 2, x, rows))
    free = np.array(draw(st.lists(st.booleans(), min_size=len(features), max_size=len(features))))
    return bounds(x, *features, dtype=dtype), rows, free


@st.composite
def _features(draw, name):
    shared = {"name": name, "immutable": draw(st.booleans()) and draw(st.booleans())}
    shared["may_go_missing"] = draw(st.booleans())
    if not shared["immutable"]:
        shared["direction"] = draw(st.sampled_from([0, 0, 1, -1]))
    if draw(st.booleans()):
        categories = ("a", "b", "c", None)[: draw(st.integers(2, 4))]
        some = draw(st.lists(st.sampled_from(categories), min_size=1, unique=True))
        return Feature(
            kind="categorical",
            categories=categories,
            ordered=True,
            range=draw(st.sampled_from([None, tuple(some)])),
            **shared,
        )
    low, width = draw(st.floats(-5, 5)), draw(st.floats(2, 9))
    return Feature(
        seen=(low, low + width),
        range=draw(st.sampled_from([None, (low, low + width), (low, np.inf)])),
        step=draw(st.sampled_from([None, 1, 0.1, 0.25, 1.7])),
        missing=draw(st.booleans()),
        **shared,
    )


def _x_values(feature, dtype):
    if feature.is_categorical:
        return st.sampled_from(range(len(feature.categories))).map(float)
    low, high = feature.range or feature.seen
    near = st.floats(low - 3, min(high, 50) + 3).map(lambda v: float(np.dtype(dtype).type(v)))
    return st.one_of(near, st.just(np.nan)) if feature.missing else near


@settings(max_examples=150, deadline=None)
@given(problems())
def test_projected_rows_are_admissible_or_x_and_keep_what_is_not_free(problem):
    around, rows, free = problem
    projected = around.project(rows, free)
    unreachable = around.rules.outside(around.home) is not None
    assert (around.admissible(projected) | is_x(around, projected)).all() or unreachable
    fixed = np.broadcast_to(around.home, rows.shape)[:, ~free]
    assert (projected[:, ~free].view(np.int64) == np.ascontiguousarray(fixed).view(np.int64)).all()


@settings(max_examples=150, deadline=None)
@given(problems())
def test_admissible_rows_are_projected_to_themselves(problem):
    around, rows, _ = problem
    everything = np.ones(rows.shape[1], dtype=bool)
    for candidates in (rows, around.project(rows, everything)):
        good = candidates[around.admissible(candidates)]
        np.testing.assert_array_equal(around.project(good, everything), good)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_admissible_rows_keep_every_constraint_by_the_word(problem):
    around, rows, free = problem
    schema = around.rules.schema
    projected = around.project(rows, free)
    assert around.rules.outside(projected[around.admissible(projected)]) is None
    for row in projected:
        for feature, old, new in zip(schema.features, around.x, row, strict=True):
            if new == old or (np.isnan(new) and np.isnan(old)):
                continue
            assert not feature.immutable
            value = feature.label(new)
            assert value is not None or feature.may_lose
            if feature.is_categorical:
                assert feature.allows(value)
            elif value is not None:
                low, high = feature.range or feature.seen
                assert low <= new <= high
            assert not (new - old) * feature.direction < 0


@settings(max_examples=50, deadline=None)
@given(problems())
def test_many_x_are_bounded_as_each_alone_is(problem):
    around, rows, free = problem
    many = around.rules.around(np.repeat(around.x[None], len(rows), axis=0))
    np.testing.assert_array_equal(many.project(rows, free), around.project(rows, free))
    np.testing.assert_array_equal(many.admissible(rows), around.admissible(rows))
