"""The peers' virtual environments: made on demand, pinned, and kept in the user's cache folder.

An environment's name ends with a fingerprint of its pins, so that a change of pins makes a new one and
leaves the old one alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from counterpoint.datasets.fetch import cache_folder
from counterpoint_study.peers.errors import PeerError

PINS = Path(__file__).with_name("pins")

READY = "ready"

# What the pins were made for: some peers need packages that no later Python has.
PYTHON = "3.11"


def environment_python(name: str) -> Path:
    """Find the interpreter of an environment, which is made first if it is missing.

    Parameters
    ----------
    name
        The environment's name; ``pins/NAME.txt`` says what it holds.

    Raises
    ------
    PeerError
        If there are no pins of that name, or pip cannot install them.

    Examples
    --------
    >>> environment_python("nowhere")
    Traceback (most recent call last):
        ...
    counterpoint_study.peers.errors.PeerError: There is no environment 'nowhere'. Known: alibi, bench, ...
    """
    folder = _folder(name)
    if os.name != "posix":
        raise PeerError(f"The peers run on Linux and macOS only, not on {sys.platform}.")
    with _locked(folder.with_name(f"{folder.name}.lock")):
        if not is_ready(name):
            _build(name, folder)
            (folder / READY).touch()
    return folder / "bin" / "python"


def is_ready(name: str) -> bool:
    """Tell whether an environment has been made."""
    return (_folder(name) / READY).exists()


def pin_files(name: str) -> list[Path]:
    """List the files that say what an environment holds.

    Examples
    --------
    >>> [path.name for path in pin_files("bench")]
    ['bench.txt', 'bench-nodeps.txt']
    """
    return list(_pins(name))


def _folder(name: str) -> Path:
    return cache_folder() / "peers" / f"{name}-{_fingerprint(name)}"


def _pins(name: str) -> dict[Path, tuple[str, ...]]:
    """List an environment's files of pins in the order of installation, and the options each needs."""
    whole = PINS / f"{name}.txt"
    if not whole.exists():
        known = sorted(path.stem for path in PINS.glob("*.txt") if not path.stem.endswith("-nodeps"))
        raise PeerError(f"There is no environment {name!r}. Known: {', '.join(known)}.")
    bare = PINS / f"{name}-nodeps.txt"
    return {whole: (), bare: ("--no-deps",)} if bare.exists() else {whole: ()}


def _base_python() -> str:
    """Find the Python that the pins were made for, or else take this one and let pip be the judge."""
    if sys.version.startswith(f"{PYTHON}."):
        return sys.executable
    return shutil.which(f"python{PYTHON}") or sys.executable


def _fingerprint(name: str) -> str:
    version = sys.version if _base_python() == sys.executable else PYTHON
    content = b"".join(path.read_bytes() for path in _pins(name)) + version.encode()
    return hashlib.sha256(content).hexdigest()[:12]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep two processes started together from building the same folder at once."""
    import fcntl  # which Windows has not

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(name: str, folder: Path) -> None:
    _say(f"making the environment {name!r} in {folder} (once; some minutes) ...")
    start = time.monotonic()
    _run(name, [_base_python(), "-m", "venv", "--clear", str(folder)])
    for path, options in _pins(name).items():
        quiet = ("--quiet", "--no-input", "--disable-pip-version-check")
        python = str(folder / "bin" / "python")
        _run(name, [python, "-m", "pip", "install", *quiet, *options, "-r", str(path)])
    # CFNOW downloads WordNet on import unless it finds a folder of this name. Only its text part reads it.
    (folder / "nltk_data" / "corpora" / "wordnet").mkdir(parents=True)
    _say(f"the environment {name!r} is ready ({time.monotonic() - start:.0f} s)")


def _run(name: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-1000:]
        raise PeerError(f"The peers' environment {name!r} could not be made. The end of the message: {said}")


def _say(message: str) -> None:
    print(f"counterpoint: {message}", file=sys.stderr, flush=True)
