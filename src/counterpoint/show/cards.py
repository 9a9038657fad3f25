"""Answers as text for a terminal and as HTML for a notebook.

`Card` and `Summary` hold what is shown; the other functions only draw it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

import numpy as np

from counterpoint.data.distance import changed
from counterpoint.data.schema import Schema
from counterpoint.data.types import Row, Rows
from counterpoint.show.wording import value_texts

WIDTH = 100
CELL = 28  # a longer value is wrapped, not cut: two long categories may differ only at the end
GAP = "   "
UNCHANGED = "·"
BAR = 30

Facts = tuple[tuple[str, str], ...]
Column = list[list[str]]  # one cell per row of the table, wrapped into lines of the terminal


@dataclass(frozen=True)
class Line:
    """One line of an answer: a name, x's value, one value per counterfactual, and which of them changed."""

    name: str
    x: str
    cells: tuple[str, ...] = ()
    changed: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Card:
    """Everything shown of one answer."""

    facts: Facts
    changes: tuple[Line, ...]
    same: tuple[Line, ...]
    outcome: tuple[Line, ...]
    note: str = ""

    @property
    def count(self) -> int:
        """How many counterfactuals it shows."""
        return len(self.outcome[0].cells)


@dataclass(frozen=True)
class Summary:
    """Everything shown of many answers: facts, how often each feature changes, and notes."""

    facts: Facts
    shares: tuple[tuple[str, float], ...]
    notes: tuple[str, ...] = ()


def card(facts: Facts, schema: Schema, row: Row, rows: Rows, outcome: Iterable[Line], note: str) -> Card:
    """Gather what is shown of one answer: the features that change, and those that never do."""
    masks = changed(rows, row)
    changes: list[Line] = []
    same: list[Line] = []
    for i, feature in enumerate(schema.features):
        mask = masks[:, i]
        x, *cells = value_texts(feature, np.append(row[i], rows[:, i]))
        name = f"{feature.name} (follows)" if feature.follows else str(feature.name)
        line = Line(name, x, tuple(cells), tuple(mask.tolist()))
        (changes if mask.any() else same).append(line)
    return Card(facts, tuple(changes), tuple(same), tuple(outcome), note)


def card_text(card: Card, width: int = WIDTH) -> str:
    """Draw one answer for a terminal.

    Examples
    --------
    >>> line, decision = Line("age", "31", ("45",), (True,)), Line("decision", "bad", ("good",))
    >>> print(card_text(Card((("Found", "1 of 1"),), (line,), (), (decision,))))
    Found: 1 of 1
    <BLANKLINE>
    feature    x     1
    ─────────────────────
    age        31    45
    ─────────────────────
    decision   bad   good
    """
    parts = [_facts_text(card.facts, width)]
    columns = [_column(card, i) for i in range(card.count)]
    if columns:
        lines = (*card.changes, *card.outcome)
        left = [_wrapped(["feature", *(line.name for line in lines)])]
        left.append(_wrapped(["x", *(line.x for line in lines)]))
        parts += [_block_text(left + block, len(card.changes)) for block in _blocks(left, columns, width)]
        if card.same:
            parts.append(_filled(f"Unchanged: {_listed([line.name for line in card.same])}.", width))
    if card.note:
        parts.append(_filled(card.note, width))
    return "\n\n".join(parts)


def card_html(card: Card) -> str:
    """Draw one answer for a notebook: one block of HTML with inline styles.

    Examples
    --------
    >>> line, decision = Line("age", "<31", ("45",), (True,)), Line("decision", "bad", ("good",))
    >>> html = card_html(Card((("Found", "1 of 1"),), (line,), (), (decision,)))
    >>> "&lt;31" in html, "<b>45</b>" in html
    (True, True)
    """
    parts = [_facts_html(card.facts)]
    if card.count:
        parts.append(_table_html(card))
    if card.same:
        rows = "".join(_row_html(line, 0) for line in card.same)
        names = "feature stays" if len(card.same) == 1 else "features stay"
        title = f"{len(card.same)} {names} the same" if card.count else "The instance"
        parts.append(
            f"<details style='{_DETAILS}'><summary style='{_SUMMARY}'>{title}</summary>"
            f"<table style='{_TABLE}'>{rows}</table></details>"
        )
    parts += [f"<div style='{_NOTE}'>{escape(card.note)}</div>"] if card.note else []
    return f"<div style='{_BOX}'>{''.join(parts)}</div>"


