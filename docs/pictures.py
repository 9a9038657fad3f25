"""Draws the pictures of the explainers' pages: what each asks the model about, and what it answers.

`python docs/pictures.py` writes one PNG per explainer next to its page. Everything drawn comes from the
library: an explainer is fitted on a table with two features, and the model records the rows it is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import counterpoint as cp

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = NDArray[np.float64]

PAGES = Path(__file__).parent / "explainers"
K = 4
DPI = 125
WIDTH, HEIGHT = (0.0, 100.0), (0.0, 45.0)

EXPLAINERS: dict[str, cp.Explainer] = {
    "brute-force": cp.BruteForce(features=2),
    "tree": cp.Tree(),
    "sphere": cp.Sphere(),
    "neighbours": cp.Neighbours(),
    "case-based": cp.CaseBased(),
    "guided": cp.Guided(),
    "evolution": cp.Evolution(),
    "ensemble": cp.Ensemble(),
}

# Colours that can be distinguished by colour-blind readers, and in grey.
BLUE, ORANGE, INK = "#0072B2", "#D55E00", "#222222"
GRANTED, REFUSED = "#E3EFF7", "#FBEBDD"


def applicants() -> pd.DataFrame:
    """Make the known applicants of the pages' example."""
    rng = np.random.default_rng(0)
    return pd.DataFrame({"income": rng.gamma(6, 7, 300), "debt": rng.gamma(3, 6, 300)})


def bank(table: pd.DataFrame) -> NDArray[np.str_]:
    """Decide as the model of the pages' example does."""
    limit = 0.35 * table["income"] + 4 * np.sin(table["income"] / 9)
    return np.where(table["debt"] < limit, "granted", "refused")


APPLICANT = {"income": 38.0, "debt": 23.0}


@dataclass(frozen=True)
class Scene:
    """What a picture shows: known instances, x, the rows asked about, and the answers, as points."""

    name: str
    known: Points
    x: Points
    asked: Points
    answers: Points
    calls: int

    @classmethod
    def of(cls, explainer: cp.Explainer) -> Scene:
        """Explain the example's applicant, and record the rows that the model is given."""
        asked: list[Points] = []

        def model(table: pd.DataFrame) -> Any:
            asked.append(table.to_numpy())
            return bank(table)

        fitted = explainer.clone().fit(model, applicants())
        asked.clear()
        explanation = fitted.explain(APPLICANT, k=K)
        x = np.array([list(APPLICANT.values())])
        # The first call is about x itself.
        rows = np.unique(np.concatenate([x[:0], *asked[1:]]), axis=0)
        answers = explanation.counterfactuals.to_numpy()
        return cls(type(explainer).__name__, applicants().to_numpy(), x, rows, answers, len(asked))

    @property
    def caption(self) -> str:
        """What the search took, in words."""
        calls = f"{self.calls} model call{'s' * (self.calls != 1)}"
        return f"{self.name}: {len(self.asked):,} rows asked about in {calls}, {len(self.answers)} answers"


def decided(points: Points) -> NDArray[np.bool_]:
    """Return a mask of the points to which the example's model grants a credit."""
    return np.asarray(bank(pd.DataFrame(points, columns=["income", "debt"])) == "granted")


def draw(scene: Scene) -> Figure:
    """Draw a scene."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.4), layout="constrained")
    axes = figure.subplots()
    _draw_regions(axes)
    _draw_points(axes, scene)
    for answer in scene.answers:
        arrow = {"arrowstyle": "-", "color": INK, "lw": 1.0, "shrinkB": 5}
        axes.annotate("", xy=tuple(answer), xytext=tuple(scene.x[0]), arrowprops=arrow, zorder=4)
    axes.set(xlim=WIDTH, ylim=HEIGHT, xlabel="income", ylabel="debt")
    axes.set_title(scene.caption, fontsize=10, loc="left")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=5, frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure


def _draw_regions(axes: Axes) -> None:
    """Colour the plane by the model's decision."""
    across, up = np.meshgrid(np.linspace(*WIDTH, 300), np.linspace(*HEIGHT, 300))
    grants = decided(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
    axes.contourf(across, up, grants, levels=[-0.5, 0.5, 1.5], colors=[REFUSED, GRANTED])
    axes.text(97, 2, "granted", color=BLUE, ha="right", fontsize=10)
    axes.text(97, 42, "refused", color=ORANGE, ha="right", fontsize=10)


def _draw_points(axes: Axes, scene: Scene) -> None:
    """Draw known instances, what was asked about, the answers and x."""
    grants = decided(scene.known)
    for mask, colour, word in ((grants, BLUE, "granted"), (~grants, ORANGE, "refused")):
        income, debt = scene.known[mask].T
        axes.scatter(income, debt, s=9, color=colour, alpha=0.35, lw=0, label=f"known, {word}")
    income, debt = scene.asked.T
    axes.scatter(income, debt, s=14, marker="x", color=INK, alpha=0.55, lw=0.7, label="asked about")
    income, debt = scene.answers.T
    axes.scatter(income, debt, s=70, color=BLUE, edgecolor="white", lw=1.2, zorder=5, label="answers")
    income, debt = scene.x.T
    axes.scatter(income, debt, s=170, marker="*", color=ORANGE, edgecolor=INK, lw=0.8, zorder=6, label="x")


def write(folder: Path = PAGES) -> list[Path]:
    """Draw all explainers; the same libraries give the same files."""
    written = []
    for page, explainer in EXPLAINERS.items():
        path = folder / f"{page}.png"
        draw(Scene.of(explainer)).savefig(path, dpi=DPI, metadata={"Software": None})
        written.append(path)
    return written


if __name__ == "__main__":
    for picture in write():
        print(f"Wrote {picture.name}, {picture.stat().st_size:,} bytes")
