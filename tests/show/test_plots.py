"""Pictures of answers: they show what the facts say, and nothing is cut off or written over."""

import base64
import re
import sys
from itertools import combinations, pairwise, product

import numpy as np
import pandas as pd
import pytest
from matplotlib._pylab_helpers import Gcf
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.typing import NDArray

import counterpoint as cp
from counterpoint.data.schema import Schema
from counterpoint.show import plots
from counterpoint.show.cards import Line, card
from counterpoint.show.plots import Views, draw, gallery, views
from counterpoint.show.plots.sheet import MORE
from counterpoint.show.plots.tables import KEY

METHODS = ["ECE", "ECE_I", "ECE_K4", "ECE_K7", "CEM", "CEGP", "WACH"]
LONG = "a rather long name of a class, with spaces and a $ and one more $"
TOUCH = 1.5  # pixels by which the boxes around texts may overlap: letters do not fill them
SHORTFALL = "Found 0 of 5: " + "nothing that was tried changes the decision. " * 5


def images(count: int, shape: tuple[int, ...] = (8, 8), label: str = "9", note: str = "") -> Views:
    """Counterfactual i is brighter than x by i + 1 in its first row, and darker by 1 in its last."""
    x = np.full(shape, 5.0)
    others = np.repeat(x[None], count, axis=0)
    for i in range(count):
        others[i, 0] += i + 1
        others[i, -1] -= 1
    return Views(
        "image", x, others, label, np.full(count, label), np.arange(count) + 0.5, ("Tree",) * count, note
    )


def series(count: int, shape: tuple[int, ...] = (30,), label: str = "run", note: str = "") -> Views:
    """Counterfactual i lies higher than x at five steps from i on, in the last channel."""
    x = np.sin(np.arange(int(np.prod(shape)))).reshape(shape)
    others = np.repeat(x[None], count, axis=0)
    for i in range(count):
        np.atleast_2d(others[i])[-1, i : i + 5] += 1.0
    return Views(
        "series", x, others, label, np.full(count, label), np.arange(count) + 0.5, ("Tree",) * count, note
    )


def table(count: int, job: str = "smith", note: str = "") -> Figure:
    """Counterfactual i has i more years and i less pounds, and every other one another job."""
    people = pd.DataFrame({"age": [30, 60], "pounds": [0.5, 99.5], "job": ["clerk", job], "tall": [0, 1]})
    schema = Schema.infer(people)
    row = np.array([30.0, 99.5, 0.0, 1.0])
    rows = np.array([[30 + i, 99.5 - i, i % 2, 1] for i in range(1, count + 1)], dtype=float).reshape(-1, 4)
    outcome = [Line("decision", "bad", ("good",) * count), Line("found by", "", ("Tree",) * count)]
    facts = (("Decision", "'bad'"), ("Found", f"{count} of 5"))
    return plots.draw_table(card(facts, schema, row, rows, outcome, note), plots.ways(schema, row, rows))


def written(figure: Figure) -> list[Text]:
    """All texts of a figure that can be seen."""
    texts = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_visible())
    FigureCanvasAgg(figure).draw()
    hidden = {label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in _unseen(axis)}
    return [text for text in texts if text.get_text().strip() and text not in hidden]


def _unseen(axis) -> list[Text]:
    """Labels of ticks that lie outside the axis, or that are switched off, are not drawn."""
    low, high = sorted(axis.get_view_interval())
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    gone = [tick for tick in ticks if not low <= tick.get_loc() <= high]
    return [label for tick in gone for label in (tick.label1, tick.label2)]


def pictures(figure: Figure) -> list[NDArray]:
    return [np.asarray(axes.images[0].get_array()) for axes in figure.axes if axes.images]


