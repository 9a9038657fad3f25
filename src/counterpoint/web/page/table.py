"""The cases to pick from: searched, sorted and filtered, one screen at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoint.data.types import Indices, Mask, Row
from counterpoint.show.wording import decision_texts, value_texts
from counterpoint.web.asked import whole
from counterpoint.web.page.session import Session
from counterpoint.web.rows import RefusedError
from counterpoint.web.wire import plain

# So many cases are given at a time, at most.
MOST = 200
DECISION = "decision"
SCORE = "score"


@dataclass(frozen=True, eq=False)
class Cases:
    """The cases of a session.

    Examples
    --------
    >>> import counterpoint as cp
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50], "job": ["clerk", "smith"] * 2})
    >>> cases = Cases(Session.of(cp.Ensemble().fit(lambda X: X["age"] > 35, X)))
    >>> found = cases.page({"search": "smith", "sort": "age", "descending": True})
    >>> found["total"], [row["cells"] for row in found["rows"]]
    (2, [['50', 'smith'], ['30', 'smith']])
    """

    session: Session

    def page(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Give one screen of the cases that fit a search and a filter, in the order asked for."""
        indices = self.found(asked)
        start = whole("offset", asked.get("offset", 0), 0, None)
        shown = indices[start : start + whole("limit", asked.get("limit", 50), 1, MOST)]
        texts = self._texts(shown)
        decisions = self._decided[shown]
        return {
            "total": len(indices),
            "all": len(self.session.rows),
            "rows": [
                {"index": int(index), "cells": cells, "decision": decision, "score": score}
                for index, cells, decision, score in zip(
                    shown, texts, decisions.tolist(), self._scores_of(shown), strict=True
                )
            ],
        }

    def values(self, index: Any) -> dict[str, Any]:
        """Give one case, in the values of the caller's table; None for what is usual."""
        features = self.session.fitted.schema.features
        if index is None:
            row = self._usual
        else:
            row = self.session.rows[whole("index", index, 0, len(self.session.rows) - 1)]
        values = {str(f.name): f.label(value) for f, value in zip(features, row, strict=True)}
        decision = self.session.fitted.blackbox.predict(row[None])[0]
        return {"index": index, "values": plain(values), "decision": plain(decision)}

    def found(self, asked: dict[str, Any]) -> Indices:
        """Find the cases that fit, in order."""
        search, decision = asked.get("search") or "", asked.get(DECISION)
        fits = np.ones(len(self.session.rows), dtype=np.bool_)
        for word in str(search).split():
            fits &= self._holds(word)
        if decision is not None:
            fits &= self._decided == str(decision)
        return self._sorted(np.flatnonzero(fits), asked.get("sort"), bool(asked.get("descending")))

    @property
    def counts(self) -> list[dict[str, Any]]:
        """How many cases have each decision, the most frequent first; empty if outputs are numbers."""
        if self.session.is_continuous:
            return []
        every = list(self.session.reader.decisions.values())
        counted = [
            {
                "value": plain(each),
                "text": decision_texts(each, self.session.labels[:0])[0],
                "count": int((self.session.labels == each).sum()),
            }
            for each in every
        ]
        return sorted(counted, key=lambda each: -each["count"])

    def _holds(self, word: str) -> Mask:
        """Tell which cases have a value with a word that begins so: "use" finds "used car", not "refused"."""
        begins = re.compile(r"(?<!\w)" + re.escape(word), re.IGNORECASE)
        decisions, which = np.unique(self._decided, return_inverse=True)
        holds = np.array([begins.search(text) is not None for text in decisions])[which]
        for texts, inverse in self._columns:
            holds |= np.array([begins.search(text) is not None for text in texts])[inverse]
        return np.asarray(holds)

    @cached_property
    def _columns(self) -> list[tuple[list[str], Indices]]:
        """The different values of each column as texts, and which of them each case has.

        Numbers are found with and without separators.
        """
        columns = []
        for index, feature in enumerate(self.session.fitted.schema.features):
            values, inverse = np.unique(self.session.rows[:, index], return_inverse=True)
            texts = [value_texts(feature, value[None])[0] for value in values]
            if not feature.is_categorical:
                texts = [f"{text} {text.replace(',', '')}" if "," in text else text for text in texts]
            columns.append((texts, inverse))
        return columns

    def _sorted(self, indices: Indices, by: Any, descending: bool) -> Indices:
        if by is None:
            return indices
        keys = self._keys(str(by))[indices]
        order = np.argsort(-keys if descending else keys, kind="stable")
        return indices[order]

    def _keys(self, by: str) -> NDArray[np.float64]:
        """Give numbers to sort by; what is missing comes last."""
        names = [str(name) for name in self.session.fitted.schema.names]
        if by == SCORE and self._scores is not None:
            return self._scores
        if by == DECISION and by not in names:
            return np.unique(self._decided, return_inverse=True)[1].astype(np.float64)
        if by not in names:
            raise RefusedError(f"sort must name a column, got {by!r}. Known: {names}.")
        index = names.index(by)
        feature, column = self.session.fitted.schema.features[index], self.session.rows[:, index]
        if not feature.is_categorical or feature.ordered:
            return np.asarray(column)
        values, inverse = np.unique(column, return_inverse=True)
        ranks = np.argsort(np.argsort([text.lower() for text in value_texts(feature, values)], kind="stable"))
        return np.asarray(ranks[inverse], dtype=np.float64)

    def _texts(self, indices: Indices) -> list[list[str]]:
        rows = self.session.rows[indices]
        columns = [
            [value_texts(feature, value[None])[0] for value in column]
            for feature, column in zip(self.session.fitted.schema.features, rows.T, strict=True)
        ]
        return [list(cells) for cells in zip(*columns, strict=True)]

    @cached_property
    def _usual(self) -> Row:
        """A row of what is usual: the median of numbers, the most frequent category."""
        known = self.session.fitted.known.rows
        usual = np.nanquantile(known, 0.5, axis=0, method="closest_observation")
        for index in self.session.fitted.schema.categorical.tolist():
            usual[index] = np.bincount(known[:, index].astype(np.intp)).argmax()
        return np.asarray(usual)

    @cached_property
    def _decided(self) -> NDArray[np.str_]:
        """The decision of each case in words."""
        labels = self.session.labels
        values, inverse = np.unique(labels, return_inverse=True) if labels.ndim == 1 else (labels, None)
        texts = np.array([decision_texts(value, values[:0])[0] for value in values], dtype=np.str_)
        return texts if inverse is None else texts[inverse]

    @cached_property
    def _scores(self) -> NDArray[np.float64] | None:
        """The score of the decision of each case, to sort by; None if there is none."""
        return self._asked_scores(np.arange(len(self.session.rows)))

    def _scores_of(self, indices: Indices) -> list[float | None]:
        """Ask for the scores of the cases on one screen only: of all of them, it may take long."""
        scores = self._asked_scores(indices) if len(indices) else None
        return [None] * len(indices) if scores is None else [round(float(score), 6) for score in scores]

    def _asked_scores(self, indices: Indices) -> NDArray[np.float64] | None:
        scores = self.session.scores(self.session.rows[indices])
        return None if scores is None else np.asarray(scores.numbers.max(axis=1))
