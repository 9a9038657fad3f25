"""Rows that cannot be explained are named by their numbers in the file, and can be left out."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from applicants import applicants

from counterpoint.cli.explain import Session

COUNT = 60
ASK = ["--rows", "rows.csv", "-k", "2", "--part", "14"]


@pytest.fixture
def spoilt(here):
    """Write rows of which some cells hold something else; give the rows as they were."""

    def write(cells: dict[tuple[int, str], object], name: str = "rows.csv") -> pd.DataFrame:
        rows = applicants(COUNT, seed=3)
        bad = rows.astype(object)
        for (number, column), value in cells.items():
            bad.loc[number - 1, column] = value
        if name.endswith(".csv"):
            bad.to_csv(name, index=False)
        else:
            bad.to_json(name, orient="records", lines=True)
        return rows

    return write


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl"])
def test_exactly_the_cells_that_cannot_be_read_are_named(explain, spoilt, capsys, name):
    spoilt({(40, "age"): "abc", (46, "job"): "pilot", (46, "amount"): None}, name)
    assert explain("--rows", name, "--quiet", "--out", "found.csv") == 2
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == (
        f"counterpoint: 2 of 60 rows of {name} cannot be explained. Mend them, or add --skip-invalid to "
        f"explain the others:"
    )
    starts = [
        "row 40: 'age' = 'abc'. It is not a number.",
        "row 46: 'amount' = nan.",
        "row 46: 'job' = 'pilot'.",
    ]
    assert len(lines) == 3
    for line, start in zip(sorted(lines), starts, strict=True):
        assert line.startswith(f"  {start}")
    assert not Path("found.csv").exists()


def test_the_rest_is_explained_as_if_the_bad_rows_were_not_there(explain, spoilt, capsys):
    rows = spoilt({(1, "age"): "abc", (40, "age"): "-", (46, "job"): "pilot"})
    assert explain(*ASK, "--skip-invalid", "--out", "found.csv") == 4
    said = capsys.readouterr().err
    assert "3 of 60 rows of rows.csv cannot be explained and are skipped:\n  row 1: 'age' = 'abc'." in said
    assert "row 40: 'age' = '-'." in said
    assert "57 rows explained, 3 skipped. Written: found.csv." in said
    rows.to_csv("rows.csv", index=False)
    assert explain(*ASK, "--out", "whole.csv") == 0
    whole = pd.read_csv("whole.csv")
    others = whole[~whole["instance"].isin([0, 39, 45])].reset_index(drop=True)
    pd.testing.assert_frame_equal(pd.read_csv("found.csv"), others)


@pytest.mark.parametrize("out", ["found.csv", "found.parquet", "found.json", "found.html"])
def test_a_part_may_hold_nothing_but_bad_rows(explain, spoilt, out):
    spoilt({(number, "job"): "pilot" for number in range(1, 16)})
    groups = ["--groups", "sex"] if out.endswith("html") else []
    assert explain(*ASK, "--quiet", "--skip-invalid", "--out", out, *groups) == 4
    if out == "found.json":
        places = [record["instance"] for record in json.loads(Path(out).read_text())]
        assert places == list(range(15, COUNT))


def test_a_long_list_ends_and_a_file_has_it_all(explain, spoilt, capsys):
    spoilt({(number, "age"): f"no {number}" for number in range(11, 41)})
    assert explain(*ASK, "--skipped", "bad.csv", "--out", "found.csv") == 4
    said = capsys.readouterr().err
    assert len(re.findall(r"^  row \d+: ", said, flags=re.MULTILINE)) == 20
    assert "  and 10 more values.\n" in said
    listed = pd.read_csv("bad.csv")
    assert list(listed) == ["row", "column", "value", "reason"]
    assert listed["row"].tolist() == list(range(11, 41))
    assert listed["value"].tolist() == [f"no {number}" for number in range(11, 41)]
    applicants(COUNT, seed=3).to_csv("rows.csv", index=False)
    assert explain(*ASK, "--skipped", "bad.csv", "--out", "found.csv") == 0
    assert len(pd.read_csv("bad.csv")) == 0


def test_a_stopped_run_goes_on_without_the_bad_rows(explain, spoilt, monkeypatch):
    spoilt({(10, "age"): "abc"})
    ask = [*ASK, "--quiet", "--skip-invalid", "--out"]
    assert explain(*ask, "whole.csv") == 4
    explain_part = Session.explain_part

    def stop_at_third(self, start, frame):
        if start == 28:
            raise KeyboardInterrupt
        return explain_part(self, start, frame)

    with monkeypatch.context() as patched:
        patched.setattr(Session, "explain_part", stop_at_third)
        assert explain(*ask, "found.csv") == 130
    assert explain(*ask, "found.csv") == 4
    assert Path("found.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_no_row_left_is_an_error(explain, spoilt, capsys):
    spoilt({(number, "job"): "pilot" for number in range(1, COUNT + 1)})
    assert explain(*ASK, "--quiet", "--skip-invalid", "--out", "found.csv") == 2
    assert "60 of 60 rows of rows.csv cannot be explained, and none is left" in capsys.readouterr().err
    assert not Path("found.csv").exists()


def test_rows_are_numbered_as_in_the_file_wherever_they_are_named(explain, spoilt, capsys):
    spoilt({(1, "age"): "abc", (9, "age"): "abc"})
    Path("by_amount_only.py").write_text("def decide(table):\n    return table['amount'] > 4000\n")
    fixed = ["--immutable", "amount", "--skip-invalid", "--report", "found.html"]
    assert explain(*ASK, *fixed, model="by_amount_only:decide") == 4
    page = Path("found.html").read_text()
    told = [int(number) for number in re.findall(r"<tr><td class=\"n\">(\d+)</td>", page)]
    numbers = [*range(2, 9), *range(10, 23)]
    assert told == numbers
    assert "58 of 58 rows got fewer than 2 counterfactuals, 58 of them none" in capsys.readouterr().err
    assert explain(*ASK, "--skip-invalid") == 4
    assert re.findall(r"^Row (\d+)$", capsys.readouterr().out, flags=re.MULTILINE)[:9] == [
        *map(str, range(2, 9)),
        "10",
        "11",
    ]


def test_truths_are_read_cell_by_cell_too(explain, here, capsys):
    known = applicants(200).assign(member=[True, False] * 100)[["amount", "member"]]
    known.to_csv("members.csv", index=False)
    rows = known[:12].astype(object)
    rows.loc[4, "member"] = "maybe"
    rows.to_csv("rows.csv", index=False)
    Path("by_amount.py").write_text("def decide(table):\n    return table['amount'] > 4000\n")
    ask = {"model": "by_amount:decide", "data": "members.csv", "target": ""}
    assert explain("--rows", "rows.csv", "--quiet", "--out", "found.csv", **ask) == 2
    said = capsys.readouterr().err
    assert "1 of 12 rows of rows.csv" in said
    assert "row 5: 'member' = 'maybe'" in said


@pytest.mark.parametrize("out", ["found.csv", "found.parquet"])
def test_columns_that_stay_may_hold_what_is_new_in_any_part(explain, spoilt, out):
    new = {(10, "age"): 33.5, (20, "job"): "pilot", (30, "age"): None, (40, "job"): None}
    spoilt(new)
    assert explain(*ASK, "--quiet", "--immutable", "age,job", "--out", out, model=numbers_only()) == 0
    found = pd.read_parquet(out) if out.endswith("parquet") else pd.read_csv(out)
    for (number, column), value in new.items():
        held = found.loc[found["instance"] == number - 1, column]
        assert len(held) == 2
        assert held.isna().all() if value is None else (held == value).all()


def numbers_only() -> str:
    """Write a model that looks at amount and duration only."""
    score = "table['amount'] / 4000 + table['duration'] / 40"
    Path("numbers_only.py").write_text(f"def decide(table):\n    return {score} > 2.2\n")
    return "numbers_only:decide"


def test_one_row_has_no_others_to_go_on_with(explain, capsys):
    assert explain("--row", "x.json", "--skip-invalid") == 2
    assert "--skip-invalid leaves out some of many rows" in capsys.readouterr().err
