"""The Open Inference Protocol (KServe's V2), which MLServer, Triton and others speak."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from counterpoint.model.adapters.layouts import Array
from counterpoint.model.adapters.outputs import Output
from counterpoint.model.adapters.remote.answers import bad_answer, typed
from counterpoint.model.adapters.remote.columns import Column, datatype_of, plain
from counterpoint.model.adapters.remote.content import Content, matrix_of
from counterpoint.model.adapters.remote.http import Server, shown
from counterpoint.model.adapters.remote.protocol import ServerProtocol

# What MLServer is told, so that it makes a frame or an array of what it gets. Other servers overlook it.
AS_FRAME, AS_ARRAY = {"content_type": "pd"}, {"content_type": "np"}
_CONTENT_TYPES = {"BYTES": {"content_type": "str"}, "datetime": {"content_type": "datetime"}}


@dataclass(frozen=True)
class Tensor:
    """An input as the server describes it."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class OpenInference(ServerProtocol):
    """The Open Inference Protocol with JSON.

    Parameters
    ----------
    inputs
        The model's inputs; None if the server has not been asked yet, and empty if it does not tell. Then a
        frame is sent as one tensor per column, and an array as one tensor.

    Examples
    --------
    >>> import pandas as pd
    >>> from counterpoint.model.adapters.remote.content import content_of
    >>> protocol = OpenInference("http://host:8080/v2/models/credit")
    >>> protocol.question(content_of(pd.DataFrame({"age": [31, 45]})))["inputs"]
    [{'name': 'age', 'datatype': 'INT64', 'shape': [2, 1], 'data': [31, 45]}]
    """

    inputs: tuple[Tensor, ...] | None = None

    @property
    def asked_at(self) -> str:
        """Where questions go."""
        return f"{self.url}/infer"

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of several inputs, which are then one per feature."""
        return tuple(each.name for each in self.inputs) if self.inputs and len(self.inputs) > 1 else None

    def settled(self, server: Server, some: Content) -> Self:
        """Ask the server for the model's inputs."""
        if self.inputs is not None:
            return self
        metadata = server.get(self.url)
        try:
            described = metadata.get("inputs") or []
            inputs = tuple(Tensor(str(e["name"]), str(e["datatype"]), tuple(e["shape"])) for e in described)
        except (AttributeError, KeyError, TypeError):
            raise bad_answer(self.url, "a description of the model's inputs", metadata) from None
        return replace(self, inputs=inputs)

    def question(self, content: Content) -> dict[str, Any]:
        """Write rows as tensors."""
        inputs = self.inputs or ()
        if not inputs and isinstance(content, np.ndarray):
            return _as_array(content, None)
        if not inputs:
            return _as_frame([_column(column, None) for column in content])
        if not isinstance(content, np.ndarray):
            by_name = {column.name: column for column in content}
            if by_name.keys() == {each.name for each in inputs}:
                return _as_frame([_column(by_name[each.name], each) for each in inputs])
        if len(inputs) == 1:
            return _as_array(matrix_of(content, f"The model at {shown(self.url)}"), inputs[0])
        raise TypeError(
            f"The model at {shown(self.url)} has the inputs {', '.join(each.name for each in inputs)}: X "
            f"must be a frame with these columns, got {_described(content)}."
        )

    def outputs(self, document: Any, count: int, output: Output) -> Array:
        """Read the first output that holds labels or, if there is none or for scores, numbers."""
        try:
            given = document["outputs"]
            fitting = [each for each in given if _holds_labels(each) == (output == "labels")]
            chosen = (fitting or given)[0]
            flat = _flat(chosen["data"])
        except (KeyError, TypeError, IndexError, AttributeError):
            raise bad_answer(self.url, 'JSON "outputs" that have "datatype" and "data"', document) from None
        if not flat or len(flat) % count:
            raise bad_answer(self.url, f"one output per row, for {count:,} rows", f"{len(flat):,} values")
        values = typed(flat, self.url)
        return values if len(flat) == count else values.reshape(count, -1)


def _holds_labels(output: Any) -> bool:
    """Whether an output holds whole numbers, texts or bools."""
    return not str(output["datatype"]).startswith(("FP", "BF"))


def _flat(data: Any) -> list[Any]:
    """Make one list of data that may be nested."""
    if not isinstance(data, list):
        raise TypeError(f"data must be a list, got {type(data).__name__}")
    flat: list[Any] = data
    while flat and isinstance(flat[0], list):
        flat = [value for row in flat for value in row]
    return flat


def _as_frame(tensors: list[dict[str, Any]]) -> dict[str, Any]:
    return {"parameters": AS_FRAME, "inputs": tensors}


def _column(column: Column, given: Tensor | None) -> dict[str, Any]:
    """Write a column as a tensor."""
    kind = column.datatype if given is None else given.datatype
    more = {"parameters": _CONTENT_TYPES[column.datatype]} if column.datatype in _CONTENT_TYPES else {}
    count = len(column.values)
    return {
        "name": column.name,
        "datatype": "BYTES" if kind == "datetime" else kind,
        "shape": [count] if given is not None and len(given.shape) == 1 else [count, 1],
        "data": _fitting(column.values, kind),
        **more,
    }


def _as_array(array: Array, given: Tensor | None) -> dict[str, Any]:
    """Write an array as a tensor, in the shape that the model expects if its size fits."""
    shape = array.shape
    expected = () if given is None else given.shape[1:]
    if min(expected, default=0) > 0 and np.prod(expected) == np.prod(shape[1:]):
        shape = (len(array), *expected)
    datatype = str(datatype_of(array.dtype)) if given is None else given.datatype
    tensor = {
        "name": "input-0" if given is None else given.name,
        "datatype": datatype,
        "shape": list(shape),
        "data": _fitting(plain(array.ravel()), datatype),
        "parameters": AS_ARRAY,
    }
    return {"inputs": [tensor]}


def _fitting(values: list[Any], datatype: str) -> list[Any]:
    """Write values as a datatype wants them: 31.0 as 31 for whole numbers."""
    if "INT" in datatype:
        return [int(value) if isinstance(value, float) and value.is_integer() else value for value in values]
    if datatype.startswith("FP"):
        return [None if value is None else float(value) for value in values]
    return values


def _described(content: Content) -> str:
    if isinstance(content, np.ndarray):
        return f"an array of shape {content.shape}"
    return f"the columns {', '.join(column.name for column in content)}"
