"""Columns that look like identifiers, and answers that are known rows in full, whose owner they name."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoint._util.duplicates import distinct
from counterpoint._util.short_text import short
from counterpoint.cli.outputs import Output
from counterpoint.cli.parts import Part
from counterpoint.data.distance import changed
from counterpoint.data.feature import Feature
from counterpoint.data.types import Rows
from counterpoint.explainers.fitting import Fitted

# Of fewer values than these, all may differ by chance.
FEW = 30


def looks_like_identifier(feature: Feature, values: pd.Series) -> bool:
    """Tell whether a column may identify its rows: texts or whole numbers that all differ.

    Examples
    --------
    >>> table = pd.DataFrame({"id": range(100), "age": [31, 45] * 50})
    >>> from counterpoint.data.schema import Schema
    >>> [looks_like_identifier(feature, table[feature.name]) for feature in Schema.infer(table).features]
    [True, False]
    """
    is_number = not feature.is_categorical and (feature.step is None or feature.moment)
    return bool(len(values) > FEW and not is_number and values.is_unique)


class KnownRows(Output):
    """Counts the answers that are known rows in full, where that shows whose row it is.

    Parameters
    ----------
    rows
        The known instances.
    names
        The columns that look like identifiers, by their indices.
    """

    def __init__(self, rows: Rows, names: dict[int, str]) -> None:
        self._rows, self._names = rows, names
        self.count, self._shown = 0, set[int]()

    @classmethod
    def of(cls, fitted: Fitted, known: pd.DataFrame) -> KnownRows:
        """Find the columns that look like identifiers and may change."""
        names = {
            index: str(feature.name)
            for index, feature in enumerate(fitted.schema.features)
            # A group of dummy columns has a name of its own, and is no identifier.
            if not feature.immutable
            and feature.name in known
            and looks_like_identifier(feature, known[feature.name])
        }
        return cls(fitted.known.rows, names)

    @property
    def identifiers(self) -> list[str]:
        """The columns that look like identifiers and may change."""
        return list(self._names.values())

    def add(self, part: Part) -> None:
        """Count the answers of a part."""
        if not self._names:
            return
        for item in part.explanations:
            others = changed(item.rows, item.row)[:, list(self._names)]
            if others.any():
                shown = others & self._is_known(item.rows)[:, None]
                self.count += int(shown.any(axis=1).sum())
                self._shown.update(np.array(list(self._names))[shown.any(axis=0)].tolist())

    def _is_known(self, rows: Rows) -> NDArray[np.bool_]:
        both = np.concatenate([self._rows, rows])
        first, same = distinct(both, np.zeros(len(both), dtype=np.intp), np.arange(len(both)))
        return np.asarray(first[same[len(self._rows) :]] < len(self._rows))

    def __str__(self) -> str:
        names = ", ".join(short(self._names[index]) for index in sorted(self._shown))
        are = "answer is a known row" if self.count == 1 else "answers are known rows"
        return (
            f"warning: {self.count:,} {are} in full, and {names} looks like an identifier, so they may show "
            f"whose rows they are. Leave such a column out by --drop, or keep it by --immutable."
        )
