"""Long runs: finished parts are on disk, a killed run goes on where it was, and nothing else changes."""

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from applicants import applicants

from counterpoint.cli.explain import Session
from counterpoint.cli.tables import read_parts

COUNT, PART = 60, 10


@pytest.fixture
def rows(here):
    applicants(COUNT, seed=3).to_csv("rows.csv", index=False)
    return ["--rows", "rows.csv", "-k", "2", "--part", str(PART), "--quiet"]


@pytest.fixture
def stopping(monkeypatch):
    """Stop a run when it has explained so many parts; count those that it explains."""
    done: list[int] = []
    explain_part = Session.explain_part

    def arm(most: int) -> list[int]:
        done.clear()

        def limited(self, start, frame):
            if len(done) == most:
                raise KeyboardInterrupt
            done.append(start)
            return explain_part(self, start, frame)

        monkeypatch.setattr(Session, "explain_part", limited)
        return done

    return arm


@pytest.mark.parametrize("out", ["found.csv", "found.parquet", "found.json"])
def test_a_stopped_run_goes_on_and_ends_the_same(explain, rows, stopping, capsys, out):
    assert explain(*rows, "--out", out) == 0
    whole = Path(out).read_bytes()
    Path(out).unlink()
    stopping(2)
    assert explain(*rows, "--out", out) == 130
    assert "the same command goes on" in capsys.readouterr().err
    assert not Path(out).exists()
    done = stopping(COUNT)
    assert explain(*rows, "--out", out) == 0
    assert done == [20, 30, 40, 50]
    assert Path(out).read_bytes() == whole
    assert not list(Path().glob("*.parts"))


@pytest.mark.parametrize(
    "change",
    [
        ["-k", "1"],
        ["--seed", "1"],
        ["--immutable", "age"],
        ["--want", "granted"],
        ["--setting", "close"],
        "rows",
        "data",
        "model",
    ],
)
def test_another_run_does_not_take_the_parts(explain, rows, stopping, change):
    stopping(2)
    assert explain(*rows, "--out", "found.csv") == 130
    inputs = {}
    if change == "rows":
        pd.read_csv("rows.csv")[::-1].to_csv("rows.csv", index=False)
    elif change == "data":
        pd.read_csv("known.csv")[:-1].to_csv("other.csv", index=False)
        inputs["data"] = "other.csv"
    elif change == "model":
        Path("scoring.py").write_text("def decide(table):\n    return table['amount'] > 4000\n")
        inputs["model"] = "scoring:decide"
    done = stopping(1)
    assert (
        explain(*rows, *(change if isinstance(change, list) else []), "--out", "found.csv", **inputs) == 130
    )
    assert done == [0]


def test_what_other_runs_left_is_named_and_kept(explain, rows, stopping, capsys):
    stopping(1)
    explain(*rows, "--out", "found.csv")
    (left,) = Path().glob("*.parts")
    stopping(COUNT)
    assert explain(*rows[:-1], "--seed", "5", "--out", "found.csv") == 0
    assert f"unfinished work that this one cannot use: {left}" in capsys.readouterr().err
    assert left.exists()


def test_the_output_of_an_earlier_run_stays_until_the_new_one_is_whole(explain, rows, stopping):
    Path("found.csv").write_text("earlier")
    stopping(3)
    explain(*rows, "--out", "found.csv")
    assert Path("found.csv").read_text() == "earlier"
    stopping(COUNT)
    explain(*rows, "--out", "found.csv")
    assert Path("found.csv").read_text().startswith("instance,")


def test_a_report_adds_up_over_a_stop(explain, rows, stopping):
    options = [*rows, "--report", "found.html", "--groups", "sex"]
    explain(*options)
    whole = Path("found.html").read_text()
    stopping(2)
    explain(*options)
    stopping(COUNT)
    explain(*options)
    assert Path("found.html").read_text() == whole


def test_a_row_that_is_wrong_is_told_before_any_is_explained(explain, rows, stopping, capsys):
    done = stopping(COUNT)
    good = pd.read_csv("rows.csv")
    good.assign(job=good["job"].where(good.index != 45, "pilot")).to_csv("rows.csv", index=False)
    assert explain(*rows, "--out", "found.csv") == 2
    assert "row 46: 'job' = 'pilot'" in capsys.readouterr().err
    assert not done
    assert not list(Path().glob("*.parts"))
    assert not Path("found.csv").exists()


def test_a_killed_process_goes_on(here, rows):
    applicants(100, seed=3).to_csv("rows.csv", index=False)
    command = [Path(sys.executable).with_name("counterpoint"), "explain", "--model", "model.skops"]
    command += ["--data", "known.csv", "--target", "decision", *rows, "--out", "found.csv"]
    process = subprocess.Popen(command)
    limit = time.monotonic() + 60
    while not list(Path().glob("*.parts/*.json.gz")) and time.monotonic() < limit:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not Path("found.csv").exists()
    (folder,) = Path().glob("*.parts")
    finished = list(folder.glob("*.json.gz"))
    assert finished
    for part in finished:
        assert json.loads(gzip.decompress(part.read_bytes()))["explanations"]
    subprocess.run(command, check=True)
    assert pd.read_csv("found.csv")["instance"].nunique() == 100
    assert not folder.exists()


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather", "t.jsonl", "t.json"])
@pytest.mark.parametrize("size", [1, 7, 25, 100])
def test_parts_are_of_one_size_and_hold_all_rows(here, name, size):
    table = applicants(25)
    match Path(name).suffix:
        case ".csv":
            table.to_csv(name, index=False)
        case ".parquet":
            table.to_parquet(name, row_group_size=4)
        case ".feather":
            table.to_feather(name, chunksize=4)
        case ending:
            table.to_json(name, orient="records", lines=ending == ".jsonl")
    parts = list(read_parts(Path(name), size, table))
    assert [len(part) for part in parts[:-1]] == [size] * (len(parts) - 1)
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), table)
