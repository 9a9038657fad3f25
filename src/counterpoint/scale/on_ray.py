"""Ray: each batch of a Dataset becomes a batch of answers, as an Arrow table."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pandas as pd

from counterpoint.explanation.frames import to_arrow
from counterpoint.scale.work import BLOCK, Work


def explain(data: Any, work: Work) -> Any:
    """Explain a Ray Dataset; the explainer is in Ray's store, and opened once per process."""
    import ray

    # A task that dies with its process is started again by Ray.
    return data.map_batches(
        _explain, fn_args=[ray.put(work)], batch_format="pandas", batch_size=BLOCK, zero_copy_batch=True
    )


def _explain(frame: pd.DataFrame, sent: Any) -> Any:
    """Explain a batch, in a worker."""
    work = _received(sent)
    schema = work.explainer.frame_schema("arrow", id=work.id, id_dtype=frame[work.id].dtype)
    return to_arrow(work(frame), schema)


@lru_cache(maxsize=2)
def _received(sent: Any) -> Work:
    """Get what was put into Ray's store, once per process."""
    import ray

    work: Work = ray.get(sent)
    return work
