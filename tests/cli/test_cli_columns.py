"""Ordered categories, dummy columns and dates on the command line."""

import datetime as dt
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterpoint._util import say_once
from counterpoint.cli import main
from counterpoint.cli.constraints_file import read_limits
from counterpoint.cli.errors import InputError
from counterpoint.data.schema import Schema

LEVELS = ["none", "school", "college", "doctorate"]
MODULE = """
def decide(table):
    assert (table[["purpose_car", "purpose_tv"]].sum(axis=1) <= 1).all()
    level = table["education"].map({"none": 0, "school": 1, "college": 2, "doctorate": 3}).astype(int)
    months = (table["start"].dt.year - 2020) * 12 + table["start"].dt.month
    score = level + months / 24 + table["purpose_tv"] - table["purpose_car"]
    return (score > 2.5).map({True: "granted", False: "refused"})
"""


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a table of loans and a model of it."""
    rng = np.random.default_rng(0)
    purpose = rng.choice(["car", "tv", "house"], 200)
    loans = pd.DataFrame(
        {
            "education": rng.choice(LEVELS, 200),
            "purpose_car": (purpose == "car").astype(int),
            "purpose_tv": (purpose == "tv").astype(int),
            "start": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, 200), unit="D"),
        }
    )
    loans.to_parquet(tmp_path / "loans.parquet")
    x = {"education": "none", "purpose_car": 1, "purpose_tv": 0, "start": "2020-05-01"}
    (tmp_path / "x.json").write_text(json.dumps(x))
    (tmp_path / "bank.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "bank", raising=False)
    say_once._SAID.clear()
    return tmp_path


def explain(*more: str) -> int:
    given = ["--model", "bank:decide", "--data", "loans.parquet", "--row", "x.json"]
    return main(["explain", *given, "--format", "json", *more])


def answers(capsys: pytest.CaptureFixture[str]) -> list[dict]:
    (found,) = json.loads(capsys.readouterr().out)
    return found["counterfactuals"]


def test_groups_are_said_once_and_shown_as_one(bank, capsys):
    assert explain() == 0
    captured = capsys.readouterr()
    said = [line for line in captured.err.splitlines() if "purpose (2 columns)" in line]
    assert len(said) == 1
    (found,) = json.loads(captured.out)
    assert found["values"]["purpose"] == "car"
    assert found["values"]["start"].startswith("2020-05-01")
    for answer in found["counterfactuals"]:
        assert set(answer["values"]) == {"education", "purpose", "start"}
        if "start" in answer["changes"]:
            assert dt.datetime.fromisoformat(answer["changes"]["start"])


def test_quiet_says_nothing(bank, capsys):
    assert explain("--quiet") == 0
    assert "purpose (" not in capsys.readouterr().err


def test_a_file_gives_order_groups_and_ranges_of_dates(bank, capsys):
    Path("limits.toml").write_text(
        '[columns.education]\norder = ["none", "school", "college", "doctorate"]\nincrease = true\n'
        '[columns.purpose]\nonehot = ["purpose_car", "purpose_tv"]\nimmutable = true\n'
        "[columns.start]\nrange = [2020-05-01, 2021-06-30]\n"
    )
    assert explain("--constraints", "limits.toml") in (0, 1)
    captured = capsys.readouterr()
    assert "purpose (" not in captured.err  # declared, so there is nothing to say
    (found,) = json.loads(captured.out)
    assert found["counterfactuals"]
    for answer in found["counterfactuals"]:
        assert answer["values"]["purpose"] == "car"
        assert "2020-05-01" <= answer["values"]["start"] <= "2021-06-30 00:00:00"
        assert LEVELS.index(answer["values"]["education"]) >= 0


def test_flags_give_the_same(bank, capsys):
    flags = ("--order", "education=none,school,college,doctorate", "--increase", "education")
    assert explain(*flags, "--immutable", "purpose_tv", "--range", "start=:2020-12-31") in (0, 1)
    for answer in answers(capsys):
        assert answer["values"]["purpose"] == "car"
        assert answer["values"]["start"] <= "2020-12-31 00:00:00"


def test_groups_can_be_turned_off(bank, capsys):
    Path("bank.py").write_text(MODULE.replace("    assert (table", "    (table"))
    for flags in (["--no-onehot"], ["--constraints", "off.toml"]):
        Path("off.toml").write_text("onehot = false\n")
        assert explain(*flags) == 0
        assert "purpose_car" in answers(capsys)[0]["values"]


def test_the_draft_of_a_schema_can_be_read(bank, capsys):
    assert main(["schema", "loans.parquet"]) == 0
    draft = capsys.readouterr().out
    assert '[columns.purpose]  # 3 categories\nonehot = ["purpose_car", "purpose_tv"]' in draft
    Path("draft.toml").write_text(draft)
    assert read_limits(Path("draft.toml")).onehot == {"purpose": ("purpose_car", "purpose_tv")}
    Path("all.toml").write_text(draft.replace("# range", "range"))
    limits, loans = read_limits(Path("all.toml")), pd.read_parquet("loans.parquet")
    schema = Schema.infer(loans, ranges=limits.ranges, onehot=limits.onehot)
    assert schema.features[2].range == schema.features[2].seen


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[columns.education]\norder = "none"\n', "columns.education.order must be a list of values"),
        ('onehot = ["a"]\n', "onehot must be true or false"),
        ('onehot = false\n[columns.purpose]\nonehot = ["a", "b"]\n', "onehot is false, but"),
        ("[columns.education]\norders = []\n", "unknown keys"),
    ],
)
def test_files_that_cannot_be(bank, text, says):
    Path("bad.toml").write_text(text)
    with pytest.raises(InputError, match=says):
        read_limits(Path("bad.toml"))


def test_an_order_that_lacks_a_category_is_refused(bank, capsys):
    assert explain("--order", "education=none,school") == 2
    assert "Left out: ['college', 'doctorate']" in capsys.readouterr().err
    assert explain("--order", "education") == 2
    assert "--order must be NAME=LOWEST,…,HIGHEST" in capsys.readouterr().err
