"""Constraints on the command line: everything that `fit` takes, as flags and in a file."""

import inspect
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io

import counterpoint as cp
from counterpoint.cli.constraints import Limits
from counterpoint.cli.constraints_file import read_limits
from counterpoint.cli.schema import draft

ONE = ["--row", "x.json"]
MANY = ["--rows", "refused.csv"]

# What a file does not say: functions, what flags say, and the schema, for which the file stands.
IN_PYTHON_ONLY = {"self", "model", "X", "schema", "rule", "follows", "progress"}

EVERYTHING = """
links = ["duration <= amount", { when = { job = "nurse" }, then = { sex = ["f", "m"] } }]
max_changes = 3
missing = "allow"

[columns.age]
kind = "number"
increase = true
max_change = 5
[columns.amount]
decrease = true
step = 50
range = [500, 9000]
cost = { up = 1, down = 4 }
[columns.duration]
max_change = "50%"
cost = 0.5
[columns.job]
order = ["clerk", "smith", "nurse"]
cost = { changes = [["clerk", "smith", 3]], otherwise = 2 }
[columns.sex]
kind = "category"
immutable = true
[columns.home]
onehot = ["home_own", "home_rent"]
"""


@pytest.fixture
def everything(here: Path) -> Path:
    path = here / "all.toml"
    path.write_text(EVERYTHING)
    return path


def found(path: str = "found.csv") -> tuple[pd.DataFrame, pd.DataFrame]:
    table, refused = pd.read_csv(path), pd.read_csv("refused.csv")
    return table, refused.loc[table["instance"]].reset_index(drop=True)


def test_every_constraint_of_fit_can_be_given_in_a_file(everything):
    limits = read_limits(everything)
    table = pd.read_csv("known.csv").drop(columns="decision")
    table["home_own"] = (table["age"] % 2).astype(int)
    table["home_rent"] = 1 - table["home_own"]
    options = limits.fit_options(table)
    schema = options.pop("schema")
    given = {name for name, value in options.items() if value not in (None, (), {})}
    # Kinds, orders, groups and steps are in the schema.
    kinds = {f.name: f for f in schema.features}
    assert kinds["sex"].is_categorical
    assert kinds["job"].ordered
    assert kinds["amount"].step == 50
    assert schema.onehot == {"home": ("home_own", "home_rent")}
    given |= {"categorical", "order", "onehot"}
    assert given == set(inspect.signature(cp.Ensemble.fit).parameters) - IN_PYTHON_ONLY


def test_every_constraint_in_a_file_holds_in_answers(explain, everything):
    everything.write_text(EVERYTHING.partition("[columns.home]")[0])
    explain(*MANY, "-k", "3", "--constraints", "all.toml", "--out", "found.csv", "--quiet")
    table, x = found()
    assert len(table)
    assert (table["sex"] == x["sex"]).all()
    assert table["age"].sub(x["age"]).between(0, 5).all()
    assert (table["amount"] <= x["amount"]).all()
    changed = table["amount"] != x["amount"]
    assert np.allclose(table["amount"][changed] % 50, 0)
    assert (table["duration"].sub(x["duration"]).abs() <= x["duration"] / 2).all()
    assert (table["duration"] <= table["amount"]).all()
    features = ["age", "amount", "duration", "job", "sex"]
    assert ((table[features] != x[features]).sum(axis=1) <= 3).all()
    assert "cost" in table


def test_flags_say_the_same_as_a_file(explain, here):
    (here / "some.toml").write_text(
        """max_changes = 2
        links = ["duration <= amount"]
        [columns.age]
        max_change = 5
        [columns.amount]
        step = 50
        max_change = "60%"
        cost = { up = 1, down = 4 }
        [columns.job]
        order = ["clerk", "smith", "nurse"]
        [columns.sex]
        immutable = true
        [columns.duration]
        cost = 0.5
        """
    )
    flags = "--max-changes 2 --max-change age=5 --max-change amount=60% --step amount=50 --cost amount=1:4"
    flags += " --order job=clerk,smith,nurse --immutable sex --cost duration=0.5 --link duration<=amount"
    explain(*MANY, "-k", "3", "--constraints", "some.toml", "--out", "file.csv", "--quiet")
    explain(*MANY, "-k", "3", *flags.split(), "--out", "flags.csv", "--quiet")
    assert Path("file.csv").read_text() == Path("flags.csv").read_text()


