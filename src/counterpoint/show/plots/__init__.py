"""Plots of answers: images, series and tables with their counterfactuals, and galleries.

`Views` holds what a plot shows, and `views` computes everything derived from it; the other modules draw.
No figure is registered with pyplot, so plots work the same in a notebook, in a script and without a display.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from counterpoint.show.plots.galleries import gallery
from counterpoint.show.plots.images import draw_images
from counterpoint.show.plots.series import draw_series
from counterpoint.show.plots.sheet import html, png
from counterpoint.show.plots.tables import draw_table, ways
from counterpoint.show.plots.views import Kind, Views, describe, kind_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "Kind",
    "Views",
    "describe",
    "draw",
    "draw_table",
    "gallery",
    "html",
    "is_available",
    "kind_of",
    "png",
    "ways",
]


def is_available() -> bool:
    """Tell whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(views: Views) -> Figure:
    """Draw one answer: images with maps of the changes, or series drawn over x with the changes shaded.

    Examples
    --------
    >>> import numpy as np
    >>> x, others = np.zeros((8, 8)), np.ones((2, 8, 8))
    >>> figure = draw(Views("image", x, others, 7, np.array([9, 4]), np.array([8.0, 8.0])))
    >>> print(figure.axes[1].get_title())
    1: 9
    distance 8
    """
    return draw_images(views) if views.kind == "image" else draw_series(views)
