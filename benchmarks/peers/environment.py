"""The peers' own virtual environment, made the first time it is asked for."""

import fcntl
import hashlib
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / ".venv-peers"
WITH_DEPENDENCIES = HERE / "requirements.txt"
WITHOUT_DEPENDENCIES = HERE / "requirements-nodeps.txt"


def peers_python() -> Path:
    """Return the interpreter that has the peers, after installing them if they are missing or outdated."""
    python = FOLDER / "bin" / "python"
    stamp = FOLDER / "requirements.sha256"
    # The lock keeps two benchmarks started together from building the same folder at once.
    with WITH_DEPENDENCIES.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != _fingerprint():
            _build(python)
            stamp.write_text(_fingerprint())
    return python


def _fingerprint() -> str:
    content = WITH_DEPENDENCIES.read_bytes() + WITHOUT_DEPENDENCIES.read_bytes() + sys.version.encode()
    return hashlib.sha256(content).hexdigest()


def _build(python: Path) -> None:
    _say(f"making the peers' environment in {FOLDER} (once, about a minute) ...")
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], check=True)
    _pip_install(python, "-r", str(WITH_DEPENDENCIES))
    _pip_install(python, "--no-deps", "-r", str(WITHOUT_DEPENDENCIES))
    # CFNOW downloads WordNet on import unless it finds a folder of this name. Only its text part reads it.
    (FOLDER / "nltk_data" / "corpora" / "wordnet").mkdir(parents=True)
    _say(f"the peers' environment is ready ({time.monotonic() - start:.0f} s)")


def _pip_install(python: Path, *arguments: str) -> None:
    options = ("--quiet", "--no-input", "--disable-pip-version-check")
    done = subprocess.run(
        [str(python), "-m", "pip", "install", *options, *arguments], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"pip could not install the peers:\n{done.stderr}")


def _say(message: str) -> None:
    print(f"[peers] {message}", file=sys.stderr, flush=True)
