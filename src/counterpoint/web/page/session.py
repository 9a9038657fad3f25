"""What a page is about: a fitted explainer, the cases to pick from, and how it was opened."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from counterpoint.data.outputs import is_continuous
from counterpoint.data.types import Labels, Rows
from counterpoint.explainers import Explainer
from counterpoint.explainers.fitting import Fitted
from counterpoint.explainers.run import check_k
from counterpoint.model.scores import Scores
from counterpoint.model.target import Between
from counterpoint.web.asked import Reader

# A question from the page asks for so many answers, unless it says otherwise.
K = 5


@dataclass(frozen=True)
class Opened:
    """How the page was opened from the command line, for commands to copy.

    Parameters
    ----------
    command
        The command up to what the page adds: counterpoint explain --model … --data …
    columns, general
        What only learning can be told, by column and in general, with the keys of a file of constraints.
    setting
        What matters most, where the page does not say.
    """

    command: str
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    general: Mapping[str, Any] = field(default_factory=dict)
    setting: str = "balanced"


@dataclass(frozen=True, eq=False)
class Session:
    """A fitted explainer for tables, and the cases to pick from.

    Parameters
    ----------
    explainer
        The fitted explainer.
    rows
        The cases as rows of its schema.
    labels
        What the model says of each.
    target
        What counts as a different decision, as `Explainer.explain` takes it; None for any other.
    k
        How many answers to show.
    title
        What the page is about, in a few words.
    opened
        The command that opened the page, if there was one.
    skipped
        How many of the cases given could not be read, and were left out.
    max_changes
        The most columns that may change, unless the page is told otherwise.
    """

    explainer: Explainer
    rows: Rows
    labels: Labels
    target: Any = None
    k: int = K
    title: str = ""
    opened: Opened | None = None
    skipped: int = 0
    max_changes: int | None = None

    @classmethod
    def of(
        cls, explainer: Explainer, rows: Any = None, *, target: Any = None, k: int = K, **more: Any
    ) -> Session:
        """Take the known instances as cases, or those given."""
        fitted, k = explainer._fitted(), check_k(k)
        if rows is None:
            session = cls(explainer, fitted.known.rows, fitted.known.labels, target, k, **more)
        else:
            sight, _ = fitted.view.read(rows).split()
            read = sight.instances.rows
            if not len(read):
                raise ValueError("None of the rows can be explained; explainer.problems(rows) lists why.")
            labels = fitted.blackbox.predict(read, np.zeros(len(read), dtype=np.intp))
            skipped = len(rows) - len(read)
            session = cls(explainer, read, labels, target, k, skipped=skipped, **more)
        if target is None and session.is_continuous:
            object.__setattr__(session, "target", Between(low=float(np.median(session.labels))))
        fitted.read_target(session.target)
        return session

    @property
    def fitted(self) -> Fitted:
        """What the explainer learned."""
        return self.explainer._fitted()

    @cached_property
    def reader(self) -> Reader:
        """Reads rows, constraints, targets and settings as the browser sends them."""
        return Reader(self.explainer)

    @cached_property
    def is_continuous(self) -> bool:
        """Whether the model gives numbers and not decisions."""
        return is_continuous(self.fitted.known.labels, self.fitted.blackbox.model)

    @cached_property
    def has_scores(self) -> bool:
        """Whether the model has a score for each decision."""
        return self.score_kind is not None

    @cached_property
    def score_kind(self) -> str | None:
        """What the scores are: probabilities, or numbers without a scale; None if there are none."""
        scores = self.scores(self.fitted.known.rows[:1])
        return None if scores is None else str(scores.kind)

    def scores(self, rows: Rows) -> Scores | None:
        """Ask the model for the scores of rows; None if it has none."""
        if self.is_continuous:
            return None
        return self.fitted.blackbox.class_scores(rows, np.zeros(len(rows), dtype=np.intp))
