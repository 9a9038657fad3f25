"""`counterpoint explain`: what it prints, writes and returns."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import skops.io

ONE = ["--row", "x.json"]
MANY = ["--rows", "refused.csv"]


def test_one_row_is_a_table_on_stdout_and_nothing_else(explain, capsys):
    assert explain(*ONE, "-k", "3") == 0
    said = capsys.readouterr()
    assert "'refused'" in said.out
    assert "Found: 3 of 3" in said.out
    assert "\033" not in said.out
    assert said.err == "counterpoint: 1 row explained.\n"


def test_on_a_terminal_exactly_the_changed_cells_are_bold(explain, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    explain(*ONE, "-k", "3")
    bold = re.findall(r"\033\[1m(.*?)\033\[0m", capsys.readouterr().out)
    explain(*ONE, "-k", "3", "--out", "found.json")
    ((answer,),) = [json.loads(Path("found.json").read_text())]
    changed = [value for found in answer["counterfactuals"] for value in found["changes"].values()]
    assert sorted(bold) == sorted(
        f"{value:g}" if isinstance(value, float) else str(value) for value in changed
    )


def test_what_is_immutable_stays_and_what_is_wanted_comes_out(explain):
    limits = [
        "--immutable",
        "age,sex",
        "--decrease",
        "amount",
        "--range",
        "duration=6:60",
        "--range",
        "job=clerk,smith,nurse",
    ]
    assert explain(*MANY, "-k", "3", "--want", "granted", *limits, "--out", "found.csv", "--quiet") == 0
    refused, found = pd.read_csv("refused.csv"), pd.read_csv("found.csv")
    x = refused.loc[found["instance"]].reset_index(drop=True)
    assert set(found["instance"]) == set(refused.index)
    assert (found[["age", "sex"]] == x[["age", "sex"]]).all(axis=None)
    assert (found["amount"] <= x["amount"]).all()
    assert set(found["decision"]) == {"granted"}
    model = skops.io.load("model.skops")
    assert (model.predict(found[list(refused)]) == "granted").all()


def test_the_changes_column_names_the_cells_that_differ(explain):
    explain(*MANY, "-k", "2", "--out", "found.csv")
    refused, found = pd.read_csv("refused.csv"), pd.read_csv("found.csv")
    x = refused.loc[found["instance"]].reset_index(drop=True)
    differs = found[list(refused)] != x
    expected = [", ".join(differs.columns[row]) for row in differs.to_numpy()]
    assert found["changes"].tolist() == expected


def test_all_formats_hold_the_same_answers(explain):
    for name in ("found.csv", "found.parquet", "found.json", "found.jsonl"):
        assert explain(*MANY, "-k", "2", "--out", name, "--part", "7") == 0
    table = pd.read_csv("found.csv")
    pd.testing.assert_frame_equal(table, pd.read_parquet("found.parquet"), check_dtype=False)
    records = json.loads(Path("found.json").read_text())
    assert records == [json.loads(line) for line in Path("found.jsonl").read_text().splitlines()]
    flat = [found["values"] for record in records for found in record["counterfactuals"]]
    assert pd.DataFrame(flat).equals(table[list(flat[0])])
    changed = [", ".join(found["changes"]) for record in records for found in record["counterfactuals"]]
    assert changed == table["changes"].tolist()


def test_answers_do_not_depend_on_the_parts_but_on_the_seed(explain):
    for name, *options in [("a.csv",), ("b.csv", "--part", "5"), ("c.csv", "--seed", "1")]:
        explain(*MANY, "-k", "2", "--out", name, *options)
    a, b, c = (Path(name).read_text() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b
    assert a != c


@pytest.mark.parametrize("name", ["csv", "json", "jsonl"])
def test_stdout_is_clean_for_pipes(explain, capsys, name):
    explain(*MANY, "-k", "1", "--out", "-", "--format", name)
    printed = capsys.readouterr().out
    explain(*MANY, "-k", "1", "--out", f"found.{name}")
    assert printed == Path(f"found.{name}").read_text()


def test_without_an_output_every_row_is_a_table(explain, capsys):
    explain(*MANY, "-k", "1", "--quiet")
    said = capsys.readouterr()
    assert said.out.count("Decision: 'refused'") == len(pd.read_csv("refused.csv"))
    assert said.out.startswith("Row 1\n")
    assert said.err == ""


def test_fewer_than_asked_for_is_exit_code_1_and_says_how_many(explain, capsys):
    assert explain(*MANY, "--immutable", "amount,duration,job", "-k", "2", "--out", "none.csv") == 1
    assert re.search(
        r"30 rows explained\. \d+ of 30 rows got fewer than 2 counterfactuals, \d+ of them none\. "
        r"The first is row \d+: ",
        capsys.readouterr().err,
    )
    assert explain(*ONE, "--immutable", "amount,duration,job") == 1
    assert "Found 0 of 5" in capsys.readouterr().out


def test_rows_that_have_the_decision_are_no_failure(explain, capsys):
    assert explain(*MANY, "--want", "refused", "--out", "none.parquet") == 0
    assert "already had the decision" in capsys.readouterr().err
    assert len(pd.read_parquet("none.parquet")) == 0


def test_constraints_come_from_a_file_and_flags_add_to_it(explain):
    Path("limits.yaml").write_text("columns:\n  age: {immutable: true}\n  duration:\n    range: [6, 60]\n")
    explain(
        *MANY,
        "--constraints",
        "limits.yaml",
        "--immutable",
        "sex",
        "--out",
        "found.csv",
        "--max-changes",
        "1",
    )
    refused, found = pd.read_csv("refused.csv"), pd.read_csv("found.csv")
    x = refused.loc[found["instance"]].reset_index(drop=True)
    assert (found[["age", "sex"]] == x[["age", "sex"]]).all(axis=None)
    assert not found["changes"].str.contains(",").any()


def test_settings_choose_differently(explain):
    for name in ("close", "diverse"):
        explain(*MANY, "-k", "4", "--setting", name, "--out", f"{name}.csv")
    close, diverse = (pd.read_csv(f"{name}.csv")["distance"].mean() for name in ("close", "diverse"))
    assert close < diverse


def test_the_report_is_written_for_one_and_for_many(explain):
    assert explain(*ONE, "--report", "one.html") == 0
    groups = ["--groups", "sex,age,branch"]
    rows = pd.read_csv("refused.csv")
    rows.assign(branch=["north", "south"] * (len(rows) // 2) + ["north"] * (len(rows) % 2)).to_csv(
        "rows.csv", index=False
    )
    assert explain("--rows", "rows.csv", "--report", "many.html", *groups, "--part", "9") == 0
    assert explain("--rows", "rows.csv", "--out", "also.html", *groups) == 0
    one, many, also = (Path(name).read_text() for name in ("one.html", "many.html", "also.html"))
    assert "duration" in one
    assert "south" in many
    assert re.sub(r"\d[\d,]* (calls|times)", "", many).count("south") == also.count("south")
    assert not list(Path().glob("*.parts"))


def test_tables_of_every_kind_give_the_same_answers(explain):
    known, rows = pd.read_csv("known.csv"), pd.read_csv("refused.csv")
    explain(*MANY, "-k", "1", "--out", "csv.csv")
    known.to_parquet("known.parquet")
    known.to_feather("known.feather")
    known.to_json("known.jsonl", orient="records", lines=True)
    rows.to_parquet("rows.parquet")
    rows.to_feather("rows.arrow")
    rows.to_json("rows.json", orient="records")
    for data, asked in [
        ("known.parquet", "rows.arrow"),
        ("known.feather", "rows.json"),
        ("known.jsonl", "rows.parquet"),
    ]:
        assert explain("--rows", asked, "-k", "1", "--out", "other.csv", data=data) == 0
        assert Path("other.csv").read_text() == Path("csv.csv").read_text()


def test_the_installed_command_can_be_cut_off_by_head(here):
    command = Path(sys.executable).with_name("counterpoint")
    arguments = (
        "explain --model model.skops --data known.csv --target decision --rows refused.csv -k 1 --quiet"
    )
    done = subprocess.run(
        f"{command} {arguments} | head -1", shell=True, capture_output=True, text=True, check=True
    )
    assert done.stdout == "Row 1\n"
    assert done.stderr == ""


def test_values_go_missing_only_if_that_is_allowed(explain, here):
    """A model of which a missing amount is the surest way to be granted."""
    (here / "holes.py").write_text(
        "def decide(table):\n    return table['amount'].isna() | (table['amount'] < 600)\n"
    )
    known = pd.read_csv(here / "known.csv")
    known["amount"] = known["amount"].where(known.index % 3 > 0)
    known.to_csv(here / "holes.csv", index=False)
    lost = {}
    for name, more in {"kept": [], "allowed": ["--allow-missing"]}.items():
        out = here / f"{name}.csv"
        explain("--rows", "refused.csv", "--out", str(out), *more, model="holes:decide", data="holes.csv")
        lost[name] = int(pd.read_csv(out)["amount"].isna().sum())
    assert lost["kept"] == 0 < lost["allowed"]
