"""What a model's trees are given: our rows, decoded, through the steps of a pipeline before the last.

Only steps that treat each column by itself are followed. What they make of a column is not computed here, but
observed: rows are sent through them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoint.data.schema import Schema
from counterpoint.data.types import Rows
from counterpoint.model.adapters.probability import ClassProbability
from counterpoint.model.trees.trees import UnreadableError

Step = Callable[[Any], Any]

# Transformers that treat each column by itself: numbers keep their order, categories become codes or flags.
_COLUMN_BY_COLUMN = {
    "OneHotEncoder",
    "OrdinalEncoder",
    "TargetEncoder",
    "StandardScaler",
    "MinMaxScaler",
    "MaxAbsScaler",
    "RobustScaler",
    "SimpleImputer",
    "QuantileTransformer",
    "PowerTransformer",
    "KBinsDiscretizer",
    "VarianceThreshold",
}


@dataclass(frozen=True)
class Encoding:
    """The way from rows to what the trees are given, and the model that holds the trees.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(X, [0, 0, 1])
    >>> encoding = Encoding.of(pipeline, Schema.infer(X))
    >>> encoding.model, encoding.matrix(np.array([[2.0]]))
    (DecisionTreeClassifier(), array([[0.]]))
    """

    schema: Schema
    steps: tuple[Step, ...]
    model: Any

    @classmethod
    def of(cls, model: Any, schema: Schema) -> Encoding:
        """Follow a model to its trees; raise `UnreadableError` for a step that cannot be followed."""
        if isinstance(model, ClassProbability):
            model = model.model
        model = getattr(model, "__wrapped__", model)
        model = getattr(model, "__self__", model)  # a bound method such as model.predict
        model = getattr(model, "best_estimator_", model)
        steps: list[Step] = []
        while getattr(model, "steps", None):
            for _, step in model.steps[:-1]:
                _check(step)
                if not _is_nothing(step):
                    steps.append(step.transform)
            model = model.steps[-1][1]
            model = getattr(model, "best_estimator_", model)
        own = getattr(model, "_preprocessor", None)  # histogram boosting codes its categories itself
        if own is not None:
            steps.append(own.transform)
        return cls(schema, tuple(steps), model)

    def matrix(self, rows: Rows) -> Rows:
        """Give rows as the trees see them: one column per column that nodes can ask about."""
        table: Any = self.schema.decode(rows)
        for step in self.steps:
            table = step(table)
        return self._as_numbers(table)

    def _as_numbers(self, table: Any) -> Rows:
        if hasattr(table, "toarray"):
            table = table.toarray()
        if hasattr(table, "to_pandas"):
            table = table.to_pandas()
        if not isinstance(table, pd.DataFrame):
            return np.asarray(table, dtype=np.float64)
        columns = [self._column(table.iloc[:, place]) for place in range(table.shape[1])]
        return np.column_stack(columns) if columns else np.empty((len(table), 0))

    def _column(self, column: pd.Series) -> Any:
        """Give the numbers of a column; of categories, the codes that XGBoost and LightGBM use."""
        if isinstance(column.dtype, pd.CategoricalDtype):
            codes = column.cat.codes.to_numpy().astype(np.float64)
            return np.where(codes < 0, np.nan, codes)
        return column.to_numpy(dtype=np.float64, na_value=np.nan)


def _is_nothing(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step in ("passthrough", "drop"))


def _check(step: Any) -> None:
    """Refuse a step that mixes columns, or that is not known to treat them one by one."""
    if _is_nothing(step):
        return
    name = type(step).__name__
    if name == "Pipeline":
        parts = [part for _, part in step.steps]
    elif name == "ColumnTransformer":
        parts = [part for _, part, _ in step.transformers_]
    elif name == "FeatureUnion":
        parts = [part for _, part in step.transformer_list]
    elif name == "FunctionTransformer" and step.func is None:
        return
    else:
        is_known = type(step).__module__.startswith("sklearn.") and name in _COLUMN_BY_COLUMN
        if not is_known:
            raise UnreadableError(
                f"{name}, a step before its trees, is not known to treat each column by itself. Known: "
                f"{', '.join(sorted(_COLUMN_BY_COLUMN))}, ColumnTransformer"
            )
        return
    for part in parts:
        _check(part)
