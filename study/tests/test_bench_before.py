"""The benchmark that compares with an earlier version, here with the present one in its place."""

import json
from pathlib import Path

import pytest

import counterpoint as cp
from counterpoint_study.benchmarks import before


def test_the_same_code_gives_the_same_answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(before, "earlier", lambda revision: Path(cp.__file__).parents[1])
    before.main(["--sets", "german", "--ks", "2", "--instances", "2", "--repeats", "1"])
    written = json.loads((tmp_path / "benchmarks" / "results" / "before.json").read_text())
    same = [line for line in written["lines"] if line["version"] == before.RATIO]
    assert [line["set"] for line in same] == ["german", before.MEAN]
    for name in before.MEASURED:
        if name != "cpu_ms":
            assert [line[name] for line in same] == [1, 1]
    assert all(figure["passed"] for figure in written["figures"] if "CPU" not in figure["name"])


def test_a_revision_that_is_not_there_is_said_to_be_missing():
    with pytest.raises(SystemExit, match="no revision nowhere here"):
        before.earlier("nowhere")


def test_figures_say_what_got_worse():
    mean = {**dict.fromkeys(before.MEASURED, 1.0), "k": 5}
    assert all(figure.passed for figure in before.figures(mean))
    worse = before.figures({**mean, "dis_dist": 1.4, "div_count": 0.9, "model_rows": 1.2})
    assert [figure.name.split()[3].strip(",") for figure in worse if not figure.passed] == [
        "dis_dist",
        "div_count",
        "rows",
    ]


def test_one_answer_may_be_no_worse_at_all():
    mean = {**dict.fromkeys(before.MEASURED, 1.01), "k": 1}
    missed = [figure.name for figure in before.figures(mean) if not figure.passed]
    assert len(missed) == 4  # dipo may rise, and effort has some room
