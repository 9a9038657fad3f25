"""The kind of outputs a model returns."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_regressor

from counterpoint.data.types import Labels


def is_continuous(labels: Labels, model: Any = None) -> bool:
    """Tell whether outputs are scores or quantities, not decisions.

    Examples
    --------
    >>> is_continuous(np.array(["good", "bad"])), is_continuous(np.array([0.25, 0.5]))
    (False, True)
    """
    if labels.ndim > 1 or (labels.dtype.kind == "f" and (labels != np.rint(labels)).any()):
        return True
    # is_regressor accepts scikit-learn's own models only; it raises for anything else.
    asked = hasattr(model, "__sklearn_tags__") or hasattr(model, "_estimator_type")
    return asked and not isinstance(model, type) and bool(is_regressor(model))
