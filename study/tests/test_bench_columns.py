"""The benchmark by the number of columns, on few of them."""

import json

from counterpoint_study.benchmarks import columns


def test_each_width_is_measured_and_set_against_the_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    columns.main(["--columns", "4", "8", "--instances", "2"])
    written = json.loads((tmp_path / "benchmarks" / "results" / "columns.json").read_text())
    few, many = written["by columns"]
    assert (few["columns"], many["columns"]) == (4, 8)
    assert few["answers each"] > 0
    assert few["model rows each"] > 100
    per_column, per_cell = (figure["value"] for figure in written["figures"])
    assert per_column == max(1, many["CPU ms per column"] / few["CPU ms per column"])
    assert per_cell >= 1


def test_a_rise_per_column_is_told():
    def line(width, milliseconds):
        return {"columns": width, "CPU ms per column": milliseconds, "model rows each": 1_000}

    assert all(figure.passed for figure in columns.figures([line(300, 1.0), line(3_000, 1.1)]))
    assert not any(figure.passed for figure in columns.figures([line(300, 1.0), line(3_000, 10.0)]))
