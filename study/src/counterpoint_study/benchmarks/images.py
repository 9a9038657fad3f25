"""What a hundred images take: model calls, time against decoding and labelling in bulk, and memory.

``python -m counterpoint_study.benchmarks.images``
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import counterpoint as cp
from counterpoint.model.blackbox import MAX_CELLS
from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.growth import status
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.speed import timed
from counterpoint_study.models.training import train

NAME = "mnist"
SEED = 0
BLOCK = MAX_CELLS // (28 * 28)
CODECS = {"Kernel(7)": cp.Kernel(7), "Identity": cp.Identity()}


class Recorder:
    """A local codec that keeps all rows it decodes."""

    def __init__(self, codec: Any) -> None:
        self.codec = codec
        self.rows: list[NDArray[np.float64]] = []

    def fit(self, X: NDArray[Any]) -> Recorder:
        """Fit the codec."""
        self.codec.fit(X)
        return self

    @property
    def cells(self) -> NDArray[np.intp]:
        """The latent feature of each cell."""
        return np.asarray(self.codec.cells)

    def encode(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Encode instances."""
        return np.asarray(self.codec.encode(X))

    def decode(self, Z: NDArray[np.float64]) -> NDArray[Any]:
        """Decode rows, and keep them."""
        self.rows.append(Z)
        return np.asarray(self.codec.decode(Z))


def fitted(codec: Any, trained: Any) -> cp.Ensemble:
    return cp.Ensemble(codec=codec, seed=SEED).fit(trained.model, trained.known)


def measure(name: str, count: int, k: int, pairs: int) -> tuple[list[Figure], list[dict[str, float]]]:
    """Explain images, and race it against decoding and labelling the same rows in one go."""
    trained = train(NAME, "network")
    X = trained.instances(count)
    recorder = Recorder(CODECS[name])
    explainer = fitted(recorder, trained)
    recorder.rows.clear()
    answers = explainer.explain_many(X, k=k, progress=False)
    # The answers of each image are decoded once more, k rows at a time.
    rounds = len(recorder.rows) - count
    asked = np.concatenate([each for each in recorder.rows if len(each) > k])
    plain = fitted(CODECS[name], trained)
    races = [{"pair": i + 1, **race(plain, trained.model, X, k, asked)} for i in range(pairs)]
    valid = [(trained.model.predict(a.counterfactuals) != a.decision).all() for a in answers if len(a)]
    figures = [
        Figure(f"{name}: model calls in all", answers.model_calls, 30),
        Figure(f"{name}: calls of the decoder for them", rounds),
        Figure(f"{name}: model rows an image", answers.model_rows / count),
        Figure(f"{name}: wall time / bulk, median", median(each["wall ratio"] for each in races), 1.5),
        Figure(f"{name}: CPU time / bulk, median", median(each["CPU ratio"] for each in races), 1.5),
        Figure(f"{name}: s an image, median", median(each["wall s"] for each in races) / count),
        Figure(f"{name}: size", float(np.mean([len(answer) / k for answer in answers])), 0.9, ">="),
        Figure(f"{name}: share of images whose answers are all valid", float(np.mean(valid)), 1.0, ">="),
    ]
    return figures, races


def race(
    explainer: cp.Ensemble, model: Any, X: NDArray[Any], k: int, asked: NDArray[np.float64]
) -> dict[str, float]:
    """Time explaining, and decoding and labelling the same rows in bulk, one right after the other."""
    codec = explainer.codec_
    _, wall, cpu = timed(lambda: explainer.explain_many(X, k=k, progress=False))
    _, bulk, bulk_cpu = timed(lambda: _label(model, codec, asked))
    return {"wall s": wall, "bulk s": bulk, "wall ratio": wall / bulk, "CPU ratio": cpu / bulk_cpu}


def _label(model: Any, codec: Any, rows: NDArray[np.float64]) -> None:
    """Decode and label rows, as many at a time as the library's own black box takes."""
    for start in range(0, len(rows), BLOCK):
        model.predict(np.asarray(codec.decode(rows[start : start + BLOCK]), dtype=np.float32))


def memory(name: str, count: int, k: int) -> float:
    """Measure the peak memory of a process that explains images, with 60,000 known ones."""
    script = f"import counterpoint_study.benchmarks.images as b; print(b.peak({name!r}, {count}, {k}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def peak(name: str, count: int, k: int) -> float:
    """Explain images in this process; gives its peak memory in GB."""
    trained = train(NAME, "network")
    fitted(CODECS[name], trained).explain_many(trained.instances(count), k=k, progress=False)
    return status("VmHWM") / 1e3


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("images", __doc__)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=3, help="how often to race against the bulk call")
    options = parser.parse_args(arguments)
    figures, lines = [], []
    for name in CODECS:
        found, races = measure(name, options.instances, options.k, options.pairs)
        figures += [
            *found,
            Figure(f"{name}: peak memory, GB", memory(name, options.instances, options.k), 2.0),
        ]
        lines += [{"codec": name, **each} for each in races]
    title = f"Images: {NAME}, {options.instances} images, 60,000 known, k = {options.k}"
    results.show(f"{title}: each pair of explain_many and one bulk call", lines)
    results.show(title, [figure.cells() for figure in figures])
    results.write(
        "images", SEED, {"options": vars(options), "figures": [f.plain() for f in figures], "pairs": lines}
    )


if __name__ == "__main__":
    main()
