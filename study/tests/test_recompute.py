"""One command recomputes every number from the results; another draws the metrics against the size of X."""

from pathlib import Path

import pandas as pd
import pytest

from counterpoint.cli import main
from counterpoint_study import recompute as module
from counterpoint_study.findings.ranks import ABLATION
from counterpoint_study.findings.size import METHODS, PERCENT
from counterpoint_study.methods.tables import METHODS as TABLES
from counterpoint_study.recompute import recompute, update_docs, with_tables
from made_up import rows, study

SMALL = ["--sets", "german", "--black-boxes", "forest", "--instances", "2", "-k", "2", "--cores", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real study, small."""
    out = tmp_path_factory.mktemp("study") / "tables"
    methods = [*ABLATION, "BCE-N", "CBCE"]
    assert main(["study", "tables", *SMALL, "--methods", *methods, "--out", str(out)]) == 0
    return out


def test_the_file_alone_gives_every_table_and_figure_again(folder: Path, tmp_path: Path) -> None:
    (page,) = recompute([folder / "results.parquet"], tmp_path)
    assert page == tmp_path / "tables" / "index.html"
    for kind in ("tables", "figures"):
        first = {path.name: path.read_bytes() for path in (folder / kind).iterdir()}
        again = {path.name: path.read_bytes() for path in (tmp_path / "tables" / kind).iterdir()}
        assert first == again
    assert (folder / "index.html").read_text("utf-8") == page.read_text("utf-8")


def test_the_results_have_both_times_both_distances_and_their_origin(folder: Path) -> None:
    results = pd.read_parquet(folder / "results.parquet")
    assert {"runtime", "batched", "impl", "impl_quantile", "share", "seed"} <= set(results)
    assert results.attrs["plan"]["topic"] == "tables"
    assert results.attrs["accuracies"][0]["set"] == "german"
    answered = results[results["valid"] > 0]
    assert answered["dis_dist_quantile"].notna().all()
    assert (answered["dis_dist_quantile"] <= 2.0).all()
    steps = pd.read_csv(folder / "tables" / "ablation.csv")
    assert steps["step"].tolist() == list(ABLATION)
    assert {"batched", "model_calls", "model_rows"} <= set(steps)


def held_out(seed: int) -> pd.DataFrame:
    found = study(
        rows("Counterpoint", seed=seed, impl=0.1), rows("FAT", seed=seed, size=0.9), rows("CBCE", seed=seed)
    )
    found.attrs = {"plan": {"topic": "tables"}}
    return found


def test_claims_about_settings_are_judged_on_the_seeds_that_were_held_out(tmp_path: Path) -> None:
    files = []
    for seed in (0, 4, 5):
        files.append(tmp_path / f"{seed}.parquet")
        held_out(seed).to_parquet(files[-1])
    _, claimed = recompute(files, tmp_path / "out")
    assert claimed.name == "held_out_claim_settings.md"
    settings = pd.read_csv(claimed.with_suffix(".csv"))
    assert settings.loc[settings["peer"] == "FAT", "explained"].tolist() == ["16 of 16"]  # two seeds of eight
    beside = pd.read_csv(claimed.with_name("held_out_FAT.csv"))
    assert beside.iloc[:, 0].tolist() == ["FAT", "Counterpoint", "worse by, %"]


def test_marked_tables_of_the_documentation_are_renewed(tmp_path: Path) -> None:
    out, root = tmp_path / "out", tmp_path / "checkout"
    (out / "tables" / "tables").mkdir(parents=True)
    (out / "tables" / "figures").mkdir()
    (out / "tables" / "tables" / "summary.md").write_text("| a |\n| --- |\n| 1 |\n")
    (out / "tables" / "figures" / "lines.png").write_bytes(b"new")
    (root / "docs" / "study").mkdir(parents=True)
    (root / "docs" / "study" / "lines.png").write_bytes(b"old")
    text = "Before.\n\n<!-- study: tables/summary -->\n| old |\n<!-- /study -->\n\nAfter.\n"
    (root / "README.md").write_text(text)
    (root / "docs" / "page.md").write_text("Nothing to see.\n")
    changed = update_docs(root, out)
    assert [path.name for path in changed] == ["README.md", "lines.png"]
    assert "| 1 |\n<!-- /study -->\n\nAfter." in (root / "README.md").read_text()
    assert (root / "docs" / "study" / "lines.png").read_bytes() == b"new"
    assert update_docs(root, out) == []
    with pytest.raises(FileNotFoundError, match="nowhere"):
        with_tables(text.replace("summary", "nowhere"), out)


def test_the_size_of_x_is_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = [*SMALL, "--methods", "BCE-N", "ECE (paper)", "--shares", "0.2", "1", "--out", str(tmp_path)]
    assert main(["study", "size", *asked]) == 0
    assert capsys.readouterr().out.strip().endswith("size_of_x.png")
    results = pd.read_parquet(tmp_path / "results.parquet")
    assert sorted(results["share"].unique()) == [0.2, 1.0]
    table = pd.read_csv(tmp_path / "tables" / "size_of_x.csv")
    assert sorted(table[PERCENT].unique()) == [20, 100]
    near = table[table["method"] == "BCE-N"].set_index(PERCENT)["dis_dist"]
    assert near[20] > near[100]  # fewer known instances, farther neighbours
    (figure,) = module.recompute([tmp_path / "results.parquet"], tmp_path / "again")
    assert figure.read_bytes() == (tmp_path / "figures" / "size_of_x.png").read_bytes()


def test_everyone_in_the_study_of_sizes_is_known() -> None:
    assert set(METHODS) <= set(TABLES)
