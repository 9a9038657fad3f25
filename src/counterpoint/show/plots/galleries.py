"""A gallery: the answers of several methods for the same instances, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.show.plots.images import cell_height, draw_image
from counterpoint.show.plots.series import draw_stack, limits_of
from counterpoint.show.plots.sheet import (
    CELL,
    EDGE,
    FONT,
    GAP,
    GREY,
    LINE,
    Box,
    Grid,
    Sheet,
    bare,
    height_of,
    wrapped,
)
from counterpoint.show.plots.views import CHANNELS, Views, pixels, value_range
from counterpoint.show.wording import decision_texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The height of a series' panel relative to its width, with one channel and with several.
LOW, HIGH = 0.7, 1.2
# Margin for values beyond those of the explained instances, as a share of their range.
MARGIN = 0.25


def gallery(answers: Sequence[Sequence[Views]], methods: Sequence[str]) -> Figure:
    """Draw the first counterfactual of each method: one column per method, one row per instance.

    The scale is that of the explained instances: a counterfactual far beyond it is clipped, so that it does
    not reduce the contrast of the others. If a series has more than six channels, the first six are shown.

    Parameters
    ----------
    answers
        For each instance one answer per method, in their order; an empty one is shown as "none".
    methods
        The methods' names.

    Examples
    --------
    >>> x, nothing = np.zeros((8, 8)), np.zeros((0, 8, 8))
    >>> one = Views("image", x, np.ones((1, 8, 8)), 7, np.array([9]), np.array([8.0]))
    >>> none = Views("image", x, nothing, 7, np.array([]), np.array([]))
    >>> [axes.get_title() for axes in gallery([[one, none]], ["ECE", "CEM"]).axes]
    ['7', '9', '']
    """
    _check(answers, methods)
    headings = [wrapped([name], CELL) for name in ("x", *methods)]
    top = EDGE + height_of(*headings) + GAP + LINE
    tall = _cell_height(answers[0][0])
    grid = Grid(EDGE, top, CELL, tall, across=CELL + GAP, down=tall + GAP + LINE)
    sheet = Sheet.empty(2 * EDGE + len(headings) * grid.across - GAP, top + len(answers) * grid.down - LINE)
    for column, heading in enumerate(headings):
        sheet.text(grid.box(0, column).left + CELL / 2, EDGE, heading, ha="center", fontweight="bold")
    known = np.stack([row[0].x for row in answers])
    for line, row in enumerate(answers):
        _draw_cell(sheet, grid.box(line, 0), row[0], None, known)
        for column, views in enumerate(row, start=1):
            if len(views):
                _draw_cell(sheet, grid.box(line, column), views, views.counterfactuals[0], known)
            else:
                _draw_nothing(sheet, grid.box(line, column))
    return sheet.figure


def _draw_cell(sheet: Sheet, box: Box, views: Views, other: NDArray[Any] | None, known: NDArray[Any]) -> None:
    """Draw x, or another image instead of x, or another series over x, with its decision."""
    text = decision_texts(views.decision, views.decisions[:1])[0 if other is None else 1]
    text = wrapped([text], CELL, most=1)
    if views.kind == "image":
        shown = views.x if other is None else other
        draw_image(sheet.axes(box), pixels(shown[None], value_range(known))[0], text)
        return
    channels = range(len(np.atleast_2d(views.x)))[:CHANNELS]
    stack = draw_stack(sheet, box, views.x, other, channels, limits_of(known, MARGIN))
    for axes in stack:
        bare(axes, text if axes is stack[0] else "")


def _draw_nothing(sheet: Sheet, box: Box) -> None:
    """Show that a method found nothing."""
    axes = sheet.axes(box)
    bare(axes)
    axes.spines[:].set_visible(False)
    axes.text(0.5, 0.5, "none", ha="center", va="center", fontsize=FONT, color=GREY, transform=axes.transAxes)


def _cell_height(views: Views) -> float:
    """Choose the height of a cell."""
    if views.kind == "image":
        return cell_height(views.x.shape)
    return CELL * (LOW if views.x.ndim == 1 else HIGH)


def _check(answers: Sequence[Sequence[Views]], methods: Sequence[str]) -> None:
    """Check that answers fill a table, and that all answers in a row are about the same instance."""
    counts = [len(row) for row in answers]
    if not answers or not methods or set(counts) != {len(methods)}:
        raise ValueError(f"answers must hold {len(methods)} per instance, one per method, got {counts}.")
    kinds = {(views.kind, views.x.shape) for row in answers for views in row}
    if len(kinds) > 1:
        raise ValueError(
            f"answers must be of one kind and shape, got {sorted(kinds)}. Draw one gallery for each."
        )
    for line, row in enumerate(answers):
        if any(not np.array_equal(views.x, row[0].x) for views in row):
            raise ValueError(f"answers of row {line} must be about one instance, got several.")
