"""`counterpoint serve`: a process of its own that is asked, watched and stopped."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest

from counterpoint.cli import main

ROW = {"age": 30, "amount": 8000.0, "duration": 50, "job": "clerk", "sex": "f"}
TOKEN = "a long and secret token"
SLOW = """
import pathlib
import time
import numpy as np
def decide(table):
    if len(table) == 1:
        pathlib.Path("begun").touch()
    time.sleep(0.05)
    return np.where(table["amount"].to_numpy() > 4000, "refused", "granted")
"""


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start the service, whose log goes to a file; give its address and its process."""
    command = [sys.executable, "-m", "counterpoint.cli", "serve", "--data", "known.csv"]
    command += ["--target", "decision", "--port", "0", *flags]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stderr=log, env=environment)
    try:
        yield until(lambda: re.search(r"https?://[^;]+", (folder / "log").read_text()))[0], process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)


def until(look: Callable[[], Any]) -> Any:
    """Look until there is something, for a minute at most."""
    for _ in range(1_200):
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("Nothing was seen for a minute.")


def certificate(folder: Path) -> tuple[str, str]:
    """Make a certificate of this machine for a day."""
    key, cert = str(folder / "key.pem"), str(folder / "cert.pem")
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    make += ["-keyout", key, "-out", cert, "-days", "1", "-subj", "/CN=localhost"]
    subprocess.run([*make, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return key, cert


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate by openssl")
def test_it_serves_by_https_with_a_token_and_logs_json(here: Path):
    (here / "token").write_text(f"{TOKEN}\n")
    key, cert = certificate(here)
    flags = ["--model", "model.skops", "--name", "credit", "--immutable", "sex", "--most-k", "2"]
    flags += ["--token-file", "token", "--tls-key", key, "--tls-cert", cert, "--want", "granted"]
    with serving(here, *flags) as (address, process):
        assert address.startswith("https://127.0.0.1:")
        trusted = ssl.create_default_context(cafile=cert)
        right = {"authorization": f"Bearer {TOKEN}", "x-request-id": "mine"}
        with httpx.Client(base_url=address, verify=trusted, timeout=60) as client:
            assert client.get("/schema").status_code == 401
            said = client.post("/explain", json={"rows": [ROW], "k": 2}, headers=right)
            (answer,) = said.json()["answers"]
            assert answer["wanted"] == "'granted'"
            assert all(each["values"]["sex"] == "f" for each in answer["counterfactuals"])
            assert answer["counterfactuals"]
            assert client.post("/explain", json={"rows": [ROW], "k": 3}, headers=right).status_code == 422
            assert client.get("/v2/models/credit", headers=right).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    log = (here / "log").read_text()
    facts = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    mine = [(each["path"], each["status"]) for each in facts if each["request_id"] == "mine"]
    assert mine == [("/explain", 200), ("/explain", 422), ("/v2/models/credit", 200)]
    assert TOKEN not in log


def test_a_graceful_stop_finishes_what_it_began(here: Path):
    (here / "slow.py").write_text(SLOW)
    with serving(here, "--model", "slow:decide") as (address, process):
        said: list[httpx.Response] = []

        def ask() -> None:
            said.append(httpx.post(f"{address}/explain", json={"rows": [ROW]}, timeout=60))

        asking = threading.Thread(target=ask)
        asking.start()
        until((here / "begun").exists)
        process.send_signal(signal.SIGTERM)
        asking.join(60)
        assert process.wait(30) == 0
        assert said[0].status_code == 200
        assert said[0].json()["answers"][0]["counterfactuals"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--tls-cert", "known.csv"], "add --tls-key"),
        (["--tls-cert", "none.pem", "--tls-key", "none.pem"], "is not a file"),
        (["--token-file", "none"], "cannot be read"),
        (["--token-file", "short"], "at least 16"),
        (["--host", "192.0.2.1"], "cannot be listened on"),
        (["--port", "70000"], "must be from 0 to 65535"),
        (["--most-k", "0"], "The limit k must be positive"),
        (["--name", "a/b"], "name must be of letters"),
        (["--max-changes", "0"], "--max-changes must be at least 1"),
        (["--data", "none.csv"], "does not exist"),
    ],
    ids=str,
)
def test_what_cannot_be_served_is_said_at_once(here, capsys, flags, said):
    (here / "short").write_text("secret")
    start = ["serve", "--model", "model.skops", "--data", "known.csv", "--target", "decision", "--port", "0"]
    assert main([*start, *flags]) == 2
    assert said in capsys.readouterr().err


def test_a_column_that_names_people_is_warned_of(here, capsys):
    table = pd.read_csv("known.csv").assign(account=range(300))
    table.to_csv("named.csv", index=False)
    Path("rule.py").write_text("def decide(table):\n    return table['amount'].to_numpy() > 4000\n")
    start = ["serve", "--model", "rule:decide", "--data", "named.csv", "--target", "decision"]
    assert main([*start, "--host", "192.0.2.1"]) == 2
    assert "'account' may change and looks like an identifier" in capsys.readouterr().err
