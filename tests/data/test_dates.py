"""Dates: exact numbers inside, with a step of a day, and shown as dates."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterpoint as cp
from counterpoint.data.dates import Calendar
from counterpoint.data.feature import Feature
from counterpoint.data.schema import Schema
from counterpoint.report.many import Many

SIZE = 200
RNG = np.random.default_rng(0)
DAYS = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 1500, SIZE), unit="D")
MOMENTS = DAYS + pd.to_timedelta(RNG.integers(0, 86_400, SIZE), unit="s")
FINE = MOMENTS + pd.to_timedelta(RNG.integers(0, 1000, SIZE), unit="us")
PYTHON_DAYS = [day.date() for day in DAYS]
BERLIN = pd.Series(FINE).dt.tz_localize("UTC").dt.tz_convert("Europe/Berlin")

COLUMNS = {
    "datetime64[ns]": pd.Series(DAYS).astype("datetime64[ns]"),
    "datetime64[us]": pd.Series(FINE).astype("datetime64[us]"),
    "datetime64[ms]": pd.Series(MOMENTS).astype("datetime64[ms]"),
    "datetime64[s]": pd.Series(MOMENTS).astype("datetime64[s]"),
    "zone": BERLIN,
    "zone, ns": BERLIN.astype("datetime64[ns, Europe/Berlin]"),
    "offset": pd.Series(FINE).dt.tz_localize("UTC").dt.tz_convert(dt.timezone(dt.timedelta(hours=2))),
    "dates": pd.Series(PYTHON_DAYS, dtype=object),
    "datetimes": pd.Series([moment.to_pydatetime() for moment in FINE], dtype=object),
    "timestamps": pd.Series(list(FINE), dtype=object),
    "arrow dates": pd.Series(PYTHON_DAYS, dtype=pd.ArrowDtype(pa.date32())),
    "arrow": pd.Series(FINE, dtype=pd.ArrowDtype(pa.timestamp("us"))),
    "arrow zone": pd.Series(BERLIN, dtype=pd.ArrowDtype(pa.timestamp("us", tz="Europe/Berlin"))),
    "year 9999": pd.Series([*PYTHON_DAYS[1:], dt.date(9999, 12, 30)], dtype=object),
    "year 9999, us": pd.Series([*DAYS[1:], pd.Timestamp("9999-12-30")]).astype("datetime64[us]"),
}
POLARS = {
    "Date": pl.Series(PYTHON_DAYS, dtype=pl.Date),
    "Datetime(us)": pl.Series(FINE.to_numpy(), dtype=pl.Datetime("us")),
    "Datetime(ms)": pl.Series(MOMENTS.to_numpy()).cast(pl.Datetime("ms")),
    "Datetime(ns)": pl.Series(FINE.to_numpy()).cast(pl.Datetime("ns")),
    "zone": pl.Series(FINE.to_numpy()).dt.replace_time_zone("UTC").dt.convert_time_zone("Asia/Tokyo"),
}


def table(start, gaps: bool = False):
    age = np.random.default_rng(1).integers(18, 80, SIZE)
    if isinstance(start, pl.Series):
        start = start.to_frame("start").with_row_index("i").select(
            pl.when(pl.col("i") % 7 > 0).then(pl.col("start")) if gaps else pl.col("start")
        )["start"]  # fmt: skip
        return pl.DataFrame({"start": start, "age": age})
    start = start.where(np.arange(SIZE) % 7 > 0) if gaps else start
    return pd.DataFrame({"start": start, "age": age})


def late(X):
    """Decide by the median date."""
    limit = (
        X["start"].drop_nulls().sort()[100]
        if isinstance(X, pl.DataFrame)
        else X["start"].dropna().sort_values().iloc[80]
    )

    def decide(table):
        if isinstance(table, pl.DataFrame):
            return (table["start"] > limit).fill_null(False).to_numpy()
        later = [not pd.isna(value) and value > limit for value in table["start"]]
        return np.array(later, dtype=bool)

    return decide


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", COLUMNS)
def test_pandas(name, gaps):
    X = table(COLUMNS[name], gaps)
    schema = Schema.infer(X)
    assert schema.features[0].step == schema.features[0].calendar.per_day
    pd.testing.assert_frame_equal(schema.decode(schema.encode(X)), X)
    explainer = cp.Ensemble(size=5).fit(late(X), X)
    found = explainer.explain_many(X[:6], k=2, progress=False)
    for answer, (_, x) in zip(found, X[:6].iterrows(), strict=True):
        assert len(answer)
        assert answer.counterfactuals.dtypes.equals(X.dtypes)
        changed = answer.changes[answer.changes["feature"] == "start"]
        assert len(changed)
        for before, after in zip(changed["from"], changed["to"], strict=True):
            assert (before is None) == pd.isna(x["start"])
            assert type(after) is type(X["start"].dropna().iloc[0])
    assert late(X)(found.frame).tolist() == found.frame["decision"].tolist()
    read = cp.Explanations.from_json(found.to_json())
    pd.testing.assert_frame_equal(read.frame, found.frame)
    assert read.changes.equals(found.changes)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", POLARS)
def test_polars(name, gaps):
    X = table(POLARS[name], gaps)
    schema = Schema.infer(X)
    decoded = schema.decode(schema.encode(X))
    assert decoded.equals(X)
    assert decoded.schema == X.schema
    found = cp.Ensemble(size=5).fit(late(X), X).explain_many(X[:4], k=2, progress=False)
    assert found.frame["start"].dtype == X["start"].dtype
    assert late(X)(found.frame).tolist() == found.frame["decision"].to_list()


def test_an_array_of_dates():
    X = np.column_stack([DAYS.to_numpy(), MOMENTS.to_numpy()]).astype("M8[s]")
    explainer = cp.Ensemble(size=5).fit(lambda t: t[:, 0] > np.datetime64("2022-01-01"), X)
    found = explainer.explain(X[0], k=2)
    assert found.counterfactuals.dtype == X.dtype
    assert len(found) == 2


def test_the_same_wall_time_twice_in_a_night():
    """The repeated hour at the end of daylight saving time is two instants."""
    night = pd.date_range("2024-10-26 22:00", "2024-10-27 03:00", freq="30min", tz="UTC").tz_convert(
        "Europe/Berlin"
    )
    X = pd.DataFrame({"start": night, "age": range(len(night))})
    schema = Schema.infer(X)
    rows = schema.encode(X)
    assert len(np.unique(rows[:, 0])) == len(night)
    assert schema.decode(rows).equals(X)
    assert [schema.features[0].label(value) for value in rows[:, 0]] == list(night)


# ---------------------------------------------------------------- steps and constraints


def test_steps_are_days_unless_declared():
    X = table(COLUMNS["datetime64[us]"])
    for step, freq in ((None, "D"), (dt.timedelta(hours=6), "6h"), (pd.Timedelta(minutes=1), "min")):
        schema = Schema.infer(X)
        schema = schema if step is None else schema.replace("start", step=step)
        found = cp.Ensemble(size=5).fit(late(X), X, schema=schema).explain_many(X[:6], k=3, progress=False)
        changed = found.changes[found.changes["feature"] == "start"]["to"]
        assert len(changed)
        assert (pd.to_datetime(changed).dt.floor(freq) == changed).all()


def test_a_step_must_be_a_whole_number_of_units():
    with pytest.raises(ValueError, match="not a whole number of the column's unit"):
        Schema.infer(table(COLUMNS["dates"])).replace("start", step=dt.timedelta(hours=1))


@pytest.mark.parametrize("name", ["dates", "datetime64[us]", "zone", "datetimes"])
def test_ranges_and_directions(name):
    X = table(COLUMNS[name])
    low, high = dt.date(2021, 1, 1), dt.date(2023, 1, 1)
    explainer = cp.Ensemble(size=5).fit(late(X), X, ranges={"start": (low, high)}, increase=["start"])
    early = X[X["start"].map(lambda value: dt.date(value.year, value.month, value.day)) < low]
    found = explainer.explain_many(early[:5], k=3, progress=False)
    starts = [dt.date(value.year, value.month, value.day) for value in found.frame["start"]]
    assert starts
    assert all(low <= start <= high for start in starts)
    later = cp.Ensemble(size=5).fit(late(X), X, decrease=["start"]).explain_many(X[:10], k=3, progress=False)
    changed = later.changes[later.changes["feature"] == "start"]
    assert len(changed)
    assert all(after < before for before, after in zip(changed["from"], changed["to"], strict=True))


@pytest.mark.parametrize("ends", [("2021-01-01", "2021-06-30T12:00"), (np.datetime64("2021-01-01"), np.inf)])
def test_ends_of_ranges_may_be_texts_and_open(ends):
    X = table(COLUMNS["datetime64[us]"])
    feature = Schema.infer(X, ranges={"start": ends}).features[0]
    assert feature.label(feature.range[0]) == pd.Timestamp("2021-01-01")


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ((2020, 2022), r"must be a pair of dates \(low, high\), got \[2020, 2022\]"),
        (("soon", "later"), "'soon' is not a date"),
        ((dt.date(2022, 1, 1), dt.date(2021, 1, 1)), "must be a pair"),
        (
            (dt.datetime(2022, 1, 1, 1), dt.datetime(2022, 1, 1, 2)),
            "contains no whole multiple of its step 1 day",
        ),
        ((pd.Timestamp("2022-01-01", tz="UTC"), np.inf), "is not a date without a zone"),
    ],
)
def test_ranges_that_cannot_be(ends, says):
    with pytest.raises((ValueError, TypeError), match=says):
        Schema.infer(table(COLUMNS["datetime64[us]"]), ranges={"start": ends})


def test_immutable_dates_may_be_any():
    X = table(COLUMNS["datetime64[ns]"])
    odd = pd.Timestamp("2024-01-01 00:00:00.000000001")
    explainer = cp.Tree().fit(lambda t: (t["age"] > 40).to_numpy(), X, immutable=["start"])
    assert (explainer.explain({"start": odd, "age": 30}, k=2).counterfactuals["start"] == odd).all()


@pytest.mark.parametrize("value", [dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)])
@pytest.mark.parametrize(
    "column", [COLUMNS["datetime64[us]"], POLARS["Datetime(us)"]], ids=["pandas", "polars"]
)
def test_an_immutable_column_of_timestamps_stays_one(column, value):
    """A record with Python's date used to turn the column into objects, on which models fail."""
    X = table(column)
    explainer = cp.Tree().fit(lambda t: (t["age"] > 40).to_numpy(), X, immutable=["start"])
    found = explainer.explain({"start": value, "age": 30}, k=1).counterfactuals
    assert found["start"].dtype == column.dtype
    assert found["start"].to_list() == [pd.Timestamp(value)]


