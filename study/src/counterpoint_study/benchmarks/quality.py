"""How good the answers are, beside those of the authors' release, DiCE, NICE and CFNOW.

``python -m counterpoint_study.benchmarks.quality``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoint.datasets import TABLES
from counterpoint.selection.selection import NAMED
from counterpoint_study.benchmarks import contests, results
from counterpoint_study.benchmarks.contests import Line
from counterpoint_study.benchmarks.methods import CFNOW, DEFAULT, DICE, FREE, NICE, ours, theirs
from counterpoint_study.benchmarks.models import SEED, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.scoring import Answers, closest, mean_line
from counterpoint_study.scenes.tables import TableScene

COLUMNS = {
    "method": "method",
    "valid": "valid",
    "size": "size",
    "act": "act",
    "impl": "impl",
    "dis_dist": "dis_dist",
    "dis_count": "dis_count",
    "div_dist": "div_dist",
    "div_count": "div_count",
    "dipo": "dipo",
    "inst": "inst",
    "changed": "changed",
    "closest": "closest",
    "cpu_ms": "CPU ms",
    "model_rows": "rows",
    "refused": "refused",
    "errors": "errors",
}
CFNOW_SET, CFNOW_K = "german", 5


def compare(scene: TableScene, k: int, options: argparse.Namespace) -> list[Line]:
    """Measure all methods on one data set with one k."""
    name = scene.trained.data.name
    settings = [*NAMED, FREE] if k == 1 else list(NAMED)
    lines = [mean_line(scene, ours(scene, setting, k)) for setting in settings]
    authors = contests.authors(name, k)
    lines += [] if authors is None else [authors]
    peers = () if options.no_peers else (DICE, NICE) if k == 1 else (DICE,)
    lines += [mean_line(scene, theirs(peer, scene, k, options.inst, options.fresh)) for peer in peers]
    shown = [{title: line.get(column) for column, title in COLUMNS.items()} for line in lines]
    note = "" if authors is None else f" ({contests.AUTHORS}: not this run, {authors['instances']} others)"
    results.show(f"{name}, k = {k}, {len(scene.X)} instances{note}", shown)
    return lines


def compare_with_cfnow(count: int, fresh: bool) -> list[Line]:
    """Set the closest of our five against CFNOW's one, over the instances for which CFNOW has one.

    CFNOW puts fractions where the data are whole. They are rounded, as no instance has them, but as they
    tell how near the boundary is, they are compared with as they are as well.
    """
    trained = train(CFNOW_SET)
    scene = TableScene(trained, trained.instances(count))
    rival = theirs(CFNOW, scene, k=1, fresh=fresh)
    lines = []
    for setting in NAMED:
        mine = ours(scene, setting, CFNOW_K)
        for whole in (True, False):
            kind = "whole numbers" if whole else "fractions too"
            lines.append({"ours": setting, "CFNOW's": kind, **_paired(scene, mine, rival, whole)})
    return lines


def _paired(scene: TableScene, mine: Answers, rival: Answers, whole: bool) -> Line:
    near, far = closest(scene, mine), closest(scene, rival, whole)
    both = np.isfinite(near) & np.isfinite(far)
    return {
        "instances": len(near),
        "CFNOW valid": int(np.isfinite(far).sum()),
        "compared": int(both.sum()),
        f"closest of our {mine.k}": float(near[both].mean()) if both.any() else float("nan"),
        "CFNOW": float(far[both].mean()) if both.any() else float("nan"),
        "ours nearer": int((near[both] <= far[both]).sum()),
        "our CPU ms": mine.cpu_ms,
        "CFNOW CPU ms": rival.cpu_ms,
    }


def promises(lines: Sequence[Line]) -> list[Figure]:
    """Check what must hold of our answers everywhere."""
    mine = [line for line in lines if line["method"] in NAMED]
    least = min(mine, key=lambda line: line["size"])
    where = f"{least['set']}, k = {least['k']}, {least['method']}"
    return [
        Figure("valid rows, least", min(line["valid"] for line in mine), 1.0, ">="),
        Figure("size - act, most", max(line["size"] - line["act"] for line in mine), 0.0),
        Figure(f"size, least ({where})", least["size"], 0.99, ">="),
        Figure(
            "size of the default, least", min(v["size"] for v in mine if v["method"] == DEFAULT), 0.99, ">="
        ),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = results.parser("quality", __doc__)
    parser.add_argument("--sets", nargs="+", choices=TABLES, default=["adult", "compas", "german", "fico"])
    parser.add_argument("--ks", type=int, nargs="+", default=[1, 5, 10])
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument(
        "--cfnow", type=int, default=10, help="instances for CFNOW, which is slow; 0 for none"
    )
    parser.add_argument(
        "--no-peers", action="store_true", help="only our own answers and the authors' figures"
    )
    parser.add_argument("--inst", action="store_true", help="the peers' instability too: twice their time")
    parser.add_argument("--fresh", action="store_true", help="run the peers again, cached or not")
    options = parser.parse_args(arguments)

    lines: list[Line] = []
    for name in options.sets:
        trained = train(name)
        scene = TableScene(trained, trained.instances(options.instances))
        lines += [line for k in options.ks for line in compare(scene, k, options)]
    cfnow: list[Line] = []
    if options.cfnow and not options.no_peers and CFNOW_SET in options.sets:
        cfnow = compare_with_cfnow(options.cfnow, options.fresh)
    conclude(lines, cfnow, vars(options))


def conclude(lines: list[Line], cfnow: list[Line], options: dict[str, Any]) -> None:
    """Print who wins, and write everything."""
    cells = contests.contests(lines)
    cpu = contests.cpu_contests(lines)
    tally = contests.tally(cells)
    held = promises(lines)
    legend = "ours | theirs, + we win, - we lose, = the same"
    columns = ["set", "k", "rival", "ours", *contests.CONTESTED, "cpu_ms"]
    if cfnow:
        results.show(f"The closest of our {CFNOW_K} and CFNOW's one, {CFNOW_SET}", cfnow)
    if cells:
        results.show(f"Cell by cell ({legend})", contests.laid_out(cells), columns)
        results.show("Cells won and lost", tally)
    if cpu:
        results.show("CPU ms an instance at k = 5", cpu)
    results.show("What must hold of our answers", [figure.cells() for figure in held])
    body = {
        "options": options,
        "methods": lines,
        "contests": [cell.plain() for cell in cells],
        "tally": tally,
        "cfnow": cfnow,
        "cpu": cpu,
        "figures": [figure.plain() for figure in held],
    }
    results.write("quality", SEED, body)


if __name__ == "__main__":
    main()
