"""The scripts of the page on clusters run as they stand, where their engine is installed, and agree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

PAGE = Path(__file__).parents[2] / "docs/cluster.md"
SCRIPTS = dict(re.findall(r"```\w+ title=\"(night_\w+\.\w+)\"\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL))
ENGINES = {"dask": "distributed", "ray": "ray", "spark": "pyspark"}


def run(name: str, here: Path) -> None:
    """Run a script of the page in a folder."""
    (here / name).write_text(SCRIPTS[name], encoding="utf-8")
    program = "bash" if name.endswith(".sh") else sys.executable
    found = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [program, name],
        cwd=here,
        env={**os.environ, "PATH": found},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def answers(path: Path) -> pd.DataFrame:
    frame = pd.read_parquet(path).sort_values(["application", "counterfactual"], ignore_index=True)
    return frame.astype(dict.fromkeys(["sex", "found_by", "status", "decision", "reason"], "str"))


def same(found: pd.DataFrame, here: Path) -> None:
    """Check that answers are those of the processes of one machine, to the last bit."""
    expected = answers(here / "found-jobs.parquet")
    assert len(found.drop_duplicates("application")) == 240
    pd.testing.assert_frame_equal(found, expected, check_exact=True, check_dtype=False)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """Make a folder with rows, and their answers by the processes of one machine."""
    folder = tmp_path_factory.mktemp("night")
    run("night_setup.py", folder)
    run("night_jobs.py", folder)
    return folder


def test_every_script_is_tested():
    names = {"night_setup.py", "night_jobs.py", "night_shards.sh", *(f"night_{each}.py" for each in ENGINES)}
    assert set(SCRIPTS) == names


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree_with_one_machine(engine, here):
    pytest.importorskip(ENGINES[engine], reason="make scale installs Ray and Spark")
    run(f"night_{engine}.py", here)
    same(answers(here / f"found-{engine}"), here)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the script is for bash")
def test_shards_agree_with_one_machine(here):
    run("night_shards.sh", here)
    same(answers(here / "found-shards"), here)
    assert (here / "found.html").read_text().startswith("<!doctype html>")
