"""The methods that the quality benchmark compares, each from a scene to answers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
import pandas as pd

import counterpoint as cp
from benchmarks.models import SEED, cached
from benchmarks.scoring import Answers
from counterpoint.selection import NAMED
from counterpoint.study.peers import PEERS, PeerRun, run_peer
from counterpoint.study.scoring import Scene

DEFAULT = "balanced"
FREE = "balanced, nothing immutable"


def ours(scene: Scene, setting: str, k: int) -> Answers:
    """Explain with the ensemble. Like a peer's set-up, its `fit` is not in the time."""
    trained = scene.trained
    selection = NAMED[DEFAULT if setting == FREE else setting]
    immutable = () if setting == FREE else trained.data.immutable
    # Fitted anew for each k, so that each pays alike for what is only built when it is first asked.
    explainer = cp.Ensemble(selection=selection, seed=SEED)
    explainer.fit(trained.model, trained.known, immutable=immutable)
    cpu, wall = time.process_time(), time.perf_counter()
    explanations = explainer.explain_many(scene.X, k=k, progress=False)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    alike = explainer.explain_many(scene.alike, k=k, progress=False)
    return Answers(
        method=setting,
        k=k,
        tables=[each.counterfactuals for each in explanations],
        cpu_ms=cpu / len(scene.X) * 1000,
        wall_seconds=wall / len(scene.X),
        model_rows=float(np.mean([each.model_rows for each in explanations])),
        # The instances share their calls, so the one with the most has had them all.
        model_calls=max(each.model_calls for each in explanations),
        alike=[each.counterfactuals for each in alike],
    )


@dataclass(frozen=True)
class Peer:
    """A peer's method and for how long it may try."""

    method: str
    time_limit: float = 30.0

    def answer(self, scene: Scene, k: int, inst: bool = False, fresh: bool = False) -> Answers:
        """Explain with the peer, or take its answers from the cache."""
        run = self._run(scene, scene.X, k, fresh)
        return Answers(
            method=self.method,
            k=k,
            tables=run.tables,
            # NaN where the peer's process did not live to tell.
            cpu_ms=float(np.nanmean(run.cpu_seconds)) * 1000,
            wall_seconds=float(np.mean(run.wall_seconds)),
            model_rows=float(np.mean(run.rows)),
            model_calls=float(np.mean(run.calls)),
            alike=self._run(scene, scene.alike, k, fresh).tables if inst else None,
            errors=sum(error is not None for error in run.errors),
        )

    def _run(self, scene: Scene, X: pd.DataFrame, k: int, fresh: bool) -> PeerRun:
        data = scene.trained.data
        asked: dict[str, Any] = {
            "k": k,
            "immutable": data.immutable,
            "categorical": data.categorical,
            "seed": SEED,
            "time_limit": self.time_limit,
        }
        key = joblib.hash((self.method, scene.trained.key, X, asked, self._sources()))[:12]
        name = f"peer-{self.method.replace(' ', '_')}-{data.name}-k{k}-{len(X)}-{key}"

        def work() -> PeerRun:
            print(f"[quality] running {self.method} on {data.name}, k = {k} ...", flush=True)
            model = scene.trained.model
            return run_peer(self.method, model, data.X_train, data.y_train, X, **asked)

        return cached(name, work, fresh)

    def _sources(self) -> list[bytes]:
        """Return all that decides what the peer does besides its inputs."""
        return [path.read_bytes() for path in PEERS[self.method].files]


DICE = Peer("DiCE random")
NICE = Peer("NICE")
CFNOW = Peer("CFNOW")
