"""Error messages for bad input of fit."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

import counterpoint as cp
from loans import TABLES, decide, decide_array, people, polars_people


def fit(X=None, model=decide, **options):
    return cp.Ensemble().fit(model, people() if X is None else X, **options)


MOMENT = dt.datetime(1990, 1, 1, 12)


BAD_FITS = {
    # Tables
    "empty": (
        lambda: fit(people()[:0]),
        ValueError,
        "X must contain at least one known instance.*got 0 rows and 5",
    ),
    "no columns": (lambda: fit(people()[[]]), ValueError, "at least one known instance and one feature"),
    "no rows in an array": (lambda: fit(np.empty((0, 3))), ValueError, "got 0 rows and 3 columns"),
    "vector": (
        lambda: fit(np.arange(5.0)),
        ValueError,
        r"X must be a table.*shape \(5,\).*\(instances, features\)",
    ),
    "film": (lambda: fit(np.zeros((2, 2, 2, 2, 3))), ValueError, r"X must be a table.*2, 2, 2, 3\)"),
    "none": (lambda: cp.Tree().fit(decide, None), ValueError, "X must be a table.*got a NoneType"),
    "lazy": (
        lambda: fit(polars_people().lazy()),
        TypeError,
        r"LazyFrame holds no rows yet; give lazy.collect\(\)",
    ),
    "twice the same name": (
        lambda: fit(pd.DataFrame([[1, 2]], columns=["a", "a"])),
        ValueError,
        r"names must be unique, got \['a'\] more than once. Rename or drop",
    ),
    # Columns
    "dates with nanoseconds": (
        lambda: fit(people().assign(born=pd.Timestamp("1990-01-01 00:00:00.000000001"))),
        ValueError,
        "'born' holds dates that a float cannot count exactly.*Round them to microseconds",
    ),
    "dates with zones as objects": (
        lambda: fit(people().assign(born=pd.Series([pd.Timestamp("1990", tz="UTC")] * 200, dtype=object))),
        TypeError,
        r"'born' holds dates with time zones as objects.*pd.to_datetime\(column, utc=True\)",
    ),
    "dates of several kinds": (
        lambda: fit(people().assign(born=pd.Series([dt.date(1990, 1, 1), MOMENT] * 100, dtype=object))),
        TypeError,
        r"'born' holds dates or times of a kind that cannot change \(date, datetime; object\)",
    ),
    "durations": (
        lambda: fit(people().assign(stay=pd.Timedelta(days=1))),
        TypeError,
        "'stay' holds dates or times of a kind that cannot change",
    ),
    "times": (
        lambda: fit(people().assign(at=pd.Series([dt.time(12)] * 200, dtype=object))),
        TypeError,
        "'at' holds dates or times of a kind that cannot change",
    ),
    "polars durations": (
        lambda: fit(polars_people().with_columns(stay=pl.duration(days=1))),
        TypeError,
        "'stay' holds dates or times of a kind that cannot change",
    ),
    "complex": (
        lambda: fit(people().assign(z=1j)),
        TypeError,
        "'z' holds complex numbers; give real numbers",
    ),
    "lists": (
        lambda: fit(people().assign(tags=[["a"]] * 200)),
        TypeError,
        "'tags' holds a list in each cell",
    ),
    "infinite": (
        lambda: fit(people().assign(income=np.inf)),
        ValueError,
        r"X\[\d+\] has 'income' = inf. It is infinite. Replace it with a number, or with NaN",
    ),
    "huge ids": (
        lambda: fit(people().assign(id=np.arange(200) + 2**60)),
        ValueError,
        r"X contains 200 values.*in 200 rows.*'id' = .*beyond 2\*\*53.*Name the column in immutable=",
    ),
    "huge ids with gaps": (
        lambda: fit(people().assign(id=pd.array([None, 2**60] * 100, dtype="Int64"))),
        ValueError,
        r"X\[\d+\] has 'id' = .*beyond 2\*\*53",
    ),
    "nothing in a column": (
        lambda: fit(people().assign(empty=np.nan)),
        ValueError,
        "'empty' has no values in X; drop it",
    ),
    # Names
    "unknown immutable": (
        lambda: fit(immutable=["agee"]),
        ValueError,
        r"immutable must name known features, got \['agee'\]. Known: \['age', 'income'",
    ),
    "unknown range": (
        lambda: fit(ranges={"agee": (0, 1)}),
        ValueError,
        r"ranges must name known features.*'agee'",
    ),
    "unknown increase": (
        lambda: fit(increase=["x"]),
        ValueError,
        r"increase must name known features, got \['x'\]",
    ),
    "unknown categorical": (
        lambda: fit(categorical=["x"]),
        ValueError,
        "categorical must name known features",
    ),
    "one text": (
        lambda: fit(immutable="age"),
        TypeError,
        "immutable must be a list of feature names, got 'age'",
    ),
    "one text, categorical": (
        lambda: fit(categorical="age"),
        TypeError,
        "categorical must be a list.*got 'age'",
    ),
    "no list": (lambda: fit(immutable=3), TypeError, "immutable must be a list of feature names, got 3"),
    "a mask": (
        lambda: fit(TABLES["float"], decide_array, immutable=[True, False, True]),
        ValueError,
        "immutable must name known features, got .True",
    ),
    "beyond the array": (
        lambda: fit(TABLES["float"], decide_array, immutable=[3]),
        ValueError,
        r"immutable must name known features, got \[3\]. Known: \['x0', 'x1', 'x2'\]",
    ),
    "repeated": (
        lambda: fit(immutable=["age", "job", "age"]),
        ValueError,
        r"immutable must name each feature once, got \['age'\] more than once",
    ),
    # Constraints
    "all immutable": (
        lambda: fit(immutable=list(people())),
        ValueError,
        "Every feature is immutable.*leave at least one",
    ),
    "both ways": (
        lambda: fit(increase=["age"], decrease=["age"]),
        ValueError,
        "'age' may only rise and may only fall.*remove it from increase or decrease",
    ),
    "both ways by a schema": (
        lambda: fit(schema=cp.Schema.infer(people(), increase=["age"]), decrease=["age"]),
        ValueError,
        "'age' may only rise and may only fall",
    ),
    "immutable and one-way": (
        lambda: fit(immutable=["age"], increase=["age"]),
        ValueError,
        "'age' cannot be both immutable and one-way; remove one of the two",
    ),
    "one-way without an order": (
        lambda: fit(increase=["job"]),
        ValueError,
        "'job' is one-way, but its categories have no order. Give it in order=",
    ),
    "range upside down": (
        lambda: fit(ranges={"age": (60, 20)}),
        ValueError,
        r"ranges\['age'\] must be a pair of numbers \(low, high\), got \[60, 20\]",
    ),
    "range of texts": (
        lambda: fit(ranges={"age": ("a", "b")}),
        ValueError,
        r"ranges\['age'\] must be a pair of numbers",
    ),
    "range with no end": (
        lambda: fit(ranges={"age": (18, None)}),
        ValueError,
        r"ranges\['age'\] must be a pair of numbers.*got \[18, None\]. An open end is -inf or inf",
    ),
    "range of one": (
        lambda: fit(ranges={"age": 18}),
        TypeError,
        r"ranges\['age'\] must be a pair \(low, high\), got 18",
    ),
    "range of no whole number": (
        lambda: fit(ranges={"age": (20.2, 20.8)}),
        ValueError,
        r"ranges\['age'\] = \(20.2, 20.8\) contains no whole multiple of its step 1. Widen the range",
    ),
    "range of unknown categories": (
        lambda: fit(ranges={"job": ["smith", "king"]}),
        ValueError,
        r"ranges\['job'\] must name known categories, got \['king'\]. Known: \['clerk', 'cook', 'smith'\]",
    ),
    "range of no category": (
        lambda: fit(ranges={"job": []}),
        ValueError,
        r"ranges\['job'\] must name known categories",
    ),
    "range of one text": (
        lambda: fit(ranges={"job": "smith"}),
        TypeError,
        r"ranges\['job'\] must be a list of categories, got 'smith'",
    ),
    "ranges that are no mapping": (
        lambda: fit(ranges=[("age", (18, 60))]),
        TypeError,
        "ranges must map feature names to admissible values",
    ),
    "schema and categorical": (
        lambda: fit(schema=cp.Schema.infer(people()), categorical=["age"]),
        ValueError,
        "Give either schema or categorical, not both",
    ),
    "schema of other columns": (
        lambda: fit(schema=cp.Schema.infer(people()[["age"]])),
        ValueError,
        r"X has the unknown features \['income', 'job', 'owner', 'education'\]; drop them. Known: \['age'\]",
    ),
    "rule that is no function": (
        lambda: fit(rule="age > 18"),
        TypeError,
        "rule must be a function.*got 'age > 18'",
    ),
    # Models
    "one decision only": (
        lambda: fit(model=lambda frame: np.full(len(frame), "refused")),
        ValueError,
        "decides every known instance as .*'refused'.*Give known instances of at least two decisions",
    ),
    "no model": (
        lambda: fit(model=None),
        TypeError,
        "model must have a predict method or be a callable.*NoneType",
    ),
    "no predict": (lambda: fit(model={"a": 1}), TypeError, "model must have a predict method.*got dict"),
    "a class": (
        lambda: fit(model=LinearRegression),
        TypeError,
        "model must be a fitted model, got the class LinearRegression; create and fit one",
    ),
    "unfitted model": (
        lambda: fit(TABLES["float"], LinearRegression()),
        cp.ModelError,
        "raised NotFittedError",
    ),
    "too few labels": (
        lambda: fit(model=lambda frame: decide(frame)[:-1]),
        cp.ModelError,
        r"must return one label per row: got an array of shape \(199,\) for 200 rows",
    ),
    "one label for all": (
        lambda: fit(model=lambda frame: "granted"),
        cp.ModelError,
        "must return one label per row: got a str for 200 rows",
    ),
    "missing labels": (
        lambda: fit(model=lambda frame: np.where(decide(frame) == "granted", 1.0, np.nan)),
        cp.ModelError,
        r"returned \d+ missing labels for 200 rows; it must decide on every row",
    ),
    "none as a label": (
        lambda: fit(model=lambda frame: [None if d == "refused" else d for d in decide(frame)]),
        cp.ModelError,
        "missing labels",
    ),
    "labels of several types": (
        lambda: fit(
            model=lambda frame: np.array([1 if d == "refused" else d for d in decide(frame)], dtype=object)
        ),
        cp.ModelError,
        r"labels must be all strings, all numbers or all bools, got \['int', 'str'\]",
    ),
    "ragged labels": (
        lambda: fit(model=lambda frame: [[1], [1, 2]] * 100),
        cp.ModelError,
        "cannot be read as an array of labels",
    ),
    "model that raises": (
        lambda: fit(model=lambda frame: frame["wages"]),
        cp.ModelError,
        "The model raised KeyError: 'wages'. It was given a pandas frame of 200 rows and 5 columns, as in X",
    ),
}


@pytest.mark.parametrize("name", BAD_FITS)
def test_bad_input_of_fit(name):
    call, kind, message = BAD_FITS[name]
    with pytest.raises(kind, match=f"(?s){message}"):
        call()