def test_dates_can_be_categories():
    X = pd.DataFrame({"start": DAYS[:5].repeat(40), "age": range(200)})
    assert Schema.infer(X, categorical=["start"]).features[0].is_categorical
    assert Schema.infer(X.astype({"start": "category"})).features[0].is_categorical


# ---------------------------------------------------------------- reading


def test_x_may_give_any_kind_of_date():
    X = table(COLUMNS["datetime64[us]"])
    schema = Schema.infer(X)
    day = dt.datetime(2021, 5, 1)
    for value in (
        day,
        day.date(),
        pd.Timestamp(day),
        np.datetime64("2021-05-01"),
        "2021-05-01",
        "2021-05-01T00:00",
    ):
        assert schema.read_one({"start": value, "age": 3}).valid("x").rows[0, 0] == Calendar.named(
            "datetime64[us]"
        ).number(day)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("datetime64[us]", 5, "It is not a date without a time zone"),
        ("datetime64[us]", "soon", "It is not a date"),
        ("datetime64[us]", pd.Timestamp("2021", tz="UTC"), "It is not a date without a time zone"),
        ("zone", pd.Timestamp("2021"), r"not a date in a time zone, as the column is \(Europe/Berlin\)"),
        ("dates", dt.datetime(2021, 5, 1, 12), "dates to days, and it has smaller parts"),
        (
            "datetime64[s]",
            pd.Timestamp("2021-05-01 00:00:00.5"),
            "dates to seconds, and it has smaller parts",
        ),
        ("datetime64[ns]", pd.Timestamp("2021-05-01 00:00:00.000000001"), "dates to microseconds"),
        ("datetime64[us]", pd.Timestamp("9000-01-01"), "too far away to be counted exactly"),
        ("datetime64[us]", None, "It is missing, but in no known instance"),
    ],
)
def test_dates_that_cannot_be_read(name, value, says):
    explainer = cp.Tree().fit(late(table(COLUMNS[name])), table(COLUMNS[name]))
    with pytest.raises(cp.InvalidError, match=says):
        explainer.explain({"start": value, "age": 30})