def words(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def panels(figure: Figure) -> list[Axes]:
    return [axes for axes in figure.axes if axes.lines]


# --- facts -----------------------------------------------------------------------------------------------


def test_differences_of_bytes_do_not_wrap_around() -> None:
    x, other = np.array([[0, 255]], dtype=np.uint8), np.array([[[255, 0]]], dtype=np.uint8)
    assert views.differences(Views("image", x, other, 0, np.array([1]), np.array([360.6]))).tolist() == [
        [[255.0, -255.0]]
    ]


def test_spans_are_exactly_the_true_stretches() -> None:
    random = np.random.default_rng(0)
    for length in (1, 2, 7, 40):
        mask = random.random(length) < 0.5
        again = np.zeros(length, dtype=bool)
        found = views.spans(mask)
        for start, end in found:
            again[start:end] = True
        assert (again == mask).all()
        assert all(first[1] < second[0] for first, second in pairwise(found))


def test_the_common_scale_reaches_the_largest_change_up_or_down() -> None:
    x = np.zeros((2, 2))
    others = np.array([[[0.0, 0.5], [0.0, 0.0]], [[0.0, 0.0], [-2.0, 0.0]]])
    both = Views("image", x, others, 0, np.array([1, 1]), np.array([0.5, 2.0]))
    assert views.reach(both) == 2.0
    assert views.reach(images(0)) == 0.0


def test_titles_number_counterfactuals_from_one() -> None:
    assert views.titles(series(2)) == [
        ("x: run",),
        ("1: run", "distance 0.5", "Tree"),
        ("2: run", "distance 1.5", "Tree"),
    ]


def test_decisions_that_are_scores_are_told_apart() -> None:
    answer = Views("series", np.zeros(3), np.ones((1, 3)), 0.5, np.array([0.50000001]), np.array([1.7]))
    before, after = views.titles(answer)
    assert before[0] == "x: 0.5"
    assert after[0] == "1: 0.50000001"


def test_a_picture_is_described_in_words() -> None:
    assert plots.describe(images(2)) == "An image decided '9' and 2 counterfactuals, decided '9', '9'."
    assert plots.describe(series(0)) == "A series decided 'run' and no counterfactuals."


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "table"}, "kind must be 'image' or 'series', got 'table'"),
        (
            {"kind": "series", "x": np.zeros((2, 2, 2))},
            r"\(channels, length\) for kind 'series', got \(2, 2, 2\)",
        ),
        ({"counterfactuals": np.zeros((1, 9, 8))}, r"x's shape \(8, 8\), got shape \(1, 9, 8\)"),
        ({"decisions": np.array([1, 2])}, "decisions must have one entry per counterfactual, 1, got 2"),
        ({"found_by": ("Tree", "Tree")}, "found_by must have one entry per counterfactual, 1, got 2"),
    ],
)
def test_what_does_not_fit_together_is_refused(change: dict, message: str) -> None:
    usual = {"kind": "image", "x": np.zeros((8, 8)), "counterfactuals": np.ones((1, 8, 8))}
    usual |= {"decision": 0, "decisions": np.array([1]), "distances": np.array([8.0])}
    with pytest.raises(ValueError, match=message):
        Views(**(usual | change))


# --- every picture ---------------------------------------------------------------------------------------

EVERY = {
    "image": lambda: draw(images(1)),
    "wide images": lambda: draw(images(3, (8, 40))),
    "high images": lambda: draw(images(3, (40, 8))),
    "15 images": lambda: draw(images(15)),
    "long names, images": lambda: draw(images(8, label=LONG)),
    "no image": lambda: draw(images(0, note=SHORTFALL)),
    "an image and a note": lambda: draw(images(1, note=SHORTFALL)),
    "1 series": lambda: draw(series(1)),
    "15 series": lambda: draw(series(15)),
    "long names, series": lambda: draw(series(5, label=LONG)),
    "no series": lambda: draw(series(0, note=SHORTFALL)),
    "channels": lambda: draw(series(5, (3, 30))),
    "many channels": lambda: draw(series(2, (9, 30), note=SHORTFALL)),
    "gallery of images": lambda: gallery([[images(i % 2) for i in range(7)]] * 2, METHODS),
    "gallery of series": lambda: gallery([[series(i % 2) for i in range(7)]] * 2, METHODS),
    "table": lambda: table(1),
    "table of 10": lambda: table(10),
    "table, long names": lambda: table(3, job=LONG),
    "no table": lambda: table(0, note=SHORTFALL),
    "gallery, long names": lambda: gallery([[images(1, label=LONG)] * 2], [LONG, "CEM"]),
}


@pytest.mark.parametrize("name", EVERY)
def test_a_picture_fits_a_notebook_and_no_text_is_cut_off_or_covers_anything(name: str) -> None:
    figure = EVERY[name]()
    assert figure.get_figwidth() <= 11.5
    boxes = {text: text.get_window_extent() for text in written(figure)}
    for text, box in boxes.items():
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text
    frames = [axes.get_window_extent() for axes in figure.axes if axes.images or axes.lines]
    for (text, box), frame in product(boxes.items(), frames):
        assert not box.padded(-TOUCH).overlaps(frame), text
    for (one, first), (two, second) in combinations(boxes.items(), 2):
        assert not first.padded(-TOUCH).overlaps(second), (one, two)


def test_no_figure_is_left_with_pyplot() -> None:
    draw(images(1))
    draw(series(1))
    assert not Gcf.figs


def test_without_matplotlib_the_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=re.escape("pip install 'counterpoint[plot]'")):
        draw(images(1))


def test_the_same_answer_gives_the_same_bytes_and_the_html_holds_them() -> None:
    data = plots.png(draw(images(2)), dpi=60)
    assert data == plots.png(draw(images(2)), dpi=60)
    assert data.startswith(b"\x89PNG")
    text = plots.html(draw(images(2)), 'x <"7">', dpi=60)
    assert base64.b64decode(re.search(r"base64,([^\"]+)\"", text)[1]) == data
    assert 'alt="x &lt;&quot;7&quot;&gt;"' in text


