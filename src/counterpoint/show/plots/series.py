"""Series: each counterfactual drawn over x, with the changes coloured and shaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.show.plots.sheet import (
    EDGE,
    FAINT,
    FONT,
    GAP,
    GREY,
    INK,
    LINE,
    MORE,
    SHADE,
    SMALL,
    Box,
    Grid,
    Sheet,
    height_of,
    wrapped,
)
from counterpoint.show.plots.views import Floats, Views, changed_steps, shown_channels, spans, titles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.6
AXIS = 0.7  # space for the numbers at an axis, and for the name of a channel
KEY = 3.5  # space for x's decision in the legend
LABEL = 0.6  # distance of the name from the axis
PANEL, CHANNEL = 1.3, 0.8  # the height of a series, and of each of several channels
MARGIN = 0.06  # above and below the values, as a share of their range

Limits = NDArray[np.float64]


def draw_series(views: Views) -> Figure:
    """Draw each counterfactual over x in its own panel; several channels are stacked."""
    channels = shown_channels(views)
    panels = max(1, len(views))
    columns = min(3, 1 + (panels > 1) + (panels > 4))
    width = (WIDTH - AXIS - 2 * EDGE - (columns - 1) * 2 * GAP) / columns
    tall = PANEL if len(channels) == 1 else CHANNEL * len(channels)
    (own, *_), *others = titles(views)
    texts = [wrapped([" · ".join(lines)], width) for lines in others]
    note = wrapped(_notes(views, channels), WIDTH - 2 * EDGE, most=20)
    key, head = EDGE + LINE + GAP / 2, height_of(*texts) + GAP / 2
    grid = Grid(EDGE + AXIS, key + head, width, tall, width + 2 * GAP, tall + head + GAP)
    foot = key + -(-panels // columns) * grid.down + LINE
    sheet = Sheet.empty(WIDTH, foot + EDGE + (height_of(note) + EDGE if note else 0))
    limits = limits_of(np.concatenate([views.x[None], views.counterfactuals]), MARGIN)
    for i in range(panels):
        other = views.counterfactuals[i] if len(views) else None
        stack = draw_stack(sheet, grid.box(*divmod(i, columns)), views.x, other, channels, limits)
        title = texts[i] if len(views) else ""
        stack[0].set_title(title, loc="left", fontsize=FONT, color=INK, pad=3, parse_math=False)
        _draw_scales(stack, channels, width, left=i % columns == 0, below=i + columns >= panels)
    _draw_key(sheet, wrapped([own], KEY, most=1), found=len(views) > 0)
    sheet.text(EDGE, foot + EDGE, note)
    return sheet.figure


def limits_of(signals: NDArray[Any], margin: float) -> Limits:
    """Find the minimum and maximum of each channel over some series, with a margin: (channels, 2)."""
    channels = signals.reshape(len(signals), -1, signals.shape[-1]).astype(np.float64)
    low, high = channels.min(axis=(0, 2)), channels.max(axis=(0, 2))
    room = margin * np.where(high > low, high - low, 1.0)
    return np.stack([low - room, high + room], axis=1)


def draw_stack(
    sheet: Sheet,
    box: Box,
    x: NDArray[Any],
    other: NDArray[Any] | None,
    channels: Sequence[int],
    limits: Limits,
) -> list[Axes]:
    """Draw the channels of x in a box, stacked, with a counterfactual over them if there is one."""
    gap = GAP / 2 if len(channels) > 1 else 0.0
    tall = (box.height + gap) / len(channels)
    stack = []
    for index, channel in enumerate(channels):
        axes = sheet.axes(box._replace(top=box.top + index * tall, height=tall - gap))
        before = np.atleast_2d(x)[channel].astype(np.float64)
        axes.plot(before, color=GREY, linewidth=1.1)
        if other is not None:
            _draw_change(axes, before, np.atleast_2d(other)[channel].astype(np.float64))
        axes.set_xlim(-0.5, len(before) - 0.5)
        axes.set_ylim(*limits[channel])
        axes.spines[:].set_color(FAINT)
        stack.append(axes)
    return stack


def _draw_change(axes: Axes, before: Floats, after: Floats) -> None:
    """Draw a counterfactual where it differs from x, with the step before and after."""
    mask = changed_steps(before, after)
    for start, end in [] if mask.all() else spans(mask):  # shading everything would show nothing
        axes.axvspan(start - 0.5, end - 0.5, color=SHADE, linewidth=0)
    near = mask.copy()
    near[1:] |= mask[:-1]
    near[:-1] |= mask[1:]
    axes.fill_between(np.arange(len(before)), before, after, where=near, color=MORE, alpha=0.3, linewidth=0)
    axes.plot(np.where(near, after, np.nan), color=MORE, linewidth=1.5)


def _draw_scales(
    stack: Sequence[Axes], channels: Sequence[int], width: float, *, left: bool, below: bool
) -> None:
    """Label the left and bottom axes of outer panels, and number channels."""
    from matplotlib.ticker import MaxNLocator

    for axes, channel in zip(stack, channels, strict=True):
        axes.tick_params(labelsize=SMALL, colors=GREY, length=2, labelleft=left)
        axes.tick_params(axis="x", labelbottom=below and axes is stack[-1])
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(3 if len(stack) > 1 else 4))
        if left and len(stack) > 1:
            axes.set_ylabel(f"channel {channel}", fontsize=SMALL, color=GREY)
            axes.yaxis.set_label_coords(-LABEL / width, 0.5)


def _draw_key(sheet: Sheet, text: str, *, found: bool) -> None:
    """Draw the legend above the panels."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [Line2D([], [], color=GREY, linewidth=1.1, label=text)]
    if found:
        handles.append(Line2D([], [], color=MORE, linewidth=1.5, label="counterfactual where it differs"))
    if any(axes.patches for axes in sheet.figure.axes):
        handles.append(Patch(color=SHADE, label="steps that differ, unless all do"))
    corner = (EDGE + AXIS) / sheet.width, 1 - EDGE / sheet.height
    legend = sheet.figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=corner,
        ncols=3,
        frameon=False,
        fontsize=FONT,
        borderaxespad=0,
        borderpad=0,
        labelcolor=INK,
    )
    for label in legend.get_texts():
        label.set_parse_math(False)


def _notes(views: Views, channels: Sequence[int]) -> list[str]:
    """Gather the notes below the panels."""
    count = len(np.atleast_2d(views.x))
    left_out = f"Shown are the {len(channels)} of {count} channels that change most."
    return [note for note in (views.note, left_out if count > len(channels) else "") if note]
