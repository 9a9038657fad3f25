"""The Dockerfile, as far as it can be checked without building it."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import tomllib
import urllib.error

import pytest
from clients import client_of
from dockerfile import ROOT, all_of, instructions

from counterpoint.cli.serve import add_serve


def test_its_instructions_exist_and_start_from_a_slim_python() -> None:
    known = {"FROM", "ENV", "COPY", "RUN", "USER", "WORKDIR", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL"}
    assert {name for name, _ in instructions()} <= known | {"ENTRYPOINT", "CMD"}
    (base,) = all_of("FROM")
    version = re.fullmatch(r"python:(3\.\d+)-slim", base)
    assert version
    least = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert tuple(map(int, version[1].split("."))) >= tuple(map(int, least.removeprefix(">=").split(".")))


def test_what_it_copies_is_there_and_not_ignored() -> None:
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    for rest in all_of("COPY"):
        *sources, _ = shlex.split(rest)
        for source in sources:
            assert (ROOT / source).exists()
            assert source in allowed


def test_it_installs_extras_that_exist_and_runs_as_nobody_in_particular() -> None:
    (run,) = all_of("RUN")
    (extras,) = re.findall(r"/src\[([a-z,]+)\]", run)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= set(known)
    (user,) = all_of("USER")
    assert f"--uid {user}" in run
    assert user != "0"
    names = [name for name, _ in instructions()]
    assert names.index("USER") < names.index("ENTRYPOINT")


def test_its_command_is_one_of_ours() -> None:
    (entry,) = all_of("ENTRYPOINT")
    program, command, *flags = json.loads(entry)
    assert (program, command) == ("counterpoint", "serve")
    parser = argparse.ArgumentParser()
    add_serve(parser.add_subparsers(), argparse.ArgumentParser(add_help=False))
    options = parser.parse_args(["serve", *flags, "--model", "model.skops", "--data", "known.csv"])
    assert (options.host, str(options.port)) == ("0.0.0.0", all_of("EXPOSE")[0])
    with pytest.raises(SystemExit, match="0"):
        parser.parse_args(["serve", *json.loads(all_of("CMD")[0])])


def test_its_health_check_asks_what_the_service_answers(explainer) -> None:
    (check,) = all_of("HEALTHCHECK")
    program, flag, code = json.loads(check.partition("CMD ")[2])
    assert (program, flag) == ("python", "-c")
    assert f":{all_of('EXPOSE')[0]}/" in code
    with client_of(explainer.app()) as client:
        here = code.replace("http://127.0.0.1:8000", str(client.base_url).rstrip("/"))
        exec(here)
        with pytest.raises(urllib.error.HTTPError):
            exec(here.replace("/health/ready", "/health/well"))
