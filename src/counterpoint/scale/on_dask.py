"""Dask: each partition of a DataFrame becomes a partition of answers."""

from __future__ import annotations

from typing import Any

import pandas as pd

from counterpoint.scale.work import Work


def explain(data: Any, work: Work) -> Any:
    """Explain a Dask DataFrame; the explainer is a task of its own, so each worker gets it once."""
    import dask

    names = data._meta.index if work.id is None else data._meta[work.id]
    meta = work.explainer.frame_schema("pandas", id=work.id, id_dtype=names.dtype)
    # In the graph and not scattered: a worker that dies takes scattered data with it.
    sent = dask.delayed(work, name=f"counterpoint-{work.parcel.key}", pure=True, traverse=False)
    return data.map_partitions(
        _explain,
        sent,
        names.dtype,
        meta=meta,  # without it, Dask would ask the model about made-up rows
        enforce_metadata=False,
        align_dataframes=False,
        clear_divisions=True,
    )


def _explain(frame: pd.DataFrame, work: Work, id_dtype: Any) -> pd.DataFrame:
    """Explain a partition, in a worker."""
    if work.id is None:
        return work(frame.set_axis(frame.index.astype(id_dtype), axis=0))
    return work(frame.astype({work.id: id_dtype}))
