"""What each method looks like in the figures, and in which order methods stand.

Colour says which family a method is of; marker and line style tell its members apart, also in grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How a method's line is drawn; a hollow marker lets what lies below it show."""

    colour: str
    line: str
    marker: str
    width: float = 1.3
    size: float = 5.0
    hollow: bool = False


# Colours of others are Okabe and Ito's, for CBCE Paul Tol's wine, for the paper's method a dark violet:
# told apart by colour-blind eyes.
STYLES = {
    "Counterpoint": Style("black", "-", "o", width=2.8, size=7.0),
    "Counterpoint close": Style("black", "--", "^", hollow=True),
    "Counterpoint diverse": Style("black", ":", "s", hollow=True),
    "Counterpoint nearest": Style("black", ":", "o", width=0.8, hollow=True),
    "Counterpoint plausible": Style("black", "-.", "D", size=4.5, hollow=True),
    "Counterpoint sparse": Style("black", "-", "v", width=0.8, hollow=True),
    "Counterpoint varied": Style("black", "--", "P", width=0.8, hollow=True),
    "Counterpoint I": Style("black", "--", "X", width=1.0, hollow=True),
    "Counterpoint K4": Style("black", ":", "p", hollow=True),
    "Counterpoint K7": Style("black", "-.", "h", hollow=True),
    "ECE (paper)": Style("#5e3c99", "-", "o", width=2.0, size=6.0),
    "ECE_I (paper)": Style("#5e3c99", "--", "X", width=1.0),
    "ECE_K4 (paper)": Style("#5e3c99", ":", "p"),
    "ECE_K7 (paper)": Style("#5e3c99", "-.", "h"),
    "BCE-B": Style("#9a9a9a", "-", "v", width=0.9, size=4.0),
    "BCE-T": Style("#9a9a9a", "--", "^", width=0.9, size=4.0),
    "BCE-S": Style("#9a9a9a", ":", "<", width=0.9, size=4.0),
    "BCE-N": Style("#9a9a9a", "-.", ">", width=0.9, size=4.0),
    "CBCE": Style("#882255", "-", "*", size=7.0),
    "DiCE random": Style("#D55E00", "-", "s"),
    "DiCE genetic": Style("#D55E00", "--", "X", size=6.0),
    "DiCE gradient": Style("#D55E00", ":", "d", size=5.5),
    "FAT": Style("#009E73", "-", "P", size=6.0),
    "CEM": Style("#0072B2", "-", "<"),
    "CEGP": Style("#0072B2", "--", ">"),
    "WACH": Style("#0072B2", ":", "v"),
    "CEML": Style("#CC79A7", "-", "h", size=6.0),
    "NICE": Style("#E69F00", "-", "p", size=6.0),
    "CFNOW": Style("#56B4E9", "-", "D", size=4.5),
    "Wildboar": Style("#009E73", "--", "d", size=5.5),
}
"""Each method's look, in the order in which methods are listed."""
OTHER = Style("#555555", "--", ".")
"""The look of a method that is not known here."""


def in_order(methods: Sequence[str]) -> list[str]:
    """Sort methods as their styles are, those without one last."""
    known = list(STYLES)
    return sorted(methods, key=lambda name: known.index(name) if name in known else len(known))
