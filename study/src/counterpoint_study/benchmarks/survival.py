"""How many answers still hold when the model is trained again, and what it costs to have more of them.

``python -m counterpoint_study.benchmarks.survival``

The forest of the benchmarks is trained again on bootstrap samples of its training part, each time with
another seed. Survival is the share of answers that these forests decide as wanted too. Building uses
``--skip 0``, judging the default.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import counterpoint as cp
from counterpoint.data.types import Row, Rows
from counterpoint.metrics.evaluate import survival
from counterpoint.model.target import Target
from counterpoint_study.benchmarks import results
from counterpoint_study.benchmarks.methods import DICE, NICE, theirs
from counterpoint_study.benchmarks.models import SEED, TREES, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.models.refits import REFITS, Refits
from counterpoint_study.scenes.tables import TableScene
from counterpoint_study.scoring import judge

BUILT_ON = 96  # the first instances were looked at while `SAFE` was chosen; the others judge it
DEFAULT, SAFE, LABELS = "default", "SAFE", "SAFE, by labels only"
LEAST = {"german": 0.65, "adult": 0.8}
FARTHER = 1.8  # at most so many times the distance of the default


@dataclass(frozen=True)
class Answer:
    """The counterfactuals of one instance."""

    row: Row
    decision: Any
    rows: Rows

    @property
    def labels(self) -> Any:
        """Not needed here."""
        raise NotImplementedError


Explain = Callable[[TableScene], Sequence[Answer]]


def own(explainer: cp.Explainer, k: int, margin: Any = None, by_labels: bool = False) -> Explain:
    """Explain with one of ours."""

    def explain(scene: TableScene) -> Sequence[Answer]:
        trained = scene.trained
        model = trained.model.predict if not by_labels else lambda table: trained.model.predict(table)
        fitted = explainer.clone().fit(model, trained.known, immutable=trained.data.immutable)
        many = fitted.explain_many(scene.X, k, margin=margin, progress=False)
        return [Answer(each.row, each.decision, each.rows) for each in many]

    return explain


def peer(name: str, k: int) -> Explain:
    """Explain with a peer; only what is a counterfactual counts."""

    def explain(scene: TableScene) -> Sequence[Answer]:
        judged = judge(scene, theirs(name, scene, k).run.answers, k, True)
        return [
            Answer(scene.rows[index], scene.decisions[index], each.rows) for index, each in enumerate(judged)
        ]

    return explain


def methods(k: int, with_peers: bool) -> dict[str, Explain]:
    """List what is compared."""
    found = {
        DEFAULT: own(cp.Ensemble(), k),
        "CLOSE": own(cp.Ensemble(selection=cp.CLOSE), k),
        SAFE: own(cp.Ensemble(), k, cp.SAFE),
        LABELS: own(cp.Ensemble(), k, cp.SAFE, by_labels=True),
        "the optimum (Exact, k = 1)": own(cp.Exact(), 1),
    }
    return {**found, DICE: peer(DICE, k), f"{NICE} (k = 1)": peer(NICE, 1)} if with_peers else found


def compare(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure all methods on one table."""
    trained = train(name)
    drawn = trained.instances(options.skip + options.instances).iloc[options.skip :]
    scene = TableScene(trained, drawn.reset_index(drop=True))
    others = list(Refits(trained, {"n_estimators": TREES}, SEED, options.refits))
    lines: list[dict[str, Any]] = []
    usual: dict[int, float] = {}
    for method, explain in methods(options.k, not options.no_peers).items():
        answers = explain(scene)
        away = {i: _distance(scene, each) for i, each in enumerate(answers) if len(each.rows)}
        mean = {i: float(each.mean()) for i, each in away.items()}
        usual = usual or mean
        # A method that leaves out the hard instances gains nothing: both means are over the same ones.
        both = [i for i in mean if i in usual]
        ratio = np.mean([mean[i] for i in both]) / np.mean([usual[i] for i in both])
        lines.append(
            {
                "set": name,
                "method": method,
                "survival": survival(answers, scene.schema, others, Target()),
                "distance": float(np.mean(list(mean.values()))),
                "nearest": float(np.mean([each.min() for each in away.values()])),
                "answered": len(away) / len(answers),
                "distance / default": float(ratio),
            }
        )
    shown = [{key: value for key, value in line.items() if key != "set"} for line in lines]
    results.show(f"{name}, {options.instances} instances, {options.refits} refits", shown)
    return lines


def _distance(scene: TableScene, answer: Answer) -> Row:
    return scene.known.distance.from_x(answer.rows, answer.row)


def _figures(lines: list[dict[str, Any]]) -> list[Figure]:
    figures = []
    for line in lines:
        if line["method"] == SAFE:
            name = line["set"]
            figures.append(Figure(f"{name}: survival of SAFE", line["survival"], LEAST.get(name), ">="))
            figures.append(
                Figure(
                    f"{name}: distance of SAFE by that of the default", line["distance / default"], FARTHER
                )
            )
    return figures


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("survival", __doc__)
    parser.add_argument("--sets", nargs="+", default=list(LEAST), choices=["german", "adult", "fico"])
    parser.add_argument("--instances", type=int, default=48)
    parser.add_argument("--skip", type=int, default=BUILT_ON, help="leave out the first instances")
    parser.add_argument("--refits", type=int, default=REFITS)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args(arguments)
    lines = [line for name in options.sets for line in compare(name, options)]
    figures = _figures(lines)
    results.show("Targets", [figure.cells() for figure in figures])
    results.write("survival", SEED, {"lines": lines, "figures": [figure.plain() for figure in figures]})


if __name__ == "__main__":
    main()
