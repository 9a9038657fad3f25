"""Dask: each partition of a DataFrame becomes a partition of answers."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import Any

import pandas as pd

from counterpoint._util.parcels import Parcel
from counterpoint.scale.work import Work

# Dask warns about graphs of more than 10 MB.
LARGE = 8_000_000


def explain(data: Any, work: Work) -> Any:
    """Explain a Dask DataFrame; the explainer is a task of its own, so each worker gets it once."""
    names = data._meta.index if work.id is None else data._meta[work.id]
    meta = work.explainer.frame_schema("pandas", id=work.id, id_dtype=names.dtype)
    return data.map_partitions(
        _explain,
        _sent(work.parcel),
        replace(work, parcel=Parcel("", b"")),
        names.dtype,
        meta=meta,  # without it, Dask would ask the model about made-up rows
        enforce_metadata=False,
        align_dataframes=False,
        clear_divisions=True,
    )


def _sent(parcel: Parcel) -> Any:
    """Make a task that gives the explainer; scattered data would be lost with the worker that holds it."""
    import dask

    name, client = f"counterpoint-{parcel.key}", _client()
    if client is None or len(parcel.content) < LARGE:
        return dask.delayed(parcel, name=name, pure=True, traverse=False)
    # Dask does not like it in the graph, and tells the user so; as a future it cannot go to other schedulers.
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return client.submit(_same, parcel, key=name)


def _client() -> Any:
    """Find the client of a cluster, if there is one."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


def _same(parcel: Parcel) -> Parcel:
    return parcel


def _explain(frame: pd.DataFrame, parcel: Parcel, light: Work, id_dtype: Any) -> pd.DataFrame:
    """Explain a partition, in a worker."""
    work = replace(light, parcel=parcel)
    if work.id is None:
        return work(frame.set_axis(frame.index.astype(id_dtype), axis=0))
    return work(frame.astype({work.id: id_dtype}))
