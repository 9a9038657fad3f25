"""Dummy columns: which are detected, how they are declared, and that no answer breaks a group."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterpoint as cp
from counterpoint._util import say_once
from counterpoint.data.problems import InvalidError
from counterpoint.data.schema import Schema
from counterpoint.report.many import Many


def people(size: int = 300, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, size),
            "purpose": rng.choice(["new car", "tv", "house"], size, p=[0.5, 0.3, 0.2]),
            "home": rng.choice(["own", "rent"], size),
        }
    )


def dummies(X: pd.DataFrame, **options) -> pd.DataFrame:
    return pd.get_dummies(X, columns=["purpose", "home"], **options)


def decide(table: pd.DataFrame) -> np.ndarray:
    """Look at single columns; a row that breaks a group is a bug."""
    for prefix in ("purpose", "home"):
        flags = table[[name for name in table if name.startswith(prefix)]].to_numpy().astype(float)
        assert np.isin(flags, [0, 1]).all()
        assert (flags.sum(axis=1) <= 1).all()
    return (table["age"] + 20 * table["purpose_tv"] - 20 * table["purpose_house"]).to_numpy() > 50


# ---------------------------------------------------------------- detection


@pytest.mark.parametrize("separator", ["_", "=", ".", "-", ": ", "/", " "])
@pytest.mark.parametrize("dtype", [bool, int, float, "int8", "float32", "Int64", "boolean"])
def test_groups_are_detected(separator, dtype):
    table = dummies(people(), prefix_sep=separator, dtype=dtype)
    schema = Schema.infer(table)
    assert schema.names == ("age", "purpose", "home")
    assert schema.features[1].categories == ("house", "new car", "tv")
    assert not schema.features[1].ordered
    decoded = schema.decode(schema.encode(table))
    pd.testing.assert_frame_equal(decoded, table, check_exact=True)


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_groups_with_a_dropped_level_are_detected(dtype):
    table = dummies(people(), drop_first=True, dtype=dtype)
    schema = Schema.infer(table)
    # One column alone is no group.
    assert schema.names == ("age", "purpose", "home_rent")
    assert schema.features[1].categories == ("new car", "tv", "none of these")
    pd.testing.assert_frame_equal(schema.decode(schema.encode(table)), table, check_exact=True)


def test_groups_in_polars():
    table = pl.from_pandas(dummies(people()))
    schema = Schema.infer(table)
    assert schema.onehot == {
        "purpose": ("purpose_house", "purpose_new car", "purpose_tv"),
        "home": ("home_own", "home_rent"),
    }
    assert schema.decode(schema.encode(table)).equals(table)
    assert schema.decode(schema.encode(table)).schema == table.schema


def test_columns_as_patsy_names_them():
    table = dummies(people()).rename(
        columns=lambda name: name.replace("home_", "C(home)[T.") + "]" * ("home" in name)
    )
    assert Schema.infer(table).features[2].categories == ("own", "rent")


def test_the_shortest_prefix_counts_and_the_longest_names_it():
    rng = np.random.default_rng(0)
    kinds = rng.choice(["loan_kind_new_car", "loan_kind_new_tv", "loan_kind_used_car"], 200)
    others = rng.choice(["loan_state_a", "loan_state_b"], 200)
    table = pd.concat([pd.get_dummies(kinds), pd.get_dummies(others)], axis=1)
    assert set(Schema.infer(table).names) == {"loan_kind", "loan_state"}


def test_words_of_categories_are_no_part_of_the_name():
    """Names as in the data set german: the separator of the group counts, not one within a category."""
    rng = np.random.default_rng(0)
    kinds = rng.choice(["male, single", "male, divorced", "male, married"], 200)
    table = pd.get_dummies(pd.DataFrame({"personal_status_sex": kinds}))
    assert Schema.infer(table).names == ("personal_status_sex",)
    assert Schema.infer(table).features[0].categories == ("male, divorced", "male, married", "male, single")
    declared = Schema.infer(table, onehot={"who": list(table)})
    assert declared.features[0].categories == ("male, divorced", "male, married", "male, single")


def test_two_rare_flags_are_no_group():
    rng = np.random.default_rng(0)
    flags = rng.random((300, 2)) < 0.02
    assert not flags.all(axis=1).any()
    assert not Schema.infer(pd.DataFrame(flags, columns=["has_fraud", "has_default"])).onehot


def test_two_common_flags_that_are_never_both_set_are_a_group():
    rng = np.random.default_rng(0)
    state = rng.choice(3, 300)
    table = pd.DataFrame({"is_student": state == 0, "is_retired": state == 1})
    assert Schema.infer(table).names == ("is",)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.assign(home_own=1),  # with home_rent in some rows
        lambda t: t.assign(home_own=t["home_own"] * 2),
        lambda t: t.assign(home_own=t["home_own"].astype(float).replace(0.0, np.nan)),
        lambda t: t.assign(home_own=t["home_own"].astype(str)),
        lambda t: t.assign(home_own=np.where(t["home_own"], 1.0, -0.0)),
        lambda t: t.rename(columns={"home_own": "own"}),
        lambda t: t.assign(home_own=1, home_rent=0),  # always the same
        lambda t: t[:5],  # too few rows to tell
    ],
)
def test_no_groups(change):
    table = change(dummies(people(), dtype=int))
    assert (
        "home" not in Schema.infer(table[[name for name in table if "home" in name or name == "own"]]).onehot
    )


def test_arrays_have_no_names_to_detect_groups_by():
    assert not Schema.infer(dummies(people(), dtype=float).to_numpy()).onehot


def test_groups_with_the_same_prefix_and_other_separators():
    one, other = dummies(people(), prefix_sep="_"), dummies(people(seed=1), prefix_sep="=")
    table = pd.concat([one, other.drop(columns="age")], axis=1)
    assert set(Schema.infer(table).names) == {"age", "purpose", "home", "purpose_", "home_"}


def test_sparse_columns():
    table = dummies(people(), sparse=True)
    schema = Schema.infer(table)
    assert schema.names == ("age", "purpose", "home")
    pd.testing.assert_frame_equal(schema.decode(schema.encode(table)), table)


def test_many_flags_that_are_no_group():
    """Columns of words, as a text is encoded, take no time that grows with the square of their number."""
    flags = np.random.default_rng(0).random((200, 2000)) < 0.01
    table = pd.DataFrame(flags, columns=[f"word_{i}" for i in range(2000)])
    assert not Schema.infer(table).onehot


def test_a_column_with_the_groups_name():
    table = dummies(people()).assign(home=1.5)
    assert Schema.infer(table).names == ("age", "purpose", "home_", "home")


def test_a_float_column_of_0_and_1_is_a_flag():
    table = dummies(people(), drop_first=True, dtype=float)
    schema = Schema.infer(table)
    assert schema.features[-1].step == 1
    assert Schema.infer(table, onehot=False).features[-1].step is None
    found = cp.Ensemble(size=6).fit(lambda t: t["home_rent"].to_numpy() > 0.3, table, progress=False)
    assert found.explain(table.iloc[[0]], k=5).counterfactuals["home_rent"].isin([0.0, 1.0]).all()


def test_detection_can_be_turned_off():
    table = dummies(people())
    assert Schema.infer(table, onehot=False).names == tuple(table)


# ---------------------------------------------------------------- declaring


def test_declared_groups_are_all_there_are():
    schema = Schema.infer(dummies(people()), onehot={"flat": ["home_own", "home_rent"]})
    assert schema.onehot == {"flat": ("home_own", "home_rent")}
    assert schema.features[-1].categories == ("own", "rent")


def test_categories_can_be_named_also_that_of_no_column():
    table = dummies(people(), drop_first=True)
    schema = Schema.infer(
        table, onehot={"purpose": {"house": None, "car": "purpose_new car", "tv": "purpose_tv"}}
    )
    assert schema.features[1].categories == ("car", "tv", "house")
    assert schema.form.columns(table)[1].tolist() == people()["purpose"].str.replace("new ", "").tolist()


def test_one_column_and_a_category_without_one():
    schema = Schema.infer(
        dummies(people(), drop_first=True), onehot={"home": {"own": None, "rent": "home_rent"}}
    )
    assert schema.features[-1].categories == ("rent", "own")


def test_columns_of_an_array_are_named_by_index():
    X = dummies(people(), dtype=float).to_numpy()
    schema = Schema.infer(X, onehot={"purpose": [1, 2, 3], "home": ["x4", "x5"]}, immutable=[4])
    assert schema.names == ("x0", "purpose", "home")
    assert [feature.immutable for feature in schema.features] == [False, False, True]
    assert (schema.decode(schema.encode(X)) == X).all()


@pytest.mark.parametrize(
    ("onehot", "says"),
    [
        ({"home": ["home_own", "home_none"]}, "must name columns of X, got 'home_none'"),
        ({"home": ["home_own"]}, "at least two columns"),
        ({"home": "home_own"}, "must list columns"),
        (["home_own"], "onehot must map"),
        ({"a": ["home_own", "home_rent"], "b": ["home_own", "age"]}, "each column once"),
        ({"age": ["home_own", "home_rent"]}, "a column has this name"),
        ({"home": {"a": None, "b": None, "c": "home_own"}}, "at most one category without a column"),
        ({"home": {None: "home_own", "b": "home_rent"}}, "each category once"),
        ({"home": ["home_own", "name"]}, "must hold bools or numbers"),
    ],
)
def test_groups_that_cannot_be(onehot, says):
    table = dummies(people()).assign(name="x")
    with pytest.raises((ValueError, TypeError), match=says):
        Schema.infer(table, onehot=onehot)


def test_a_schema_knows_its_groups():
    X = dummies(people())
    with pytest.raises(ValueError, match="either schema or onehot"):
        cp.Tree().fit(decide, X, schema=Schema.infer(X), onehot=False)


# ---------------------------------------------------------------- rows that break a group


@pytest.mark.parametrize("both", [0, 1])
def test_a_row_that_breaks_a_group_is_named(both):
    X = dummies(people(), dtype=int)
    explainer = cp.Tree().fit(decide, X, progress=False)
    broken = X.iloc[:3].copy()
    broken.loc[1, ["home_own", "home_rent"]] = both
    (problem,) = explainer.problems(broken)
    assert (problem.row, problem.column) == (1, "home")
    assert problem.value == {"home_own": both, "home_rent": both}
    assert "exactly one of them is 1" in problem.reason
    with pytest.raises(InvalidError, match="onehot=False"):
        explainer.explain(broken.loc[1])
    found = explainer.explain_many(broken, k=1, invalid="skip", progress=False)
    assert found.instances.tolist() == [0, 2]
    assert "'home_own'" in cp.Explanations.from_json(found.to_json()).skipped[0].value


def test_known_instances_that_break_a_declared_group_are_refused():
    X = dummies(people(), dtype=int)
    X.loc[7, ["purpose_tv", "purpose_house"]] = 1
    with pytest.raises(InvalidError, match=r"X\[7\] has 'purpose'"):
        cp.Tree().fit(decide, X, onehot={"purpose": [name for name in X if "purpose" in name]})


def test_broken_rows_of_an_immutable_group_are_refused_too():
    X = dummies(people(), dtype=int)
    explainer = cp.Tree().fit(decide, X, immutable=["home"], progress=False)
    with pytest.raises(InvalidError, match="exactly one"):
        explainer.explain(X.iloc[0].replace(1, 0))


# ---------------------------------------------------------------- constraints


def test_one_column_in_immutable_freezes_the_group():
    schema = Schema.infer(dummies(people()), immutable=["purpose_tv", "purpose_house", "age"])
    assert [feature.immutable for feature in schema.features] == [True, True, False]


@pytest.mark.parametrize(
    "constraint",
    [{"ranges": {"purpose_tv": (0, 1)}}, {"increase": ["purpose_tv"]}, {"order": {"purpose_tv": [0, 1]}}],
)
def test_other_constraints_name_the_group(constraint):
    with pytest.raises(ValueError, match="'purpose_tv' is a column of 'purpose'"):
        Schema.infer(dummies(people()), **constraint)


def test_ranges_and_orders_of_groups():
    X = dummies(people())
    explainer = cp.Ensemble(size=8).fit(
        decide,
        X,
        ranges={"purpose": ["tv", "house"]},
        order={"purpose": ["house", "new car", "tv"]},
        increase=["purpose"],
        immutable=["age"],
        progress=False,
    )
    x = X[(X["purpose_house"]) & X["age"].between(40, 45)].iloc[[0]]
    found = explainer.explain(x, k=3)
    assert len(found)
    assert found.counterfactuals["purpose_tv"].all()


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("dtype", [bool, int, float])
@pytest.mark.parametrize("drop_first", [False, True])
def test_answers_show_categories_and_keep_the_columns(dtype, drop_first, tmp_path):
    X = dummies(people(), dtype=dtype, drop_first=drop_first)
    X = (
        X
        if drop_first is False
        else X.assign(purpose_house=(X.filter(like="purpose").sum(axis=1) == 0).astype(dtype))
    )
    explainer = cp.Ensemble(size=6).fit(decide, X, immutable=["age"], progress=False)
    x = X[(X["age"] > 55) & (X["purpose_tv"] == 0) & (X["purpose_house"] == 0)].iloc[[0]]
    found = explainer.explain(x, k=1)
    assert found.changes.to_numpy().tolist() == [[1, "purpose", "new car", "house"]]
    assert found.sentences()[0].startswith("If purpose were 'house' instead of 'new car'")
    assert "purpose    new car" in str(found)
    assert found.counterfactuals.dtypes.equals(X.dtypes)
    assert list(found.counterfactuals) == list(X)
    pd.testing.assert_frame_equal(found.x, x.reset_index(drop=True))
    several = explainer.explain_many(X[:4], k=2, progress=False)
    assert set(X) <= set(several.frame)
    read = cp.Explanations.from_json(several.to_json())
    pd.testing.assert_frame_equal(read.frame, several.frame)
    cp.save(explainer, tmp_path / "saved")
    assert cp.load(tmp_path / "saved", decide).explain(x, k=1).rows.tobytes() == found.rows.tobytes()


def test_reports_show_categories():
    X = dummies(people())
    explainer = cp.Ensemble(size=6).fit(decide, X, immutable=["age"], progress=False)
    found = explainer.explain_many(X[:40], k=1, progress=False)
    facts = Many.of(found, X[:40], groups=["purpose"])
    assert facts.ranked[0].name == "purpose"
    assert {group.name for group in facts.splits[0].groups} == {"new car", "tv", "house"}


def test_what_was_detected_is_said_once(capsys):
    say_once._SAID.clear()
    X = dummies(people())
    cp.Tree().fit(decide, X)
    cp.Tree().fit(decide, X)
    said = capsys.readouterr().err.splitlines()
    assert len([line for line in said if "home (2 columns)" in line]) == 1
    say_once._SAID.clear()
    cp.Tree().fit(decide, X, progress=False)
    cp.Tree().fit(decide, X, onehot=Schema.infer(X).onehot)
    assert not capsys.readouterr().err
    assert cp.Tree().fit(decide, X, progress=False).fitted_.schema.onehot["home"] == ("home_own", "home_rent")
