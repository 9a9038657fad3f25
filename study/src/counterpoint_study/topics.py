"""What is studied: tables, images and series, each with its data sets, methods, metrics and claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from counterpoint.datasets import IMAGES, SERIES, TABLES
from counterpoint_study.cells import Cells, SignalCells, TableCells
from counterpoint_study.findings import claims, paper_signals
from counterpoint_study.findings import paper_tables as paper
from counterpoint_study.findings.claims import Claims
from counterpoint_study.findings.ranks import NAMES, ON_SIGNALS
from counterpoint_study.findings.statements import Statement
from counterpoint_study.methods.base import Limits, Method
from counterpoint_study.methods.signals import ON_IMAGES, ON_SERIES
from counterpoint_study.methods.tables import METHODS
from counterpoint_study.models.refits import REFITS
from counterpoint_study.models.training import KINDS
from counterpoint_study.scenes.base import Scene
from counterpoint_study.scenes.signals import MOST_KNOWN, SignalScene
from counterpoint_study.scenes.tables import TableScene


@dataclass(frozen=True, eq=False)
class Topic:
    """A kind of data, and all that a study of it is made of.

    Parameters
    ----------
    name
        What the command line calls it.
    sets, black_boxes
        Names of its data sets, and kinds of their black boxes.
    methods
        Everyone who is compared.
    ks, full_ks
        How many counterfactuals are asked for, in a small study and in one of the paper's size.
    instances
        How many test instances are explained in a small study.
    refits
        How often each black box is trained again, to measure survival; 0 where that is not measured.
    limits, full_limits
        How long a peer may take, likewise.
    metrics
        Names of the metrics that are shown and ranked by.
    distance
        Says with what distance metrics are measured.
    known
        Says which instances are known to methods and measures.
    remark
        What a reader should know of how the paper's statements are judged.
    scene, cells
        Make a scene of a black box and instances, and what reads and writes the cells of a scene.
    claims, statements
        Judge what we claim, from the results, and what the paper reports, from results, means and claims.
    """

    name: str
    sets: tuple[str, ...]
    black_boxes: tuple[str, ...]
    methods: Mapping[str, Method]
    ks: tuple[int, ...]
    full_ks: tuple[int, ...]
    instances: int
    refits: int
    limits: Limits
    full_limits: Limits
    metrics: tuple[str, ...]
    distance: str
    known: str
    remark: str
    scene: Callable[[Any, Any], Scene]
    cells: Callable[[Scene], Cells]
    claims: Callable[[pd.DataFrame], Claims]
    statements: Callable[[pd.DataFrame, pd.DataFrame, Claims | None], Sequence[Statement]]


_ON_TABLES = Topic(
    name="tables",
    sets=TABLES,
    black_boxes=KINDS,
    methods=METHODS,
    ks=(1, 5),
    full_ks=(1, 2, 3, 4, 5, 8, 10, 12, 14, 16, 18, 20),
    instances=6,
    refits=REFITS,
    limits=Limits(instance=20.0, cell=10.0),
    full_limits=Limits(instance=30.0),
    metrics=tuple(NAMES),
    distance="the mean difference of numbers in median absolute deviations, plus the share of categories "
    "that differ",
    known="the training part",
    remark="Each DiCE method stands for the paper's DiCE, which was of the gradient kind.",
    scene=TableScene,
    cells=TableCells.of,
    claims=claims.claims,
    statements=paper.statements,
)


def _on_signals(name: str, sets: tuple[str, ...], methods: Mapping[str, Method]) -> Topic:
    """Make the topic of images or series, which differ in little."""
    return Topic(
        name=name,
        sets=sets,
        black_boxes=("network",),
        methods=methods,
        ks=(1, 5),
        full_ks=(1, 5, 10, 15),
        instances=3,
        refits=0,
        limits=Limits(instance=30.0, cell=10.0),
        full_limits=Limits(instance=60.0),
        metrics=ON_SIGNALS,
        distance="the Euclidean distance over all cells",
        known=f"the training part or, of a larger one, a sample of {MOST_KNOWN:,}; the same for everyone",
        remark="The paper's text is about images, and says that series are similar, with few differences.",
        scene=SignalScene,
        cells=SignalCells.of,
        claims=claims.claims_on_signals,
        statements=paper_signals.statements,
    )


TOPICS: Mapping[str, Topic] = {
    "tables": _ON_TABLES,
    "images": _on_signals("images", IMAGES, ON_IMAGES),
    "series": _on_signals("series", SERIES, ON_SERIES),
}
"""All topics by their names."""
