"""The study's figures: metrics against k, mean ranks with their critical difference, and ranks by metric.

What a method's line looks like is in `styles`.
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
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from counterpoint_study.findings.ranks import (
    BASES,
    CODECS,
    METRICS,
    NAMES,
    OURS,
    SETTINGS,
    CriticalDifference,
    Metric,
)
from counterpoint_study.page.styles import OTHER, STYLES, in_order

INK, GREY, FAINT = "#1a1a1a", "#767676", "#d9d9d9"
DPI = 200

# More values of k than this are not all written below a plot.
_TICKS = 6

# Distances are on a logarithmic axis if the largest is this many times their median, and seconds if it is
# this many times the smallest; shares never.
_WIDE = 8.0
_SHARES = ("size", "act", "dis_count", "div_count", "dipo")


def lines(means: pd.DataFrame, metrics: Sequence[str] = NAMES, along: str = "k", label: str = "k") -> Figure:
    """Draw metrics against k, or another column: means over data sets and black boxes, one line a method.

    Methods stand a little beside each other at each k, so that equal ones do not hide each other. An axis
    is logarithmic where values are far apart. A method that ran in no cell is left out.
    """
    ran = means[means["instances"] > 0]
    shown = [metric for metric in METRICS if metric.name in metrics]
    table = ran.groupby(["method", along])[NAMES].mean().rename_axis(["method", "k"])
    methods = in_order(list(dict.fromkeys(ran["method"])))
    figure = Figure(figsize=(14, 7.6))
    grid = figure.subplots(2, 5, sharex=True)
    figure.subplots_adjust(left=0.035, right=0.995, top=0.955, bottom=0.23, wspace=0.2, hspace=0.24)
    for axes, metric in zip(grid.flat, shown, strict=False):
        _panel(axes, metric, table[metric.name], methods)
    for axes in grid.flat[len(shown) :]:
        axes.remove()
    for axes in grid[1]:
        axes.set_xlabel(label, color=GREY, fontsize=9)
    _legends(figure, methods)
    return figure


def diagram(test: CriticalDifference) -> Figure:
    """Draw mean ranks on a line, the best on the left; bars join methods that do not differ significantly."""
    count = len(test.methods)
    half, span = (count + 1) // 2, count - 1
    ends = [(test.rank(group[0]), test.rank(group[-1])) for group in test.groups]
    levels = _levels(ends, gap=0.03 * span)
    drop = 1.0 + 0.36 * (max(levels, default=-1) + 1)
    figure = Figure(figsize=(9, 0.36 * (drop + half + 2.2)))
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.set_xlim(1 - 0.36 * span, count + 0.36 * span)
    axes.set_ylim(-(drop + half) + 0.4, 2.4)
    axes.axis("off")
    _ruler(axes, count, test.difference)
    for (start, end), level in zip(ends, levels, strict=True):
        reach = [start - 0.008 * span, end + 0.008 * span]
        axes.plot(reach, [-0.5 - 0.36 * level] * 2, color=INK, linewidth=3.2, solid_capstyle="round")
    for place, name in enumerate(test.methods):
        left = place < half
        _callout(axes, name, test.rank(name), -(drop + (place if left else count - 1 - place)), left, count)
    return figure


def heat(mean_ranks: pd.DataFrame) -> Figure:
    """Draw mean ranks as a table, a row a method and a column a metric; the darker, the better."""
    rows, columns = mean_ranks.shape
    width, height = 1.5 + 0.78 * columns, 0.35 + 0.33 * rows
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((1.35 / width, 0.01, 1 - 1.4 / width, 0.99 - 0.35 / height))
    shades = LinearSegmentedColormap.from_list("ranks", ["#0b3c5d", "#5b8fb0", "#dbe7ee", "#faf8f4"])
    values = mean_ranks.to_numpy(dtype=np.float64)
    axes.imshow(values, cmap=shades, vmin=1, vmax=max(2, rows), aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        dark = value < 1 + 0.42 * (rows - 1)
        best = value <= values[:, column].min() + 0.05
        colour, weight = "white" if dark else INK, "bold" if best else "normal"
        axes.text(column, row, f"{value:.1f}", ha="center", va="center", color=colour, fontweight=weight)
    axes.set_xticks(range(columns), list(mean_ranks.columns))
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


def _panel(axes: Axes, metric: Metric, values: pd.Series, methods: Sequence[str]) -> None:
    """Draw one metric."""
    ks = sorted(values.index.get_level_values("k").unique())
    step = min([0.06 * (ks[-1] - ks[0]), *(0.3 * gap for gap in np.diff(ks))]) or 0.06
    shifts = np.linspace(-step, step, len(methods)) if len(methods) > 1 else np.zeros(1)
    for shift, name in zip(shifts, methods, strict=True):
        line = values[name].reindex(ks)
        _line(axes, name, [k + shift for k in ks], list(line))
    _scale(axes, metric.name, values.dropna().to_numpy(dtype=np.float64))
    arrow = "↑" if metric.more else "↓"
    axes.set_title(f"{metric.title} {arrow}", loc="left", fontsize=10.5, color=INK)
    ticks = ks[:: -(-len(ks) // _TICKS)]
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.tick_params(colors=GREY, labelsize=8.5, labelbottom=True)


def _line(axes: Axes, name: str, x: Sequence[float], y: Sequence[float]) -> Line2D:
    """Draw one method's line; ours stand out anyway and must not hide others, so they lie below."""
    style = STYLES.get(name, OTHER)
    (line,) = axes.plot(
        x,
        y,
        label=name,
        color=style.colour,
        linestyle=style.line,
        linewidth=style.width,
        marker=style.marker,
        markersize=style.size,
        markerfacecolor="white" if style.hollow else style.colour,
        markeredgecolor=style.colour if style.hollow else "white",
        markeredgewidth=1.0 if style.hollow else 0.4,
        zorder=3.5 if name in (*SETTINGS, *CODECS, *BASES) else 4,
    )
    return line


