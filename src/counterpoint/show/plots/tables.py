"""Tables: which features change in which counterfactual, and whether to more, less or another value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.distance import changed
from counterpoint.data.schema import Schema
from counterpoint.data.types import Row, Rows
from counterpoint.show.cards import UNCHANGED, Card
from counterpoint.show.plots.sheet import (
    EDGE,
    GAP,
    GREY,
    INK,
    LETTERS,
    LINE,
    Box,
    Sheet,
    height_of,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Ways = NDArray[np.int8]

PAD = 0.1
# Maximum width in inches of a feature's name, and of a value with few and with many counterfactuals.
NAME, WIDE, NARROW, FEW = 2.2, 1.5, 0.95, 7
LEAST = 5.0  # minimum width in inches, so that the texts above and below fit
# The name and colour of each direction of change.
KEY = {1: ("more", "#F6CDB0"), -1: ("less", "#A9D0EA"), 0: ("another value", "#DDDDDD")}


def ways(schema: Schema, row: Row, rows: Rows) -> Ways:
    """Compute the direction of each change: 1 for more, -1 for less, 0 for neither.

    One row per feature that changes in any counterfactual, in the order of `Card.changes`.

    Examples
    --------
    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]}))
    >>> ways(schema, np.array([31.0, 0.0]), np.array([[45.0, 0.0], [20.0, 1.0]]))
    array([[ 1, -1],
           [ 0,  0]], dtype=int8)
    """
    differs = changed(rows, row)
    row, rows = schema.ranks(row), schema.ranks(rows)
    # A missing value is neither more nor less than another.
    signs = ((rows > row) * 1.0 - (rows < row)) * schema.has_order
    return np.asarray(signs.T[differs.any(axis=0)], dtype=np.int8)


def draw_table(card: Card, ways: Ways) -> Figure:
    """Draw the features that change as a grid, one column per counterfactual, coloured by direction.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.show.cards import Line, card
    >>> schema = Schema.infer(pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]}))
    >>> row, rows = np.array([31.0, 0.0]), np.array([[45.0, 0.0]])
    >>> shown = card((), schema, row, rows, [Line("decision", "bad", ("good",))], "")
    >>> [text.get_text() for text in draw_table(shown, ways(schema, row, rows)).texts]
    ['x', '1', 'age', '31', '45', 'decision', 'bad', 'good', 'more', 'Unchanged: job.']
    """
    cells = _cells(card)
    widths = [max(_width(text) for text in column) for column in zip(*cells, strict=True)]
    heights = [height_of(*row) + PAD for row in cells]
    width = max(LEAST, 2 * EDGE + sum(widths))
    above = wrapped(["   ".join(f"{name}: {value}" for name, value in card.facts)], width - 2 * EDGE)
    below = wrapped(_remarks(card), width - 2 * EDGE, most=20)
    top = EDGE + (height_of(above) + GAP if above else 0)
    foot = top + sum(heights) + GAP
    key = LINE + GAP if card.changes else 0
    sheet = Sheet.empty(width, foot + key + (height_of(below) + EDGE if below else 0))
    lefts, tops = list(accumulate(widths, initial=EDGE)), list(accumulate(heights, initial=top))
    if above:
        sheet.text(EDGE, EDGE, above)
    for line, row in enumerate(cells):
        for column, text in enumerate(row):
            box = Box(lefts[column], tops[line], widths[column], heights[line])
            _draw_cell(sheet, box, text, _tint(card, ways, line - 1, column - 2), named=column == 0)
    for line in {1, 1 + len(card.changes)} if card.changes else {1}:
        sheet.fill(Box(EDGE, tops[line] - 0.005, sum(widths), 0.01), GREY)
    if card.changes:
        _draw_key(sheet, foot, [way for way in KEY if (ways[_mask(card)] == way).any()])
    if below:
        sheet.text(EDGE, foot + key, below)
    return sheet.figure


def _cells(card: Card) -> list[list[str]]:
    """Gather the texts of the grid, row by row; unchanged values are dots."""
    cells = [["", "x", *(str(i + 1) for i in range(card.count))]]
    for line in (*card.changes, *card.outcome):
        same = [not differs for differs in line.changed] or [False] * card.count
        shown = [UNCHANGED if stays else text for stays, text in zip(same, line.cells, strict=True)]
        values = [
            wrapped([text], WIDE if card.count <= FEW else NARROW, most=20) for text in (line.x, *shown)
        ]
        cells.append([wrapped([line.name], NAME, most=20), *values])
    return cells


def _mask(card: Card) -> NDArray[np.bool_]:
    """Tell which feature changes in which counterfactual, as a mask."""
    return np.array([line.changed for line in card.changes], dtype=np.bool_)


def _tint(card: Card, ways: Ways, line: int, column: int) -> str:
    """Find the colour of a cell; empty if nothing changes there."""
    if not 0 <= line < len(card.changes) or column < 0 or not card.changes[line].changed[column]:
        return ""
    return KEY[int(ways[line, column])][1]


def _draw_cell(sheet: Sheet, box: Box, text: str, tint: str, *, named: bool) -> None:
    """Write a text in the centre of a box, or a name at its left."""
    if tint:
        sheet.fill(Box(box.left + 0.02, box.top + 0.02, box.width - 0.04, box.height - 0.04), tint)
    left = box.left if named else box.left + box.width / 2
    if text:
        colour = GREY if text == UNCHANGED else INK
        middle = box.top + box.height / 2
        sheet.text(left, middle, text, va="center", ha="left" if named else "center", color=colour)


def _draw_key(sheet: Sheet, top: float, shown: Sequence[int]) -> None:
    """Draw the legend of colours."""
    left = EDGE
    for way in shown:
        word, colour = KEY[way]
        sheet.fill(Box(left, top, 0.2, LINE - 0.02), colour)
        sheet.text(left + 0.28, top, word)
        left += 0.28 + _width(word) + GAP


def _width(text: str) -> float:
    """Compute the width of a text, with padding."""
    return max(len(line) for line in text.split("\n")) / LETTERS + 2 * PAD


def _remarks(card: Card) -> list[str]:
    """Gather the notes below the grid."""
    names = ", ".join(line.name for line in card.same) if card.count else ""
    return [text for text in (f"Unchanged: {names}." if names else "", card.note) if text]
