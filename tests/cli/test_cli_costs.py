"""Costs, limits of changes and links on the command line: from flags, and from a file."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

MANY = ["--rows", "refused.csv"]

FILE = """
links = ["duration <= age", {when = {job = "nurse"}, then = {sex = "f"}}]

[columns.age]
cost = inf

[columns.amount]
max_change = "20%"
cost = {up = 1, down = 4}

[columns.job]
cost = {changes = [["smith", "nurse", inf], ["clerk", "nurse", 0.5]], otherwise = 2}
"""


def found_and_x(path: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    refused, found = pd.read_csv("refused.csv"), pd.read_csv(path)
    return found, refused.loc[found["instance"]].reset_index(drop=True)


def test_costs_limits_and_links_come_from_a_file(explain):
    Path("limits.toml").write_text(FILE)
    explain(*MANY, "--constraints", "limits.toml", "-k", "3", "--out", "found.csv", "--part", "9")
    found, x = found_and_x("found.csv")
    assert len(found)
    assert (found["age"] == x["age"]).all()
    assert ((found["amount"] - x["amount"]).abs() <= 0.2 * x["amount"].abs()).all()
    assert not ((x["job"] == "smith") & (found["job"] == "nurse")).any()
    assert (found["duration"] <= found["age"]).all()
    assert not ((found["job"] == "nurse") & (found["sex"] == "m")).any()
    assert not found["cost"].isna().any()


def test_costs_limits_and_links_come_from_flags(explain):
    flags = ["--cost", "amount=5", "--cost", "age=1:inf", "--max-change", "amount=500"]
    flags += ["--max-change", "duration=30%", "--link", "duration < age"]
    explain(*MANY, *flags, "--out", "found.csv")
    explain("--row", "x.json", *flags, "--out", "one.jsonl")
    found, x = found_and_x("found.csv")
    assert (found["age"] >= x["age"]).all()
    assert ((found["amount"] - x["amount"]).abs() <= 500).all()
    assert ((found["duration"] - x["duration"]).abs() <= 0.3 * x["duration"]).all()
    assert (found["duration"] < found["age"]).all()
    one = json.loads(Path("one.jsonl").read_text().splitlines()[0])
    assert all(each["cost"] > 0 for each in one["counterfactuals"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("links = 3", "links must be a list"),
        ("links = [3]", "when and then"),
        ("links = [{when = {}, then = {a = 1}}]", "implies needs a condition"),
        ("[columns.age]\ncost = -1", "columns.age.cost.*must be positive"),
        ("[columns.age]\ncost = {way = 1}", "unknown keys.*way"),
        ("[columns.job]\ncost = {changes = [[1, 2]]}", r"must list \[old, new, cost\]"),
        ("[columns.age]\nmax_change = 'much'", "max_change.*age.*share"),
        ("links = ['age <= years']", "must compare two columns"),
    ],
)
def test_what_cannot_be_meant_is_an_error(explain, capsys, text, message):
    Path("limits.toml").write_text(text)
    assert explain(*MANY, "--constraints", "limits.toml", "--out", "found.csv") == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("flag", [["--cost", "age"], ["--cost", "age=x"], ["--max-change", "age=x%"]])
def test_flags_that_cannot_be_read_are_errors(explain, capsys, flag):
    assert explain(*MANY, *flag, "--out", "found.csv") == 2
    assert f"{flag[0]} must be NAME=" in capsys.readouterr().err
