"""A folder of parquet files: one file of answers each, resumed file by file, shared by shards and engines."""

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest
from applicants import applicants

from counterpoint.explainers.parallel import stop_workers
from counterpoint.scale.partitions import Partitions

COUNT = 60


@pytest.fixture
def rows(here):
    """Write rows as several files: an empty one, a small one and others, with an id that is no feature."""
    frame = applicants(COUNT, seed=3)
    frame.insert(0, "application", [f"a{i:03}" for i in range(COUNT)])
    Path("rows/more").mkdir(parents=True)
    for name, part in {
        "a": frame[:0],
        "b": frame[:1],
        "more/c": frame[1:50],
        "more/d": frame[50:],
    }.items():
        part.to_parquet(f"rows/{name}.parquet", index=False)
    return frame


ASKED = ["--rows", "rows", "--id", "application", "-k", "2", "--quiet"]


def answers(folder):
    return pd.read_parquet(folder).sort_values(["application", "counterfactual"], ignore_index=True)


@pytest.fixture
def counting(monkeypatch):
    """List the files that are explained; stop after so many."""
    done: list[str] = []
    explain = Partitions.explain

    def arm(most: int) -> list[str]:
        done.clear()

        def limited(self, name):
            if len(done) == most:
                raise KeyboardInterrupt
            done.append(name)
            return explain(self, name)

        monkeypatch.setattr(Partitions, "explain", limited)
        return done

    return arm


def test_the_answers_and_the_report_are_those_of_one_file(explain, rows):
    rows.drop(columns="application").to_csv("rows.csv", index=False)
    asked = ["-k", "2", "--quiet", "--groups", "job"]
    assert explain("--rows", "rows.csv", *asked, "--out", "one.parquet", "--report", "one.html") == 0
    more = ["--id", "application", "--out", "out", "--report", "many.html"]
    assert explain("--rows", "rows", *asked, *more) == 0
    # Files share no calls of the model.
    pages = [re.sub(r"called \d+ times", "", Path(f"{name}.html").read_text()) for name in ("one", "many")]
    assert pages[0] == pages[1]
    one, many = pd.read_parquet("one.parquet"), answers("out")
    assert many["application"].tolist() == [f"a{i:03}" for i in one["instance"]]
    shared = [name for name in many if name in one]
    pd.testing.assert_frame_equal(many[shared], one[shared], check_dtype=False, check_exact=True)
    empty = pd.read_parquet("out/a.parquet")
    assert len(empty) == 0
    assert empty.dtypes.equals(pd.read_parquet("out/more/c.parquet").dtypes)


def test_a_stopped_run_goes_on_with_the_files_that_are_left(explain, rows, counting):
    assert explain(*ASKED, "--out", "whole") == 0
    counting(2)
    assert explain(*ASKED, "--out", "out") == 130
    done = counting(COUNT)
    assert explain(*ASKED, "--out", "out") == 0
    assert done == ["more/c.parquet", "more/d.parquet"]
    pd.testing.assert_frame_equal(answers("out"), answers("whole"))
    assert explain(*ASKED, "--out", "out") == 0
    assert len(done) == 2


def test_a_file_that_has_changed_is_explained_again(explain, rows, counting):
    assert explain(*ASKED, "--out", "out") == 0
    rows[:2].to_parquet("rows/b.parquet", index=False)
    done = counting(COUNT)
    assert explain(*ASKED, "--out", "out") == 0
    assert done == ["b.parquet"]
    assert set(pd.read_parquet("out/b.parquet")["application"]) == {"a000", "a001"}


def test_another_question_does_not_go_into_the_same_folder(explain, rows, capsys):
    assert explain(*ASKED, "--out", "out") == 0
    assert explain(*ASKED, "--seed", "1", "--out", "out") == 2
    assert "holds the answers of a run with other question" in capsys.readouterr().err


def test_shards_share_the_work_and_the_last_command_writes_the_report(explain, rows, counting, capsys):
    assert explain(*ASKED, "--out", "whole", "--report", "whole.html") == 0
    done = counting(COUNT)
    asked = [each for each in ASKED if each != "--quiet"]
    assert explain(*asked, "--out", "out", "--shard", "1/2", "--report", "shards.html") == 0
    assert done == ["a.parquet", "more/c.parquet"]
    assert "when all files are done; 2 are left" in capsys.readouterr().err
    assert not Path("shards.html").exists()
    assert explain(*ASKED, "--out", "out", "--shard", "2/2") == 0
    assert explain(*ASKED, "--out", "out", "--report", "shards.html") == 0
    assert len(done) == 4
    assert Path("shards.html").read_text() == Path("whole.html").read_text()
    pd.testing.assert_frame_equal(answers("out"), answers("whole"))


