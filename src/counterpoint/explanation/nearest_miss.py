"""The nearest miss: what came closest to another decision where no counterfactual was found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from counterpoint.data.schema import Schema
from counterpoint.data.types import Row
from counterpoint.explanation.joining import recode
from counterpoint.model.scores import Standing
from counterpoint.show import wording


@dataclass(frozen=True, eq=False)
class NearestMiss:
    """What came nearest to another decision where there is no counterfactual: the tried row of best score.

    **It is not a counterfactual**: it keeps all constraints, but does not get the decision asked for. It may
    change more than is needed for its score.

    Parameters
    ----------
    schema
        The columns of the table.
    x
        The explained instance, as a row.
    row
        The nearest miss, as a row.
    decision
        The model's output for it, which is not the one asked for.
    standing
        Its score, and the score that is needed.

    Examples
    --------
    >>> import numpy as np
    >>> from counterpoint.model.scores import ScoreKind
    >>> people = pd.DataFrame({"age": [31, 45], "job": ["clerk", "smith"]})
    >>> miss = NearestMiss(
    ...     Schema.infer(people), x=np.array([31.0, 0.0]), row=np.array([31.0, 1.0]), decision="refused",
    ...     standing=Standing(ScoreKind.PROBABILITY, 0.46, 0.5, ("granted",), is_strict=True),
    ... )
    >>> print(miss)
    The nearest miss is not a counterfactual: if job were 'smith' instead of 'clerk', the probability of
    'granted' would be 0.46, and more than 0.5 is needed.
    >>> miss.table
       age    job
    0   31  smith
    """

    schema: Schema
    x: Row
    row: Row
    decision: Any
    standing: Standing

    @property
    def is_counterfactual(self) -> bool:
        """Always False: the model does not give this row the decision asked for."""
        return False

    @property
    def score(self) -> float:
        """The score of the wanted class, or the model's output."""
        return self.standing.score

    @property
    def needed(self) -> float | None:
        """The score at which the decision changes; None if it is not known."""
        return self.standing.needed

    @property
    def table(self) -> Any:
        """The row as a table of the caller's type: a frame of one row, or an array if arrays were given."""
        table = self.schema.decode(self.row[None])
        return table[0] if self.schema.form.kind == "array" else table

    @property
    def changes(self) -> pd.DataFrame:
        """What it changes: the feature, the old and the new value."""
        return wording.changes(self.schema, self.x, self.row[None]).drop(columns="counterfactual")

    def recoded(self, schema: Schema) -> NearestMiss:
        """Convert it to a schema that holds more categories."""
        x, row = (recode(each, self.schema, schema) for each in (self.x, self.row))
        return replace(self, schema=schema, x=x, row=row)

    def __str__(self) -> str:
        return wording.miss_sentence(self.schema, self.x, self.row, self.standing)

    def __repr__(self) -> str:
        score = wording.number_text(self.score, digits=3)
        return f"<NearestMiss: {self.standing.kind} {score}, not a counterfactual>"