def summary_text(summary: Summary, width: int = WIDTH) -> str:
    """Draw many answers for a terminal.

    Examples
    --------
    >>> print(summary_text(Summary((("Explained", "2"),), (("age", 0.5),))))
    Explained: 2
    <BLANKLINE>
    Share of counterfactuals that change a feature
      age  ███████████████                 50%
    """
    parts = [_facts_text(summary.facts, width)]
    if summary.shares:
        wide = min(CELL, max(len(name) for name, _ in summary.shares))
        bars = [
            f"  {_clipped(name, wide):<{wide}}  {'█' * max(1, round(share * BAR)):<{BAR}}  {share:.0%}"
            for name, share in summary.shares
        ]
        parts.append("\n".join([_SHARES, *bars]))
    parts += [_filled(note, width) for note in summary.notes]
    return "\n\n".join(parts)


def summary_html(summary: Summary, cards: Sequence[Card] = ()) -> str:
    """Draw many answers for a notebook, with some single answers to expand.

    Examples
    --------
    >>> "width:50%" in summary_html(Summary((("Explained", "2"),), (("age", 0.5),)))
    True
    """
    parts = [_facts_html(summary.facts)]
    if summary.shares:
        bars = "".join(
            f"<tr style='{_TR}'><td style='{_TD}'>{escape(name)}</td>"
            f"<td style='{_TD}width:16em;'><div style='{_BAR}width:{share:.0%};'></div></td>"
            f"<td style='{_TD}{_RIGHT}'>{share:.0%}</td></tr>"
            for name, share in summary.shares
        )
        parts.append(f"<div style='{_FAINT}'>{_SHARES}</div><table style='{_TABLE}'>{bars}</table>")
    parts += [f"<div style='{_NOTE}'>{escape(note)}</div>" for note in summary.notes]
    parts += [
        f"<details style='{_DETAILS}'><summary style='{_SUMMARY}'>Instance {i}</summary>{card_html(one)}"
        f"</details>"
        for i, one in enumerate(cards)
    ]
    return f"<div style='{_BOX}'>{''.join(parts)}</div>"


_SHARES = "Share of counterfactuals that change a feature"

# Notebooks are light or dark, and a style sheet cannot tell which. So text keeps the colour of the page, and
# tints are half transparent, which is readable on both.
_LINE = "rgba(128,128,128,.35)"
_BOX = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45;margin:.6em 0;overflow-x:auto;"
_FAINT = "opacity:.7;"
_TABLE = "border-collapse:collapse;border:0;margin:.4em 0;color:inherit;font:inherit;"
_TR = "background:none;"
_CELL = "text-align:left;vertical-align:top;padding:4px 14px 4px 8px;max-width:20em;"
_TD = f"{_CELL}border:0;border-bottom:1px solid {_LINE};"
_TH = f"{_TD}font-weight:600;border-bottom:2px solid {_LINE};white-space:nowrap;"
_RIGHT = "text-align:right;"
_CHANGED = "background:rgba(240,150,0,.28);"
_BAR = "background:rgba(240,150,0,.75);height:.75em;margin-top:.3em;border-radius:2px;min-width:2px;"
_FACT = "display:inline-block;margin:0 1.6em .3em 0;"
_DETAILS = "margin:.4em 0;"
_SUMMARY = "cursor:pointer;opacity:.85;"
_NOTE = f"margin:.5em 0;padding:4px 10px;border-left:3px solid {_LINE};"


