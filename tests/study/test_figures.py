"""Figures and page: they show what the facts say, all of it, and need nothing but themselves."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from counterpoint.study import figures, page, ranks

NAN = float("nan")
NO_METRICS = dict.fromkeys(ranks.NAMES, NAN)
OTHERS = ["CBCE", "FAT", "CEM", "DiCE random"]
COMMAND = "counterpoint study tables --instances 2"


def rows(
    method: str, box: str = "forest", ks: tuple[int, ...] = (1, 5), **other: Any
) -> list[dict[str, Any]]:
    """Two instances of a method on two data sets, all metrics .5 unless said otherwise."""
    plain = dict.fromkeys(ranks.NAMES, 0.5) | {
        "given": 1,
        "valid": 1,
        "error": None,
        "seed": 3,
        "library": "lib 1",
    }
    places = [(name, k, i) for name in ("german", "fico") for k in ks for i in (0, 1)]
    return [
        {"set": name, "black_box": box, "method": method, "k": k, "instance": i} | plain | other
        for name, k, i in places
    ]


def failure(method: str, reason: str, box: str = "forest") -> list[dict[str, Any]]:
    every = rows(method, box, **NO_METRICS, given=0, valid=0, error=reason)
    return [row | {"instance": -1} for row in every if row["instance"] == 0]


def study(*methods: list[dict[str, Any]]) -> pd.DataFrame:
    results = pd.DataFrame([row for method in methods for row in method])
    results.attrs = {
        "machine": {"system": "a calculator", "cores": 1},
        "plan": {"limits": {"cell": 9}, "ks": (1, 5)},
    }
    return results


def usual() -> pd.DataFrame:
    ours = rows("ECE", dipo=0.9, runtime=0.01) + rows("ECE", "network", dipo=0.9, runtime=0.01)
    theirs = [rows(name, box) for name in OTHERS for box in ("forest", "network")]
    gradient = rows("DiCE gradient", "network") + failure("DiCE gradient", "networks <only>")
    return study(ours, *theirs, gradient)


ACCURACIES = pd.DataFrame(
    {"set": ["german"], "black_box": ["forest"], "accuracy": [0.751], "paper": [0.76]},
)


def texts(figure: Figure | Axes) -> list[str]:
    return [text.get_text() for axes in _axes(figure) for text in axes.texts]


def _axes(figure: Figure | Axes) -> list[Axes]:
    return list(figure.axes) if isinstance(figure, Figure) else [figure]


# --- lines -----------------------------------------------------------------------------------------------


def test_ten_plots_in_the_papers_order_say_which_way_is_better() -> None:
    figure = figures.lines(ranks.means(usual()))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "Size ↑"
    assert titles[-1] == "Runtime ↓"
    assert [title[:-2] for title in titles] == [metric.title for metric in ranks.METRICS]


def test_a_line_is_the_mean_over_sets_and_black_boxes() -> None:
    results = study(rows("ECE", size=1.0), rows("ECE", "network", size=0.5), failure("FAT", "no"))
    (line,) = figures.lines(ranks.means(results)).axes[0].lines
    assert line.get_label() == "ECE"
    assert list(line.get_ydata()) == [0.75, 0.75]
    assert list(line.get_xdata()) == [1, 5]


def test_neighbouring_ks_do_not_mix() -> None:
    ks = (1, 2, 3, 4, 5, 8, 10, 12, 14, 16, 18, 20)
    size = figures.lines(ranks.means(study(rows("ECE", ks=ks), rows("FAT", ks=ks)))).axes[0]
    for line in size.lines:
        assert np.abs(np.asarray(line.get_xdata(), dtype=float) - ks).max() <= 0.3 + 1e-9
    assert [tick.get_text() for tick in size.get_xticklabels()] == ["1", "3", "5", "10", "14", "18"]


def test_every_method_that_ran_has_a_line_and_a_place_in_the_legend() -> None:
    figure = figures.lines(ranks.means(usual()))
    drawn = {str(line.get_label()) for line in figure.axes[0].lines}
    named = {text.get_text() for artist in figure.artists for text in artist.get_texts()}
    assert drawn == named == {"ECE", *OTHERS, "DiCE gradient"}


def test_methods_are_told_apart_without_colour() -> None:
    known = [*ranks.SETTINGS, *ranks.BASES, *ranks.PEERS]
    assert set(figures.STYLES) == set(known)
    looks = [(style.colour, style.line, style.marker) for style in figures.STYLES.values()]
    assert len(set(looks)) == len(looks)
    by_marker = [(style.line, style.marker, style.hollow, style.width) for style in figures.STYLES.values()]
    assert len(set(by_marker)) == len(by_marker)
    assert max(figures.STYLES, key=lambda name: figures.STYLES[name].width) == "ECE"


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
    each = zip(["ECE", "FAT", "CEM", "CEML"], values, strict=True)
    figure = figures.lines(ranks.means(study(*(rows(name, **{metric: value}) for name, value in each))))
    assert figure.axes[ranks.NAMES.index(metric)].get_yscale() == scale


def test_a_metric_that_nobody_has_and_a_single_k_can_be_drawn() -> None:
    results = study(rows("ECE", ks=(3,), inst=NAN), rows("a stranger", ks=(3,), inst=NAN))
    figures.lines(ranks.means(results)).draw_without_rendering()


# --- ranks -----------------------------------------------------------------------------------------------


def test_the_diagram_names_everyone_and_draws_a_bar_a_group() -> None:
    test = ranks.CriticalDifference(
        ("ECE", "a", "b", "c"), (1.1, 2.0, 2.9, 4.0), 20, 0.001, 1.25, (("a", "b"), ("b", "c"))
    )
    figure = figures.diagram(test)
    shown = texts(figure)
    assert {"ECE  1.10", "a  2.00", "2.90  b", "4.00  c", "critical difference 1.25"} <= set(shown)
    bars = [line for line in figure.axes[0].lines if line.get_linewidth() > 3]
    ends = [np.asarray(bar.get_xdata(), dtype=float) for bar in bars]
    assert [list(end.round(1)) for end in ends] == [[2.0, 2.9], [2.9, 4.0]]
    assert bars[0].get_ydata()[0] != bars[1].get_ydata()[0]


def test_the_heat_map_shows_each_mean_rank() -> None:
    table = pd.DataFrame({"size": [1.0, 2.0], "overall": [1.25, 1.75]}, index=["ECE", "FAT"])
    figure = figures.heat(table)
    assert texts(figure) == ["1.0", "1.2", "2.0", "1.8"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["ECE", "FAT"]


def test_a_figure_is_saved_twice_and_always_alike(tmp_path: Path) -> None:
    table = pd.DataFrame({"size": [1.0, 2.0], "overall": [1.25, 1.75]}, index=["ECE", "FAT"])
    first = figures.save(figures.heat(table), tmp_path / "new", "heat")
    assert (tmp_path / "new" / "heat.png").read_bytes().startswith(b"\x89PNG")
    assert first == (tmp_path / "new" / "heat.svg").read_text("utf-8")
    assert first == figures.save(figures.heat(table), tmp_path, "heat")


# --- what the paper says ---------------------------------------------------------------------------------


def verdicts(results: pd.DataFrame) -> dict[str, str]:
    means = ranks.means(results)
    return {each.text: each.verdict for each in page.statements(results, ranks.claims(means))}


def one(results: pd.DataFrame, start: str) -> page.Statement:
    (found,) = [s for s in page.statements(results, None) if s.text.startswith(start)]
    return found


def test_a_statement_holds_in_part_or_not_at_all() -> None:
    judge = page.Statement.judged
    assert judge("t", "r", [("a", True), ("b", True)]).verdict == "holds"
    assert judge("t", "r", [("a", True), ("b", False)]) == page.Statement("t", "r", "✓ a; ✗ b", "in part")
    assert judge("t", "r", [("a", False)]).verdict == "does not hold"
    assert judge("t", "r", []) == page.Statement("t", "r", "–", "not measured")


def test_who_returns_most_of_what_is_wanted() -> None:
    start = "Only ECE, DiCE, CBCE and FAT"
    good, few = rows("ECE", size=1.0) + rows("FAT", size=0.8), rows("CEM", size=0.2)
    assert one(study(good, few), start).verdict == "holds"
    assert one(study(good, rows("CEM", size=0.9)), start).measured == "✓ ECE 1.00; ✓ FAT 0.80; ✗ CEM 0.90"


def test_a_single_counterfactual_is_one_at_the_largest_k() -> None:
    start = "Most other methods"
    assert (
        one(study(rows("CEM", size=0.2), rows("WACH", size=0.5)), start).measured
        == "✓ CEM 1.00 of 5; ✗ WACH 2.50 of 5"
    )
    assert one(study(rows("CEM", ks=(1,))), start).verdict == "not measured"


def test_pairs_are_compared_where_both_have_a_value() -> None:
    far = rows("ECE", dis_dist=0.2) + rows("ECE", "network", dis_dist=9.0)
    found = one(study(far, rows("FAT", dis_dist=0.3)), "FAT is closer")
    assert (found.measured, found.verdict) == ("✗ FAT 0.30, ECE 0.20", "does not hold")


def test_constantly_means_at_every_k() -> None:
    ours = rows("ECE", ks=(1,), impl=0.1) + rows("ECE", ks=(5,), impl=0.7)
    assert (
        one(study(ours, rows("FAT", impl=0.5)), "ECE's implausibility is constantly").verdict
        == "does not hold"
    )
    assert (
        one(study(rows("ECE", impl=0.1), rows("FAT")), "ECE's implausibility is constantly").verdict
        == "holds"
    )


def test_equivalent_means_near() -> None:
    results = study(rows("ECE", dis_count=0.41, div_count=0.2), rows("FAT"))
    assert one(results, "FAT and ECE are equivalent").verdict == "in part"


def test_missing_instability_is_counted() -> None:
    lacking = rows("CEM", inst=NAN)
    lacking[0]["inst"] = 0.5
    assert one(study(lacking, rows("WACH")), "CEM, CEGP and WACH often").measured == "✓ CEM 88%; ✗ WACH 0%"


def test_first_place_must_be_significant() -> None:
    better = {"size": 1.0, "act": 1.0, "dipo": 1.0, "div_dist": 1.0, "div_count": 1.0}
    clear = study(rows("ECE", **better, impl=0.1, runtime=0.1), rows("FAT"), rows("CEM"))
    name = "ECE ranks best over all runs, and the difference is significant."
    assert verdicts(clear)[name] == "holds"
    assert verdicts(study(rows("ECE", size=1.0), rows("FAT"), rows("CEM")))[name] == "in part"


# --- the page --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    assert page.write(usual(), ACCURACIES, folder, COMMAND) == folder / "index.html"
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
    tables |= {"claim_overall", "claim_settings", "claim_metrics"}
    assert {path.name for path in (folder / "tables").iterdir()} == {
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
    assert len(cells) == 6 * 2 * 2 * 2
    assert list(cells) == [*ranks.CELL, "instances", "valid", "errors", *ranks.NAMES]


@pytest.mark.parametrize("methods", [["ECE", "FAT"], ["CEM"]], ids=" ".join)
def test_few_methods_make_a_page_too(methods: list[str], tmp_path: Path) -> None:
    path = page.write(study(*(rows(name, ks=(1,)) for name in methods)), ACCURACIES, tmp_path, COMMAND)
    assert "Every method answered everywhere." in path.read_text("utf-8")


def test_nothing_ran() -> None:
    with pytest.raises(ValueError, match="nothing to show"):
        page.write(study(failure("FAT", "no")), ACCURACIES, Path("nowhere"), COMMAND)
