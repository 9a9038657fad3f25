"""Everyone in the studies of images and series: our ensemble with each codec, and the peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import counterpoint as cp
from counterpoint.codecs.autoencoder import Autoencoder
from counterpoint_study.findings.ranks import CODECS, OURS, PAPER, PAPER_CODECS
from counterpoint_study.methods.base import Limits, Method
from counterpoint_study.methods.tables import Own, Theirs
from counterpoint_study.models.codecs import trained_codec
from counterpoint_study.peers import Kind, peers_for, run_peer_on_signals
from counterpoint_study.scenes.base import Instances
from counterpoint_study.scenes.signals import Signals


@dataclass(frozen=True)
class OwnOnSignals(Own):
    """Our ensemble with a codec, which is trained once for each data set and seed, and kept.

    Parameters
    ----------
    codecs
        Other codecs for some data sets, by their names.
    """

    codecs: Mapping[str, Any] = field(default_factory=dict)

    def prepare(self, scene: Any, seed: int) -> None:
        """Train the codec, so that the cells find it."""
        self._codec(scene, seed)

    def fitted(self, scene: Any, seed: int) -> Any:
        """Fit the ensemble to the scene's black box and known instances."""
        explainer: Any = replace(self.explainer, seed=seed, codec=self._codec(scene, seed))  # type: ignore[type-var]
        return explainer.fit(scene.trained.model, scene.signals)

    def _codec(self, scene: Any, seed: int) -> Any:
        name = scene.trained.data.name
        explainer: Any = self.explainer
        return trained_codec(self.codecs.get(name, explainer.codec), name, scene.signals, seed)


@dataclass(frozen=True)
class TheirsOnSignals(Theirs):
    """A peer's method, on arrays. It is given the same known instances as our own."""

    def instances(self, answered: Any) -> tuple[list[Instances], list[Instances]]:
        """Read the answers for the instances, and for those alike."""
        return list(answered.signals), list(answered.near_signals)

    def explain(
        self, scene: Any, X: Signals, k: int, limits: Limits, seed: int, alike: Signals | None = None
    ) -> Any:
        """Have the peer explain instances."""
        return run_peer_on_signals(
            self.peer,
            scene.trained.model,
            scene.signals,
            scene.labels,
            X,
            k=k,
            alike=alike,
            seed=seed,
            time_limit=limits.instance,
            budget=limits.cell,
        )


def _with_each_codec(names: Sequence[str], explainer: Any) -> list[OwnOnSignals]:
    """Make an ensemble with the paper's codecs: an autoencoder, none, and kernels of 4 and 7."""
    codecs = (Autoencoder(latent=4), cp.Identity(), cp.Kernel(4), cp.Kernel(7))
    # Power's days are but 24 steps long, so the paper's authors halve the window there.
    halved = {2: {"power": cp.Kernel(2)}}
    return [
        OwnOnSignals(name, replace(explainer, codec=codec), halved.get(place, {}))
        for place, (name, codec) in enumerate(zip(names, codecs, strict=True))
    ]


def _all_methods(kind: Kind) -> dict[str, Method]:
    own = [
        *_with_each_codec((OURS, *CODECS), cp.Ensemble()),
        *_with_each_codec((PAPER, *PAPER_CODECS), cp.Ensemble.paper()),
    ]
    methods: list[Method] = [*own, *(TheirsOnSignals(peer) for peer in peers_for(kind).values())]
    return {method.name: method for method in methods}


ON_IMAGES: Mapping[str, Method] = _all_methods("images")
"""All lines of the study on images by their names."""

ON_SERIES: Mapping[str, Method] = _all_methods("series")
"""All lines of the study on series by their names."""
