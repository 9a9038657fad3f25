"""Error messages for bad instances."""

import re

import numpy as np
import pandas as pd
import pytest

import counterpoint as cp
from loans import TABLES, decide_array, people, refused


def changed_x(**changes):
    return refused().iloc[0].to_dict() | changes


def without(name):
    return {key: value for key, value in changed_x().items() if key != name}


BAD_X = {
    "missing column": (
        without("job"),
        ValueError,
        r"x lacks the features \['job'\].*Known: \['age', 'income', 'job'",
    ),
    "unknown column": (changed_x(wages=1), ValueError, r"x has the unknown features \['wages'\]; drop them"),
    "misspelt column": (
        without("job") | {"jobb": "smith"},
        ValueError,
        r"x lacks the features \['job'\] and has the unknown \['jobb'\]",
    ),
    "text for a number": (
        changed_x(age="old"),
        ValueError,
        "x has 'age' = 'old'. It is not a number. Give a number",
    ),
    "number as a text": (changed_x(age="31"), ValueError, "x has 'age' = '31'. It is not a number"),
    "date for a number": (
        changed_x(age=pd.Timestamp("1990-01-01")),
        ValueError,
        "x has 'age' = Timestamp.*It is not a number",
    ),
    "list for a number": (changed_x(age=[31]), ValueError, r"x has 'age' = \[31\]. It is not a number"),
    "part of a whole number": (
        changed_x(age=31.5),
        ValueError,
        r"x has 'age' = 31.5. The column holds whole numbers \(int64\). Give one of these",
    ),
    "infinite": (changed_x(income=np.inf), ValueError, "x has 'income' = inf. It is infinite"),
    "missing number": (
        changed_x(income=None),
        ValueError,
        "x has 'income' = None. It is missing, but in no known instance. Fill it in",
    ),
    "missing category": (
        changed_x(job=None),
        ValueError,
        "x has 'job' = None. It is missing, but in no known instance",
    ),
    "category never seen": (
        changed_x(job="king"),
        ValueError,
        r"x has 'job' = 'king'. No known instance has this category.*Known: \['clerk', 'cook', 'smith'\]",
    ),
    "category of another type": (
        changed_x(job=3),
        ValueError,
        "x has 'job' = 3. No known instance has this category",
    ),
    "too short": (
        [31, 50.0],
        ValueError,
        r"x must be one instance of 5 features \(age, income, job.*shape \(2,\)",
    ),
    "a number": (31, ValueError, "x must be one instance of 5 features.*got a int"),
    "none": (None, ValueError, "x must be one instance of 5 features.*got a NoneType"),
    "many": (
        people()[:3],
        ValueError,
        r"x must be one instance, got a table of 3 rows. For many use explain_many",
    ),
    "many in an array": (people()[:3].to_numpy(), ValueError, r"shape \(3, 5\). For many use explain_many"),
}


@pytest.mark.parametrize("name", BAD_X)
def test_bad_x(name, fitted):
    x, kind, message = BAD_X[name]
    with pytest.raises(kind, match=f"(?s){message}"):
        fitted.explain(x)


def test_bad_rows_of_many(fitted):
    with pytest.raises(
        ValueError, match=r"X contains 5 values.*in 5 rows. The first 3:\n- X\[0\] has 'job' = 'king'"
    ):
        fitted.explain_many(people()[:5].assign(job="king"), progress=False)
    with pytest.raises(ValueError, match=r"X lacks the features \['job'\]"):
        fitted.explain_many(people()[:5].drop(columns="job"), progress=False)
    with pytest.raises(
        ValueError, match=r"must have 5 columns \(age, income.*\), got an array of shape \(5,\)"
    ):
        fitted.explain_many(people().to_numpy()[0], progress=False)


def test_a_frame_where_an_array_was_known():
    explainer = cp.Tree().fit(decide_array, TABLES["float"])
    with pytest.raises(
        ValueError, match=r"x names its features \(a, b, c\), but the known instances were an array"
    ):
        explainer.explain({"a": 1.0, "b": 2.0, "c": 3.0})


def test_a_number_too_large_for_its_column():
    explainer = cp.Tree().fit(decide_array, TABLES["small int"])
    with pytest.raises(ValueError, match=r"x has 'x0' = 300. The column holds whole numbers \(int8\)"):
        explainer.explain([300, 1, 1])


def test_messages_do_not_list_thousands():
    X = pd.DataFrame({"a": [f"value {i}" for i in range(5000)], "b": np.arange(5000.0)})
    explainer = cp.Tree().fit(lambda frame: frame["b"] > 100, X)
    with pytest.raises(ValueError, match=re.escape("… (5000 in all)")) as caught:
        explainer.explain({"a": "other", "b": 1.0})
    assert len(str(caught.value)) < 700
