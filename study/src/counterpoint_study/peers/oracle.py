"""The black box as the workers' questions reach it: decoded, asked, timed and counted."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from counterpoint_study.peers.coding import Codes, Coding


@dataclass(frozen=True, eq=False)
class Reply:
    """The model's answer (a row of probabilities, or of one label's number, a row) and its own seconds."""

    array: NDArray[np.float64]
    wall: float
    cpu: float


class Oracle:
    """A model that answers questions in codes.

    Attributes
    ----------
    calls, rows
        How often the model was asked, and about how many rows in all.
    """

    def __init__(self, model: Any, codebook: Coding[Any]) -> None:
        self.model = model
        self.codebook = codebook
        self.classes = pd.Index(model.classes_)
        self.calls = self.rows = 0

    def answer(self, want: str, codes: Codes) -> Reply:
        """Ask the model; only its own work is in the seconds."""
        self.codebook.check(codes)
        instances = self.codebook.decode(codes)
        ask = {"labels": self.model.predict, "probabilities": self.model.predict_proba}[want]
        self.calls += 1
        self.rows += len(codes)
        wall, cpu = time.perf_counter(), time.process_time()
        said = ask(instances)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        array = self.numbers(said)[:, None] if want == "labels" else np.asarray(said, dtype=np.float64)
        return Reply(array.astype(np.float64), wall, cpu)

    def numbers(self, labels: ArrayLike) -> NDArray[np.int64]:
        """Turn labels into the numbers of the model's classes."""
        labels = np.asarray(labels)
        numbers = self.classes.get_indexer(pd.Index(labels))
        if (numbers < 0).any():
            strange = labels[numbers < 0][0]
            raise ValueError(f"The label {strange!r} is none of the model's classes, {list(self.classes)}.")
        return np.asarray(numbers, dtype=np.int64)
