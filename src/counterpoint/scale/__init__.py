"""Explaining the rows of a cluster's data, on the engine that holds them: Dask, Ray or Spark.

Answers do not depend on the batch, so an engine may cut the rows as it likes.
"""

from __future__ import annotations

from typing import Any

from counterpoint.explainers import Explainer
from counterpoint.scale.work import Work

__all__ = ["explain"]


def explain(data: Any, explainer: Explainer, k: int = 5, *, id: Any = None, **asked: Any) -> Any:
    """Explain the rows of a Dask DataFrame, a Ray Dataset or a Spark DataFrame; return the same kind, lazily.

    The result has the columns of `Explainer.explain_frame`: one line per counterfactual, and one line with
    the reason for each row that has none. The fitted explainer and its model are sent once to each worker;
    see `Explainer.model_from` for models that workers open themselves.

    Parameters
    ----------
    data
        The rows: the features, and the id.
    explainer
        A fitted explainer. Its classes, its model and its rule must be importable on the workers, or be
        defined in the script or notebook that calls this.
    k
        How many counterfactuals are wanted.
    id
        The column that names the rows. With Dask, None names them by their index; Ray and Spark have none.
    asked
        Further arguments of `Explainer.explain_many`, such as target. `max_seconds` is per block of rows.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import counterpoint as cp
    >>> import dask.dataframe as dd
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> explainer = cp.Neighbours().fit(lambda X: X["age"] > 35, X)
    >>> rows = dd.from_pandas(X.assign(application=[7, 8, 9, 10]), npartitions=2)
    >>> found = explain(rows, explainer, k=1, id="application")
    >>> found.compute(scheduler="sync")[["application", "age"]].values.tolist()
    [[7, 40], [8, 40], [9, 30], [10, 30]]
    """
    kind = _engine(data)
    if kind == "dask":
        from counterpoint.scale import on_dask as engine
    elif kind == "ray":
        from counterpoint.scale import on_ray as engine  # type: ignore[no-redef]
    else:
        from counterpoint.scale import on_spark as engine  # type: ignore[no-redef]
    if id is None and kind != "dask":
        raise ValueError(f"id must name a column: the rows of {kind} have no other name.")
    return engine.explain(data, Work.of(explainer, k, id, asked))


def _engine(data: Any) -> str:
    """Tell from which engine data comes; no engine is imported to find out."""
    packages = {kind.__module__.partition(".")[0] for kind in type(data).__mro__}
    for package, name in {"dask": "dask", "dask_expr": "dask", "ray": "ray", "pyspark": "spark"}.items():
        if package in packages:
            return name
    raise TypeError(
        f"data must be a Dask DataFrame, a Ray Dataset or a Spark DataFrame, got {type(data).__name__}. "
        f"For a pandas frame use explainer.explain_frame(frame, jobs=-1)."
    )
