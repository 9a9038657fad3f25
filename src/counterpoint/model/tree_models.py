"""Models made of decision trees, which compare numbers but do not multiply them."""

from __future__ import annotations

from typing import Any

_TREES = (
    "sklearn.tree",
    "sklearn.ensemble._forest",
    "sklearn.ensemble._gb",
    "sklearn.ensemble._hist_gradient_boosting",
    "xgboost",
    "lightgbm",
    "catboost",
)


def is_made_of_trees(model: Any) -> bool:
    """Tell whether a model evaluates trees one after another: then no row depends on others in its batch.

    A pipeline does if its last step does. A forest that sums its trees in several threads does not: the order
    of the sum varies.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> is_made_of_trees(RandomForestClassifier()), is_made_of_trees(RandomForestClassifier(n_jobs=2))
    (True, False)
    """
    steps = getattr(model, "steps", None)
    if steps:
        return is_made_of_trees(steps[-1][1])
    forest = any(kind.__module__.startswith("sklearn.ensemble._forest") for kind in type(model).__mro__)
    if forest and getattr(model, "n_jobs", None) not in (None, 1):
        return False
    return any(kind.__module__.startswith(_TREES) for kind in type(model).__mro__)
