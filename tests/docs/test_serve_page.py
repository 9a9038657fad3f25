"""The page on the service: its scripts run as they stand, against a service that its own command starts."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml

from counterpoint.cli import parser
from counterpoint.web.limits import Bounds

PAGE = Path(__file__).parents[2] / "docs/serve.md"
TEXT = PAGE.read_text(encoding="utf-8")
FENCE = r"```\w+ title=\"(serve_\w+\.\w+)\"\n(.*?)```(?:\n\n```text\n(.*?)```)?"
SCRIPTS = {name: (code, shown) for name, code, shown in re.findall(FENCE, TEXT, re.DOTALL)}
START = SCRIPTS["serve_start.sh"][0].replace("\\\n", " ")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Run the page's setup and its command, on a free port; give the folder and the address."""
    folder = tmp_path_factory.mktemp("serve")
    run("serve_setup.py", folder, "")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    program, *arguments = shlex.split(START)
    assert program == "counterpoint"
    command = [sys.executable, "-m", "counterpoint.cli", *arguments]
    command[command.index("8000")] = port
    process = subprocess.Popen([*command, "--quiet"], cwd=folder)
    try:
        _wait(f"http://127.0.0.1:{port}/health/ready", process)
        yield folder, f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        assert process.wait(60) == 0


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None
        try:
            with urlopen(address):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("The service was not ready within a minute.")


def run(name: str, folder: Path, address: str) -> str:
    """Run a script of the page in a folder, with the address of the service; give what it prints."""
    (folder / name).write_text(SCRIPTS[name][0].replace("http://127.0.0.1:8000", address), encoding="utf-8")
    program = "bash" if name.endswith(".sh") else sys.executable
    found = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environment = os.environ | {"PATH": found}
    done = subprocess.run(
        [program, name], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [name for name, (_, shown) in SCRIPTS.items() if shown])
def test_a_script_prints_what_is_shown(served: tuple[Path, str], name: str) -> None:
    assert run(name, *served) == SCRIPTS[name][1]


def test_curl_gets_what_python_gets(served: tuple[Path, str]) -> None:
    said = json.loads(run("serve_ask.sh", *served))
    sentences = [each["sentence"] for each in said["answers"][0]["counterfactuals"]]
    assert sentences
    assert all(sentence in SCRIPTS["serve_client.py"][1] for sentence in sentences)


def test_limits_are_those_of_the_code() -> None:
    rows = re.findall(r"\| `(\w+)` \| (\d+) \| `--most-(\w+)` \|", TEXT)
    defaults = {each.name: each.default for each in fields(Bounds)}
    assert {name: float(value) for name, value, _ in rows} == {
        name: defaults[name] for name in ("body", "rows", "decisions", "k", "seconds", "queue", "together")
    }
    known = parser("serve").parse_args(["serve", "--model", "m.skops", "--data", "d.csv"])
    for name, value, flag in rows:
        assert name == flag
        assert getattr(known, f"most_{flag}") == float(value)


def test_every_flag_that_is_named_exists() -> None:
    flags = set(re.findall(r"`(--[a-z-]+)", TEXT))
    container = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)[0])
    (inner,) = container["spec"]["predictor"]["containers"]
    flags |= {each for each in inner["args"] if each.startswith("--")}
    options = parser("serve")._subparsers._group_actions[0].choices["serve"]._option_string_actions  # type: ignore
    assert flags <= {*options}
