"""On images and series: what is claimed, what the paper reports, and the page that shows it."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from counterpoint_study import runner
from counterpoint_study.cells import Done, SignalCells
from counterpoint_study.findings.claims import PLOTTED, claims_on_signals
from counterpoint_study.findings.paper_signals import statements
from counterpoint_study.findings.ranks import means
from counterpoint_study.findings.statements import Statement
from counterpoint_study.methods.base import Cost, Run
from counterpoint_study.page import gallery, page
from counterpoint_study.plan import Plan
from counterpoint_study.topics import TOPICS
from made_up import cells, failed, rows, study
from made_up_signals import scene

PLACES = [("mnist", "network"), ("fashion", "network")]
PEERS = ["CEM", "CEGP", "WACH"]
ACCURACIES = pd.DataFrame({"set": ["mnist"], "black_box": ["network"], "accuracy": [0.99], "paper": [0.99]})


def table(**ours: float) -> pd.DataFrame:
    others = [cells(name, PLACES) for name in ("Counterpoint K7", *PEERS)]
    return pd.concat([cells("Counterpoint", PLACES, **ours), *others], ignore_index=True)


# --- claims ----------------------------------------------------------------------------------------------


def test_the_best_mean_rank_by_all_metrics_and_by_the_plotted_ones() -> None:
    found = claims_on_signals(table(size=2.0, impl=0.5))
    assert found.wins
    by_all, plotted = found.overall
    assert (by_all.runs, plotted.runs) == ("overall", "plotted")
    # Two sets and two k; act would be size once more.
    assert (by_all.test.runs, plotted.test.runs) == (4 * 9, 4 * len(PLOTTED))
    assert by_all.test.methods[0] == "Counterpoint"


def test_first_by_all_metrics_but_not_by_the_plotted_ones_is_no_win() -> None:
    found = claims_on_signals(table(dipo=2.0, inst=0.5, dis_count=0.5, runtime=2.0))
    assert [each.first for each in found.overall] == [True, False]
    assert not found.wins


def test_actionability_counts_for_nothing() -> None:
    found = claims_on_signals(table(act=9.0))
    assert found.overall[0].test.rank("Counterpoint") == found.overall[0].test.rank("CEM")


def test_claims_need_results_of_ours() -> None:
    with pytest.raises(ValueError, match="about 'Counterpoint', which has no results"):
        claims_on_signals(
            pd.concat([failed("Counterpoint", PLACES), cells("CEM", PLACES)], ignore_index=True)
        )


# --- the paper -------------------------------------------------------------------------------------------


def judged(results: pd.DataFrame, start: str) -> Statement:
    found = claims_on_signals(results)
    (one,) = [s for s in statements(results, means(results), found) if s.text.startswith(start)]
    return one


def test_who_is_fastest() -> None:
    quick = [rows(name, runtime=0.1) for name in ("CEGP", "ECE_I (paper)", "ECE_K4 (paper)")]
    slow = [
        rows(name, runtime=1.0) for name in ("Counterpoint", "ECE (paper)", "ECE_K7 (paper)", "CEM", "WACH")
    ]
    assert judged(study(*quick, *slow), "CEGP, ECE_I and ECE_K4").verdict == "holds"
    quick[0] = rows("CEGP", runtime=5.0)
    assert judged(study(*quick, *slow), "CEGP, ECE_I and ECE_K4").verdict == "in part"
    assert judged(study(*quick, *slow), "The autoencoder").measured.startswith(
        "✓ ECE_I (paper) 0.10, ECE (paper) 1.00"
    )


def test_the_papers_rank_before_every_peer() -> None:
    better = {"size": 1.0, "impl": 0.1, "dipo": 0.9, "runtime": 0.1}
    ours = [rows(name, **better) for name in ("ECE (paper)", "ECE_I (paper)")]
    peers = [rows(name) for name in ("Counterpoint", *PEERS)]
    assert judged(study(*ours, *peers), "ECE and its variants").verdict == "holds"
    weak = rows("ECE_I (paper)", size=0.1, impl=0.9, dipo=0.1, runtime=0.9)
    assert judged(study(ours[0], weak, *peers), "ECE and its variants").verdict == "in part"


# --- the page --------------------------------------------------------------------------------------------


def test_the_page_of_images_shows_nine_metrics_and_no_settings(tmp_path: Path) -> None:
    results = study(
        *(rows(name, "network") for name in ("Counterpoint", "Counterpoint I", "ECE (paper)", *PEERS))
    )
    html = page.write(TOPICS["images"], results, ACCURACIES, tmp_path, "a command").read_text("utf-8")
    assert "Counterfactual explainers on images" in html
    assert "nine metrics" in html
    assert "Counterpoint has the best mean rank of the methods compared" in html
    assert "one of our settings" not in html
    assert "the Euclidean distance over all cells" in html
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {
        *("lines", "heat", "ranks", "ranks_plotted")
    }
    assert "act" not in pd.read_csv(tmp_path / "tables" / "cells.csv")


def test_a_gallery_has_a_picture_for_each_answer_that_flips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = scene(2)
    monkeypatch.setattr(runner, "scene_of", lambda *_: some)
    monkeypatch.setattr(gallery, "scene_of", lambda *_: some)
    plan = replace(
        Plan.small("series"), sets=("power",), methods=("Counterpoint I", "CEM"), instances=2, ks=(1, 5)
    )
    for job in plan.jobs():
        path = runner.path_of(plan, tmp_path, job)
        answers = [some.X[:1, ::-1], some.X[1:2]] if job.k == 1 else [some.X[:0], some.X[:0]]
        cost = Cost(1.0, 1.0, 1, 1)
        SignalCells.of(some).save(path, Done(Run(answers, [], [cost, cost]), {}))
    drawn = gallery.galleries(plan, tmp_path)
    assert list(drawn) == ["power"]
    titles = [axes.get_title() for axes in drawn["power"].axes]
    flips = str(1 - some.decisions[0])
    # The second instance's answer is itself, which is no counterfactual.
    assert titles.count(flips) >= 2
    html = page.write(
        TOPICS["series"],
        study(rows("Counterpoint I"), rows("CEM")),
        ACCURACIES,
        tmp_path,
        "a command",
        galleries=drawn,
    ).read_text("utf-8")
    assert "figures/gallery_power.png" in html


def test_tables_have_no_gallery(tmp_path: Path) -> None:
    plan = replace(Plan.small("tables"), sets=("german",), black_boxes=("forest",), instances=1)
    assert gallery.galleries(plan, tmp_path) == {}


def test_ours_are_asked_for_each_k_and_peers_with_one_answer_once() -> None:
    plan = replace(Plan.small("series"), sets=("power",), methods=("Counterpoint K4", "CEM"), ks=(1, 5))
    assert [(job.method, job.k) for job in plan.jobs()] == [
        *(("Counterpoint K4", k) for k in (1, 5)),
        ("CEM", 1),
    ]