def test_a_flag_adds_to_the_file_and_replaces_what_it_says():
    file = Limits(immutable=("age",), costs={"amount": 2, "duration": 3}, max_changes=3)
    flags = Limits(immutable=("sex",), costs={"amount": 5}, max_changes=1)
    both = file + flags
    assert both.immutable == ("age", "sex")
    assert both.costs == {"amount": 5, "duration": 3}
    assert both.max_changes == 1
    assert (file + Limits()).max_changes == 3


def test_yaml_takes_costs_and_links_too(here):
    (here / "c.yaml").write_text(
        "links:\n  - start <= end\n  - when: {job: pupil}\n    then: {age: [0, 20]}\n"
        "columns:\n  job:\n    cost: {otherwise: .inf, changes: [[a, b, 2]]}\n"
    )
    limits = read_limits(here / "c.yaml")
    assert limits.links == ("start <= end", cp.implies(job="pupil", then={"age": (0, 20)}))
    assert limits.costs["job"].of("a", "c") == np.inf


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[columns.age]\ncost = 'much'", "cost must be a number, or a table with keys"),
        ("[columns.age]\ncost = { left = 1 }", r"columns.age.cost has the unknown keys \['left'\]"),
        ("[columns.age]\ncost = { up = -1 }", "columns.age.cost cannot be read: Cost.up must be positive"),
        ("[columns.job]\ncost = { changes = [['a', 2]] }", r"must list \[old, new, cost\]"),
        ("[columns.age]\nstep = 'week'", 'step must be a number, or "7 days"'),
        ("[columns.age]\nmax_change = [5]", 'max_change must be a number or a share such as "20%"'),
        ("links = 'a <= b'", "links must be a list"),
        ("links = [{ if = 1 }]", "with the keys when and then"),
        ("max_changes = 0", "max_changes must be a whole number of at least 1"),
        ("missing = 'never'", 'missing must be "keep" or "allow"'),
    ],
)
def test_a_file_with_a_mistake_says_where_it_is(explain, here, capsys, text, message):
    (here / "bad.toml").write_text(text)
    assert explain(*ONE, "--constraints", "bad.toml") == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--cost", "amount=much"], "--cost must be NAME=NUMBER or NAME=UP:DOWN"),
        (["--max-change", "amount"], "--max-change must be NAME=NUMBER or NAME=20%"),
        (["--step", "amount=x"], "--step must be NAME=NUMBER"),
        (["--link", "amount ~ age"], "link"),
        (["--onehot", "a=b,c", "--no-onehot"], "drop one of them"),
        (["--max-seconds", "0"], "--max-seconds must be positive, got 0"),
        (["--cost", "nothing=2"], "nothing"),
        (["--step", "nothing=2"], "nothing"),
    ],
)
def test_a_flag_with_a_mistake_says_so(explain, capsys, flags, message):
    assert explain(*ONE, *flags) == 2
    assert message in capsys.readouterr().err


def test_the_draft_names_every_key_and_can_be_read_as_it_is(here):
    from counterpoint.cli.constraints_file import COLUMN_KEYS, FILE_KEYS

    table = pd.read_csv("known.csv").drop(columns="decision")
    text = draft(table, "known.csv")
    assert all(f"{key} = " in text for key in (*COLUMN_KEYS, *FILE_KEYS) if key != "columns")
    (here / "draft.toml").write_text(text)
    limits = read_limits(here / "draft.toml")
    assert limits.immutable == ()
    assert not limits.costs


# ---------------------------------------------------------------- probabilities and time


def test_a_probability_can_be_wanted(explain):
    assert explain(*MANY, "-k", "2", "--want", "granted>=0.8", "--out", "found.csv", "--quiet") == 0
    table, x = found()
    model = skops.io.load("model.skops", trusted=skops.io.get_untrusted_types(file="model.skops"))
    shares = model.predict_proba(table[list(x)])[:, list(model.classes_).index("granted")]
    assert (shares >= 0.8).all()
    assert np.allclose(shares, table["decision"])


def test_percent_works_too_and_the_card_says_it(explain, capsys):
    assert explain(*ONE, "-k", "1", "--want", "granted >= 80%".replace(" ", "")) == 0
    assert "Wanted: a probability of 'granted' of at least 0.8" in capsys.readouterr().out


