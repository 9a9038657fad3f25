"""Zip archives of arrays: what they claim to hold is checked before room is made for it."""

from __future__ import annotations

import io
import math
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from counterpoint._util.damage import DamagedError, check_size

# No array has more dimensions here.
DIMENSIONS = 32


def check_archive(archive: ZipFile, size: int) -> None:
    """Refuse an archive that would unpack to far more than its size, or whose arrays are not what they say.

    Parameters
    ----------
    archive
        An archive that is open for reading.
    size
        The size of its file in bytes.
    """
    check_size(_unpacked(archive), size, "its content")
    for name in archive.namelist():
        if name.endswith(".npz"):  # sparse matrices in a skops file are archives again
            with ZipFile(io.BytesIO(archive.read(name))) as inner:
                check_size(_unpacked(archive) + _unpacked(inner), size, "its content")
                _check_arrays(inner)
    _check_arrays(archive)


def _unpacked(archive: ZipFile) -> int:
    return sum(member.file_size for member in archive.infolist())


def _check_arrays(archive: ZipFile) -> None:
    names = archive.namelist()
    if len(set(names)) != len(names):
        raise DamagedError("it holds two members of the same name")
    for name in names:
        if name.endswith(".npy"):
            check_array(archive, name)


def check_array(archive: ZipFile, name: str) -> None:
    """Refuse an array whose header promises other than the number of bytes that follow it."""
    member = archive.getinfo(name)
    with archive.open(member) as file:
        shape, dtype = _header(file)
        if dtype.hasobject:
            raise DamagedError(f"{name} holds pickled objects")
        if len(shape) > DIMENSIONS or any(length < 0 for length in shape):
            raise DamagedError(f"{name} has the shape {shape}")
        promised, there = math.prod(shape) * dtype.itemsize, member.file_size - file.tell()
    if promised != there:
        raise DamagedError(f"{name} should have {promised:,} bytes, and has {there:,}")


def read_array(archive: ZipFile, name: str) -> NDArray[Any]:
    """Read an array of an archive, without pickle."""
    check_array(archive, name)
    with archive.open(name) as file:
        read: Any = np.lib.format.read_array
        return np.asarray(read(file, allow_pickle=False))


def _header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    read: dict[tuple[int, int], Any] = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    version = np.lib.format.read_magic(file)
    if version not in read:
        raise DamagedError(f"it holds an array of the unknown format {version}")
    shape, _, dtype = read[version](file)
    return shape, dtype
