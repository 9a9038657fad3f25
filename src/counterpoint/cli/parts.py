"""Parts of a long run: explained rows on disk as soon as they are done, so that a killed run can go on."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoint._util.atomic import replacing, sync_folder
from counterpoint.cli.errors import InputError
from counterpoint.explanation.explanation import Explanation
from counterpoint.explanation.explanations import Explanations


@dataclass(frozen=True, eq=False)
class Part:
    """Rows in succession: their explanations, by their indices in the file, and columns to group them by."""

    explanations: Explanations
    groups: pd.DataFrame

    def numbered(self) -> Iterator[tuple[int, Explanation]]:
        """Go through the explanations, each with the place of its row in the file."""
        return zip(self.explanations.instances.tolist(), self.explanations, strict=True)

    def to_json(self) -> str:
        """Save everything as text."""
        return json.dumps(
            {
                "explanations": self.explanations.to_json(),
                "groups": {str(name): _plain(self.groups[name]) for name in self.groups},
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Part:
        """Read what `to_json` saved."""
        plain = json.loads(text)
        return cls(
            Explanations.from_json(plain["explanations"]),
            pd.DataFrame(plain["groups"]),
        )


@dataclass(frozen=True)
class Store:
    """A folder of finished parts. Its name tells the run, so that no other run can take its parts.

    The folder comes into being with the first finished part.
    """

    folder: Path
    run: str

    @classmethod
    def beside(cls, output: Path, run: Mapping[str, Any]) -> Store:
        """Open the folder of a run: all that its answers depend on, as plain data.

        Examples
        --------
        >>> import tempfile
        >>> output = Path(tempfile.mkdtemp()) / "found.csv"
        >>> Store.beside(output, {"k": 1}).folder == Store.beside(output, {"k": 2}).folder
        False
        """
        text = json.dumps(run, indent=1, sort_keys=True, default=str)
        key = hashlib.sha256(text.encode()).hexdigest()[:12]
        folder = output.with_name(f"{output.name}.{key}.parts")
        return cls(folder, text)

    def others(self) -> list[Path]:
        """Find what unfinished runs with other inputs or settings have left for the same output."""
        output = self.folder.name.rsplit(".", 2)[0]
        found = sorted(self.folder.parent.glob("*.parts"))
        return [f for f in found if f.name.rsplit(".", 2)[0] == output and f != self.folder]

    def has(self, number: int) -> bool:
        """Whether a part is finished."""
        return self._path(number).exists()

    def save(self, number: int, part: Part) -> None:
        """Write a finished part, all of it or nothing."""
        if not self.folder.exists():
            self.folder.mkdir()
            sync_folder(self.folder.parent)
            _write(self.folder / "run.json", self.run.encode())
        _write(self._path(number), gzip.compress(part.to_json().encode(), compresslevel=1, mtime=0))

    def whole(self) -> Iterator[Part]:
        """Read the finished parts, one at a time; remove those that are damaged."""
        for path in sorted(self.folder.glob("*.json.gz")):
            try:
                part = _read(path)
            except InputError:
                path.unlink()
            else:
                yield part

    def parts(self, count: int) -> Iterator[Part]:
        """Read all parts of a run that has so many, one at a time."""
        return map(_read, map(self._path, range(count)))

    def remove(self) -> None:
        """Delete the folder with its parts, if there is one."""
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06}.json.gz"


def _read(path: Path) -> Part:
    try:
        return Part.from_json(gzip.decompress(path.read_bytes()).decode())
    except Exception as error:  # damage can make anything of a file
        raise InputError(
            f"The part {path} cannot be read: {type(error).__name__}: {error}. The same command computes it "
            f"again."
        ) from error


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


def _plain(values: pd.Series) -> list[Any]:
    """Turn a column into values that JSON can hold."""
    gone = values.isna().tolist()
    return [None if missing else value for value, missing in zip(values.tolist(), gone, strict=True)]
