"""The commands ``counterpoint study tables``, ``images`` and ``series``."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from counterpoint.cli import main, parser
from counterpoint_study.cli import SETS, plan_of
from counterpoint_study.topics import TOPICS

SMALL = ["--sets", "german", "--black-boxes", "forest", "--instances", "2", "-k", "1", "2", "--cores", "1"]
FEW = ["--refits", "2"]


def test_a_small_study_writes_results_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(
        [
            "study",
            "tables",
            *SMALL,
            *FEW,
            "--methods",
            "Counterpoint",
            "BCE-N",
            "CBCE",
            "--out",
            str(tmp_path),
        ]
    )
    assert code == 0
    page = Path(capsys.readouterr().out.strip())
    assert page.exists()
    assert "Counterpoint" in page.read_text()
    assert set(pd.read_parquet(tmp_path / "results.parquet").method) == {"Counterpoint", "BCE-N", "CBCE"}


@pytest.mark.parametrize("topic", ["tables", "images", "series"])
def test_a_wrong_name_is_one_sentence_and_a_code(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", topic, "--methods", "nobody"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("counterpoint: methods must name some of")
    assert error.count("\n") == 1


def test_each_topic_has_its_sets_and_a_folder_of_its_own() -> None:
    options = {topic: parser("study").parse_args(["study", topic]) for topic in TOPICS}
    assert len({each.out for each in options.values()}) == len(TOPICS)
    assert {topic: tuple(sets.split()) for topic, sets in SETS.items()} == {
        topic: about.sets for topic, about in TOPICS.items()
    }


def test_the_size_and_limits_are_what_is_asked_for() -> None:
    asked = ["--full", "--sets", "power", "-k", "1", "3", "--limit", "5", "--cell-limit", "50", "--seed", "7"]
    plan = plan_of(parser("study").parse_args(["study", "series", *asked]))
    assert (plan.topic, plan.sets, plan.ks, plan.instances, plan.seed) == (
        "series",
        ("power",),
        (1, 3),
        100,
        7,
    )
    assert (plan.limits.instance, plan.limits.cell) == (5.0, 50.0)
    assert plan.methods == tuple(TOPICS["series"].methods)


def test_black_boxes_of_tables_are_trained_again_ten_times_or_as_often_as_asked() -> None:
    asked = {"tables": [], "series": [], "tables --refits 0": ["--refits", "0"]}
    plans = [plan_of(parser("study").parse_args(["study", name.split()[0], *asked[name]])) for name in asked]
    assert [plan.refits for plan in plans] == [10, 0, 0]


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("counterpoint")
    done = subprocess.run([command, "study", "tables", "--help"], capture_output=True, text=True, check=True)
    assert "--full" in done.stdout