def test_a_stopped_run_about_probabilities_goes_on(explain, capsys):
    from counterpoint.cli import parts

    asked = ["-k", "1", "--want", "granted>=0.8", "--out", "found.csv", "--part", "5"]
    explain(*MANY, *asked)
    whole = Path("found.csv").read_text()
    Path("found.csv").unlink()
    kept = parts.Store.remove
    parts.Store.remove = lambda self: None  # as if it had been killed at the end
    try:
        explain(*MANY, *asked)
    finally:
        parts.Store.remove = kept
    capsys.readouterr()
    explain(*MANY, *asked)
    assert "begins anew" not in capsys.readouterr().err
    assert Path("found.csv").read_text() == whole


@pytest.mark.parametrize(
    ("want", "message"),
    [
        ("granted>=7", "--want must compare with a probability, such as >=0.7, got '7'"),
        ("given>=0.7", "got ['given']. To ask for a probability, write such as 'granted>=0.7'."),
    ],
)
def test_a_probability_that_cannot_be_is_refused(explain, capsys, want, message):
    assert explain(*ONE, "--want", want) == 2
    assert message in capsys.readouterr().err


def test_a_model_without_probabilities_is_refused(explain, here, capsys):
    (here / "rule.py").write_text(
        "import numpy as np\n\n\n"
        "def decide(table):\n    return np.where(table['amount'] > 4000, 'no', 'yes')\n"
    )
    assert explain(*ONE, "--want", "yes>=0.7", model="rule:decide") == 2
    assert "needs the model's probabilities: Probability needs a model with predict_proba" in (
        capsys.readouterr().err
    )


def test_time_is_bounded_for_one_row_and_for_many(explain):
    assert explain(*ONE, "--max-seconds", "0.000001", "--quiet") in (0, 1)
    assert explain(*MANY, "--max-seconds", "0.000001", "--quiet", "--out", "found.csv") in (0, 1)
    assert explain(*ONE, "-k", "1", "--max-seconds", "100", "--quiet") == 0


# ---------------------------------------------------------------- when there is none


LOCKED = ["--immutable", "amount,duration,job,sex"]


def test_without_an_answer_the_nearest_miss_and_what_stands_in_the_way_are_told(explain, capsys):
    assert explain(*ONE, *LOCKED) == 1
    said = capsys.readouterr()
    assert "The nearest miss is not a counterfactual" in " ".join(said.out.split())
    assert "There would be an answer without this constraint: " in said.err
    assert " may not change." in said.err
    assert "Then: If " in said.err


def test_the_report_says_it_too(explain):
    assert explain(*ONE, *LOCKED, "--report", "one.html", "--quiet") == 1
    page = Path("one.html").read_text()
    assert "What stands in the way" in page
    assert "The nearest miss is not a counterfactual" in page


def test_json_lines_mark_the_nearest_miss(explain):
    explain(*MANY, *LOCKED, "--out", "found.jsonl", "--quiet")
    records = [json.loads(line) for line in Path("found.jsonl").read_text().splitlines()]
    without = [each for each in records if not each["counterfactuals"]]
    assert without
    for each in without:
        miss = each["nearest_miss"]
        assert miss["is_counterfactual"] is False
        assert miss["score_is"] == "probability"
        assert miss["score"] <= miss["needed"] == 0.5
        assert set(miss["changes"]) <= {"age"}
    assert all(each["nearest_miss"] is None for each in records if each["counterfactuals"])


def test_many_rows_get_a_hint(explain, capsys):
    explain(*MANY, *LOCKED, "--out", "found.csv")
    assert "explain one of them with --row" in capsys.readouterr().err


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_boosters_have_probabilities_too(explain, library):
    booster = pytest.importorskip(library)
    known = pd.read_csv("known.csv")
    numbers = ["age", "amount", "duration"]
    target = (known["decision"] == "granted").astype(int)
    if library == "xgboost":
        trained = booster.XGBClassifier(n_estimators=20, max_depth=3).fit(known[numbers], target)
        trained.save_model("booster.json")
    else:
        trained = booster.LGBMClassifier(n_estimators=20, verbose=-1).fit(known[numbers], target)
        trained.booster_.save_model("booster.txt")
    model = "booster.json" if library == "xgboost" else "booster.txt"
    asked = ["--drop", "job,sex", "--want", "yes>=0.8", "--classes", "no,yes", "--out", "found.csv"]
    assert explain(*MANY, *asked, "-k", "2", model=model) in (0, 1)
    found = pd.read_csv("found.csv")
    assert len(found)
    assert (trained.predict_proba(found[numbers])[:, 1] >= 0.8).all()
