"""One command recomputes every number from the results, over all seeds; another is about the size of X."""

from pathlib import Path

import pandas as pd
import pytest

from counterpoint.cli import main
from counterpoint_study import published, runner
from counterpoint_study.findings.rivals import rivals
from counterpoint_study.findings.size import METHODS, PERCENT
from counterpoint_study.methods.tables import METHODS as TABLES
from counterpoint_study.page import figures, page
from counterpoint_study.page.verdicts import where_it_loses
from counterpoint_study.recompute import recompute
from counterpoint_study.topics import TOPICS
from made_up import save_without_drawing, whole_run

SMALL = ["--sets", "german", "--black-boxes", "forest", "--instances", "2", "-k", "2", "--cores", "1"]


def save(results: pd.DataFrame, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    results.to_parquet(folder / "results.parquet", index=False)
    return folder / "results.parquet"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that is computed from runs with the seeds 0, 4 and 5, not in their order."""
    folder = tmp_path_factory.mktemp("several")
    files = [save(whole_run(seed), folder / str(seed)) for seed in (5, 0, 4)]
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(figures, "save", save_without_drawing)
        assert recompute(files, folder / "out") == [folder / "out" / "tables" / "index.html"]
    return folder / "out" / "tables"


def test_the_file_alone_gives_every_table_and_figure_again(tmp_path: Path) -> None:
    results = whole_run(4)
    first = tmp_path / "first"
    accuracies = pd.DataFrame(results.attrs["accuracies"])
    page.write(TOPICS["tables"], results, accuracies, first, results.attrs["command"])
    (again,) = recompute([save(results, tmp_path)], tmp_path / "out")
    for name in ("*.md", "*.png", "*.svg"):
        written = {path.name: path.read_bytes() for path in first.rglob(name)}
        assert written == {path.name: path.read_bytes() for path in again.parent.rglob(name)}
    for table in (first / "tables").glob("*.csv"):
        same = pd.read_csv(again.parent / "tables" / table.name)
        pd.testing.assert_frame_equal(pd.read_csv(table), same, rtol=1e-12)
    assert (first / "index.html").read_text("utf-8") == again.read_text("utf-8")


def test_claims_are_judged_over_all_seeds_that_were_held_out_and_no_other(out: Path) -> None:
    settings = pd.read_csv(out / "tables" / "claim_settings.csv")
    # Two seeds with two data sets, two black boxes, two k and two instances.
    assert set(settings.loc[settings["peer"] == "FAT", "explained"]) == {"32 of 32"}
    assert pd.read_csv(out / "tables" / "seeds.csv")["seed"].tolist() == [4, 5]
    assert pd.read_csv(out / "tables" / "cells.csv")["instances"].max() == 4
    beside = pd.read_csv(out / "tables" / "settings_beside.csv")
    assert beside["method"].tolist()[:3] == ["ECE (paper)", "Counterpoint", "worse by, %"]


def test_the_page_says_which_seeds_there_are(out: Path, tmp_path: Path) -> None:
    text = (out / "tables" / "runs.md").read_text("utf-8")
    assert "two seeds (4 and 5)" in text
    assert "2 of the seeds that no setting was chosen on (4, 5 and 6)" in text
    html = (out / "index.html").read_text("utf-8")
    assert "counterpoint study tables --seed 4; counterpoint study tables --seed 5" in html


def test_accuracies_are_means_over_seeds(out: Path) -> None:
    assert pd.read_csv(out / "tables" / "accuracy.csv")["accuracy"].tolist() == [pytest.approx(0.745)]


def test_sentences_have_the_numbers_of_the_tables(out: Path) -> None:
    overall = pd.read_csv(out / "tables" / "claim_overall.csv").set_index("over")
    headline = (out / "tables" / "headline.md").read_text("utf-8")
    first = overall.loc["overall"]
    assert f"mean rank {first['Counterpoint']:.2f} among {first['methods']} methods" in headline
    verdicts = pd.read_csv(out / "tables" / "claims.csv")
    assert set(verdicts["verdict"]) <= {"holds", "does not hold"}
    assert verdicts["claim"].str.contains("at least as good as FAT").sum() == 1
    assert "32 of 32 instances" in verdicts.loc[verdicts["claim"].str.contains("FAT"), "measured"].item()


def test_slow_and_limited_peers_are_counted(out: Path) -> None:
    counts = pd.read_csv(out / "tables" / "explained.csv").set_index("peer")
    assert counts.loc["CEM", "explained"] == "24 of 32"
    assert counts.loc["CEM", "out of time"] == 8
    assert counts.loc["CEML", "cells that could not run"] == 8
    assert counts["other errors"].tolist() == [0, 0, 0]


def test_both_times_stand_beside_each_other(out: Path) -> None:
    times = pd.read_csv(out / "tables" / "times.csv").set_index("method")
    assert times.loc["Counterpoint"].tolist() == [0.5, pytest.approx(0.1), 9, 900]
    assert times.loc["FAT"].isna().tolist() == [False, True, True, True]


def test_where_the_default_loses_is_said() -> None:
    results = whole_run(4)
    worse = results["method"].eq("Counterpoint")
    results.loc[worse, "dis_dist"] = 0.75
    results.loc[worse & (results["instance"] == 0), "inst"] = float("nan")
    table = where_it_loses(rivals(results)).set_index("method")
    assert table.loc["FAT", "Counterpoint is worse on (by)"] == "dis_dist (50.0 %)"
    assert table.loc["FAT", "Counterpoint is better on"] == "impl"


def test_each_step_from_the_papers_method_has_its_costs(out: Path) -> None:
    steps = pd.read_csv(out / "tables" / "ablation.csv")
    assert steps["step"].tolist() == ["ECE (paper)", "+ whole pool", "+ our selection", "Counterpoint"]
    assert steps["instances"].tolist() == [32] * 4
    assert {"runtime", "batched", "model_calls", "model_rows"} <= set(steps)
    changes = pd.read_csv(out / "tables" / "ablation_changes.csv").set_index("step")
    assert changes["impl"].tolist() == pytest.approx([0.05, 0.05, -0.2])
    assert (changes["size"] == 0).all()


def in_this_process(plan: object, paths: dict[object, Path], cores: int) -> None:
    for job, path in paths.items():
        runner.work(plan, job, path)  # type: ignore[arg-type]


def test_real_results_have_both_times_both_distances_and_their_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_work", in_this_process)
    monkeypatch.setattr(figures, "save", save_without_drawing)
    asked = [*SMALL, "--refits", "2", "--methods", "BCE-N", "BCE-T", "--out", str(tmp_path)]
    assert main(["study", "tables", *asked]) == 0
    results = published.read(tmp_path / "results.parquet")
    assert {"runtime", "batched", "impl", "impl_quantile", "share", "seed"} <= set(results)
    assert results.attrs["plan"]["topic"] == "tables"
    boxes = [(each["set"], each["black_box"]) for each in results.attrs["accuracies"]]
    assert boxes == [("german", "forest")]
    answered = results[results["valid"] > 0]
    assert answered["dis_dist_quantile"].notna().all()
    assert (answered["dis_dist_quantile"] <= 2.0).all()
    assert answered["survival"].between(0, 1).all()
    assert results.attrs["plan"]["refits"] == 2


def test_the_size_of_x_is_a_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_work", in_this_process)
    asked = [*SMALL, "--methods", "BCE-N", "BCE-T", "--shares", "0.2", "1", "--out", str(tmp_path)]
    assert main(["study", "size", *asked]) == 0
    assert capsys.readouterr().out.strip().endswith("size_of_x.png")
    results = pd.read_parquet(tmp_path / "results.parquet")
    assert sorted(results["share"].unique()) == [0.2, 1.0]
    table = pd.read_csv(tmp_path / "tables" / "size_of_x.csv")
    assert sorted(table[PERCENT].unique()) == [20, 100]
    said = (tmp_path / "tables" / "size_runs.md").read_text("utf-8")
    assert said.startswith("`counterpoint ")
    assert f"{results['instance'].nunique()} instances of each data set" in said  # not so many for each share
    near = table[table["method"] == "BCE-N"].set_index(PERCENT)["dis_dist"]
    assert near[20] > near[100]  # fewer known instances, farther neighbours
    (figure,) = recompute([tmp_path / "results.parquet"], tmp_path / "again")
    assert figure.read_bytes() == (tmp_path / "figures" / "size_of_x.png").read_bytes()


def test_everyone_in_the_study_of_sizes_is_known() -> None:
    assert set(METHODS) <= set(TABLES)
