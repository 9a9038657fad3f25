"""The methods of the study on tables: our explainers, and the peers."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

import counterpoint as cp
from counterpoint.selection.selection import NAMED
from counterpoint_study.findings.ranks import PAPER, SETTINGS, STEPS
from counterpoint_study.methods.ablation import OwnSelection, Polished, WholePool
from counterpoint_study.methods.base import Cost, Limits, Method, Run
from counterpoint_study.peers import PEERS, Peer, run_peer
from counterpoint_study.scenes.base import Instances, Scene


@dataclass(frozen=True)
class Own:
    """One of our explainers, with its parameters."""

    name: str
    explainer: cp.Explainer

    @property
    def library(self) -> str:
        """Our own package, and its version."""
        return f"counterpoint {cp.__version__}"

    @property
    def identity(self) -> str:
        """All its parameters."""
        return repr(self)

    def asked(self, ks: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Run it anew for each k."""
        return {k: (k,) for k in ks}

    def prepare(self, scene: Scene, seed: int) -> None:
        """Do nothing: cells share nothing."""

    def run(self, scene: Scene, k: int, limits: Limits, seed: int) -> Run:
        """Explain one instance after another, for the time, and then all in one batch.

        The answers are the same. Like a peer's set-up, `fit` is not in the time; what is built at the first
        question is, so the single ones come first.
        """
        explainer = self.fitted(scene, seed)
        alone = [self._seconds_alone(explainer, scene, place, k) for place in range(len(scene.X))]
        run = self.in_batch(explainer, scene, k)
        costs = [replace(cost, runtime=time) for cost, time in zip(run.costs, alone, strict=True)]
        return replace(run, costs=costs)

    def _seconds_alone(self, explainer: Any, scene: Scene, place: int, k: int) -> float:
        """Time the explanation of a single instance."""
        one = scene.take(scene.X, np.array([place]))
        start = time.perf_counter()
        explainer.explain_many(one, k=k, progress=False)
        return time.perf_counter() - start

    def in_batch(self, explainer: Any, scene: Scene, k: int) -> Run:
        """Explain all instances in one batch."""
        cpu, wall = time.process_time(), time.perf_counter()
        found = explainer.explain_many(scene.X, k=k, progress=False)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        alike = explainer.explain_many(scene.alike, k=k, progress=False)
        count = len(scene.X)
        wall, cpu = wall / count, cpu / count
        costs = [Cost(wall, cpu, each.model_calls, each.model_rows, batched=wall) for each in found]
        return Run([each.counterfactuals for each in found], [each.counterfactuals for each in alike], costs)

    def fitted(self, scene: Scene, seed: int) -> Any:
        """Fit the explainer to the scene's black box and known instances."""
        trained = scene.trained
        explainer: Any = replace(self.explainer, seed=seed)  # type: ignore[type-var]
        return explainer.fit(trained.model, scene.given, immutable=trained.data.immutable)


@dataclass(frozen=True)
class Theirs:
    """A peer's method."""

    peer: Peer

    @property
    def name(self) -> str:
        """What the table calls it."""
        return self.peer.name

    @property
    def library(self) -> str:
        """The peer's package, and its version."""
        return self.peer.library

    @property
    def identity(self) -> str:
        """All that is known of the peer, but for what else it could explain."""
        names = [each.name for each in fields(self.peer) if each.name != "takes"]
        words = ", ".join(f"{name}={getattr(self.peer, name)!r}" for name in names)
        return f"{type(self).__name__}(peer=Peer({words}))"

    def asked(self, ks: Sequence[int]) -> dict[int, tuple[int, ...]]:
        """Run it once for all k if it returns a single counterfactual, or the same ones in the same order."""
        if self.peer.single:
            return {1: tuple(ks)}
        return {max(ks): tuple(ks)} if self.peer.nested else {k: (k,) for k in ks}

    def prepare(self, scene: Scene, seed: int) -> None:
        """Do nothing: a peer sets itself up in its own process."""

    def run(self, scene: Scene, k: int, limits: Limits, seed: int) -> Run:
        """Explain one instance after another, each with the one alike it."""
        return self.as_run(self.explain(scene, scene.X, k, limits, seed, scene.alike))

    def answer(self, scene: Scene, k: int, limits: Limits, seed: int) -> Run:
        """Explain one instance after another, without those alike."""
        return self.as_run(self.explain(scene, scene.X, k, limits, seed))

    def as_run(self, answered: Any) -> Run:
        """Read what the peer answered, and what it cost."""
        seconds = (answered.wall_seconds, answered.cpu_seconds)
        costs = zip(*seconds, answered.calls, answered.rows, answered.errors, strict=True)
        return Run(*self.instances(answered), [Cost(*cost) for cost in costs])

    def instances(self, answered: Any) -> tuple[list[Instances], list[Instances]]:
        """Read the answers for the instances, and for those alike."""
        return list(answered.tables), list(answered.near_tables)

    def explain(
        self, scene: Any, X: Instances, k: int, limits: Limits, seed: int, alike: Instances | None = None
    ) -> Any:
        """Have the peer explain instances."""
        data = scene.trained.data
        return run_peer(
            self.peer,
            scene.trained.model,
            scene.given,
            scene.given_labels,
            X,
            k=k,
            immutable=data.immutable,
            categorical=data.categorical,
            alike=alike,
            seed=seed,
            time_limit=limits.instance,
            budget=limits.cell,
        )


def ablation() -> list[Own]:
    """Make the steps from the paper's method to ours, in the order of `STEPS`."""
    bases = (cp.BruteForce(refine=0), cp.Tree(), cp.Sphere(), cp.Neighbours())
    steps = (WholePool(), OwnSelection(), Polished(), cp.Ensemble(bases, fallback=None))
    return [Own(name, step) for name, step in zip(STEPS, steps, strict=True)]


def _all_methods() -> dict[str, Method]:
    own = [
        *(
            Own(name, cp.Ensemble(selection=each))
            for name, each in zip(SETTINGS, NAMED.values(), strict=True)
        ),
        Own(PAPER, cp.Ensemble.paper()),
        *ablation(),
        Own("BCE-B", cp.BruteForce()),
        Own("BCE-T", cp.Tree()),
        Own("BCE-S", cp.Sphere()),
        Own("BCE-N", cp.Neighbours()),
        Own("CBCE", cp.CaseBased()),
    ]
    methods: list[Method] = [*own, *(Theirs(peer) for peer in PEERS.values())]
    return {method.name: method for method in methods}


METHODS: Mapping[str, Method] = _all_methods()
"""All lines of the study on tables by their names."""
