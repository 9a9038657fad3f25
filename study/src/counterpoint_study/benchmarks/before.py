"""The default ensemble before and after each answer became an action of its own, in one run.

``python -m counterpoint_study.benchmarks.before``

The earlier version comes from git. Each version runs in a process of its own, by the same worker, on the same
forests and instances. The present code judges the answers of both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import joblib
import numpy as np

import counterpoint as cp
from counterpoint.datasets import TABLES
from counterpoint_study.benchmarks import actions, results
from counterpoint_study.benchmarks.models import SEED, train
from counterpoint_study.benchmarks.results import Figure
from counterpoint_study.benchmarks.scoring import Answers, mean_line
from counterpoint_study.methods.base import Cost, Run
from counterpoint_study.scenes.tables import TableScene
from counterpoint_study.scoring import judge

Line = dict[str, Any]

# The last before `search/settle.py` and the selection by actions, which changed the answers.
REVISION = "64c0559e91ca3c056eccb789d2acd00d7002829c"

WORKER = Path(__file__).with_name("before_worker.py")
SETS = ["adult", "compas", "fico", "german"]
BEFORE, AFTER, RATIO = "before", "after", "ratio"
MEAN = "mean"

COLUMNS = {
    "set": "set",
    "version": "version",
    **{
        name: name
        for name in ("impl", "dis_dist", "dis_count", "div_dist", "div_count", "dipo", "inst", "size")
    },
    "actions": "actions / k",
    "model_rows": "rows",
    "model_calls": "calls",
    "cpu_ms": "CPU ms",
}
MEASURED = [name for name in COLUMNS if name not in ("set", "version")]

# What the ratios after / before should be, with one answer and with several.
ONE = {
    "impl": ("<=", 1.0),
    "dis_dist": ("<=", 1.0),
    "dis_count": ("<=", 1.0),
    "inst": ("<=", 1.0),
    "dipo": (">=", 1.0),
}
SEVERAL = {
    "dis_dist": ("<=", 1.333),
    "inst": ("<=", 1.333),
    "impl": ("<=", 1.05),
    "dipo": (">=", 0.95),
    "div_dist": (">=", 1.0),
    "div_count": (">=", 1.0),
}
EFFORT = {"model_rows": ("<=", 1.15), "cpu_ms": ("<=", 1.15)}


def earlier(revision: str) -> Path:
    """Take the code of a revision out of git, once; return the folder to import it from."""
    here = Path(__file__).parent
    try:
        top = _git(here, "rev-parse", "--show-toplevel").decode().strip()
        commit = _git(here, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit(
            f"There is no revision {revision} here: run this in a clone with the whole history."
        ) from None
    folder = results.CACHE.absolute() / f"before-{commit[:12]}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            archive = _git(Path(top), "archive", commit, "src")
            subprocess.run(["tar", "-x", "-C", name], input=archive, check=True)
            Path(name, "src").rename(folder)  # all of it or nothing
    return folder


def _git(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=True)
    return done.stdout


class Version:
    """A worker that explains with one version of the code."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def explain(self, k: int, answers: Path | None = None) -> Line:
        """Explain all instances; return the CPU seconds, the model rows of each and the model calls."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"k": k, "answers": answers and str(answers)}) + "\n")
        self._process.stdin.flush()
        return self.heard()

    def heard(self) -> Line:
        """Read what the worker says next."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("A version of the code ended with an error; it is printed above.")
        return dict(json.loads(line))


@contextmanager
def started(code: Path, given: Path) -> Iterator[Version]:
    """Start a worker that imports the code in a folder."""
    one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # threads that wait count as CPU time
    process = subprocess.Popen(
        [sys.executable, "-P", str(WORKER), str(given)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **one, "PYTHONPATH": str(code)},
    )
    with process:
        try:
            version = Version(process)
            imported = version.heard()["code"]
            if not Path(imported).samefile(code):
                raise RuntimeError(f"The code of {imported} was imported, not that of {code}.")
            yield version
        finally:
            process.kill()


