"""The decision that is wanted, from a text to what the library takes as a target."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoint.cli.constraints import between
from counterpoint.cli.errors import InputError
from counterpoint.data.outputs import is_continuous
from counterpoint.explainers.fitting import Fitted
from counterpoint.model.target import Between


def wanted(text: str | None, fitted: Fitted) -> Any:
    """Read a class, several with commas between, or LOW:HIGH where the model gives numbers.

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
    texts = [text] if text in known else text.split(",")
    unknown = [each for each in texts if each not in known]
    if unknown:
        raise InputError(f"--want must be among the model's decisions {list(known)}, got {unknown}.")
    return [known[each] for each in texts]