# --- images ----------------------------------------------------------------------------------------------


def test_x_and_its_counterfactuals_are_on_one_scale_of_grey() -> None:
    x, first, second, *_ = pictures(draw(images(2)))
    assert x[0, 0] == pytest.approx((5 - 4) / (7 - 4))
    assert first[0, 0] == pytest.approx((6 - 4) / (7 - 4))
    assert second[0, 0] == 1.0
    assert second[-1, 0] == 0.0


def test_maps_of_change_share_one_symmetric_scale() -> None:
    maps = [axes.images[0] for axes in draw(images(3)).axes if axes.images][4:]
    assert {drawn.get_clim() for drawn in maps} == {(-3.0, 3.0)}
    assert [drawn.get_array()[0, 0] for drawn in maps] == [1.0, 2.0, 3.0]
    assert all(drawn.get_array()[-1, 0] == -1.0 for drawn in maps)


def test_many_images_are_wrapped_and_each_row_begins_with_x() -> None:
    figure = draw(images(15))
    tops = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert [title.split("\n")[0] for title in tops if title.startswith("x")] == ["x: 9"] * 3
    assert len(pictures(figure)) == 3 + 15 + 15


def test_colours_are_shown_as_they_are() -> None:
    x = np.full((8, 8, 3), [0.1, 0.2, 0.9])
    answer = Views("image", x, x[None] / 2, 0, np.array([1]), np.array([1.0]))
    assert np.allclose(pictures(draw(answer))[0], x)
    whole = Views("image", (x * 255).astype(np.uint8), (x[None] * 128).astype(np.uint8), *answer_of(answer))
    assert np.allclose(pictures(draw(whole))[0], x, atol=1 / 255)


def answer_of(answer: Views) -> tuple:
    return answer.decision, answer.decisions, answer.distances


def test_channels_that_are_no_colours_become_grey() -> None:
    assert pictures(draw(images(1, (8, 8, 5))))[0].shape == (8, 8)
    assert pictures(draw(images(1, (8, 8, 1))))[0].shape == (8, 8)


def test_nothing_found_shows_x_and_says_why() -> None:
    figure = draw(images(0, note="Found 0 of 5: no luck."))
    assert len(pictures(figure)) == 1
    assert "Found 0 of 5: no luck." in words(figure)


# --- series ----------------------------------------------------------------------------------------------


def test_a_counterfactual_is_coloured_and_shaded_where_it_differs() -> None:
    answer = series(4)
    axes = panels(draw(answer))[3]
    x, other = axes.lines
    assert np.array_equal(x.get_ydata(), answer.x)
    assert other.get_color() == MORE
    assert np.flatnonzero(np.isfinite(other.get_ydata())).tolist() == list(range(2, 9))
    (shade,) = axes.patches
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == (2.5, 7.5)


def test_where_every_step_differs_nothing_is_shaded() -> None:
    x = np.arange(20.0)
    figure = draw(Views("series", x, x[None] + 1, 0, np.array([1]), np.array([4.5])))
    assert not panels(figure)[0].patches
    assert "steps that differ" not in words(figure)
    assert "steps that differ" in words(draw(series(1)))


def test_rounding_to_32_bits_is_no_change() -> None:
    x = np.random.default_rng(0).normal(size=50)
    other = x.astype(np.float32)[None]
    assert not panels(draw(Views("series", x, other, 0, np.array([1]), np.array([0.0]))))[0].patches


def test_panels_share_their_scale() -> None:
    assert len({axes.get_ylim() for axes in panels(draw(series(6)))}) == 1
    low, high = panels(draw(series(6)))[0].get_ylim()
    assert low < -1
    assert high > series(6).counterfactuals.max()


def test_channels_are_stacked_and_numbered() -> None:
    figure = draw(series(2, (3, 30)))
    assert len(panels(figure)) == 6
    assert [axes.get_ylabel() for axes in panels(figure)][:3] == ["channel 0", "channel 1", "channel 2"]
    tops = [axes.get_position().y1 for axes in panels(figure)][:3]
    assert tops == sorted(tops, reverse=True)


def test_of_many_channels_those_that_change_most_are_shown_and_it_is_said() -> None:
    figure = draw(series(1, (9, 30)))
    assert panels(figure)[-1].get_ylabel() == "channel 8"
    assert len(panels(figure)) == 6
    assert "Shown are the 6 of 9 channels that change most." in words(figure)


def test_no_series_found_shows_x_alone() -> None:
    figure = draw(series(0, note="Found 0 of 5: no luck."))
    (axes,) = panels(figure)
    assert len(axes.lines) == 1
    assert "Found 0 of 5: no luck." in words(figure)


