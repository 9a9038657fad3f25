"""Figures and page: they show what the facts say, all of it, and need nothing but themselves."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from counterpoint_study.findings import ranks
from counterpoint_study.page import figures, page
from counterpoint_study.page.lines import lines, named
from counterpoint_study.page.styles import STYLES
from counterpoint_study.topics import TOPICS
from made_up import NAN, failure, rows, study

OTHERS = ["CBCE", "FAT", "CEM", "DiCE random"]
COMMAND = "counterpoint study tables --instances 2"
TABLES, IMAGES = TOPICS["tables"], TOPICS["images"]


def usual() -> pd.DataFrame:
    return study(*everyone())


def usual_and_a_base() -> list[list[dict[str, Any]]]:
    return [*everyone(), rows("BCE-N"), rows("BCE-N", "network")]


def everyone() -> list[list[dict[str, Any]]]:
    ours = rows("Counterpoint", dipo=0.9, runtime=0.01) + rows(
        "Counterpoint", "network", dipo=0.9, runtime=0.01
    )
    theirs = [rows(name, box) for name in OTHERS for box in ("forest", "network")]
    gradient = rows("DiCE gradient", "network") + failure("DiCE gradient", "networks <only>")
    return [ours, *theirs, gradient]


ACCURACIES = pd.DataFrame(
    {"set": ["german"], "black_box": ["forest"], "accuracy": [0.751], "paper": [0.76]},
)


def texts(figure: Figure | Axes) -> list[str]:
    return [text.get_text() for axes in _axes(figure) for text in axes.texts]


def _axes(figure: Figure | Axes) -> list[Axes]:
    return list(figure.axes) if isinstance(figure, Figure) else [figure]


# --- lines -----------------------------------------------------------------------------------------------


def test_ten_plots_in_the_papers_order_say_which_way_is_better() -> None:
    figure = lines(ranks.means(usual()))
    titles = [title for axes in figure.axes if (title := axes.get_title(loc="left"))]
    assert titles[0] == "Size ↑"
    assert titles[-1] == "Runtime ↓"
    assert [title[:-2] for title in titles] == [metric.title for metric in ranks.METRICS]


def test_a_line_is_the_mean_over_sets_and_black_boxes() -> None:
    results = study(
        rows("Counterpoint", size=1.0), rows("Counterpoint", "network", size=0.5), failure("FAT", "no")
    )
    (line,) = lines(ranks.means(results)).axes[0].lines
    assert line.get_label() == "Counterpoint"
    assert list(line.get_ydata()) == [0.75, 0.75]
    assert list(line.get_xdata()) == [1, 5]


def test_neighbouring_ks_do_not_mix() -> None:
    ks = (1, 2, 3, 4, 5, 8, 10, 12, 14, 16, 18, 20)
    size = lines(ranks.means(study(rows("Counterpoint", ks=ks), rows("FAT", ks=ks)))).axes[0]
    for line in size.lines:
        assert np.abs(np.asarray(line.get_xdata(), dtype=float) - ks).max() <= 0.3 + 1e-9
    assert [tick.get_text() for tick in size.get_xticklabels()] == ["1", "3", "5", "10", "14", "18"]


def test_every_method_that_ran_has_a_line_and_those_with_a_name_are_in_the_legend() -> None:
    figure = lines(ranks.means(usual()), with_names=["Counterpoint", "FAT"])
    drawn = {str(line.get_label()): line for line in figure.axes[0].lines}
    assert set(drawn) == {"Counterpoint", *OTHERS, "DiCE gradient"}
    assert legend(figure) == ["Counterpoint", "FAT", "all others"]
    assert drawn["CEM"].get_color() == drawn["CBCE"].get_color() != drawn["FAT"].get_color()


def test_few_methods_all_have_a_name() -> None:
    assert legend(lines(ranks.means(usual()))) == [
        *("Counterpoint", "CBCE", "DiCE random", "DiCE gradient", "FAT", "CEM"),
    ]


def test_the_best_ranked_have_a_name_after_ours_and_the_papers() -> None:
    ranked = ["Counterpoint varied", "NICE", "BCE-N", "FAT", "ECE_I (paper)", "ECE (paper)", "Counterpoint"]
    assert named([*ranked, "CEM", "CEGP", "WACH"]) == [
        *("Counterpoint", "ECE (paper)", "FAT", "CEM", "CEGP", "NICE"),
    ]


def legend(figure: Figure) -> list[str]:
    return [
        text.get_text() for axes in figure.axes if axes.get_legend() for text in axes.get_legend().get_texts()
    ]


def test_methods_are_told_apart_without_colour() -> None:
    known = [*ranks.SETTINGS, *ranks.CODECS, *ranks.BASES, *ranks.PEERS]
    assert set(STYLES) == set(known)
    looks = [(style.colour, style.line, style.marker) for style in STYLES.values()]
    assert len(set(looks)) == len(looks)
    by_marker = [(style.line, style.marker, style.hollow, style.width) for style in STYLES.values()]
    assert len(set(by_marker)) == len(by_marker)
    assert max(STYLES, key=lambda name: STYLES[name].width) == "Counterpoint"


@pytest.mark.parametrize(
    ("metric", "values", "scale"),
    [
        ("impl", (0.4, 0.5, 0.6, 0.7), "linear"),
        ("impl", (0.4, 0.5, 0.6, 50.0), "log"),
        ("impl", (0.0, 0.4, 0.5, 50.0), "symlog"),
        ("act", (0.0, 0.01, 0.01, 1.0), "linear"),
        ("runtime", (0.02, 9.0, 9.0, 9.0), "log"),
    ],
)
def test_values_far_apart_are_on_a_logarithmic_axis(
    metric: str, values: tuple[float, ...], scale: str
) -> None:
    each = zip(["Counterpoint", "FAT", "CEM", "CEML"], values, strict=True)
    figure = lines(ranks.means(study(*(rows(name, **{metric: value}) for name, value in each))))
    assert figure.axes[ranks.NAMES.index(metric)].get_yscale() == scale


def test_a_metric_that_nobody_has_and_a_single_k_can_be_drawn() -> None:
    results = study(rows("Counterpoint", ks=(3,), inst=NAN), rows("a stranger", ks=(3,), inst=NAN))
    lines(ranks.means(results)).draw_without_rendering()


# --- ranks -----------------------------------------------------------------------------------------------


def test_the_diagram_names_everyone_and_draws_a_bar_a_group() -> None:
    test = ranks.CriticalDifference(
        ("Counterpoint", "a", "b", "c"), (1.1, 2.0, 2.9, 4.0), 20, 0.001, 1.25, (("a", "b"), ("b", "c"))
    )
    figure = figures.diagram(test)
    shown = texts(figure)
    assert {"Counterpoint  1.10", "a  2.00", "2.90  b", "4.00  c", "critical difference 1.25"} <= set(shown)
    bars = [line for line in figure.axes[0].lines if line.get_linewidth() > 3]
    ends = [np.asarray(bar.get_xdata(), dtype=float) for bar in bars]
    assert [list(end.round(1)) for end in ends] == [[2.0, 2.9], [2.9, 4.0]]
    assert bars[0].get_ydata()[0] != bars[1].get_ydata()[0]


def test_the_heat_map_shows_each_mean_rank() -> None:
    table = pd.DataFrame({"size": [1.0, 2.0], "overall": [1.25, 1.75]}, index=["Counterpoint", "FAT"])
    figure = figures.heat(table)
    assert texts(figure) == ["1.0", "1.2", "2.0", "1.8"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["Counterpoint", "FAT"]


def test_long_names_are_not_cut_off() -> None:
    names = ("Counterpoint plausible", "Counterpoint", "+ our base explainers")
    test = ranks.CriticalDifference(names, (1.1, 2.0, 2.9), 20, 0.001, 0.5, ())
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0], "overall": [1.0, 2.0, 3.0]}, index=list(names))
    for figure in (figures.diagram(test), figures.heat(table)):
        (axes,) = figure.axes
        renderer = FigureCanvasAgg(figure).get_renderer()
        for text in [*axes.texts, *(axes.get_yticklabels() if axes.axison else [])]:
            box = text.get_window_extent(renderer)
            assert 0 <= box.x0 < box.x1 <= figure.bbox.x1, text.get_text()


def test_a_figure_is_saved_twice_and_always_alike(tmp_path: Path) -> None:
    table = pd.DataFrame({"size": [1.0, 2.0], "overall": [1.25, 1.75]}, index=["Counterpoint", "FAT"])
    first = figures.save(figures.heat(table), tmp_path / "new", "heat")
    assert (tmp_path / "new" / "heat.png").read_bytes().startswith(b"\x89PNG")
    assert first == (tmp_path / "new" / "heat.svg").read_text("utf-8")
    assert first == figures.save(figures.heat(table), tmp_path, "heat")


# --- the page --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    results = study(*usual_and_a_base())
    assert page.write(TABLES, results, ACCURACIES, folder, COMMAND) == folder / "index.html"
    return folder


def test_the_page_needs_no_other_file(folder: Path) -> None:
    html = (folder / "index.html").read_text("utf-8")
    sources = re.findall(r'(?:src|href)="([^"]{0,30})', html)
    assert len(sources) == 5
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    assert not re.search(r"<script|@import|url\(|https?://", html)


def test_the_page_says_what_was_run(folder: Path) -> None:
    html = (folder / "index.html").read_text("utf-8")
    told = [
        COMMAND,
        "system a calculator, cores 1",
        "limits (cell 9), ks 1 · 5",
        "lib 1",
        "german, fico",
        "0.751",
    ]
    for fact in [*told, "DiCE gradient cannot explain every black box"]:
        assert fact in html


def test_reasons_are_shown_as_they_are_and_are_no_markup(folder: Path) -> None:
    assert "networks &lt;only&gt;" in (folder / "index.html").read_text("utf-8")
    failures = pd.read_csv(folder / "tables" / "failures.csv")
    assert failures[["method", "black_box", "sets", "what", "reason"]].values.tolist() == [
        ["DiCE gradient", "forest", "fico, german", "could not run", "networks <only>"]
    ]


def test_figures_and_tables_are_files_too(folder: Path) -> None:
    names = {"lines", "heat", "ranks", "ranks_limited", "ranks_all"}
    assert {path.name for path in (folder / "figures").iterdir()} == {
        f"{n}.{e}" for n in names for e in ("png", "svg")
    }
    tables = {"accuracy", "cells", "failures", "methods", "paper", "mean_ranks", "mean_ranks_limited"}
    tables |= {"claim_overall", "claim_settings", "claim_metrics", "claims", "summary"}
    tables |= {"rivals", "times", "explained", "seeds"}
    texts = {"runs.md", "headline.md", "paper_in_short.md"}
    assert {path.name for path in (folder / "tables").iterdir()} == texts | {
        f"{n}.{e}" for n in tables for e in ("csv", "md")
    }


def test_a_markdown_table_can_be_pasted(folder: Path) -> None:
    assert (folder / "tables" / "accuracy.md").read_text("utf-8").splitlines() == [
        "| set | black_box | accuracy | paper | difference |",
        "| --- | --- | ---: | ---: | ---: |",
        "| german | forest | 0.751 | 0.760 | -0.009 |",
    ]


def test_the_cells_have_all_means_in_full(folder: Path) -> None:
    cells = pd.read_csv(folder / "tables" / "cells.csv")
    assert len(cells) == 7 * 2 * 2 * 2
    assert list(cells) == [*ranks.CELL, "instances", "valid", "errors", *ranks.NAMES, "batched"]


@pytest.mark.parametrize("methods", [["Counterpoint", "FAT"], ["CEM"]], ids=" ".join)
def test_few_methods_make_a_page_too(methods: list[str], tmp_path: Path) -> None:
    path = page.write(
        TABLES, study(*(rows(name, ks=(1,)) for name in methods)), ACCURACIES, tmp_path, COMMAND
    )
    assert "Every method answered everywhere." in path.read_text("utf-8")


def test_nothing_ran() -> None:
    with pytest.raises(ValueError, match="nothing to show"):
        page.write(TABLES, study(failure("FAT", "no")), ACCURACIES, Path("nowhere"), COMMAND)
