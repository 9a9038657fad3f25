"""The canvas of plots: positions in inches, texts that fit, and figures as PNG and HTML.

Sizes are in inches, so that texts and images never overlap, however many there are. The colours are from
Okabe and Ito's palette, which colour-blind people can tell apart.
"""

from __future__ import annotations

import base64
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, GREY, FAINT = "#1a1a1a", "#8c8c8c", "#d9d9d9"
LESS, MORE, SHADE = "#0072B2", "#D55E00", "#FBE9DD"
FONT, SMALL = 9.0, 8.0
DPI = 110

CELL, GAP, EDGE, LINE = 1.25, 0.12, 0.12, 0.16  # an image, the gap between two, the margin, a line of text
LETTERS = 13.0  # letters per inch of text
LINES = 3  # longer titles are cut


class Box(NamedTuple):
    """A rectangle on a sheet, in inches from its upper left corner."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class Grid:
    """Boxes of one size in rows and columns; `across` and `down` are the steps from one to the next."""

    left: float
    top: float
    width: float
    height: float
    across: float
    down: float

    def box(self, row: int, column: int) -> Box:
        """Get the box at a row and column, both counted from 0."""
        left, top = self.left + column * self.across, self.top + row * self.down
        return Box(left, top, self.width, self.height)


@dataclass(frozen=True)
class Sheet:
    """A figure with positions in inches."""

    figure: Figure
    width: float
    height: float

    @classmethod
    def empty(cls, width: float, height: float) -> Sheet:
        """Create an empty figure."""
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("A plot needs matplotlib: pip install 'counterpoint[plot]'") from error
        return cls(Figure(figsize=(width, height), facecolor="white"), width, height)

    def axes(self, box: Box) -> Axes:
        """Add axes that fill a box."""
        bottom = self.height - box.top - box.height
        width, height = box.width / self.width, box.height / self.height
        return self.figure.add_axes((box.left / self.width, bottom / self.height, width, height))

    def fill(self, box: Box, colour: str) -> None:
        """Fill a box with a colour."""
        from matplotlib.patches import Rectangle

        corner = box.left / self.width, 1 - (box.top + box.height) / self.height
        width, height = box.width / self.width, box.height / self.height
        patch = Rectangle(corner, width, height, color=colour, linewidth=0, transform=self.figure.transFigure)
        self.figure.add_artist(patch)

    def text(self, left: float, top: float, text: str, **style: Any) -> None:
        """Write text below a position; dollar signs do not start formulas."""
        style = {"fontsize": FONT, "color": INK, "va": "top", "parse_math": False, **style}
        self.figure.text(left / self.width, 1 - top / self.height, text, **style)


def wrapped(lines: Sequence[str], width: float, most: int = LINES) -> str:
    """Wrap lines to a width, each into at most three.

    Examples
    --------
    >>> print(wrapped(["1: a long-sleeved pullover", "distance 3.1"], width=1.25))
    1: a long-
    sleeved pullover
    distance 3.1
    """
    letters = max(1, int(LETTERS * width))
    return "\n".join(
        part for line in lines for part in textwrap.wrap(line, letters, max_lines=most, placeholder=" …")
    )


def height_of(*texts: str) -> float:
    """Compute the height of the tallest text, in inches."""
    return LINE * max((text.count("\n") + 1 for text in texts if text), default=0)


def bare(axes: Axes, text: str = "") -> None:
    """Remove everything from axes except a faint frame and a title."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(FAINT)
    axes.set_title(text, fontsize=FONT, color=INK, pad=3, parse_math=False)


def png(figure: Figure, dpi: int = DPI) -> bytes:
    """Write a figure as PNG; equal figures give equal bytes."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi, metadata={"Software": None})
    return stream.getvalue()


def html(figure: Figure, text: str, dpi: int = DPI) -> str:
    """Write a figure as a self-contained HTML image; `text` is its alternative text."""
    data = base64.b64encode(png(figure, dpi)).decode("ascii")
    return f'<img src="data:image/png;base64,{data}" alt="{escape(text)}" style="max-width: 100%">'
