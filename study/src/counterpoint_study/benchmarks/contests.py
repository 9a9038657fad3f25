"""Who wins: each of our settings against the authors' release and the peers, cell by cell."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from counterpoint.selection.selection import NAMED
from counterpoint_study.benchmarks.methods import DEFAULT, DICE, FREE, NICE
from counterpoint_study.benchmarks.results import number
from counterpoint_study.findings.ranks import METRICS

Line = dict[str, Any]

AUTHORS = "authors"
LOWER = ("cpu_ms", *(metric.name for metric in METRICS if not metric.more))
CONTESTED = ("dis_dist", "dis_count", "impl", "div_dist", "dipo")
AGAINST_NICE = ("dis_dist", "dis_count", "cpu_ms")

# The authors' release with a forest of 100 trees and 20 instances, for k = 1, 5, 10. Theirs, measured once
# (reference-facts): not from the same run, nor with the same instances.
AUTHORS_KS = (1, 5, 10)
AUTHORS_FIGURES: dict[str, dict[str, tuple[float, float, float]]] = {
    "compas": {
        "cpu_ms": (3400, 4300, 5400),
        "model_calls": (167, 261, 352),
        "model_rows": (84_000, 84_000, 84_000),
        "size": (0.95, 0.95, 0.95),
        "act": (0.95, 0.95, 0.95),
        "impl": (0.337, 0.395, 0.407),
        "dis_dist": (0.843, 0.799, 0.726),
        "dis_count": (0.111, 0.140, 0.147),
        "div_dist": (0, 0.734, 0.732),
        "div_count": (0, 0.130, 0.143),
        "dipo": (0.474, 0.484, 0.479),
    },
    "german": {
        "cpu_ms": (4600, 4400, 4700),
        "model_calls": (190, 214, 222),
        "model_rows": (104_000, 104_000, 104_000),
        "size": (0.55, 0.37, 0.33),
        "act": (0.55, 0.37, 0.33),
        "impl": (0.857, 0.910, 0.910),
        "dis_dist": (0.452, 0.502, 0.515),
        "dis_count": (0.091, 0.092, 0.106),
        "div_dist": (0, 0.126, 0.213),
        "div_count": (0, 0.055, 0.077),
        "dipo": (0.500, 0.527, 0.523),
    },
    "adult": {
        "cpu_ms": (4600, 4400, 4700),
        "model_calls": (157, 163, 166),
        "model_rows": (114_000, 114_000, 114_000),
        "size": (1, 1, 0.96),
        "act": (1, 1, 0.96),
        "impl": (0.381, 0.383, 0.400),
        "dis_dist": (0.456, 0.507, 0.528),
        "dis_count": (0.154, 0.168, 0.175),
        "div_dist": (0, 0.201, 0.284),
        "div_count": (0, 0.149, 0.172),
        "dipo": (0.525, 0.515, 0.515),
    },
}


@dataclass(frozen=True)
class Cell:
    """One measure of one of our settings against one rival's."""

    set: str
    k: int
    setting: str
    rival: str
    measure: str
    ours: float
    theirs: float

    @property
    def result(self) -> str:
        """Tell who has the better figure; both may have the same, or one none."""
        if math.isnan(self.ours) or math.isnan(self.theirs):
            return "none"
        # What differs by the rounding of a mean only is the same.
        if math.isclose(self.ours, self.theirs, abs_tol=1e-9):
            return "tie"
        return "win" if (self.ours < self.theirs) == (self.measure in LOWER) else "lose"

    def __str__(self) -> str:
        sign = {"win": "+", "lose": "-", "tie": "=", "none": " "}[self.result]
        return f"{sign} {number(self.ours)} | {number(self.theirs)}"

    def plain(self) -> Line:
        """Return it as JSON takes it."""
        return {**asdict(self), "result": self.result}


def authors(name: str, k: int) -> Line | None:
    """Return the authors' figures as a line like any method's, if there are any."""
    if name not in AUTHORS_FIGURES or k not in AUTHORS_KS:
        return None
    figures = {measure: three[AUTHORS_KS.index(k)] for measure, three in AUTHORS_FIGURES[name].items()}
    return {"set": name, "k": k, "method": AUTHORS, "instances": 20, **figures}


def contests(lines: Sequence[Line]) -> list[Cell]:
    """Set each of our settings against the authors and DiCE, and at k = 1 against NICE."""
    found = {(line["set"], line["k"], line["method"]): line for line in lines}
    cells: list[Cell] = []
    for name, k in dict.fromkeys((line["set"], line["k"]) for line in lines):
        rivals: list[tuple[str, tuple[str, ...], list[str]]] = [
            (AUTHORS, CONTESTED, list(NAMED)),
            (DICE, CONTESTED, list(NAMED)),
        ]
        if k == 1:
            rivals.append((NICE, AGAINST_NICE, [*NAMED, FREE]))
        for rival, measures, settings in rivals:
            if (theirs := found.get((name, k, rival))) is None:
                continue
            for setting in settings:
                mine = found[name, k, setting]
                cells += [Cell(name, k, setting, rival, m, mine[m], theirs[m]) for m in measures]
    return cells


def laid_out(cells: Iterable[Cell]) -> list[Line]:
    """Make one line of each contest, with a cell a measure."""
    lines: dict[tuple[Any, ...], Line] = {}
    for cell in cells:
        key = (cell.set, cell.k, cell.rival, cell.setting)
        start = {"set": cell.set, "k": cell.k, "rival": cell.rival, "ours": cell.setting}
        lines.setdefault(key, start)[cell.measure] = str(cell)
    return list(lines.values())


def tally(cells: Sequence[Cell]) -> list[Line]:
    """Count, for each rival and setting, how many cells are won, and on which measures how many are lost."""
    lines = []
    for rival, setting in dict.fromkeys((cell.rival, cell.setting) for cell in cells):
        those = [cell for cell in cells if (cell.rival, cell.setting) == (rival, setting)]
        count = {result: sum(cell.result == result for cell in those) for result in ("win", "lose", "tie")}
        lost = Counter(cell.measure for cell in those if cell.result == "lose")
        where = ", ".join(f"{measure} {times}" for measure, times in lost.most_common())
        lines.append({"rival": rival, "ours": setting, **count, "lost on": where})
    return lines


def cpu_contests(lines: Sequence[Line], k: int = 5) -> list[Line]:
    """Set our default's CPU time at k = 5 against a tenth of DiCE's."""
    found = {(line["set"], line["method"]): line for line in lines if line["k"] == k}
    names = [name for name, method in found if method == DICE]
    return [
        {
            "set": name,
            "ours: CPU ms": found[name, DEFAULT]["cpu_ms"],
            "a tenth of DiCE's": found[name, DICE]["cpu_ms"] / 10,
            "": "pass" if found[name, DEFAULT]["cpu_ms"] <= found[name, DICE]["cpu_ms"] / 10 else "FAIL",
        }
        for name in names
    ]
