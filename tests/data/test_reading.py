"""What may not change may hold anything, and one bad row does not stop the others."""

import pickle
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

import counterpoint as cp
from counterpoint import report
from counterpoint.data.constraints import Rules
from counterpoint.data.distance import Distance
from counterpoint.data.tables import TableFormat

RNG = np.random.default_rng(0)
SIZE = 120
BASE = {"pay": RNG.gamma(4, 10, SIZE).round(1), "hours": RNG.integers(5, 60, SIZE)}
HOURS = pd.date_range("2024-10-26", periods=SIZE, freq="h", tz="Europe/Berlin")  # a clock is put back

EXPLAINERS = [
    cp.BruteForce(),
    cp.Tree(),
    cp.Sphere(),
    cp.Neighbours(),
    cp.Guided(),
    cp.Evolution(),
    cp.Ensemble(),
    cp.Ensemble(selection=cp.DIVERSE),
]


def grant(table):
    return np.asarray(table["pay"] + table["hours"] > 80)


def each_fixed(name, known, asked):
    """A table with an immutable column, and instances that hold something else in it."""
    X = pd.DataFrame(BASE).assign(**{name: known})
    return X, X[: len(asked)].assign(**{name: asked})


# What an immutable column holds, and what it has never held.
UNSEEN = {
    "names": ([f"p{i}" for i in range(SIZE)], ["new", "p0", "newer", "new"]),
    "missing names": ([f"p{i}" for i in range(SIZE)], ["new", None, "p0"]),
    "objects": (
        pd.Series([f"p{i}" for i in range(SIZE)], dtype=object),
        pd.Series([None, 3, "x"], dtype=object),
    ),
    "categories": (pd.Categorical(["a", "b"] * (SIZE // 2)), pd.Categorical(["c", "a", None, "d"])),
    "texts": (pd.array(["a", "b"] * (SIZE // 2), "string"), pd.array(["c", None, "a"], "string")),
    "bools": (RNG.random(SIZE) < 0.5, [None, True, False]),
    "dates": (HOURS.tz_localize(None), HOURS.tz_localize(None)[:3] + pd.Timedelta("1us")),
    "missing dates": (HOURS.tz_localize(None), [pd.Timestamp("2030-01-01"), pd.NaT, pd.NaT]),
    "dates with a zone": (HOURS, HOURS[:3] + pd.Timedelta("90min")),
    "spans": (pd.to_timedelta(np.arange(SIZE), unit="s"), pd.to_timedelta([5, 10**6], unit="s")),
    "periods": (
        pd.period_range("2020-01", periods=SIZE, freq="M"),
        pd.period_range("1999-01", periods=3, freq="M"),
    ),
    "days": ([date(2020, 1, 1) + timedelta(i) for i in range(SIZE)], [date(1999, 1, 1), date(2020, 1, 1)]),
    "ids": (np.arange(SIZE) + 2**60, np.array([2**60 + 1, 2**61 + 1, 7])),
    "unsigned ids": (np.arange(SIZE, dtype="u8") + 2**63, np.array([2**63 + 1, 5], dtype="u8")),
    "infinite": (RNG.normal(size=SIZE), [np.inf, -np.inf, 0.5]),
    "missing": (RNG.normal(size=SIZE), [np.nan, 0.5]),
    "whole and missing": (np.arange(SIZE), [np.nan, 7.0]),
    "parts of whole ones": (np.arange(SIZE), [7.5, 1e300]),
    "nullable": (pd.array(np.arange(SIZE), "Int64"), pd.array([None, 10**6], "Int64")),
    "small": (np.arange(SIZE, dtype="i1"), np.array([1000, 3])),
    "single": (RNG.normal(size=SIZE).astype("f4"), [1e300, 0.5]),
    "known to be infinite": (np.r_[np.inf, RNG.normal(size=SIZE - 1)], [np.inf, np.nan, 0.5]),
    "never known": (np.full(SIZE, np.nan), [np.nan, 0.5]),
}


def same(a, b):
    return (pd.isna(a) and pd.isna(b)) or a == b


@pytest.mark.parametrize("name", UNSEEN)
def test_what_may_not_change_may_hold_anything(name):
    X, asked = each_fixed("kept", *UNSEEN[name])
    explainer = cp.Ensemble(size=4).fit(grant, X, immutable=["kept"])
    known = explainer.fitted_.schema
    many = explainer.explain_many(asked, 3, progress=False)
    assert explainer.fitted_.schema is known
    assert not many.skipped
    for place, answer in enumerate(many):
        assert len(answer) == 3
        assert np.isfinite(answer.distance).all()
        wanted = asked["kept"].iloc[place]
        assert all(same(value, wanted) for value in [*answer.counterfactuals["kept"], answer.x["kept"][0]])
        alone = explainer.explain(asked[place : place + 1], 3)
        free = ["pay", "hours"]
        pd.testing.assert_frame_equal(alone.counterfactuals[free], answer.counterfactuals[free])
        assert alone.sentences() == answer.sentences()
        assert str(alone) == str(answer)
    back = cp.Explanations.from_json(many.to_json())
    pd.testing.assert_frame_equal(back.frame, many.frame)
    assert len(many.changes) == len(back.changes)


@pytest.mark.parametrize("name", UNSEEN)
def test_answers_of_several_runs_go_together(name):
    X, asked = each_fixed("kept", *UNSEEN[name])
    explainer = cp.Tree().fit(grant, X, immutable=["kept"])
    together = explainer.explain_many(asked, 2, progress=False)
    alone = [explainer.explain(asked[place : place + 1], 2) for place in range(len(asked))]
    pd.testing.assert_frame_equal(cp.Explanations(alone).frame, together.frame, check_categorical=False)


@pytest.mark.parametrize("name", ["names", "dates with a zone", "ids", "categories", "infinite"])
def test_what_is_new_can_be_reported_measured_and_drawn(name):
    X, asked = each_fixed("kept", *UNSEEN[name])
    explainer = cp.Neighbours().fit(grant, X, immutable=["kept"])
    many = explainer.explain_many(asked, 2, progress=False)
    assert report.html(report.one(many[0], explainer))
    assert report.html(report.Many.of(many, asked))
    assert cp.evaluate(explainer, asked, k=2)["size"].tolist() == [1.0]
    many[0].plot()


@pytest.mark.parametrize("name", ["names", "dates", "dates with a zone", "ids", "categories", "spans"])
def test_the_model_is_given_the_dtype_it_knows(name):
    X, asked = each_fixed("kept", *UNSEEN[name])
    kinds = set()

    def model(table):
        kinds.add(type(table["kept"].dtype))
        return grant(table)

    answer = cp.Tree().fit(model, X, immutable=["kept"]).explain_many(asked, 2, progress=False)[0]
    assert kinds == {type(X["kept"].dtype)}
    if name != "categories":
        assert answer.counterfactuals["kept"].dtype == X["kept"].dtype


@pytest.mark.parametrize("explainer", EXPLAINERS, ids=lambda each: type(each).__name__)
def test_every_explainer_explains_a_table_with_names_dates_and_odd_numbers(explainer):
    X = pd.DataFrame(BASE).assign(name=[f"p{i}" for i in range(SIZE)], day=HOURS, score=RNG.normal(size=SIZE))
    asked = X[:3].assign(name="new", day=HOURS[:3] + pd.Timedelta("1s"), score=[np.inf, np.nan, 1e308])
    fitted = explainer.clone().fit(grant, X, immutable=["name", "day", "score"])
    many = fitted.explain_many(asked, 2, progress=False)
    assert [len(each) for each in many] == [2, 2, 2]
    assert (many.frame["name"] == "new").all()
    assert np.isfinite(many.frame["distance"]).all()


POLARS = {
    "text": (pl.Series([f"p{i}" for i in range(SIZE)]), pl.Series(["new", None, "p0"])),
    "enum": (
        pl.Series(["a", "b"] * (SIZE // 2), dtype=pl.Enum(["a", "b"])),
        pl.Series(["c", None, "a"], dtype=pl.Enum(["a", "b", "c"])),
    ),
    "categories": (
        pl.Series(["a", "b"] * (SIZE // 2), dtype=pl.Categorical),
        pl.Series(["c", None, "a"], dtype=pl.Categorical),
    ),
    "dates": (
        pl.Series([date(2020, 1, 1) + timedelta(i) for i in range(SIZE)]),
        pl.Series([date(1999, 1, 1), None]),
    ),
    "times": (pl.Series([time(i % 24, i % 60) for i in range(SIZE)]), pl.Series([time(23, 59, 59), None])),
    "nanoseconds": (
        pl.Series(range(SIZE)).cast(pl.Datetime("ns", "Europe/Berlin")),
        pl.Series([1001, 1002, None]).cast(pl.Datetime("ns", "Europe/Berlin")),
    ),
    "a clock put back": (
        pl.Series([1729983600 + 1800 * i for i in range(SIZE)]).cast(pl.Datetime("ms", "Europe/Berlin")),
        pl.Series([1729989000000, 1729992600000]).cast(pl.Datetime("ms", "Europe/Berlin")),
    ),
    "spans": (
        pl.Series(range(SIZE)).cast(pl.Duration("ns")),
        pl.Series([1001, None]).cast(pl.Duration("ns")),
    ),
    "bools": (pl.Series([True, False] * (SIZE // 2)), pl.Series([None, True])),
    "whole": (pl.Series(range(SIZE)), pl.Series([None, 10**6])),
    "floats": (pl.Series(RNG.normal(size=SIZE)), pl.Series([None, float("inf")])),
    "ids": (pl.Series(range(SIZE)) + 2**60, pl.Series([2**61 + 1, 3])),
}


@pytest.mark.parametrize("name", POLARS)
def test_polars_columns_that_may_not_change_may_hold_anything(name):
    known, new = POLARS[name]
    X = pl.DataFrame(BASE).with_columns(kept=known)
    asked = X[: len(new)].with_columns(kept=new)
    explainer = cp.Tree().fit(lambda table: grant(table.to_pandas()[["pay", "hours"]]), X, immutable=["kept"])
    many = explainer.explain_many(asked, 2, progress=False)
    for place, answer in enumerate(many):
        wanted = new[place : place + 1].cast(answer.counterfactuals["kept"].dtype)
        assert answer.counterfactuals["kept"].equals(pl.concat([wanted] * len(answer)), null_equal=True)
        assert answer.counterfactuals["kept"].dtype == (known.dtype if name != "enum" else new.dtype)
    assert cp.Explanations.from_json(many.to_json()).frame.equals(many.frame)


def test_arrays_that_may_not_change_may_hold_anything():
    X = np.column_stack([BASE["hours"], RNG.integers(0, 9, SIZE)])
    explainer = cp.Tree().fit(lambda rows: rows[:, 0] > 30, X, immutable=[1])
    found = explainer.explain(np.array([10.0, np.nan]), 2).counterfactuals
    assert np.isnan(found[:, 1]).all()
    texts = np.column_stack([X.astype(str), ["ab"] * SIZE])
    explainer = cp.Tree().fit(lambda rows: rows[:, 0] > "3", texts, immutable=[2])
    assert explainer.explain(np.array(["10", "1", "abcdef"]), 1).counterfactuals[0, 2] == "abcdef"


def test_python_dates_with_a_zone_are_kept_and_saved():
    zone = ZoneInfo("Europe/Berlin")
    moments = pd.Series(
        [datetime(2020, 1, 1 + i % 28, i % 24, tzinfo=zone) for i in range(SIZE)], dtype=object
    )
    X = pd.DataFrame(BASE).assign(at=moments)
    new = datetime(2024, 10, 27, 2, 30, tzinfo=zone, fold=1)
    explainer = cp.Tree().fit(grant, X, immutable=["at"])
    many = explainer.explain_many(X[:1].assign(at=pd.Series([new], dtype=object)), 2, progress=False)
    for answer in (many[0], cp.Explanations.from_json(many.to_json())[0]):
        kept = answer.counterfactuals["at"][0]
        assert (kept, kept.fold, kept.tzinfo) == (new, 1, zone)


def test_durations_that_may_change_are_refused_with_the_cure():
    with pytest.raises(TypeError, match="name it in immutable="):
        cp.Tree().fit(grant, pd.DataFrame(BASE).assign(stay=pd.Timedelta(hours=1)))


def test_a_schema_of_the_callers_is_widened_by_the_known_instances():
    X = pd.DataFrame(BASE).assign(name=[f"p{i}" for i in range(SIZE)])
    schema = cp.Schema.infer(X[:50], immutable=["name"])
    explainer = cp.Tree().fit(grant, X, schema=schema)
    assert len(explainer.fitted_.schema.features[2].categories) == SIZE
    assert explainer.explain(X[99:100], 1).x["name"][0] == "p99"


def test_a_schema_encodes_only_what_it_knows():
    X = pd.DataFrame(BASE).assign(name=[f"p{i}" for i in range(SIZE)])
    schema = cp.Schema.infer(X, immutable=["name"])
    with pytest.raises(
        ValueError, match=r"X contains values in \['name'\] that this schema does not know. Use read"
    ):
        schema.encode(X.assign(name="new"))


def test_an_odd_immutable_number_does_not_spoil_distances():
    rows = np.array([[1.0, 2.0], [np.inf, 3.0], [np.nan, 5.0]])
    X = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 9.0]])
    distance = Distance.fit(cp.Schema.infer(X, immutable=[0]), X)
    assert np.isfinite(distance.between(rows, X)).all()
    assert distance.from_x(rows, rows).tolist() == [0, 0, 0]


# One bad row


PEOPLE = pd.DataFrame(BASE).assign(job=RNG.choice(["clerk", "smith"], SIZE))
BAD = pd.DataFrame(
    {
        "pay": np.array([10.0, np.inf, "much", np.nan, 20.0], dtype=object),
        "hours": [10.0, 20.0, 30.5, 40.0, 50.0],
        "job": ["clerk", "king", "smith", "clerk", "smith"],
    },
    index=["ann", "bob", "cid", "dora", "eve"],
)
FACTS = [
    (1, "pay", np.inf, "It is infinite. "),
    (1, "job", "king", "No known instance has this category. "),
    (2, "pay", "much", "It is not a number. "),
    (2, "hours", 30.5, "The column holds whole numbers (int64). "),
    (3, "pay", None, "It is missing, but in no known instance. "),
]


@pytest.fixture(scope="module")
def explainer():
    return cp.Ensemble(size=4).fit(grant, PEOPLE)


def test_all_problems_are_listed_without_asking_the_model():
    calls = []

    def model(table):
        calls.append(len(table))
        return grant(table)

    explainer = cp.Tree().fit(model, PEOPLE)
    calls.clear()
    problems = explainer.problems(BAD)
    assert calls == []
    assert [(p.row, p.column) for p in problems] == [fact[:2] for fact in FACTS]
    for problem, (*_, value, reason) in zip(problems, FACTS, strict=True):
        assert same(problem.value, value)
        assert problem.reason.startswith(reason)
    assert explainer.problems(PEOPLE) == []


def test_an_error_names_the_first_problems_and_counts_all(explainer):
    for asks in (explainer.check, explainer.explain_many):
        with pytest.raises(cp.InvalidError) as caught:
            asks(BAD)
        assert len(caught.value.problems) == 5
        text = str(caught.value)
        assert text.startswith("X contains 5 values that cannot be explained, in 3 rows. The first 3:")
        assert "- X[1] has 'pay' = inf. It is infinite. Replace it with a number" in text
        assert "X[3]" not in text
        assert str(pickle.loads(pickle.dumps(caught.value))) == text


def test_one_instance_is_called_x(explainer):
    with pytest.raises(cp.InvalidError, match=r"^x has 'job' = 'king'. No known instance has this category"):
        explainer.explain({"pay": 10.0, "hours": 10, "job": "king"})
    with pytest.raises(
        cp.InvalidError, match=r"^x contains 2 values that cannot be explained.\n- x has 'pay' = inf"
    ):
        explainer.explain({"pay": np.inf, "hours": 10, "job": "king"})


def test_bad_rows_are_skipped_and_the_others_answered_as_ever(explainer):
    found = explainer.explain_many(BAD, 2, invalid="skip", progress=False)
    assert found.instances.tolist() == ["ann", "eve"]
    assert [problem.row for problem in found.skipped] == [1, 1, 2, 2, 3]
    fine = BAD.loc[["ann", "eve"]].astype(PEOPLE.dtypes)
    for answer, alone in zip(found, explainer.explain_many(fine, 2, progress=False), strict=True):
        assert answer.rows.tobytes() == alone.rows.tobytes()
    assert set(found.frame["instance"]) == {"ann", "eve"}
    assert "3 rows could not be explained. The first: X[1] has 'pay' = inf" in str(found)
    assert found[:1].skipped == found.skipped


def test_skipped_rows_are_saved(explainer):
    found = explainer.explain_many(BAD, 2, invalid="skip", progress=False)
    back = cp.Explanations.from_json(found.to_json())
    assert str(back.skipped) == str(found.skipped)
    assert back.instances.tolist() == ["ann", "eve"]


def test_rows_without_labels_are_named_by_their_places(explainer):
    found = explainer.explain_many(
        pl.DataFrame({"pay": [1.0, np.inf, 3.0], "hours": [1, 2, 3], "job": ["clerk", "smith", "smith"]}),
        2,
        invalid="skip",
        progress=False,
    )
    assert found.instances.tolist() == [0, 2]


def test_nothing_is_left_if_all_rows_are_bad(explainer):
    found = explainer.explain_many(PEOPLE[:3].assign(job="king"), 2, invalid="skip", progress=False)
    assert len(found) == 0
    assert len(found.skipped) == 3
    assert list(found.frame.columns[2:5]) == ["pay", "hours", "job"]


def test_a_model_that_fails_names_rows_by_their_places_in_x():
    def model(table):
        if (table["pay"] > 900).any():
            raise RuntimeError("too rich")
        return grant(table)

    explainer = cp.Tree().fit(model, PEOPLE)
    asked = pd.concat([PEOPLE[:1].assign(job="king"), PEOPLE[:1].assign(pay=999.0), PEOPLE[:1]])
    with pytest.raises(cp.IncompleteError) as caught:
        explainer.explain_many(asked, 2, invalid="skip", progress=False)
    assert list(caught.value.failed) == [1]
    assert caught.value.places == [2]
    assert len(caught.value.finished.skipped) == 1


def test_an_unknown_way_to_treat_bad_rows_is_refused(explainer):
    with pytest.raises(ValueError, match='invalid must be "raise" or "skip", got \'drop\''):
        explainer.explain_many(PEOPLE, invalid="drop")


def test_a_list_is_no_category(explainer):
    asked = PEOPLE[:2].assign(job=pd.Series([["clerk"], "clerk"], dtype=object))
    (problem,) = explainer.problems(asked)
    assert (problem.row, problem.value) == (0, ["clerk"])
    fixed = cp.Tree().fit(grant, PEOPLE, immutable=["job"])
    assert fixed.problems(asked) == [problem]


def test_an_id_that_would_not_be_kept_exactly_is_named():
    X = pd.DataFrame(BASE).assign(id=np.arange(SIZE))
    explainer = cp.Tree().fit(grant, X, immutable=["id"])
    asked = X[:3].assign(id=[2**53 + 1, 2**60, 3])
    assert [(p.row, p.value) for p in explainer.problems(asked)] == [(0, 2**53 + 1)]
    named = cp.Tree().fit(grant, X, immutable=["id"], categorical=["id"])
    assert named.explain(asked[:1], 1).counterfactuals["id"].tolist() == [2**53 + 1]


def test_bad_images_are_named_one_by_one():
    X = RNG.normal(size=(40, 1, 24))
    explainer = cp.Ensemble(size=4, codec=cp.Kernel((1, 4)))
    explainer.fit(lambda series: series.mean(axis=(1, 2)) > 0, X)
    asked = X[:4].copy()
    asked[1, 0, 3], asked[2, 0, 5] = np.nan, 1e6
    assert [(p.row, p.column) for p in explainer.problems(asked)] == [(1, "0,3"), (2, "0,5")]
    found = explainer.explain_many(asked, 2, invalid="skip", progress=False)
    assert found.instances.tolist() == [0, 3]
    for answer, place in zip(found, (0, 3), strict=True):
        assert answer.rows.tobytes() == explainer.explain(X[place], 2).rows.tobytes()


# Many names


class Counted(str):
    """A text that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)


def test_listing_many_categories_compares_each_a_few_times():
    names = tuple(Counted(place) for place in range(2000))
    form = TableFormat.of(pd.DataFrame({"c": pd.Series(names, dtype=object)}))
    Counted.compared = 0
    feature = cp.Feature("c", kind="categorical", categories=names, range=tuple(map(Counted, range(1000))))
    rules = Rules.of(cp.Schema((feature,), form))
    assert rules.around(np.array([[1500.0]])).home.tolist() == [[999.0]]
    assert Counted.compared < 20 * len(names)


def test_naming_many_columns_compares_each_a_few_times():
    names = [Counted(place) for place in range(2000)]
    X = pd.DataFrame(np.arange(4000.0).reshape(2, 2000), columns=pd.Index(names, dtype=object))
    Counted.compared = 0
    again = [Counted(place) for place in range(2000)]
    schema = cp.Schema.infer(X, immutable=again[:1000], ranges=dict.fromkeys(again[1000:], (0, 1)))
    schema.read(X[names[::-1]])
    assert len(schema.actionable) == 1000
    assert Counted.compared < 100 * len(names)
