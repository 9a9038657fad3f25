"""`counterpoint open`: prints the address of a page that works, and ends at control-C."""

import signal
import subprocess
import sys

import httpx
import pytest


def test_the_demo_opens_prints_its_address_and_ends_at_control_c() -> None:
    command = [sys.executable, "-m", "counterpoint.cli", "open", "--demo", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout is not None
            address, _, token = running.stdout.readline().strip().partition("?token=")
            with httpx.Client(base_url=address, headers={"authorization": f"Bearer {token}"}) as client:
                assert "<title>Counterpoint</title>" in client.get("/").text
                told = client.post("/api/about", json={}, timeout=60).json()
            assert told["title"] == "German credit"
            assert told["has_command"]
            assert {"granted", "refused"} == {each["text"] for each in told["decisions"]}
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 0
    assert "for this machine only" in said
    assert "Traceback" not in said


def test_a_page_needs_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from counterpoint.cli import main

    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["open", "--demo"]) != 0
    assert "pip install 'counterpoint[serve]'" in capsys.readouterr().err
