"""Opening a model by an address: on a server, or in MLflow's registry."""

from __future__ import annotations

import hashlib
from typing import Any

from counterpoint._util.short_text import one_line
from counterpoint.cli.errors import InputError, need
from counterpoint.model.adapters import RemoteModel
from counterpoint.model.adapters.remote.http import shown

# MLflow's own addresses: a registered model, or one that a run logged.
REGISTRY = ("models:/", "runs:/")


def is_registered(text: str) -> bool:
    """Tell whether a text is an address of MLflow's registry.

    Examples
    --------
    >>> is_registered("models:/credit/3"), is_registered("models:credit")
    (True, False)
    """
    return text.startswith(REGISTRY)


def is_address(text: str) -> bool:
    """Tell whether a text is the address of a model on a server.

    Examples
    --------
    >>> is_address("oip+http://host:8080/v2/models/credit"), is_address("scoring:decide")
    (True, False)
    """
    return "://" in text


def open_address(
    address: str, classes: tuple[str, ...] | None, batch: int | None, timeout: float | None
) -> RemoteModel:
    """Make the model of an address; what the server tells of its features is asked for later."""
    given: dict[str, Any] = {"batch": batch, "timeout": timeout}
    return RemoteModel(address, classes=classes, **{k: v for k, v in given.items() if v is not None})


def address_fingerprint(address: str) -> str:
    """Compute what tells the models of different addresses apart, without names and passwords."""
    return hashlib.sha256(shown(address).encode()).hexdigest()


def open_registered(text: str, allow_pickle: bool) -> Any:
    """Load a model from MLflow's registry, which runs the model's own code."""
    if not allow_pickle:
        raise InputError(
            f"{text} is a model of MLflow, which is mostly a pickle: it can run any code when it is opened. "
            f"Better start a server by mlflow models serve -m {text}, and give its address, such as "
            f"http://127.0.0.1:5000/invocations; or, if you trust who made it, add --allow-pickle."
        )
    pyfunc = need("mlflow.pyfunc", "A model of MLflow", "'counterpoint[mlflow]'")
    try:
        return pyfunc.load_model(text)
    except Exception as error:  # MLflow's own, and all that the model's library raises
        why = one_line(f"{type(error).__name__}: {error}", 300).rstrip(". ")
        raise InputError(
            f"The model {text} cannot be opened: {why}. Check its name and version, that MLFLOW_TRACKING_URI "
            f"names your server, and that the libraries of the model are installed."
        ) from error


def registered_names(model: Any) -> tuple[str, ...] | None:
    """Read the names of the features from a model's signature, if it has one with names."""
    schema = model.metadata.get_input_schema()
    return tuple(map(str, schema.input_names())) if schema is not None and schema.has_input_names() else None


def registered_fingerprint(model: Any) -> str:
    """Tell models of a registry apart: an alias or a stage may lead to another one tomorrow."""
    return f"mlflow {model.metadata.model_uuid}"