def _facts_html(facts: Facts) -> str:
    return "".join(
        f"<span style='{_FACT}'><span style='{_FAINT}'>{escape(name)}</span> <b>{escape(value)}</b></span>"
        for name, value in facts
    )


def _table_html(card: Card) -> str:
    heads = "".join(
        f"<th scope='col' style='{_TH}'>{head}</th>"
        for head in ("feature", "x", *(f"{i + 1}" for i in range(card.count)))
    )
    changes = "".join(_row_html(line, card.count) for line in card.changes)
    outcome = "".join(_row_html(line, card.count, _FAINT if i else "") for i, line in enumerate(card.outcome))
    return (
        f"<table style='{_TABLE}'><thead><tr style='{_TR}'>{heads}</tr></thead>"
        f"<tbody>{changes}</tbody><tbody style='border-top:2px solid {_LINE};'>{outcome}</tbody></table>"
    )


def _row_html(line: Line, count: int, style: str = "") -> str:
    """Draw one line; a change is both tinted and bold, so that it is visible without colours."""
    marks = line.changed or (False,) * count
    dim = _FAINT if line.changed else style
    cells = [
        f"<td style='{_TD}{_CHANGED}'><b>{escape(cell)}</b></td>"
        if mark
        else f"<td style='{_TD}{dim}'>{escape(cell)}</td>"
        for cell, mark in zip(line.cells[:count], marks[:count], strict=True)
    ]
    return (
        f"<tr style='{_TR}'><td style='{_TD}{style}white-space:nowrap;'>{escape(line.name)}</td>"
        f"<td style='{_TD}{style}'>{escape(line.x)}</td>{''.join(cells)}</tr>"
    )


def _facts_text(facts: Facts, width: int) -> str:
    return _filled("   ".join(f"{name}: {value}" for name, value in facts), width)


def _column(card: Card, i: int) -> Column:
    """Gather the cells of one counterfactual, from its number to the explainer that found it."""
    changes = [line.cells[i] if line.changed[i] else UNCHANGED for line in card.changes]
    return _wrapped([str(i + 1), *changes, *(line.cells[i] for line in card.outcome)])


def _blocks(left: list[Column], columns: list[Column], width: int) -> list[list[Column]]:
    """Split the counterfactuals into blocks that fit the width beside the names and x."""
    beside = sum(_wide(column) + len(GAP) for column in left)
    blocks: list[list[Column]] = []
    used = width
    for column in columns:
        used += _wide(column) + len(GAP)
        if used > width + len(GAP) or not blocks:
            blocks.append([])
            used = beside + _wide(column) + len(GAP)
        blocks[-1].append(column)
    return blocks


def _block_text(columns: list[Column], changes: int) -> str:
    """Draw columns side by side; lines separate the head, the changes and the outcome."""
    widths = [_wide(column) for column in columns]
    rule = "─" * (sum(widths) + len(GAP) * (len(widths) - 1))
    lines = []
    for i, cells in enumerate(zip(*columns, strict=True)):
        lines += [rule] if i in (1, 1 + changes) else []
        for parts in zip_longest(*cells, fillvalue=""):
            padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
            lines.append(GAP.join(padded).rstrip())
    return "\n".join(lines)


def _listed(names: list[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _wrapped(texts: Iterable[str]) -> Column:
    """Wrap each text to the width of a cell."""
    return [textwrap.wrap(_printable(text), CELL) or [""] for text in texts]


def _wide(column: Column) -> int:
    return max(len(line) for cell in column for line in cell)


def _filled(text: str, width: int) -> str:
    return textwrap.fill(_printable(text), width)


def _clipped(text: str, width: int) -> str:
    text = _printable(text)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _printable(text: str) -> str:
    """Replace line breaks and control characters by spaces."""
    return "".join(character if character.isprintable() else " " for character in text)