def compare(
    scene: TableScene, codes: Mapping[str, Path], ks: Sequence[int], repeats: int
) -> Iterator[tuple[Line, Line]]:
    """Measure both versions on one table, for each k."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        joblib.dump(_given(scene), folder / "given.joblib")
        versions = {
            version: stack.enter_context(started(code, folder / "given.joblib"))
            for version, code in codes.items()
        }
        for k in ks:
            costs = {
                version: [worker.explain(k, folder / f"{version}.joblib")]
                for version, worker in versions.items()
            }
            for repeat in range(repeats):  # in turn, so that other work on the machine slows both
                for version in (BEFORE, AFTER) if repeat % 2 else (AFTER, BEFORE):
                    costs[version].append(versions[version].explain(k))
            before, after = (
                _judged(scene, version, k, joblib.load(folder / f"{version}.joblib"), costs[version])
                for version in (BEFORE, AFTER)
            )
            yield before, after


def _given(scene: TableScene) -> Line:
    trained = scene.trained
    return {
        "model": trained.model,
        "known": scene.given,
        "immutable": list(trained.data.immutable),
        "X": scene.X,
        "alike": scene.alike,
        "seed": SEED,
    }


def _judged(scene: TableScene, version: str, k: int, answers: Sequence[Any], costs: Sequence[Line]) -> Line:
    """Judge the answers by the present code; the first run warmed up and counts for no time."""
    found, alike = answers
    cpu = median(cost["cpu"] for cost in costs[1:]) / len(scene.X)
    # All runs ask for the same rows. Nothing here is timed one by one.
    each = [Cost(np.nan, cpu, costs[0]["calls"], rows) for rows in costs[0]["rows"]]
    line = mean_line(scene, Answers(version, k, Run(found, alike, each), costs[0]["calls"]))
    runs = [cost["cpu"] / len(scene.X) * 1000 for cost in costs[1:]]
    return {
        **line,
        "version": version,
        "actions": different_actions(scene, found, k),
        "cpu_ms of each run": runs,
    }


def different_actions(scene: TableScene, answers: Sequence[Any], k: int) -> float:
    """Count the different actions of each answer, as a share of k; return the mean."""
    eye = actions.Judge(scene.schema, scene.trained.model, scene.known.rows)
    judged = zip(scene.rows, judge(scene, answers, k), strict=True)
    return float(np.mean([len({eye.action(x, row) for row in each.rows}) / k for x, each in judged]))


def ratio(before: float, after: float) -> float:
    """Divide; nothing by nothing is no ratio.

    Examples
    --------
    >>> ratio(2.0, 3.0), ratio(0.0, 0.0), ratio(0.0, 1.0)
    (1.5, nan, inf)
    """
    if before == 0:
        return float("nan") if after == 0 else float("inf")
    return after / before


def ratios(before: Line, after: Line) -> Line:
    """Divide each figure of one table."""
    return {
        "set": before["set"],
        "k": before["k"],
        "version": RATIO,
        **{name: ratio(before[name], after[name]) for name in MEASURED},
    }


def means(lines: Sequence[Line]) -> list[Line]:
    """Take the means over the tables, for each version, and the mean of the tables' ratios."""
    found = []
    for version in (BEFORE, AFTER, RATIO):
        mine = [line for line in lines if line["version"] == version]
        mean = {name: float(np.mean([line[name] for line in mine])) for name in MEASURED}
        found.append({"set": MEAN, "k": mine[0]["k"], "version": version, **mean})
    return found


def figures(mean: Line) -> list[Figure]:
    """Set the mean ratios of one k against what they should be."""
    targets = {**(ONE if mean["k"] == 1 else SEVERAL), **EFFORT}
    return [
        Figure(f"k = {mean['k']}: {COLUMNS[name]}, after / before", mean[name], target, sign)
        for name, (sign, target) in targets.items()
    ]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = results.parser("before", __doc__)
    parser.add_argument("--sets", nargs="+", choices=TABLES, default=SETS)
    parser.add_argument("--ks", type=int, nargs="+", default=[1, 5, 10])
    parser.add_argument("--instances", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=5, help="how often to time each version")
    parser.add_argument("--revision", default=REVISION, help="the earlier version, as git names it")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    codes = {BEFORE: earlier(options.revision), AFTER: Path(cp.__file__).parents[1]}
    lines: list[Line] = []
    for name in options.sets:
        trained = train(name)
        scene = TableScene(trained, trained.instances(options.instances))
        for before, after in compare(scene, codes, options.ks, options.repeats):
            lines += [before, after, ratios(before, after)]
    found: list[Figure] = []
    for k in options.ks:
        mine = [line for line in lines if line["k"] == k]
        mine += means(mine)
        lines += mine[-3:]
        shown = [{title: line[column] for column, title in COLUMNS.items()} for line in mine]
        results.show(f"k = {k}, {options.instances} instances per table", shown)
        found += figures(mine[-1])
    results.show("After / before, mean of the tables' ratios", [figure.cells() for figure in found])
    body = {"options": vars(options), "lines": lines, "figures": [figure.plain() for figure in found]}
    results.write("before", SEED, body)


if __name__ == "__main__":
    main()
