"""What a worker does with rows: open the explainer once, and explain block after block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from counterpoint._util.blas import one_thread_each
from counterpoint._util.malloc import keeping_memory
from counterpoint._util.parcels import Parcel
from counterpoint.explainers import Explainer
from counterpoint.explainers.parallel import packed
from counterpoint.explainers.run import check_k

# A worker explains this many rows at a time: it bounds memory, and is a multiple of what a run takes at once.
BLOCK = 2_048


@dataclass(frozen=True)
class Work:
    """A packed explainer, and what is asked of it.

    Examples
    --------
    >>> import counterpoint as cp
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> work = Work.of(cp.Neighbours().fit(lambda X: X["age"] > 35, X), 1, None, {})
    >>> work(X)["age"].tolist()
    [40, 40, 30, 30]
    """

    parcel: Parcel
    k: int
    id: Any
    asked: dict[str, Any]

    @classmethod
    def of(cls, explainer: Explainer, k: int, id: Any, asked: dict[str, Any]) -> Work:
        """Pack an explainer, and check what is asked where it costs nothing."""
        explainer._fitted()
        unknown = asked.keys() & {"invalid", "progress", "jobs"}
        if unknown:
            raise TypeError(f"{sorted(unknown)[0]} is decided by the engine; leave it out.")
        explainer.frame_schema(id=id)
        return cls(packed(explainer), check_k(k), id, asked)

    @property
    def explainer(self) -> Explainer:
        """The explainer, opened once per process."""
        explainer: Explainer = self.parcel.open()
        return explainer

    def __call__(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Explain rows, in blocks."""
        parts = list(self.blocks(frame))
        return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)

    def blocks(self, frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
        """Explain rows block by block; without rows there is one empty block."""
        with one_thread_each(), keeping_memory():
            for start in range(0, max(1, len(frame)), BLOCK):
                rows = frame.iloc[start : start + BLOCK]
                yield self.explainer.explain_frame(rows, self.k, id=self.id, **self.asked)
