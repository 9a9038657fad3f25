"""A study: cells on disk, going on after a stop, and failures that cost their own cell only."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from counterpoint.metrics.measures import Measures
from counterpoint_study import cells, runner
from counterpoint_study.methods.base import Cost, Limits, Method, Run
from counterpoint_study.methods.tables import METHODS, Own
from counterpoint_study.plan import Plan
from counterpoint_study.scenes.base import Scene
from counterpoint_study.scoring import Score

TABLES = replace(Plan.small("tables"), sets=("german",), black_boxes=("forest",))
SMALL = replace(TABLES, methods=("BCE-N", "CBCE"), ks=(1, 3), instances=3, refits=2)
COST = Cost(0.5, 0.25, 3, 40, "late")


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    folder = tmp_path_factory.mktemp("study")
    return folder, runner.run(SMALL, folder, cores=1)


def test_results_have_a_row_for_each_instance_of_each_cell(studied: tuple[Path, pd.DataFrame]) -> None:
    _, results = studied
    cells = results.groupby(["set", "black_box", "method", "k"]).size()
    assert cells.to_dict() == {
        ("german", "forest", method, k): 3 for method in ("BCE-N", "CBCE") for k in (1, 3)
    }
    assert (results.runtime > 0).all()
    assert (results.batched > 0).all()
    assert (results.groupby(["method", "k"]).runtime.nunique() == 3).all()  # each is timed alone
    assert (results.groupby(["method", "k"]).batched.nunique() == 1).all()
    assert results.error.isna().all()


def test_results_are_written_with_versions_and_machine(studied: tuple[Path, pd.DataFrame]) -> None:
    folder, results = studied
    written = pd.read_parquet(folder / "results.parquet")
    pd.testing.assert_frame_equal(written, results, check_dtype=False)
    assert written.attrs["versions"]["numpy"] == np.__version__
    assert written.attrs["machine"]["cores"] >= 1


def test_what_was_run_is_not_run_again(studied: tuple[Path, pd.DataFrame]) -> None:
    folder, results = studied
    before = {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()}
    again = runner.run(SMALL, folder, cores=1)
    assert {path: path.stat().st_mtime_ns for path in (folder / "cells").iterdir()} == before
    pd.testing.assert_frame_equal(again, results)


def test_a_study_that_was_stopped_goes_on(studied: tuple[Path, pd.DataFrame], tmp_path: Path) -> None:
    whole, results = studied
    done = sorted((whole / "cells").iterdir())[0]
    (tmp_path / "cells").mkdir()
    kept = tmp_path / "cells" / done.name
    kept.write_bytes(done.read_bytes())
    before = kept.stat().st_mtime_ns
    again = runner.run(SMALL, tmp_path, cores=1)
    assert kept.stat().st_mtime_ns == before
    timed = ["runtime", "cpu", "batched"]
    pd.testing.assert_frame_equal(again.drop(columns=timed), results.drop(columns=timed))


class Broken(Own):
    """A method that raises."""

    def run(self, scene: Scene, k: int, limits: Limits, seed: int) -> Run:
        raise RuntimeError("out of ideas")


class Once(Own):
    """A method that is run once for all k."""

    def asked(self, ks: tuple[int, ...]) -> dict[int, tuple[int, ...]]:  # type: ignore[override]
        return {max(ks): tuple(ks)}


def in_this_process(
    plan: Plan, folder: Path, method: Method, monkeypatch: pytest.MonkeyPatch
) -> pd.DataFrame:
    """Run a plan with a method of the test's own in the place of CBCE."""
    monkeypatch.setitem(METHODS, "CBCE", method)  # type: ignore[arg-type]
    for job in plan.jobs():
        runner.work(plan, job, runner.path_of(plan, folder, job))
    return runner.collect(plan, folder)


def test_a_failure_costs_its_own_cell_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Broken("CBCE", METHODS["CBCE"].explainer)  # type: ignore[attr-defined]
    results = in_this_process(SMALL, tmp_path, broken, monkeypatch)
    failed = results[results.method == "CBCE"]
    assert failed.k.tolist() == [1, 3]
    assert (failed.instance == -1).all()
    assert (failed.error == "RuntimeError: out of ideas").all()
    assert len(results[results.method == "BCE-N"]) == 6