# ---------------------------------------------------------------- showing


def test_dates_are_shown_as_dates(tmp_path):
    X = table(COLUMNS["datetime64[us]"])
    schema = Schema.infer(X)
    rows = schema.encode(
        pd.DataFrame(
            {"start": [pd.Timestamp("2021-05-01 14:30"), pd.Timestamp("2021-06-01")], "age": [30, 30]}
        )
    )
    answer = cp.Explanation(
        schema, row=rows[0], decision="no", rows=rows[1:], labels=np.array(["yes"]), found_by=("Tree",), k=1,
        distance=np.array([1.0]),
    )  # fmt: skip
    assert answer.sentences() == [
        "If start were 2021-06-01 instead of 2021-05-01 14:30, the decision would be 'yes' instead of 'no'."
    ]
    assert "start      2021-05-01 14:30   2021-06-01" in str(answer)
    assert answer.changes["to"].tolist() == [pd.Timestamp("2021-06-01")]


def test_reports_group_by_year():
    X = table(COLUMNS["dates"])
    found = cp.Tree().fit(late(X), X).explain_many(X[:50], k=1, progress=False)
    assert {group.name for group in Many.of(found, X[:50], groups=["start"]).splits[0].groups} <= {
        str(year) for year in range(2020, 2025)
    }


def test_saving(tmp_path):
    X = table(COLUMNS["zone"], gaps=True)
    explainer = cp.Ensemble(size=5).fit(late(X), X, ranges={"start": (dt.date(2021, 1, 1), np.inf)})
    cp.save(explainer, tmp_path / "saved")
    again = cp.load(tmp_path / "saved", late(X))
    assert again.fitted_.schema == explainer.fitted_.schema
    assert again.explain(X.iloc[[1]]).rows.tobytes() == explainer.explain(X.iloc[[1]]).rows.tobytes()


def test_unknown_moments_are_refused():
    with pytest.raises(ValueError, match="moment must be 'date', or a name such as"):
        Feature("start", moment="datetime64[ns]")
