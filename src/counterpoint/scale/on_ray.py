"""Ray: each batch of a Dataset becomes a batch of answers, as an Arrow table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pandas as pd

from counterpoint.explanation.frames import to_arrow
from counterpoint.scale.work import Work


def explain(data: Any, work: Work) -> Any:
    """Explain a Ray Dataset; the explainer is in Ray's store, and opened once per process."""
    import ray

    # A task that dies with its process is started again by Ray. With a size of batches, Ray would join blocks
    # until they have as many rows, and a few rows would be one task for one worker.
    return data.map_batches(
        _explain, fn_args=[ray.put(work)], batch_format="pandas", batch_size=None, zero_copy_batch=True
    )


def _explain(frame: pd.DataFrame, sent: Any) -> Iterator[Any]:
    """Explain a block of the dataset, in a worker."""
    work = _received(sent)
    schema = work.explainer.frame_schema("arrow", id=work.id, id_dtype=frame[work.id].dtype)
    for part in work.blocks(frame):
        yield to_arrow(part, schema)


@lru_cache(maxsize=2)
def _received(sent: Any) -> Work:
    """Get what was put into Ray's store, once per process."""
    import ray

    work: Work = ray.get(sent)
    return work
