"""The methods that the quality benchmark compares: our settings, and peers whose answers are cached."""

from __future__ import annotations

from dataclasses import asdict, replace

import joblib

import counterpoint as cp
from counterpoint.selection.selection import NAMED
from counterpoint_study.benchmarks.models import SEED
from counterpoint_study.benchmarks.results import CACHE
from counterpoint_study.benchmarks.scoring import Answers
from counterpoint_study.methods.base import Limits
from counterpoint_study.methods.tables import Own, Theirs
from counterpoint_study.models.training import Trained, kept
from counterpoint_study.peers import PEERS
from counterpoint_study.scenes.tables import TableScene

DEFAULT = "balanced"
FREE = "balanced, nothing immutable"

DICE, NICE, CFNOW = "DiCE random", "NICE", "CFNOW"
LIMITS = Limits(instance=30.0)


def ours(scene: TableScene, setting: str, k: int) -> Answers:
    """Explain with the ensemble."""
    selection = NAMED[DEFAULT if setting == FREE else setting]
    explained = _nothing_immutable(scene) if setting == FREE else scene
    method = Own(setting, cp.Ensemble(selection=selection))
    run = method.in_batch(method.fitted(explained, SEED), explained, k)
    # The instances share their calls, so the one with the most has had them all.
    return Answers(setting, k, run, max(cost.model_calls for cost in run.costs))


def theirs(name: str, scene: TableScene, k: int, inst: bool = False, fresh: bool = False) -> Answers:
    """Explain with a peer, or read its answers from the cache; `inst`: explain the instances alike too."""
    method = Theirs(PEERS[name])
    sources = [path.read_bytes() for path in method.peer.files]
    key = joblib.hash((scene.key, scene.X, inst, SEED, asdict(LIMITS), sources, __package__))[:12]
    path = CACHE / f"peer-{name.replace(' ', '_')}-{scene.trained.data.name}-k{k}-{len(scene.X)}-{key}.joblib"
    explain = method.run if inst else method.answer
    run = kept(path, lambda: explain(scene, k, LIMITS, SEED), fresh)
    return Answers(name, k, run, sum(cost.model_calls for cost in run.costs) / len(run.costs))


def _nothing_immutable(scene: TableScene) -> TableScene:
    trained = scene.trained
    data = replace(trained.data, immutable=())
    return TableScene(Trained(data, trained.kind, trained.model, trained.accuracy, trained.key), scene.X)