# --- galleries -------------------------------------------------------------------------------------------


def test_a_gallery_has_a_column_a_method_and_a_row_an_instance() -> None:
    figure = gallery([[images(2, label="3"), images(0)], [images(1), images(1)]], ["ECE", "CEM"])
    assert [axes.get_title() for axes in figure.axes] == ["3", "3", "", "9", "9", "9"]
    assert words(figure).count("none") == 1
    heads = [text.get_text() for text in figure.texts]
    assert heads == ["x", "ECE", "CEM"]


def test_a_counterfactual_beyond_all_bounds_takes_no_contrast_from_others() -> None:
    x = np.linspace(0, 1, 64).reshape(8, 8)
    mild, wild = (
        Views("image", x, (x + step)[None], 0, np.array([1]), np.array([8.0 * step])) for step in (0.1, 1e6)
    )
    shown_x, shown_mild, shown_wild = pictures(gallery([[mild, wild]], ["ECE", "WACH"]))
    assert np.allclose(shown_x, x)
    assert np.allclose(shown_mild, np.clip(x + 0.1, 0, 1))
    assert (shown_wild == 1).all()


def test_a_gallery_of_series_lays_answers_over_x() -> None:
    figure = gallery([[series(1), series(0)]], ["ECE", "CEM"])
    alone, over, nothing = figure.axes
    assert [len(axes.lines) for axes in (alone, over, nothing)] == [1, 2, 0]
    assert to_rgba(over.lines[1].get_color()) == to_rgba(MORE)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([], r"2 per instance, one per method, got \[\]"),
        ([[images(1)]], r"2 per instance, one per method, got \[1\]"),
        ([[images(1), series(1)]], "of one kind and shape"),
        ([[images(1), images(1, (9, 8))]], "of one kind and shape"),
    ],
)
def test_a_gallery_with_holes_is_refused(answers: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gallery(answers, ["ECE", "CEM"])


def test_a_row_of_a_gallery_is_about_one_instance() -> None:
    other = Views("image", np.zeros((8, 8)), np.ones((1, 8, 8)), 0, np.array([1]), np.array([8.0]))
    with pytest.raises(ValueError, match="row 0 must be about one instance"):
        gallery([[images(1), other]], ["ECE", "CEM"])


# --- tables ----------------------------------------------------------------------------------------------


def test_a_table_shows_what_changes_and_names_what_does_not() -> None:
    said = [text.get_text() for text in table(2).texts]
    assert said[1:5] == ["x", "1", "2", "age"]
    assert said[said.index("pounds") :][:4] == ["pounds", "99.5", "98.5", "97.5"]
    assert said[said.index("job") :][:4] == ["job", "clerk", "smith", "·"]
    assert said[-1] == "Unchanged: tall."


def test_the_colour_of_a_change_says_which_way_it_goes() -> None:
    tints = [patch.get_facecolor() for patch in table(1).artists]
    more, less, another = (to_rgba(KEY[way][1]) for way in (1, -1, 0))
    # Each colour stands once in the grid and once in the key.
    assert [tints.count(colour) for colour in (more, less, another)] == [2, 2, 2]
    assert tints[:3] == [more, less, another]


def test_the_key_names_only_colours_that_are_used() -> None:
    people = pd.DataFrame({"age": [30, 60]})
    schema, row, rows = Schema.infer(people), np.array([30.0]), np.array([[31.0]])
    shown = card((), schema, row, rows, [Line("decision", "no", ("yes",))], "")
    figure = plots.draw_table(shown, plots.ways(schema, row, rows))
    assert "more" in words(figure)
    assert "less" not in words(figure)
    assert "another value" not in words(figure)


def test_a_number_that_goes_missing_is_neither_more_nor_less() -> None:
    schema = Schema.infer(pd.DataFrame({"age": [30.0, np.nan, 60.0]}))
    assert plots.ways(schema, np.array([30.0]), np.array([[np.nan], [60.0]])).tolist() == [[0, 1]]


def test_a_table_without_counterfactuals_says_why_and_calls_nothing_unchanged() -> None:
    figure = table(0, note="Found 0 of 5: no luck.")
    assert "Found 0 of 5: no luck." in words(figure)
    assert "Unchanged" not in words(figure)


def test_a_series_of_many_channels_is_drawn_as_what_it_was_fitted_as() -> None:
    """Twelve channels of 96 steps are a series, to the codec as to the picture."""
    X = np.random.default_rng(0).normal(size=(60, 12, 96))
    explainer = cp.Neighbours().fit(lambda X: X[:, 0].mean(axis=1) > 0, X)
    assert explainer.codec_ == cp.Kernel((1, 4))
    assert explainer.explain(X[0], k=1)._views.kind == "series"
