"""README and docs say what the command computes from the published results, at every mark."""

import re
from pathlib import Path

import pandas as pd
import pytest

from counterpoint.cli import main
from counterpoint_study import published
from counterpoint_study.documentation import CAPTIONS, FIGURES, MARKED, RESULTS, TEXTS, filled, pages, update
from counterpoint_study.page import figures
from counterpoint_study.recompute import recompute
from made_up import save_without_drawing, whole_run

ROOT = Path(__file__).parents[2]
RULE = "counterpoint study recompute study/results/*.parquet --docs ."


# --- this repository -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command computes from the files that are in the repository; nothing if there are none."""
    out = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(figures, "save", save_without_drawing)
        recompute(sorted((ROOT / RESULTS).glob("*.parquet")), out)
    return out


def test_every_page_says_what_the_published_results_give(computed: Path) -> None:
    for path in pages(ROOT):
        text = path.read_text("utf-8")
        assert text == filled(text, computed, path.parent.relative_to(ROOT)), f"{path}: run `{RULE}`"


def test_the_figures_are_those_of_the_published_results(computed: Path) -> None:
    marks = {mark[1:3] for path in pages(ROOT) for mark in MARKED.findall(path.read_text("utf-8"))}
    drawn = [(topic, name) for topic, name in marks if (computed / topic / "figures" / name).exists()]
    names = {name if topic == "tables" else f"{topic}_{name}" for topic, name in drawn}
    assert {path.name for path in (ROOT / FIGURES).glob("*.png")} == names


def test_the_published_files_are_small_and_named_after_their_runs() -> None:
    for path in (ROOT / RESULTS).glob("*.parquet"):
        assert path.stat().st_size < 400_000, path
        assert published.name_of(published.read(path)) == path.name


@pytest.mark.parametrize("page", ["README.md", "docs/study.md", "docs/claims.md", "study/README.md"])
def test_the_command_is_written_down(page: str) -> None:
    assert RULE in (ROOT / page).read_text("utf-8")


def test_what_the_study_finds_has_its_place() -> None:
    marks = {mark[1:3] for path in pages(ROOT) for mark in MARKED.findall(path.read_text("utf-8"))}
    on_tables = {name for topic, name in marks if topic == "tables"}
    assert on_tables >= {*TEXTS, *(f"{name}.png" for name in CAPTIONS if name != "ranks_plotted")}
    for topic in ("images", "series"):
        assert {(topic, "runs"), (topic, "headline"), (topic, "ranks.png"), (topic, "lines.png")} <= marks


def test_the_rule_for_claims_has_no_figures() -> None:
    assert not MARKED.search((ROOT / "docs" / "claims.md").read_text("utf-8"))


# --- a checkout that is published to ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with an old figure and marks, before anything is published."""
    root = tmp_path_factory.mktemp("checkout")
    (root / "docs" / "study").mkdir(parents=True)
    (root / "docs" / "study" / "old.png").write_bytes(b"old")
    marks = "".join(f"<!-- study: tables/{name} -->\nold\n<!-- /study -->\n\n" for name in TEXTS)
    drawn = "".join(f"<!-- study: tables/{name}.png -->\n<!-- /study -->\n\n" for name in CAPTIONS)
    (root / "README.md").write_text(f"Before.\n\n{marks}After.\n", "utf-8")
    (root / "docs" / "study" / "page.md").write_text(drawn, "utf-8")
    (root / "docs" / "images.md").write_text("<!-- study: images/runs -->\n<!-- /study -->\n", "utf-8")
    sized = pd.concat([whole_run(4), whole_run(4, share=0.2)], ignore_index=True)
    sized.attrs = whole_run(4).attrs
    given = []
    for place, results in enumerate([whole_run(4), whole_run(5), whole_run(6), sized]):
        given.append(str(root / f"{place}.parquet"))
        results.to_parquet(given[-1], index=False)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(figures, "save", save_without_drawing)
        assert main(["study", "publish", *given, "--docs", str(root), "--out", str(root / "out")]) == 0
    return root


def test_one_command_puts_results_tables_and_figures_in_place(checkout: Path) -> None:
    assert {path.name for path in (checkout / RESULTS).iterdir()} == {
        *(f"tables-seed{seed}.parquet" for seed in (4, 5, 6)),
        "size-seed4.parquet",
    }
    shown = {f"{name}.png" for name in CAPTIONS if name != "ranks_plotted"}  # of images and series only
    assert {path.name for path in (checkout / FIGURES).glob("*.png")} == shown


def test_every_name_that_can_be_marked_is_computed(checkout: Path) -> None:
    contents = {name: text for _, _, name, text, _ in MARKED.findall((checkout / "README.md").read_text())}
    assert set(contents) == set(TEXTS)
    assert all(text.strip() not in ("", "old") for text in contents.values())
    names = {path.stem for path in (checkout / "out" / "tables" / "tables").glob("*.md")}
    assert names == set(TEXTS)


def test_a_figure_is_linked_from_where_its_page_lies(checkout: Path) -> None:
    text = (checkout / "docs" / "study" / "page.md").read_text()
    assert re.findall(r"\]\((\w+)\.png\)", text) == [name for name in CAPTIONS if name != "ranks_plotted"]
    out = checkout / "out"
    mark = "<!-- study: tables/lines.png -->\n<!-- /study -->"
    assert "](docs/study/lines.png)" in filled(mark, out)
    assert "](study/lines.png)" in filled(mark, out, Path("docs"))


def test_where_there_are_no_results_the_page_says_so(checkout: Path) -> None:
    assert "No results on images are published" in (checkout / "docs" / "images.md").read_text()
    assert filled("<!-- study: images/claims -->\nold\n<!-- /study -->", checkout / "out") == (
        "<!-- study: images/claims -->\n<!-- /study -->"
    )


def test_what_is_renewed_once_does_not_change_again(checkout: Path) -> None:
    assert update(checkout, checkout / "out") == []


@pytest.mark.parametrize("name", ["tables/nowhere", "nowhere/claims", "tables/nowhere.png"])
def test_an_unknown_mark_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="must name a table or figure"):
        filled(f"<!-- study: {name} -->\n<!-- /study -->", tmp_path)


def test_a_published_file_gives_the_same_and_is_stable(tmp_path: Path) -> None:
    results = whole_run(4)
    results["impl"] = [0.1 + 1 / (place + 3) for place in range(len(results))]
    results["size"] = results["survival"] = 1 / 3
    published.write(results, tmp_path / "small.parquet")
    again = published.read(tmp_path / "small.parquet")
    assert again.attrs == results.attrs
    assert (again["size"] == results["size"]).all()  # shares are exact, or ties would be lost
    assert (again["survival"] == results["survival"]).all()
    pd.testing.assert_series_equal(again["impl"], results["impl"], rtol=2**-14)
    assert again["error"].notna().tolist() == results["error"].notna().tolist()
    published.write(again, tmp_path / "twice.parquet")
    pd.testing.assert_frame_equal(published.read(tmp_path / "twice.parquet"), again)
