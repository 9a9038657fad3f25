"""Runs that meet, die and are cut off: no output is garbled, lost, or said to be done when it is not."""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from applicants import applicants

from counterpoint._util.atomic import draft_of
from counterpoint.cli.delivery import deliver
from counterpoint.cli.errors import InputError
from counterpoint.cli.explain import Session
from counterpoint.cli.parts import Part
from counterpoint.explanation.explanations import Explanations

COUNT, PART = 40, 10
MANY, ONE = ("--rows", "rows.csv"), ("--row", "x.json")
# What `start` asks, for `explain` in this process.
AGAIN = (*MANY, "-k", "2", "--quiet")

# A model that waits in the middle of its work until it is told to go on.
WAITING = """
import os, time
from pathlib import Path

def decide(table):
    Path("asked").touch()
    while not Path("go").exists():
        time.sleep(0.02)
    return table["amount"] > 4000
"""


# One that starts a process which lives on when its parent is killed.
FORKING = f"""{WAITING}
child = os.fork()
if not child:
    time.sleep(300)
    os._exit(0)
Path("child").write_text(str(child))
"""


def command(*more: str, model: str = "model.skops", rows: tuple[str, str] = MANY) -> list[str]:
    start = [str(Path(sys.executable).with_name("counterpoint")), "explain", "--model", model]
    return [*start, "--data", "known.csv", "--target", "decision", *rows, "-k", "2", *more]


def start(*more: str, model: str = "waiting:decide") -> subprocess.Popen[str]:
    return subprocess.Popen(
        command("--quiet", *more, model=model),
        text=True,
        stderr=subprocess.PIPE,
    )


