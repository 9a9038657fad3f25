"""The record batches of an arrow file, in either of arrow's two formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def batches(path: str) -> Iterator[Any]:
    """Read a file batch by batch."""
    import pyarrow as pa

    with pa.memory_map(path) as source:
        try:
            reader = pa.ipc.open_file(source)
        except ValueError:  # the other format, which has no index at its end
            source.seek(0)
            yield from pa.ipc.open_stream(source)
            return
        yield from (reader.get_batch(index) for index in range(reader.num_record_batches))
