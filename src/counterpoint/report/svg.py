"""Figures of a report as SVG; the style sheet of the page sets the colours, for light and dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from counterpoint.report.groups import Group
from counterpoint.report.landscape import Landscape, Points
from counterpoint.show.wording import number_text

WIDTH, HEIGHT, EDGE = 720, 400, 22
# The radius of a numbered counterfactual, and the minimum distance between two.
MARK, APART = 9.0, 20.0
# Of the known instances on a map, this share at each end may lie outside it.
OUTSIDE = 0.02
ROW, NAME, RIGHT = 26, 170, 60


def draw_landscape(landscape: Landscape) -> str:
    """Draw the map: known instances as dots, x as a ring, counterfactuals numbered."""
    frame = _Frame.around(landscape)
    known = frame.place(landscape.known)
    x, found = frame.place(landscape.x[None])[0], frame.place(landscape.found)
    marks = spread(np.vstack([x[None], found]))
    inside = ((known > 0) & (known < (WIDTH, HEIGHT))).all(axis=1)
    parts = [
        _dot(point, wanted) for point, wanted in zip(known[inside], landscape.wanted[inside], strict=True)
    ]
    parts += [_line(x, point, "way") for point in found]
    parts += [_line(point, mark, "lead") for point, mark in zip((x, *found), marks, strict=True)]
    parts += [_mark(mark, str(i + 1), "found") for i, mark in enumerate(marks[1:])]
    parts.append(_mark(marks[0], "x", "x"))
    title = f"Map of x and {len(found)} counterfactuals among {len(known)} known instances"
    return _svg("map", HEIGHT, title, parts)


def draw_groups(groups: Sequence[Group]) -> str:
    """Draw the distance of the nearest counterfactual per group: the median and the middle half."""
    shown = [group for group in groups if group.costs.found]
    if not shown:
        return ""
    most = max(group.costs.distance(0.75) for group in shown) * 1.05 or 1.0
    bottom = ROW * len(shown) + 8
    scale = (WIDTH - NAME - RIGHT) / most
    parts = [_tick(tick, NAME + tick * scale, bottom) for tick in ticks_to(most)]
    parts += [_range(group, ROW * i + ROW / 2 + 4, scale) for i, group in enumerate(shown)]
    return _svg("ranges", bottom + 22, "Distance of the nearest counterfactual by group", parts)


def spread(points: Points, apart: float = APART, rounds: int = 200) -> Points:
    """Move overlapping points apart, as little as possible.

    Examples
    --------
    >>> moved = spread(np.array([[100.0, 100.0], [101.0, 100.0]]))
    >>> bool(np.hypot(*(moved[0] - moved[1])) >= 19)
    True
    """
    moved = points.astype(np.float64).copy()
    # Points at the same position are moved in different directions.
    angle = 2.4 * np.arange(len(moved))
    moved += 0.01 * np.column_stack([np.cos(angle), np.sin(angle)])
    for _ in range(rounds):
        between = moved[:, None] - moved[None]
        away = np.hypot(between[..., 0], between[..., 1])
        np.fill_diagonal(away, np.inf)
        short = np.maximum(0.0, apart - away) / 2
        if short.max(initial=0.0) < 0.25:
            break
        moved += ((short / away)[..., None] * between).sum(axis=1)
        moved = np.clip(moved, EDGE / 2, np.array([WIDTH, HEIGHT]) - EDGE / 2)
    return moved


def ticks_to(most: float) -> list[float]:
    """Choose a few round numbers from 0 to a maximum.

    Examples
    --------
    >>> ticks_to(0.9)
    [0.0, 0.2, 0.4, 0.6, 0.8]
    """
    power = 10.0 ** np.floor(np.log10(most))
    step = next(times * power for times in (0.1, 0.2, 0.5, 1.0, 2.0) if most / (times * power) <= 6)
    return [round(float(step * place), 10) for place in range(int(most / step) + 1)]


@dataclass(frozen=True)
class _Frame:
    """Converts points to positions on the page."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def around(cls, landscape: Landscape) -> _Frame:
        """Fit x, all counterfactuals, and nearly all known instances."""
        ends = np.quantile(landscape.known, [OUTSIDE, 1 - OUTSIDE], axis=0)
        all_ = np.vstack([ends, landscape.x[None], landscape.found])
        return cls(all_.min(axis=0), all_.max(axis=0))

    def place(self, points: Points) -> Points:
        size = np.where(self.high > self.low, self.high - self.low, 1.0)
        share = np.where(self.high > self.low, (points - self.low) / size, 0.5)
        room = np.array([WIDTH, HEIGHT]) - 2 * EDGE
        return np.asarray(EDGE + np.column_stack([share[:, 0], 1 - share[:, 1]]) * room)


def _svg(kind: str, height: float, title: str, parts: Iterable[str]) -> str:
    return (
        f'<svg class="{kind}" viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )


def _dot(point: Points, wanted: bool) -> str:
    x, y = point
    if wanted:
        return f'<rect class="known wanted" x="{x - 2.5:.1f}" y="{y - 2.5:.1f}" width="5" height="5"/>'
    return f'<circle class="known" cx="{x:.1f}" cy="{y:.1f}" r="2.5"/>'


def _line(a: Points, b: Points, kind: str) -> str:
    return f'<line class="{kind}" x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>'


def _mark(point: Points, text: str, kind: str) -> str:
    x, y = point
    return (
        f'<g class="mark {kind}"><circle cx="{x:.1f}" cy="{y:.1f}" r="{MARK}"/>'
        f'<text x="{x:.1f}" y="{y + 3.6:.1f}">{text}</text></g>'
    )


def _tick(tick: float, x: float, bottom: float) -> str:
    return (
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{bottom}"/>'
        f'<text class="tick" x="{x:.1f}" y="{bottom + 16}">{number_text(tick, 3)}</text>'
    )


def _range(group: Group, y: float, scale: float) -> str:
    """Draw one group: a line over the middle half, a dot at the median, and the value of the median."""
    low, middle, high = (NAME + group.costs.distance(share) * scale for share in (0.25, 0.5, 0.75))
    kind = "group small" if group.is_small else "group"
    name = group.name if len(group.name) <= 22 else f"{group.name[:20]}…"
    figure = number_text(group.costs.distance(0.5), digits=2)
    return (
        f'<g class="{kind}"><text class="name" x="{NAME - 10}" y="{y + 4:.1f}">{escape(name)}</text>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<circle cx="{middle:.1f}" cy="{y:.1f}" r="5"/>'
        f'<text class="figure" x="{high + 10:.1f}" y="{y + 4:.1f}">{figure}</text></g>'
    )