def _scale(axes: Axes, metric: str, values: NDArray[np.float64]) -> None:
    """Choose a logarithmic axis for values far apart, one that is linear next to 0 if some are 0."""
    positive = values[values > 0]
    usual = np.min if metric == "runtime" else np.median
    wide = metric not in _SHARES and len(positive) > 0 and positive.max() >= _WIDE * usual(positive)
    if wide and len(positive) == len(values):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    elif wide:
        axes.set_yscale("symlog", linthresh=float(np.quantile(positive, 0.1)))
    elif len(values) and 2 * values.min() < values.max():
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))


def _legends(figure: Figure, methods: Sequence[str]) -> None:
    """Name the methods below the plots, by kind."""
    settings = [name for name in methods if name in (*SETTINGS, *CODECS)]
    bases = [name for name in methods if name in BASES]
    others = [name for name in methods if name not in {*settings, *bases}]
    places = {
        "Ensemble (ours)": (0.03, settings, 2),
        "Base explainers (ours)": (0.28, bases, 2),
        "Others": (0.5, others, 4),
    }
    for title, (left, names, columns) in places.items():
        if names:
            figure.add_artist(_legend(figure, title, left, names, columns))


def _legend(figure: Figure, title: str, left: float, names: Sequence[str], columns: int) -> Legend:
    """Name the methods of one kind."""
    unseen = Figure().add_subplot()
    handles = [_line(unseen, name, [0.0], [0.0]) for name in names]
    return Legend(
        figure,
        handles,
        list(names),
        title=title,
        loc="upper left",
        bbox_to_anchor=(left, 0.17),
        bbox_transform=figure.transFigure,
        ncols=columns,
        frameon=False,
        fontsize=10,
        handlelength=3.4,
        alignment="left",
        title_fontproperties={"weight": "bold", "size": 10},
    )


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


def _callout(axes: Axes, name: str, rank: float, height: float, left: bool, count: int) -> None:
    """Lead from a method's mean rank to its name at the side."""
    reach = 0.06 * (count - 1)
    end = 1 - reach if left else count + reach
    ours = name == OURS
    colour, weight = (INK, "bold") if ours else ("#444444", "normal")
    axes.plot([rank, rank, end], [0, height, height], color=colour, linewidth=1.8 if ours else 0.9)
    label = f"{name}  {rank:.2f}" if left else f"{rank:.2f}  {name}"
    side = -0.01 if left else 0.01
    axes.text(
        end + side * count,
        height,
        label,
        ha="right" if left else "left",
        va="center",
        color=colour,
        fontweight=weight,
    )
