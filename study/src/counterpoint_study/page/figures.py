"""The study's figures of ranks: mean ranks with their critical difference, and ranks by metric.

The figures of metrics against k are in `lines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from counterpoint_study.findings.ranks import (
    OURS,
    CriticalDifference,
)

INK, GREY, FAINT = "#1a1a1a", "#767676", "#d9d9d9"
DPI = 180

WIDTH = 9.0
"""Inches: at the width of a page, about 800 pixels, letters are then large enough to read."""


def diagram(test: CriticalDifference) -> Figure:
    """Draw mean ranks on a line, the best on the left; bars join methods that do not differ significantly."""
    count = len(test.methods)
    half, span = (count + 1) // 2, count - 1
    ends = [(test.rank(group[0]), test.rank(group[-1])) for group in test.groups]
    levels = _levels(ends, gap=0.03 * span)
    drop = 1.0 + 0.36 * (max(levels, default=-1) + 1)
    figure = Figure(figsize=(WIDTH, 0.36 * (drop + half + 2.2)))
    axes = figure.add_axes((0, 0.01, 1, 0.98))
    side = _inches(max(test.methods, key=len)) + 0.7  # room for a name, its rank and the line to it
    unit = span / (WIDTH - 2 * side)
    axes.set_xlim(1 - side * unit, count + side * unit)
    axes.set_ylim(-(drop + half) + 0.4, 2.4)
    axes.axis("off")
    _ruler(axes, count, test.difference)
    for (start, end), level in zip(ends, levels, strict=True):
        reach = [start - 0.008 * span, end + 0.008 * span]
        axes.plot(reach, [-0.5 - 0.36 * level] * 2, color=INK, linewidth=3.2, solid_capstyle="round")
    for place, name in enumerate(test.methods):
        left = place < half
        height = -(drop + (place if left else count - 1 - place))
        _callout(axes, name, test.rank(name), height, left, (1 if left else count, unit))
    return figure


def heat(mean_ranks: pd.DataFrame) -> Figure:
    """Draw mean ranks as a table, a row a method and a column a metric; the darker, the better."""
    rows, columns = mean_ranks.shape
    names, height = _inches(max(mean_ranks.index, key=len)) + 0.1, 0.35 + 0.3 * rows
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((names / WIDTH, 0.01, 0.995 - names / WIDTH, 0.99 - 0.35 / height))
    shades = LinearSegmentedColormap.from_list("ranks", ["#0b3c5d", "#5b8fb0", "#dbe7ee", "#faf8f4"])
    values = mean_ranks.to_numpy(dtype=np.float64)
    axes.imshow(values, cmap=shades, vmin=1, vmax=max(2, rows), aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        dark = value < 1 + 0.42 * (rows - 1)
        best = value <= values[:, column].min() + 0.05
        colour, weight = "white" if dark else INK, "bold" if best else "normal"
        text = axes.text(column, row, f"{value:.1f}", ha="center", va="center", color=colour)
        text.set_fontweight(weight)
    axes.set_xticks(range(columns), list(mean_ranks.columns), fontsize=9)
    axes.set_yticks(range(rows), list(mean_ranks.index))
    axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text() == OURS else "normal")
    axes.spines[:].set_visible(False)
    axes.axvline(columns - 1.5, color="white", linewidth=5)
    return figure


def save(figure: Figure, folder: Path, name: str) -> str:
    """Write a figure as NAME.png and NAME.svg, and return the SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    # A fixed salt and no date: the same results give the same file, byte by byte.
    with mpl.rc_context({"svg.hashsalt": "counterpoint", "svg.fonttype": "path"}):
        figure.savefig(folder / f"{name}.png", dpi=DPI)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    return (folder / f"{name}.svg").read_text(encoding="utf-8")


def _levels(ends: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """Put bars, sorted by where they start, on as few levels as keep them apart."""
    last: list[float] = []
    levels = []
    for start, end in ends:
        level = next((i for i, before in enumerate(last) if before + gap < start), len(last))
        last[level : level + 1] = [end]
        levels.append(level)
    return levels


def _ruler(axes: Axes, count: int, difference: float) -> None:
    """Draw the line of ranks and, above it, how long the critical difference is."""
    axes.plot([1, count], [0, 0], color=INK, linewidth=1.2)
    for rank in range(1, count + 1):
        axes.plot([rank, rank], [0, 0.18], color=INK, linewidth=1)
        axes.text(rank, 0.32, str(rank), ha="center", va="bottom", fontsize=9, color=GREY)
    axes.plot([1, 1 + difference], [1.35, 1.35], color=INK, linewidth=1.2)
    for end in (1, 1 + difference):
        axes.plot([end, end], [1.22, 1.48], color=INK, linewidth=1.2)
    axes.text(
        1 + difference / 2,
        1.55,
        f"critical difference {difference:.2f}",
        ha="center",
        va="bottom",
        fontsize=9,
    )


def _callout(
    axes: Axes, name: str, rank: float, height: float, left: bool, ruler: tuple[float, float]
) -> None:
    """Lead from a method's mean rank to its name at the side; the ruler's end and an inch of it are given."""
    end, inch = ruler
    away = -inch if left else inch
    ours = name == OURS
    colour, weight = (INK, "bold") if ours else ("#444444", "normal")
    axes.plot(
        [rank, rank, end + 0.15 * away], [0, height, height], color=colour, linewidth=1.8 if ours else 0.9
    )
    axes.text(
        end + 0.2 * away,
        height,
        f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}",
        ha="right" if left else "left",
        va="center",
        color=colour,
        fontweight=weight,
    )


def _inches(name: str) -> float:
    """Tell about how long a name is in print."""
    return 0.083 * len(name)
