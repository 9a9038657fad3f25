"""A folder of parquet files, on this machine or wherever pyarrow can read and write."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from posixpath import join, relpath
from typing import Any

import pandas as pd

from counterpoint._util.atomic import replacing


@dataclass(frozen=True)
class Folder:
    """A folder, by its path or by an address such as s3://bucket/rows.

    Files and folders whose names start with an underscore or a dot are not part of the table; Spark, Dask and
    pyarrow overlook them, too.

    Examples
    --------
    >>> import tempfile
    >>> folder = Folder.of(tempfile.mkdtemp())
    >>> folder.write_json("_run.json", {"k": 5})
    >>> folder.read_json("_run.json"), folder.tables()
    ({'k': 5}, [])
    """

    filesystem: Any
    path: str

    @classmethod
    def of(cls, place: str) -> Folder:
        """Open a folder; it need not exist yet."""
        from pyarrow import fs

        if "://" in place:
            filesystem, path = fs.FileSystem.from_uri(place)
            return cls(filesystem, path.rstrip("/"))
        return cls(fs.LocalFileSystem(), Path(place).absolute().as_posix())

    @property
    def exists(self) -> bool:
        """Whether there is such a folder."""
        from pyarrow import fs

        return bool(self.filesystem.get_file_info(self.path).type == fs.FileType.Directory)

    def tables(self) -> list[str]:
        """List the parquet files in this folder and those below it, in the order of their names."""
        from pyarrow import fs

        selector = fs.FileSelector(self.path, recursive=True, allow_not_found=True)
        found = [each for each in self.filesystem.get_file_info(selector) if each.type == fs.FileType.File]
        names = [relpath(each.path, self.path) for each in found]
        shown = [name for name in names if not any(part[0] in "_." for part in name.split("/"))]
        return sorted(name for name in shown if name.endswith((".parquet", ".pq")))

    def state(self, name: str) -> list[Any]:
        """Tell the size of a file and when it was written: if either differs, it is another file."""
        info = self.filesystem.get_file_info(join(self.path, name))
        return [info.size, info.mtime_ns]

    def read(self, name: str) -> pd.DataFrame:
        """Read a table."""
        import pyarrow.parquet as pq

        with self.filesystem.open_input_file(join(self.path, name)) as file:
            return pq.ParquetFile(file).read().to_pandas()

    def write(self, name: str, table: Any) -> None:
        """Write an Arrow table, all of it or nothing."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        self._write(name, sink.getvalue().to_pybytes())

    def read_json(self, name: str) -> Any:
        """Read a small file; None if there is none, or if it is damaged."""
        try:
            with self.filesystem.open_input_file(join(self.path, name)) as file:
                return json.loads(file.read())
        except (OSError, ValueError):
            return None

    def write_json(self, name: str, content: Any) -> None:
        """Write a small file."""
        self._write(name, json.dumps(content, default=str).encode())

    def _write(self, name: str, content: bytes) -> None:
        from pyarrow import fs

        path = join(self.path, name)
        self.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
        if isinstance(self.filesystem, fs.LocalFileSystem):
            with replacing(Path(path)) as file:
                file.write(content)
            return
        with self.filesystem.open_output_stream(path) as stream:  # object stores show it when it is whole
            stream.write(content)
