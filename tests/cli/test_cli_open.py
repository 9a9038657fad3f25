"""`counterpoint open`: prints the address of a page that works, and ends at control-C."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from counterpoint.cli import main, parser
from counterpoint.cli.open import calls_of

BRIGHT = "def bright(X):\n    return X.reshape(len(X), -1).mean(axis=1) > 0.5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model for arrays, and images and series."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "bright", raising=False)
    (tmp_path / "bright.py").write_text(BRIGHT)
    rng = np.random.default_rng(0)
    np.save("images.npy", rng.random((60, 8, 8)))
    np.savez("more.npz", X=rng.random((5, 8, 8)), y=np.arange(5))
    np.save("series.npy", rng.random((60, 48)))
    np.save("texts.npy", np.array(["a", "b"]))
    np.savez("two.npz", a=np.zeros((2, 8, 8)), b=np.zeros((2, 8, 8)))
    Path("cut.npy").write_bytes(Path("images.npy").read_bytes()[:500])
    np.savez_compressed("bomb.npz", X=np.zeros((40_000, 32, 32)))
    return tmp_path


def opened(*arguments: str) -> Any:
    return calls_of(parser("open").parse_args(["open", "--model", "bright:bright", "--quiet", *arguments]))


@pytest.mark.parametrize(
    ("arguments", "kind", "cases"),
    [
        (["--data", "images.npy"], "image", 60),
        (["--data", "images.npy", "--rows", "more.npz", "-k", "2", "--want", "True"], "image", 5),
        (["--data", "series.npy", "--title", "Beats"], "series", 60),
    ],
)
@pytest.mark.usefixtures("folder")
def test_images_and_series_have_a_page(arguments: list[str], kind: str, cases: int) -> None:
    calls = opened(*arguments)
    about = calls.call("about", {})
    assert (about["kind"], about["cases"]) == (kind, cases)
    index = int(np.flatnonzero(~calls.labels)[0])
    answers = calls.call("answers", {"question": {"index": index}})
    assert answers["answers"]
    assert all(each["decision_text"] == "True" for each in answers["answers"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "missing.npy"], "missing.npy does not exist"),
        (["--data", "texts.npy"], "texts.npy cannot be read: Images must be an array of shape"),
        (["--data", "two.npz"], "must hold one array, or one that is called X, got ['a', 'b']"),
        (["--data", "cut.npy"], "cut.npy cannot be read"),
        (["--data", "bomb.npz"], "bomb.npz cannot be read: its content"),
        (["--data", "images.npy", "--rows", "bright.py"], "bright.py must end in .npy or .npz"),
        (["--data", "images.npy", "--immutable", "age"], "draw on the page what may not change"),
        (["--data", "images.npy", "--target", "granted"], "--target is about columns of tables"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_wrong_with_images_is_a_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["open", "--model", "bright:bright", "--no-browser", *arguments]) == 2
    assert said in capsys.readouterr().err


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
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["open", "--demo"]) != 0
    assert "pip install 'counterpoint[serve]'" in capsys.readouterr().err
