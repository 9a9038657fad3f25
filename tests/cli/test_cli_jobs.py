"""Several processes on one machine: the same files."""

from pathlib import Path

from applicants import applicants


def test_two_jobs_write_the_same_files(explain, capsys):
    applicants(280, seed=3).to_csv("rows.csv", index=False)
    asked = ["--rows", "rows.csv", "-k", "2", "--part", "200", "--quiet"]
    assert explain(*asked, "--out", "one.csv", "--report", "one.html") == 0
    assert explain(*asked, "--out", "two.csv", "--report", "two.html", "--jobs", "2") == 0
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    assert Path("one.html").read_bytes() == Path("two.html").read_bytes()


def test_no_jobs_are_refused(explain, capsys):
    assert explain("--rows", "refused.csv", "--jobs", "0") == 2
    assert "--jobs must be a number of processes" in capsys.readouterr().err
