"""Sending an object to other processes once: pickled, with its arrays apart, and opened once per process.

On one machine, processes read a parcel from a file that the system maps into the memory of each, so arrays
are in memory once. To other machines a parcel goes as bytes.
"""

from __future__ import annotations

import hashlib
import mmap
import pickle
import struct
import zlib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import cloudpickle

from counterpoint._util.atomic import replacing

# A process keeps this many opened parcels.
KEPT = 2
# Arrays in a file start at multiples of this, as processors like it.
ALIGNED = 64

_opened: OrderedDict[str, Any] = OrderedDict()
_lock = Lock()


@dataclass(frozen=True)
class Parcel:
    """An object as bytes; `open` gives it back, the same one every time in a process.

    Examples
    --------
    >>> import numpy as np
    >>> parcel = Parcel.of({"numbers": np.arange(3)})
    >>> parcel.open()["numbers"]
    array([0, 1, 2])
    >>> parcel.open() is parcel.open()
    True
    """

    key: str
    content: bytes

    @classmethod
    def of(cls, thing: Any) -> Parcel:
        """Pack an object; functions and classes of a script or notebook go with it."""
        content = zlib.compress(cloudpickle.dumps(thing, protocol=5), level=1)
        return cls(hashlib.sha256(content).hexdigest(), content)

    def open(self) -> Any:
        """Unpack the object, once per process."""
        return _once(self.key, lambda: pickle.loads(zlib.decompress(self.content)))

    def __sizeof__(self) -> int:
        return len(self.content)  # by which Dask decides to send it apart, and once


@dataclass(frozen=True)
class FileParcel:
    """An object in a file on this machine; its arrays are shared by all processes that open it.

    A process that writes to an array gets a copy of its own of that part.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> parcel = FileParcel.of({"numbers": np.arange(3)}, Path(tempfile.mkdtemp()))
    >>> parcel.open()["numbers"]
    array([0, 1, 2])
    """

    path: Path

    @classmethod
    def of(cls, thing: Any, folder: Path) -> FileParcel:
        """Write an object to a file that is named by its content, so equal objects are written once."""
        buffers: list[pickle.PickleBuffer] = []
        head = cloudpickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
        parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
        digest = hashlib.sha256()
        for part in parts:
            digest.update(part)
        path = folder / digest.hexdigest()
        if not path.exists():
            with replacing(path) as file:
                file.write(struct.pack(f"<Q{len(parts)}Q", len(parts), *(part.nbytes for part in parts)))
                for part in parts:
                    file.write(b"\0" * (-file.tell() % ALIGNED))
                    file.write(part)
        return cls(path)

    def open(self) -> Any:
        """Read the object, once per process."""
        return _once(str(self.path), self._read)

    def _read(self) -> Any:
        with self.path.open("rb") as file:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        (count,) = struct.unpack_from("<Q", whole)
        end, parts = 8 * (1 + count), []
        for size in struct.unpack_from(f"<{count}Q", whole, 8):
            start = end + -end % ALIGNED
            end = start + size
            parts.append(whole[start:end])
        return pickle.loads(parts[0], buffers=parts[1:])


def _once(key: str, read: Any) -> Any:
    with _lock:
        if key not in _opened:
            _opened[key] = read()
            while len(_opened) > KEPT:
                _opened.popitem(last=False)
        _opened.move_to_end(key)
        return _opened[key]