def finished(run: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = run.communicate(timeout=200)
    return run.returncode, said


def until(happened) -> None:
    limit = time.monotonic() + 100
    while not happened() and time.monotonic() < limit:
        time.sleep(0.02)
    assert happened()


@pytest.fixture
def rows(here):
    applicants(COUNT, seed=3).to_csv("rows.csv", index=False)
    Path("waiting.py").write_text(WAITING)
    yield ["--rows", "rows.csv", "-k", "2", "--part", str(PART), "--quiet"]
    Path("go").touch()  # so that no run waits for ever


def left() -> list[str]:
    """List hidden files and folders of parts that a run left."""
    return sorted(
        path.name for path in Path().iterdir() if path.name.startswith(".") or ".parts" in path.name
    )


def test_a_second_run_for_the_same_output_is_told_who_has_it(explain, rows, capsys):
    Path("link.csv").symlink_to("found.csv")
    first = start("--out", "found.csv", "--report", "found.html")
    until(Path("asked").exists)
    for outputs in (["--out", "found.csv"], ["--report", "found.html"], ["--out", "link.csv"]):
        assert explain(*AGAIN, *outputs, model="waiting:decide") == 75
        said = capsys.readouterr().err
        assert f"is being written by process {first.pid} on {socket.gethostname()} since 20" in said
        assert said.count("\n") == 1
    Path("go").touch()
    assert finished(first) == (0, "")
    assert pd.read_csv("found.csv")["instance"].nunique() == COUNT
    assert left() == []


def test_runs_at_once_leave_one_whole_output(explain, rows):
    assert explain(*AGAIN, "--out", "alone.csv") == 0
    runs = [start("--out", "found.csv", "--part", "5", model="model.skops") for _ in range(4)]
    codes = [finished(run)[0] for run in runs]
    assert set(codes) <= {0, 75}
    assert 0 in codes
    assert Path("found.csv").read_bytes() == Path("alone.csv").read_bytes()
    assert left() == []


def test_a_killed_run_leaves_no_lock_that_holds(explain, rows):
    first = start("--out", "found.csv")
    until(Path("asked").exists)
    first.kill()
    finished(first)
    Path("go").touch()
    assert explain(*AGAIN, "--out", "found.csv", model="waiting:decide") == 0
    assert left() == []


def test_nor_do_processes_that_the_model_started(explain, rows):
    Path("forking.py").write_text(FORKING)
    first = start("--out", "found.csv", model="forking:decide")
    until(Path("asked").exists)
    child = int(Path("child").read_text())
    try:
        first.kill()
        first.wait()
        Path("go").touch()
        assert explain(*AGAIN, "--out", "found.csv") == 0
    finally:
        os.kill(child, 9)
        first.stderr.close()


def test_a_link_stays_one_and_what_it_leads_to_is_written(explain, rows):
    Path("elsewhere").mkdir()
    Path("found.csv").symlink_to("elsewhere/real")
    assert explain(*rows, "--out", "found.csv") == 0
    assert Path("found.csv").is_symlink()
    assert pd.read_csv("elsewhere/real")["instance"].nunique() == COUNT
    assert [path.name for path in Path("elsewhere").iterdir()] == ["real"]


def test_drafts_of_dead_runs_are_removed_and_nothing_else(explain, rows):
    draft, nested = draft_of(Path("found.csv")), draft_of(draft_of(Path("found.html")))
    kept = [Path(".found.csv.note.draft"), draft_of(Path("other.csv"))]
    for path in (draft, nested, *kept):
        path.touch()
    assert explain(*rows, "--out", "found.csv", "--report", "found.html") == 0
    assert left() == sorted(path.name for path in kept)


@pytest.fixture
def stopped(explain, rows, monkeypatch):
    """Run a command that is stopped after two parts; then let the next go on, and list what it explains."""
    explain_part = Session.explain_part
    done: list[int] = []

    def run(*more: str, **inputs: str) -> list[int]:
        def limited(self, start, frame):
            if len(done) == 2:
                raise KeyboardInterrupt
            done.append(start)
            return explain_part(self, start, frame)

        monkeypatch.setattr(Session, "explain_part", limited)
        assert explain(*rows, *more, **inputs) == 130
        done.clear()

        def listed(self, start, frame):
            done.append(start)
            return explain_part(self, start, frame)

        monkeypatch.setattr(Session, "explain_part", listed)
        return done

    return run


@pytest.mark.parametrize("content", [b"", b"not a part", None])
def test_a_damaged_part_is_computed_again(explain, rows, stopped, content):
    assert explain(*rows, "--out", "found.csv") == 0
    whole = Path("found.csv").read_bytes()
    done = stopped("--out", "found.csv")
    (first, _) = sorted(Path().glob("*.parts/*.json.gz"))
    first.write_bytes(first.read_bytes()[:-20] if content is None else content)
    assert explain(*rows, "--out", "found.csv") == 0
    assert done == [0, 20, 30]
    assert Path("found.csv").read_bytes() == whole


def test_a_part_that_vanishes_is_missed_before_anything_is_replaced(explain, rows, monkeypatch, capsys):
    Path("found.csv").write_text("earlier")
    explain_part = Session.explain_part

    def losing(self, start, frame):
        if start == 30:
            next(Path().glob("*.parts/*.json.gz")).unlink()
        return explain_part(self, start, frame)

    with monkeypatch.context() as patched:
        patched.setattr(Session, "explain_part", losing)
        assert explain(*rows, "--out", "found.csv") == 2
    assert "The same command computes it again" in capsys.readouterr().err
    assert Path("found.csv").read_text() == "earlier"
    assert explain(*rows, "--out", "found.csv") == 0
    assert pd.read_csv("found.csv")["instance"].nunique() == COUNT


def test_rows_are_counted_before_anything_is_replaced(here):
    Path("found.csv").write_text("earlier")
    part = Part(Explanations([]), pd.DataFrame())
    with pytest.raises(InputError, match="hold 0 of the 3 explained rows"):
        deliver([part], [Path("found.csv")], (), rows=3)
    assert Path("found.csv").read_text() == "earlier"
    assert left() == []


def test_the_disk_has_the_output_before_the_parts_go(explain, rows, monkeypatch):
    did: list[str] = []

    def spy(owner, name, say):
        real = getattr(owner, name)

        def spied(*arguments, **named):
            did.append(say(*arguments))
            return real(*arguments, **named)

        monkeypatch.setattr(owner, name, spied)

    def what(opened):
        name = Path(f"/proc/self/fd/{opened}").resolve()
        return "sync folder" if name == Path.cwd() else f"sync {name.suffix}"

    spy(os, "fsync", what)
    spy(Path, "replace", lambda _, path: f"replace {path.name}")
    spy(shutil, "rmtree", lambda folder: f"remove {folder.suffix}")
    assert explain(*rows, "--out", "found.csv", "--report", "found.html") == 0
    end = did[did.index("replace found.csv") - 2 :]
    assert end == [
        "sync .draft",
        "sync .draft",
        "replace found.csv",
        "replace found.html",
        "sync folder",
        "remove .parts",
    ]


WEIGHED = """
from pathlib import Path

def decide(table):
    return table["amount"] > float(Path("weights").read_text())
"""


@pytest.mark.parametrize("limit", ["4000", "2500"])
def test_a_resumed_run_asks_again_about_the_answers_it_has(explain, rows, stopped, capsys, limit):
    Path("weighed.py").write_text(WEIGHED)
    Path("weights").write_text("4000")
    done = stopped("--out", "found.csv", model="weighed:decide")
    Path("weights").write_text(limit)
    capsys.readouterr()
    assert explain(*rows[:-1], "--out", "found.csv", model="weighed:decide") == 0
    said = capsys.readouterr().err
    assert ("it begins anew" in said) == (limit != "4000")
    assert done == ([20, 30] if limit == "4000" else [0, 10, 20, 30])
    found = pd.read_csv("found.csv")
    assert (found["decision"] == (found["amount"] > float(limit))).all()


SCORED = WEIGHED.replace('table["amount"] >', 'table["amount"] / ')


def test_a_resumed_run_on_scores_goes_on(explain, rows, stopped):
    Path("scored.py").write_text(SCORED)
    Path("weights").write_text("4000")
    ask = ["--want", ":1", "--out", "found.csv"]
    done = stopped(*ask, model="scored:decide")
    assert explain(*rows, *ask, model="scored:decide") == 0
    assert done == [20, 30]


def closed_pipe() -> int:
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def run_unread(stream: str, *more: str, rows: tuple[str, str] = MANY) -> subprocess.CompletedProcess[str]:
    """Run a command of which one stream is read by nobody."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: closed_pipe()}
    try:
        return subprocess.run(command(*more, rows=rows), text=True, timeout=100, **streams)
    finally:
        os.close(streams[stream])


@pytest.mark.parametrize("asked", [MANY, ONE])
def test_files_are_written_though_nobody_reads_what_is_printed(rows, asked):
    done = run_unread("stdout", "--out", "-", "--report", "found.html", rows=asked)
    assert done.returncode == 141
    assert "Written: found.html." in done.stderr
    assert "Error" not in done.stderr
    assert "</html>" in Path("found.html").read_text()
    assert left() == []


def test_nobody_reads_and_there_is_nothing_to_write(rows):
    done = run_unread("stdout", "--quiet")
    assert done.returncode == 141
    assert done.stderr == ""


def test_files_are_written_where_there_is_nothing_to_print_to(rows):
    text = shlex.join(command("--out", "found.csv"))
    assert subprocess.run(f"{text} >&- 2>&-", shell=True, timeout=100).returncode == 0
    assert pd.read_csv("found.csv")["instance"].nunique() == COUNT


def test_files_are_written_though_nobody_reads_the_messages(rows):
    done = run_unread("stderr", "--out", "found.csv")
    assert done.returncode == 0
    assert pd.read_csv("found.csv")["instance"].nunique() == COUNT
