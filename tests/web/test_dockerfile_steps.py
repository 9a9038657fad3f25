"""The steps of the Dockerfile, done without a container engine: `make container`.

They are done in an empty folder with a fresh environment of the Python at hand, in place of the image's root
and its Python. Not done: the step that adds a user, and the change to that user.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dockerfile import ROOT, all_of, instructions

pytestmark = pytest.mark.skipif(
    "COUNTERPOINT_CONTAINER" not in os.environ, reason="installs everything anew: make container"
)
SECONDS = 900
TOKEN = "the-token-of-this-test"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the root of the image, after its steps up to the user."""
    root = tmp_path_factory.mktemp("image")
    subprocess.run([sys.executable, "-m", "venv", str(root / "python")], check=True)
    for name, rest in instructions():
        if name == "COPY":
            *sources, place = shlex.split(rest)
            _copy(sources, root / place.strip("/"), is_folder=place.endswith("/"))
        elif name == "RUN":
            for step in rest.split("&&"):
                if not step.strip().startswith("useradd"):
                    here = re.sub(r"(?<![\w.])/src", f"{root}/src", step)
                    subprocess.run(["sh", "-ec", here], check=True, env=inside(root), timeout=SECONDS)
    (root / "data").mkdir()
    return root


def _copy(sources: list[str], place: Path, is_folder: bool) -> None:
    """Copy as Docker does: the content of folders, and files by their names."""
    for source in sources:
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target = place / source if is_folder else place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / source, target)


def inside(root: Path) -> dict[str, str]:
    """Give the variables of the image, and only those of this machine that installing needs."""
    kept = ("HOME", "LANG", "TMPDIR")
    found = {
        name: value for name, value in os.environ.items() if name in kept or name.startswith(("PIP_", "http"))
    }
    for rest in all_of("ENV"):
        found |= dict(each.split("=", 1) for each in shlex.split(rest))
    return {**found, "PATH": f"{root / 'python' / 'bin'}:/usr/bin:/bin", "COUNTERPOINT_TOKEN": TOKEN}


def test_it_starts_is_healthy_and_stops(image: Path, unused_port: int) -> None:
    from counterpoint.cli.demo import LABEL, make_files

    assert not (image / "src").exists()
    files = make_files(image / "data")
    (entry,) = all_of("ENTRYPOINT")
    asked = ["--model", files.model.name, "--data", files.data.name, "--target", LABEL]
    command = [*json.loads(entry), *asked, "--port", str(unused_port)]
    (check,) = all_of("HEALTHCHECK")
    health = [each.replace(":8000/", f":{unused_port}/") for each in json.loads(check.partition("CMD ")[2])]
    program = str(image / "python" / "bin" / command[0])
    running = subprocess.Popen([program, *command[1:]], cwd=image / "data", env=inside(image))
    try:
        assert any(is_healthy(health, image, running) for _ in range(60))
        running.send_signal(getattr(signal, all_of("STOPSIGNAL")[0]))
        assert running.wait(60) == 0
    finally:
        running.kill()


def test_its_command_shows_the_help(image: Path) -> None:
    (entry,), (command,) = all_of("ENTRYPOINT"), all_of("CMD")
    program, *rest = [*json.loads(entry), *json.loads(command)]
    path = str(image / "python" / "bin" / program)
    done = subprocess.run([path, *rest], env=inside(image), capture_output=True, text=True, check=True)
    assert "--allow-host" in done.stdout


def is_healthy(command: list[str], image: Path, running: subprocess.Popen[bytes]) -> bool:
    """Run the health check, as an engine does every few seconds."""
    assert running.poll() is None
    program = str(image / "python" / "bin" / command[0])
    done = subprocess.run([program, *command[1:]], env=inside(image), capture_output=True)
    time.sleep(1 if done.returncode else 0)
    return done.returncode == 0


@pytest.fixture
def unused_port() -> int:
    """A port of this machine that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
