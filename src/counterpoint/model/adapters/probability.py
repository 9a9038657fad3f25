"""A classifier seen as a regressor: its output is the probability of some of its classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin


class ClassProbability(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The probability of one class, or of several together, by a model's `predict_proba`.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[1], [2]], ["no", "yes"])
    >>> ClassProbability(tree, ("yes",)).predict([[1], [2]])
    array([0., 1.])
    """

    def __init__(self, model: Any, classes: tuple[Any, ...]) -> None:
        self.model = model
        self.classes = classes

    def check(self) -> ClassProbability:
        """Refuse models without probabilities, and classes that the model does not know."""
        if not callable(getattr(self.model, "predict_proba", None)):
            raise TypeError(
                f"Probability needs a model with predict_proba, and {type(self.model).__name__} has none. "
                f"Give a model that has it, such as one wrapped in scikit-learn's CalibratedClassifierCV; "
                f"for a model whose outputs are numbers, use cp.Between."
            )
        known = getattr(self.model, "classes_", None)
        if known is None:
            return self  # classes are then the columns' indices
        if np.ndim(known) != 1:
            raise TypeError("Probability needs a model of one decision per row, got one of several.")
        unknown = [each for each in self.classes if each not in np.asarray(known).tolist()]
        if unknown:
            raise ValueError(
                f"Probability must name classes of the model, {np.asarray(known).tolist()}, got {unknown}."
            )
        return self

    def predict(self, table: Any) -> NDArray[Any]:
        """Give the probability of the classes for each row."""
        shares = np.asarray(self.model.predict_proba(table))
        if shares.ndim != 2:
            raise ValueError(f"predict_proba must give one row of probabilities per row, got {shares.shape}.")
        known = getattr(self.model, "classes_", None)
        names = list(range(shares.shape[1])) if known is None else np.asarray(known).tolist()
        columns = [names.index(each) for each in self.classes]
        if len(columns) == 1:
            return np.asarray(shares[:, columns[0]])
        # Rounded sums can exceed 1. Column by column, because other sums depend on the number of rows.
        return np.minimum(sum(shares[:, column] for column in columns), 1)
