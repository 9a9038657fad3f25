"""Images: x beside its counterfactuals, with the changes below each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from counterpoint.show.plots.sheet import (
    CELL,
    EDGE,
    FAINT,
    FONT,
    GAP,
    INK,
    LESS,
    MORE,
    SMALL,
    Grid,
    Sheet,
    bare,
    height_of,
    wrapped,
)
from counterpoint.show.plots.views import Floats, Views, change_maps, pixels, reach, titles, value_range
from counterpoint.show.wording import number_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ABREAST = 7  # counterfactuals per row; more are wrapped
LEAST = 4.0  # minimum width in inches, so that a note fits below a single image
BAR = 0.1


def draw_images(views: Views) -> Figure:
    """Draw x and its counterfactuals, with the change from x below each; many are wrapped into blocks."""
    texts = [wrapped(lines, CELL) for lines in titles(views)]
    blocks = max(1, -(-len(views) // ABREAST))
    abreast = -(-len(views) // blocks)
    width = max(LEAST, 2 * EDGE + (abreast + 1) * (CELL + GAP) - GAP)
    note = wrapped([views.note], width - 2 * EDGE, most=20)
    head, tall = height_of(*texts) + GAP / 2, cell_height(views.x.shape)
    down = head + tall + GAP + (tall + 2 * GAP if len(views) else 0)
    grid = Grid(EDGE, EDGE + head, CELL, tall, CELL + GAP, down)
    sheet = Sheet.empty(width, EDGE + blocks * down + (height_of(note) + EDGE if note else 0))
    everything = np.concatenate([views.x[None], views.counterfactuals])
    pictures = pixels(everything, value_range(everything))
    for block in range(blocks):
        draw_image(sheet.axes(grid.box(block, 0)), pictures[0], texts[0])
        for i in range(block * abreast, min(len(views), (block + 1) * abreast)):
            draw_image(sheet.axes(grid.box(block, i % abreast + 1)), pictures[i + 1], texts[i + 1])
    if len(views):
        _draw_changes(sheet, replace(grid, top=grid.top + tall + GAP), views, abreast)
    sheet.text(EDGE, EDGE + blocks * down, note)
    return sheet.figure


def draw_image(axes: Axes, picture: Floats, text: str) -> None:
    """Draw one image, with grey levels or colours from 0 to 1."""
    axes.imshow(picture, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    bare(axes, text)


def cell_height(shape: tuple[int, ...]) -> float:
    """Choose the height of an image's cell from its aspect ratio, within limits."""
    return float(np.clip(CELL * shape[0] / shape[1], 0.4 * CELL, 1.6 * CELL))


def _draw_changes(sheet: Sheet, grid: Grid, views: Views, abreast: int) -> None:
    """Draw the change of each counterfactual from x, all on one scale, which is shown below x."""
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("change", [LESS, "white", MORE])
    limit = reach(views) or 1.0
    for i, change in enumerate(change_maps(views)):
        axes = sheet.axes(grid.box(i // abreast, i % abreast + 1))
        drawn = axes.imshow(change, cmap=colours, vmin=-limit, vmax=limit, interpolation="nearest")
        bare(axes)
    first = grid.box(0, 0)
    box = first._replace(left=first.left + first.width - BAR, width=BAR)
    bar = sheet.figure.colorbar(drawn, cax=sheet.axes(box), ticks=[-limit, 0, limit], ticklocation="left")
    size = number_text(limit, digits=2)
    bar.ax.set_yticklabels([f"−{size}", "0", f"+{size}"], fontsize=SMALL, color=INK)
    bar.ax.tick_params(length=0, pad=3)
    bar.outline.set_edgecolor(FAINT)
    sheet.text(first.left, first.top + first.height / 2, "change", fontsize=FONT, va="center")
