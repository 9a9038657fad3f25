"""The command ``counterpoint study tables``."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from counterpoint.cli import main

SMALL = ["--sets", "german", "--black-boxes", "forest", "--instances", "2", "-k", "1", "2", "--cores", "1"]


def test_a_small_study_writes_results_and_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["study", "tables", *SMALL, "--methods", "ECE", "BCE-N", "CBCE", "--out", str(tmp_path)])
    assert code == 0
    page = Path(capsys.readouterr().out.strip())
    assert page.exists()
    assert "ECE" in page.read_text()
    assert set(pd.read_parquet(tmp_path / "results.parquet").method) == {"ECE", "BCE-N", "CBCE"}


def test_a_wrong_name_is_one_sentence_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study", "tables", "--methods", "nobody"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("counterpoint: methods must name some of")
    assert error.count("\n") == 1


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("counterpoint")
    done = subprocess.run([command, "study", "tables", "--help"], capture_output=True, text=True, check=True)
    assert "--full" in done.stdout