def test_one_run_serves_every_k(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once = Once("CBCE", METHODS["BCE-N"].explainer)  # type: ignore[attr-defined]
    results = in_this_process(SMALL, tmp_path, once, monkeypatch)
    mine = results[results.method == "CBCE"]
    assert sorted(set(mine.k)) == [1, 3]
    assert (mine[mine.k == 1].given == 1).all()
    assert len(list((tmp_path / "cells").glob("*CBCE*"))) == 1


def test_a_cell_of_tables_reads_back_as_it_was_written(tmp_path: Path) -> None:
    table = pd.DataFrame({"a": [0.1 + 0.2, np.nan], "b": [1, 2], "c": ["x", "y"]})
    kept = cells.TableCells(("a", "b", "c"))
    kept.save(tmp_path / "one.json", cells.Done(Run([table], [table[:0]], [COST]), {}))
    back = kept.load(tmp_path / "one.json")
    assert back is not None
    pd.testing.assert_frame_equal(back.run.answers[0], table)
    assert list(back.run.alike[0].columns) == ["a", "b", "c"]
    assert back.run.costs == [COST]
    assert kept.load(tmp_path / "two.json") is None


def test_a_cell_of_arrays_reads_back_as_it_was_written(tmp_path: Path) -> None:
    two, none = np.arange(12, dtype=np.float32).reshape(2, 2, 3) / 7, np.empty((0, 2, 3), dtype=np.float32)
    score = Score(
        2, 1, 0, Measures(1, 1, 0.25, 0.5, 0.5, 0, 0, 0.75), Measures(1, 1, 0.125, 0.5, 0.5, 0, 0, 0.5)
    )
    kept = cells.SignalCells((2, 3), np.dtype(np.float32))
    kept.save(tmp_path / "one.npz", cells.Done(Run([none, two, none], [two], [COST]), {5: [score]}))
    back = kept.load(tmp_path / "one.npz")
    assert back is not None
    assert [len(answer) for answer in back.run.answers] == [0, 2, 0]
    assert np.array_equal(back.run.answers[1], two)
    assert back.run.answers[1].dtype == np.float32
    assert np.array_equal(back.run.alike[0], two)
    assert back.run.costs == [COST]
    assert back.scores[5][0].measures.dipo == 0.75
    assert back.scores[5][0].quantiles.dipo == 0.5
    assert [path.name for path in tmp_path.iterdir()] == ["one.npz"]
    assert kept.load(tmp_path / "two.npz") is None


def test_a_cell_that_failed_is_kept_too(tmp_path: Path) -> None:
    kept = cells.SignalCells((4,), np.dtype(np.float64))
    kept.save(tmp_path / "one.npz", cells.Done(Run([], [], []), {}, "RuntimeError: out of ideas"))
    back = kept.load(tmp_path / "one.npz")
    assert back is not None
    assert (back.failure, len(back.run.answers)) == ("RuntimeError: out of ideas", 0)


def test_arrays_of_another_shape_are_named() -> None:
    kept = cells.SignalCells((2, 3), np.dtype(np.float32))
    with pytest.raises(ValueError, match=r"must have the shape \(k, 2, 3\), got \(1, 3, 2\)"):
        kept.as_kept(Run([np.zeros((1, 3, 2))], [], []))


def test_a_peer_with_one_answer_is_run_once() -> None:
    plan = replace(TABLES, methods=("NICE", "FAT", "DiCE random"), ks=(1, 5))
    asked = [(job.method, job.k, job.ks) for job in plan.jobs()]
    assert asked == [
        ("NICE", 1, (1, 5)),
        ("FAT", 5, (1, 5)),
        ("DiCE random", 1, (1,)),
        ("DiCE random", 5, (5,)),
    ]


def test_long_runs_come_first() -> None:
    plan = replace(TABLES, methods=("BCE-N", "NICE", "DiCE random"), ks=(1, 5))
    order = [(job.method, job.k) for job in runner.in_order(plan)]
    assert order[0] == ("DiCE random", 5)
    assert {method for method, _ in order[:3]} == {"NICE", "DiCE random"}
    assert order[3:] == [("BCE-N", 5), ("BCE-N", 1)]


def test_the_full_plan_has_the_papers_size() -> None:
    plan = Plan.full("tables")
    assert (len(plan.ks), max(plan.ks), plan.instances) == (12, 20, 100)
    assert len(plan.sets) * len(plan.black_boxes) == 8


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sets": ("iris",)}, r"sets must name some of .*got \['iris'\]"),
        ({"methods": ()}, "methods must name some of"),
        ({"ks": (0,)}, "ks must be whole numbers from 1 on"),
        ({"instances": 0}, "instances must be at least 1"),
        ({"refits": -1}, "refits must be at least 0"),
        ({"topic": "smells"}, r"topic must name some of \['tables', 'images', 'series'\]"),
        ({"topic": "series"}, "sets must name some of .*'power'"),
    ],
)
def test_a_wrong_plan_is_refused(wrong: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(TABLES, **wrong)  # type: ignore[arg-type]
