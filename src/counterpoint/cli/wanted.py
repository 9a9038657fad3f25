"""The decision that is wanted, from a text to what the library takes as a target."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from counterpoint.cli.errors import InputError
from counterpoint.cli.flags import between
from counterpoint.data.outputs import is_continuous
from counterpoint.explainers.fitting import Fitted
from counterpoint.model.target import Between, Probability


def wanted(text: str | None, fitted: Fitted) -> Any:
    """Read a class, several with commas between, CLASS>=0.7, or LOW:HIGH where the model gives numbers.

    None stands for any other decision.
    """
    labels, model = fitted.known.labels, fitted.blackbox.model
    if is_continuous(labels, model):
        limits = None if text is None else between(text)
        if limits is None:
            raise InputError(
                f"The model's outputs are numbers from {labels.min():g} to {labels.max():g}, not classes: "
                f"say which are wanted by --want LOW:HIGH, got {text!r}."
            )
        return Between(*limits)
    if text is None:
        return None
    known = {str(label): label for label in (*np.unique(labels).tolist(), *fitted.blackbox.classes())}
    # A class may be named like a comparison: "<=50K".
    comparison = None if text in known else re.fullmatch(r"(.+)(>=|<=)\s*([0-9.]+%?)\s*", text)
    if comparison is None:
        return _classes(text, known)
    classes, way, number = comparison.groups()
    target = _probability(_classes(classes.strip(), known), way, number)
    try:
        fitted.facing(fitted.read_target(target))
    except TypeError as error:
        raise InputError(f"--want {text!r} needs the model's probabilities: {error}") from error
    return target


def _classes(text: str, known: dict[str, Any]) -> list[Any]:
    texts = [text] if text in known else text.split(",")
    unknown = [each for each in texts if each not in known]
    if unknown:
        raise InputError(
            f"--want must be among the model's decisions {list(known)}, got {unknown}. To ask for a "
            f"probability, write such as '{next(iter(known))}>=0.7'."
        )
    return [known[each] for each in texts]


def _probability(classes: list[Any], way: str, number: str) -> Probability:
    """Read the probability that is wanted, as a share or in percent."""
    try:
        share = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
        return Probability(classes, **{"at_least" if way == ">=" else "at_most": share})
    except ValueError as error:
        raise InputError(f"--want must compare with a probability, such as >=0.7, got {number!r}.") from error
