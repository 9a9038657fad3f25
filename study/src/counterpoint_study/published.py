"""The results of a published run as a small file, from which every number and figure can be computed again.

A study's own `results.parquet` has every bit, and about a megabyte. The published file has the same rows in a
third of that: distances and seconds have more than four digits, and all else is exact.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint_study.findings.ranks import ANOTHER

BITS = 14
"""Bits of a distance's or a time's mantissa that are kept: more than four digits."""

# Shares, such as survival, are exact: rounded, equal means could differ in the last digit, and ties would be
# lost. They have few different values, so they take little space as they are.
_ROUNDED = ("impl", "dis_dist", "div_dist", "inst")
_SECONDS = ("runtime", "batched")

# What no table or figure is made of.
_UNUSED = ["cpu"]

# The numbers below fit into 32 bits, and those of `ROUNDED` are made to.
_COUNTS = ("k", "instance", "given", "valid", "refused", "model_calls", "model_rows", "seed")


def read(path: Path) -> pd.DataFrame:
    """Read results, as a study wrote them or as they are published."""
    results = pd.read_parquet(path)
    narrow = results.select_dtypes("float32").columns
    return results.astype(dict.fromkeys(narrow, float))


def write(results: pd.DataFrame, path: Path) -> None:
    """Write results as a small file; reading and writing it again gives the same."""
    results = results.drop(columns=_UNUSED, errors="ignore")
    rounded = [name for name in results if _is_rounded(str(name))]
    counts = [name for name in _COUNTS if name in results]
    numbers = results[rounded].astype(float).apply(_with_few_bits).astype(np.float32)
    small = results.assign(**dict(numbers.items()), **{name: _counted(results[name]) for name in counts})
    path.parent.mkdir(parents=True, exist_ok=True)
    small.to_parquet(
        path,
        index=False,
        compression="zstd",
        compression_level=19,
        use_dictionary=[name for name in small if name not in rounded],
        use_byte_stream_split=rounded,
    )


def name_of(results: pd.DataFrame) -> str:
    """Name the file of a run by its topic and seed.

    Examples
    --------
    >>> run = pd.DataFrame({"seed": [4, 4], "share": [1.0, 1.0]})
    >>> run.attrs = {"plan": {"topic": "tables"}}
    >>> name_of(run), name_of(run.assign(share=0.2))
    ('tables-seed4.parquet', 'size-seed4.parquet')
    """
    kind = "size" if is_about_size(results) else results.attrs["plan"]["topic"]
    return f"{kind}-seed{int(results['seed'].min())}.parquet"


def is_about_size(results: pd.DataFrame) -> bool:
    """Tell whether methods were given a share of the known instances only."""
    return "share" in results and bool((results["share"] < 1).any())


def _is_rounded(name: str) -> bool:
    return name in _SECONDS or name.removesuffix(ANOTHER) in _ROUNDED


def _with_few_bits(values: pd.Series) -> NDArray[np.float64]:
    fraction, exponent = np.frexp(values.to_numpy(dtype=np.float64))
    return np.asarray(np.ldexp(np.round(fraction * 2**BITS), exponent - BITS))


def _counted(values: pd.Series) -> pd.Series:
    """Keep whole numbers as such; a column in which some are missing stays one of floats."""
    if values.isna().any():
        return values.astype(np.float32)
    return values.astype(np.int32) if (values % 1 == 0).all() else values
