"""Codecs that learn, trained once for each data set and seed and kept, as the black boxes are."""

from __future__ import annotations

import hashlib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

import counterpoint.codecs
from counterpoint._util.atomic import replacing
from counterpoint.codecs import SavedCodec
from counterpoint.datasets.fetch import cache_folder


def trained_codec(codec: Any, name: str, X: NDArray[Any], seed: int) -> Any:
    """Train a codec on known instances, or take it from the user's cache folder.

    Parameters
    ----------
    codec
        An untrained codec, which stays untrained. If it has a seed, that becomes `seed`.
    name
        What the data set is called.
    X
        The known instances.
    seed
        Decides all that is random in the training.

    Returns
    -------
    Codec
        A fitted codec with the same parameters. One whose arrays cannot be kept, or that learns no more than
        a shape, is not kept.

    Examples
    --------
    >>> codec = counterpoint.codecs.Kernel(2)
    >>> trained_codec(codec, "toy", np.zeros((3, 2, 4)), seed=0).cells
    array([[0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    fresh = replace(codec, seed=seed) if "seed" in {field.name for field in fields(codec)} else replace(codec)
    if not isinstance(fresh, SavedCodec) or hasattr(type(fresh), "cells"):
        return fresh.fit(X)
    path = _path(fresh, name, X)
    if path.exists():
        with np.load(path, allow_pickle=False) as file:
            return fresh.with_arrays(dict(file))
    fitted = fresh.fit(X)
    _keep(fitted.arrays(), path)
    return fitted


def _path(codec: Any, name: str, X: NDArray[Any]) -> Path:
    """Name a codec's file after all that decides what it learns: parameters, data and code."""
    folder = Path(counterpoint.codecs.__file__).parent
    code = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.glob("*.py")))).hexdigest()
    digest = joblib.hash((repr(codec), X, code))[:12]
    return cache_folder() / "codecs" / f"{name}-{type(codec).__name__.lower()}-{digest}.npz"


def _keep(arrays: dict[str, NDArray[Any]], path: Path) -> None:
    """Write a codec so that other processes see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        np.savez(file, allow_pickle=False, **arrays)
