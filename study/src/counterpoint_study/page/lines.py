"""The study's figures of metrics against k or the size of X: a small plot for each metric.

A few methods have a colour and a name; all others are thin grey lines, which show where the field is. What a
method's line looks like is in `styles`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FormatStrFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from counterpoint_study.findings.ranks import BASES, CODECS, METRICS, NAMES, OURS, PAPER, SETTINGS, Metric
from counterpoint_study.page.figures import FAINT, GREY, INK
from counterpoint_study.page.styles import OTHER, STYLES, in_order

COLUMNS = 3

NAMED = 6
"""How many methods have a name in a figure: more lines cannot be told apart at the width of a page."""

_REST = "all others"

# More values of k than this are not all written below a plot.
_TICKS = 6

# Distances are on a logarithmic axis if the largest is this many times their median, and seconds if it is
# this many times the smallest; shares never.
_WIDE = 8.0
_TWO_DECADES = 100.0
_SHARES = ("size", "act", "dis_count", "div_count", "dipo")


def named(ranked: Sequence[str]) -> list[str]:
    """Choose who has a name in a figure: our default, the paper's method, and the best ranked of the others.

    Settings and codecs of ours, and our base explainers, are variants of what is named already.

    Examples
    --------
    >>> named(["Counterpoint close", "Counterpoint", "NICE", "BCE-N", "ECE (paper)", "FAT"])
    ['Counterpoint', 'ECE (paper)', 'FAT', 'NICE']
    """
    variants = {*SETTINGS, *CODECS, *BASES, PAPER}
    first = [name for name in (OURS, PAPER) if name in ranked]
    others = [name for name in ranked if name not in variants and not name.endswith("(paper)")]
    return in_order([*first, *others][:NAMED])


def lines(
    means: pd.DataFrame,
    metrics: Sequence[str] = NAMES,
    along: str = "k",
    with_names: Sequence[str] | None = None,
) -> Figure:
    """Draw metrics against k, or another column: means over data sets and black boxes, one line a method.

    Methods with names stand a little beside each other at each k, so that equal ones do not hide each other.
    An axis is logarithmic where values are far apart. A method that ran in no cell is left out.
    """
    ran = means[means["instances"] > 0]
    shown = [metric for metric in METRICS if metric.name in metrics]
    table = ran.groupby(["method", along])[NAMES].mean().rename_axis(["method", "k"])
    present = in_order(list(dict.fromkeys(ran["method"])))
    chosen = [name for name in present if name in (named(present) if with_names is None else with_names)]
    rows = -(-(len(shown) + 1) // COLUMNS)  # one place, or more, for the names
    figure = Figure(figsize=(8, 2.05 * rows))
    grid = figure.subplots(rows, COLUMNS, squeeze=False)
    figure.subplots_adjust(
        left=0.06,
        right=0.99,
        top=1 - 0.3 / (2.05 * rows),
        bottom=0.42 / (2.05 * rows),
        wspace=0.24,
        hspace=0.42,
    )
    for axes, metric in zip(grid.flat, shown, strict=False):
        _panel(axes, metric, table[metric.name], chosen, [name for name in present if name not in chosen])
        axes.set_xlabel(along, color=GREY, fontsize=9, labelpad=1)
    _legend(list(grid.flat[len(shown) :]), chosen, len(present) > len(chosen))
    return figure


def _panel(axes: Axes, metric: Metric, values: pd.Series, chosen: Sequence[str], rest: Sequence[str]) -> None:
    """Draw one metric."""
    ks = sorted(values.index.get_level_values("k").unique())
    for name in rest:
        axes.plot(ks, list(values[name].reindex(ks)), label=name, color="#c4c4c4", linewidth=0.9, zorder=2)
    step = min([0.04 * (ks[-1] - ks[0]), *(0.3 * gap for gap in np.diff(ks))]) or 0.06
    shifts = np.linspace(-step, step, len(chosen)) if len(chosen) > 1 else np.zeros(1)
    for shift, name in zip(shifts, chosen, strict=False):
        _line(axes, name, [k + shift for k in ks], list(values[name].reindex(ks)))
    _scale(axes, metric.name, values.dropna().to_numpy(dtype=np.float64))
    arrow = "↑" if metric.more else "↓"
    axes.set_title(f"{metric.title} {arrow}", loc="left", fontsize=10.5, color=INK, pad=4)
    ticks = ks[:: -(-len(ks) // _TICKS)]
    axes.set_xticks(ticks, [str(k) for k in ticks])
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(GREY)
    axes.tick_params(colors=GREY, labelsize=9, pad=2, length=2)


def _line(axes: Axes, name: str, x: Sequence[float], y: Sequence[float]) -> Line2D:
    """Draw the line of a method with a name; ours is wide and must not hide others, so it lies below."""
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
        zorder=3.5 if name == OURS else 4,
    )
    return line


def _scale(axes: Axes, metric: str, values: NDArray[np.float64]) -> None:
    """Choose a logarithmic axis for values far apart, one that is linear next to 0 if some are 0."""
    positive = values[values > 0]
    usual = np.min if metric == "runtime" else np.median
    wide = metric not in _SHARES and len(positive) > 0 and positive.max() >= _WIDE * usual(positive)
    if not wide:
        axes.yaxis.set_major_locator(MaxNLocator(4))
        if len(values) and 2 * values.min() < values.max():
            axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    elif len(positive) == len(values):
        axes.set_yscale("log")
        near = values.max() < _TWO_DECADES * values.min()
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if near else (1.0,), numticks=6))
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_yscale("symlog", linthresh=float(np.quantile(positive, 0.1)))
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))


def _legend(places: Sequence[Axes], chosen: Sequence[str], more: bool) -> None:
    """Name the methods where no metric is drawn."""
    for axes in places:
        axes.axis("off")
    unseen = Figure().add_subplot()
    handles = [_line(unseen, name, [0.0], [0.0]) for name in chosen]
    if more:
        handles.append(Line2D([], [], color="#c4c4c4", linewidth=0.9, label=_REST))
    places[0].legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(-0.1, 1.05),
        frameon=False,
        fontsize=10,
        handlelength=3,
    )
