"""What a worker is to do, written into a folder it reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from counterpoint_study.peers.errors import PeerError
from counterpoint_study.peers.oracle import Oracle
from counterpoint_study.peers.registry import Peer


@dataclass(frozen=True)
class Job:
    """What is asked of a peer; see `run_peer`."""

    peer: Peer
    k: int
    seed: int
    time_limit: float
    immutable: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    def write(
        self, folder: Path, oracle: Oracle, X_train: Any, y_train: ArrayLike, asked: Sequence[Any]
    ) -> None:
        """Write ``job.json``, ``arrays.npz`` and, if the model has one, its blueprint.

        The instances are those that are asked about, one part after the other.
        """
        self._write_terms(folder, oracle)
        codebook = oracle.codebook
        np.savez(
            folder / "arrays.npz",
            train=codebook.encode(X_train),
            labels=oracle.numbers(y_train),
            instances=np.concatenate([codebook.encode(X) for X in asked]),
        )
        if hasattr(oracle.model, "blueprint"):
            oracle.model.blueprint().save(folder / codebook.network_file)
        elif self.peer.gradient:
            raise PeerError(f"{self.peer.name} must differentiate the model, which has no gradients.")

    def _write_terms(self, folder: Path, oracle: Oracle) -> None:
        terms = {
            "method": self.peer.name,
            "module": str(self.peer.path),
            "k": self.k,
            "seed": self.seed,
            "time_limit": self.time_limit,
            "immutable": self.immutable,
            "categorical": self.categorical,
            "n_classes": len(oracle.classes),
            "folder": str(folder),
            **oracle.codebook.terms(),
        }
        (folder / "job.json").write_text(json.dumps(terms))