def test_rows_that_cannot_be_explained_are_reported_and_the_rest_is_done(explain, rows, capsys):
    bad = rows[50:].astype({"job": object})
    bad.iloc[4, bad.columns.get_loc("job")] = "king"
    bad.to_parquet("rows/more/d.parquet", index=False)
    asked = [each for each in ASKED if each != "--quiet"]
    assert explain(*asked, "--out", "out", "--report", "out.html") == 4
    assert "59 rows explained, 1 are invalid" in capsys.readouterr().err
    found = answers("out").set_index("application")
    assert found["status"]["a054"] == "invalid"
    assert "'job' = 'king'" in found["reason"]["a054"]


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("engine", ["local", "dask://local", "ray://local", "spark://local"])
def test_engines_give_the_same(explain, rows, engine):
    module = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}.get(engine.partition(":")[0])
    if module is not None:
        pytest.importorskip(module, reason="make scale installs Ray and Spark in environments of their own")
    assert explain(*ASKED, "--out", "whole") == 0
    assert explain(*ASKED, "--out", "out", "--engine", engine, "--jobs", "2") == 0
    pd.testing.assert_frame_equal(answers("out"), answers("whole"))


def test_folders_can_be_addresses(explain, rows, here):
    assert explain(*ASKED, "--out", "whole") == 0
    asked = [f"file://{here}/rows" if each == "rows" else each for each in ASKED]
    assert explain(*asked, "--out", f"file://{here}/out") == 0
    pd.testing.assert_frame_equal(answers("out"), answers("whole"))
    assert json.loads(Path("out/_counterpoint/run.json").read_text())["question"]["k"] == 2


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--out", "rows"], "--out must be another folder than --rows"),
        (["--out", "-"], "--out must be a folder if --rows is one"),
        (["--out", "out", "--format", "csv"], "--format is not for folders"),
        (["--out", "out", "--engine", "sql://here"], "--engine must be local, or start with dask://"),
        (["--out", "out", "--shard", "3/2"], "--shard must be such as 2/8"),
        (["--out", "out", "--id", "number"], "lacks the columns ['number']"),
    ],
)
def test_what_cannot_be_is_refused(explain, rows, capsys, more, said):
    assert explain(*ASKED, *more) == 2
    assert said in capsys.readouterr().err


def test_known_instances_can_be_a_folder(explain, rows, scene):
    known = pd.read_csv(scene / "known.csv")
    Path("known").mkdir()
    known[200:].to_parquet("known/a.parquet", index=False)
    known[:200].to_parquet("known/b.parquet", index=False)
    Path("other").mkdir()
    known[::-1].to_parquet("other/z.parquet", index=False)
    for data in ("known", "other"):
        assert (
            explain("--rows", "refused.csv", "-k", "2", "--out", f"from-{data}.csv", "--quiet", data=data)
            == 0
        )
    assert Path("from-known.csv").read_bytes() == Path("from-other.csv").read_bytes()


MORTAL = """
import os, signal
from pathlib import Path
import skops.io

MODEL = skops.io.load("model.skops", trusted=skops.io.get_untrusted_types(file="model.skops"))


def decide(frame):
    mark = Path("died")
    if os.environ.get("PARENT") != str(os.getpid()) and len(frame) == 49 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return MODEL.predict(frame)
"""


def test_a_file_whose_worker_dies_is_done_again(explain, rows, monkeypatch, capsys):
    stop_workers()  # those of earlier tests are in other folders
    monkeypatch.setenv("PARENT", str(os.getpid()))
    Path("mortal.py").write_text(MORTAL)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    asked = [each for each in ASKED if each != "--quiet"]
    assert explain(*asked, "--out", "out", "--jobs", "2", model="mortal:decide") == 0
    assert Path("died").exists()
    assert "A worker process died; its file is done again" in capsys.readouterr().err
    assert explain(*ASKED, "--out", "whole", model="mortal:decide") == 0
    pd.testing.assert_frame_equal(answers("out"), answers("whole"))
