"""`counterpoint schema`, `demo` and `datasets`, and the way of a new user from a csv to a report."""

import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from counterpoint import datasets
from counterpoint.cli import main
from counterpoint.cli.constraints_file import read_limits
from counterpoint.cli.datasets import listed
from counterpoint.cli.schema import draft


def test_a_draft_is_valid_as_it_is_and_with_all_suggestions(here, capsys):
    assert main(["schema", "known.csv", "--target", "decision"]) == 0
    text = capsys.readouterr().out
    Path("draft.toml").write_text(text)
    assert list(tomllib.loads(text)["columns"]) == ["age", "amount", "duration", "job", "sex"]
    assert read_limits(Path("draft.toml")).categorical == ("job", "sex")
    body = text.split("\n\n", 1)[1]
    columns = tomllib.loads(re.sub(r"^# ", "", body, flags=re.MULTILINE))["columns"]
    known = pd.read_csv("known.csv")
    assert columns["age"]["range"] == [known["age"].min(), known["age"].max()]
    assert columns["job"]["range"] == ["clerk", "nurse", "smith"]
    assert columns["sex"]["immutable"] is True


def test_a_draft_does_as_it_is_what_no_constraints_do(explain, capsys):
    main(["schema", "known.csv", "--target", "decision"])
    Path("draft.toml").write_text(capsys.readouterr().out)
    explain("--rows", "refused.csv", "-k", "2", "--out", "a.csv")
    assert explain("--rows", "refused.csv", "-k", "2", "--out", "b.csv", "--constraints", "draft.toml") == 0
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


def test_odd_columns_are_pointed_out():
    table = pd.DataFrame({"my id": range(100), "same": 1, 'part.ner\'s "age"': [1.5, None] * 50})
    text = draft(table, "odd.csv")
    assert "all differ: if it is an identifier" in text
    assert "always the same" in text
    assert "50.0% missing" in text
    assert list(tomllib.loads(text)["columns"]) == list(table)


def test_the_list_of_data_sets_is_right(capsys):
    assert main(["datasets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(datasets.NAMES)
    for each in listed():
        if not each.is_here:
            continue
        data = datasets.load(each.name)
        if isinstance(data, datasets.Dataset):
            assert each.what == f"{len(data.X):,} rows of {data.X.shape[1]} features"
        else:
            assert each.what.startswith(f"{len(data.X_train) + len(data.X_test):,} ")
            assert each.what.endswith(" x ".join(map(str, data.X_train.shape[1:])))


def test_a_folder_of_ones_own_counts_as_here(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "nothing"))
    monkeypatch.setenv("COUNTERPOINT_DATA", str(tmp_path))
    assert not any(each.is_here for each in listed())


def test_the_demo_prints_an_answer_and_the_commands_for_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    assert "Decision: 'refused'" in printed
    page = Path("demo/report.html").read_text()
    by_hand = [
        shlex.split(text)
        for text in printed.replace("\\\n", "").splitlines()
        if text.startswith("counterpoint ")
    ]
    Path("demo/report.html").unlink()
    for command in by_hand:
        assert main(command[1:]) in (0, 1)  # 1: some of the refused have fewer than three ways
    assert "Decision: 'refused'" in capsys.readouterr().out
    assert Path("demo/report.html").read_text() == page


def test_a_new_user_gets_from_a_csv_and_a_skops_file_to_a_report_in_three_commands(here):
    folder = Path(sys.executable).parent
    commands = [
        "counterpoint schema known.csv --target decision > constraints.toml",
        "sed -i '/columns.age/a immutable = true' constraints.toml",
        "counterpoint explain --model model.skops --data known.csv --target decision --rows refused.csv -k 3 "
        "--constraints constraints.toml --report report.html",
    ]
    for command in commands:
        subprocess.run(f"PATH={folder}:$PATH {command}", shell=True, check=True, capture_output=True)
    assert "duration" in Path("report.html").read_text()


@pytest.mark.parametrize("command", ["explain", "schema", "demo", "datasets"])
def test_every_command_has_help(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    assert len(capsys.readouterr().out) > 100


@pytest.mark.parametrize("arguments", [[], ["--help"], ["tables", "--methods", "ECE", "-k", "1"]])
def test_without_the_study_its_command_says_how_to_get_it(arguments, monkeypatch, capsys):
    monkeypatch.setattr("counterpoint.cli.entry_points", lambda group: ())
    assert main(["study", *arguments]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "counterpoint: The study is a package of its own: pip install counterpoint-study"
    ]
