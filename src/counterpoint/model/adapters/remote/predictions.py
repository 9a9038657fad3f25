"""Protocols that answer with a list of predictions: KServe's first, and MLflow's."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import numpy as np

from counterpoint.model.adapters.layouts import Array
from counterpoint.model.adapters.outputs import Output
from counterpoint.model.adapters.remote.answers import predictions_of
from counterpoint.model.adapters.remote.columns import plain
from counterpoint.model.adapters.remote.content import Content, rows_of
from counterpoint.model.adapters.remote.http import Server, StatusError
from counterpoint.model.adapters.remote.protocol import ServerProtocol
from counterpoint.model.errors import ModelError

# How a row of a frame is written: {"age": 31}, {"age": [31]} or [31].
RowForm = Literal["record", "cells", "list"]

# What a server may answer if it cannot read rows of a form.
FORM_REFUSED = frozenset({400, 415, 422, 500})


@dataclass(frozen=True)
class KServeV1(ServerProtocol):
    """The V1 protocol of KServe and TensorFlow Serving.

    Parameters
    ----------
    row_form
        How a row of a frame is written; None finds it by trying: as a record, as a record of lists, which
        KServe's server of scikit-learn's models wants, or as a list without names.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.model.adapters.remote.content import content_of
    >>> protocol = KServeV1("http://host/v1/models/credit:predict")
    >>> protocol.question(content_of(pd.DataFrame({"age": [31], "job": ["clerk"]})))
    {'instances': [{'age': 31, 'job': 'clerk'}]}
    """

    row_form: RowForm | None = None

    def settled(self, server: Server, some: Content) -> Self:
        """Find the form of rows that the server accepts."""
        if self.row_form is not None or isinstance(some, np.ndarray):
            return self
        reasons = []
        for form in get_args(RowForm):
            tried = replace(self, row_form=form)
            try:
                tried.ask(server, some, "labels")
            except StatusError as error:
                if error.status not in FORM_REFUSED:
                    raise
                reasons.append(str(error))
            else:
                return tried
        raise ModelError(
            f"{reasons[0]} It was given a few rows as records, and refused lists too. Check that it was "
            f"trained on these columns: {', '.join(column.name for column in some)}."
        )

    def question(self, content: Content) -> dict[str, Any]:
        """Write rows as instances."""
        rows = rows_of(content)
        if isinstance(content, np.ndarray) or self.row_form == "list":
            return {"instances": rows}
        names = [column.name for column in content]
        if self.row_form == "cells":
            rows = [[[value] for value in row] for row in rows]
        return {"instances": [dict(zip(names, row, strict=True)) for row in rows]}

    def outputs(self, document: Any, count: int, output: Output) -> Array:
        """Read the list of predictions."""
        return predictions_of(document, count, self.url)


@dataclass(frozen=True)
class MLflowScoring(ServerProtocol):
    """What `mlflow models serve` speaks.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.model.adapters.remote.content import content_of
    >>> protocol = MLflowScoring("http://host:5000/invocations")
    >>> protocol.question(content_of(pd.DataFrame({"age": [31], "job": ["clerk"]})))
    {'dataframe_split': {'columns': ['age', 'job'], 'data': [[31, 'clerk']]}}
    """

    def question(self, content: Content) -> dict[str, Any]:
        """Write a frame as MLflow's split frame, and an array as its tensor."""
        if isinstance(content, np.ndarray):
            return {"inputs": plain(content)}
        names = [column.name for column in content]
        return {"dataframe_split": {"columns": names, "data": rows_of(content)}}

    def outputs(self, document: Any, count: int, output: Output) -> Array:
        """Read the list of predictions."""
        return predictions_of(document, count, self.url)
