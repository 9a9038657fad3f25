"""The protocols of KServe: V1, and V2, which is the Open Inference Protocol, for decisions and explanations.

In V2, the model and its explainer are two models: NAME has decisions as its outputs, NAME-explainer has
explanations, each as a text of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response

from counterpoint import __version__
from counterpoint._util.short_text import short
from counterpoint.data.feature import Feature
from counterpoint.data.schema import Schema
from counterpoint.web.asked import Reader, whole
from counterpoint.web.rows import RefusedError
from counterpoint.web.service.bodies import OPTIONS, body_of, fields_of, respond
from counterpoint.web.wire import dumps

if TYPE_CHECKING:
    from counterpoint.web.service.app import Route, Service

_INTS = tuple(f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64))
_FLOATS = ("FP16", "FP32", "FP64")
DATATYPES = ("BOOL", "BYTES", *_INTS, *_FLOATS)
INPUT_KEYS = ("name", "shape", "datatype", "data", "parameters")
EXPLAINER = "-explainer"


class Kserve:
    """What the routes of both protocols do."""

    def __init__(self, service: Service) -> None:
        self._service, self._name = service, service.name
        self._form = Protocol(service.questions.reader)

    def routes(self) -> list[Route]:
        """List the routes: path, method, and what answers."""
        v1, v2 = f"/v1/models/{self._name}", f"/v2/models/{self._name}"
        return [
            ("/v1/models", "GET", self._models),
            (v1, "GET", self._model),
            (f"{v1}:predict", "POST", self._predict),
            (f"{v1}:explain", "POST", self._explain),
            ("/v2", "GET", self._server),
            ("/v2/health/live", "GET", self._service.live),
            ("/v2/health/ready", "GET", self._service.ready),
            (v2, "GET", self._decider),
            (f"{v2}/ready", "GET", self._service.ready),
            (f"{v2}/infer", "POST", self._infer),
            (f"{v2}{EXPLAINER}", "GET", self._explainer),
            (f"{v2}{EXPLAINER}/ready", "GET", self._service.ready),
            (f"{v2}{EXPLAINER}/infer", "POST", self._infer_explanations),
        ]

    async def _models(self, request: Request) -> Response:
        return respond({"models": [self._name]})

    async def _model(self, request: Request) -> Response:
        return respond({"name": self._name, "ready": not self._service.merger.is_stuck})

    async def _predict(self, request: Request) -> Response:
        rows, _ = await self._instances(request)
        labels, _ = await self._service.decided(request, await self._service.table(rows, "instances"))
        return respond({"predictions": labels})

    async def _explain(self, request: Request) -> Response:
        rows, options = await self._instances(request)
        fields_of(options, OPTIONS, "parameters")
        ask = await self._service.ask(rows, options, "instances")
        return respond({"explanations": await self._service.explain(request, ask)})

    async def _instances(self, request: Request) -> tuple[Any, Mapping[str, Any]]:
        """Read the body of V1: instances as objects, or as lists in the order of the columns."""
        said = fields_of(await body_of(request), ("instances", "parameters", "signature_name"))
        given = said.get("instances")
        rows = [self._form.named(each) for each in given] if isinstance(given, list) else given
        return rows, _parameters(said)

    async def _server(self, request: Request) -> Response:
        return respond({"name": "counterpoint", "version": __version__, "extensions": []})

    async def _decider(self, request: Request) -> Response:
        outputs = [self._form.decision]
        if (classes := self._service.classes) is not None:
            outputs.append({"name": "probabilities", "datatype": "FP64", "shape": [-1, len(classes)]})
        return respond(self._metadata(self._name, outputs))

    async def _explainer(self, request: Request) -> Response:
        outputs = [{"name": "explanation", "datatype": "BYTES", "shape": [-1]}]
        return respond(self._metadata(f"{self._name}{EXPLAINER}", outputs))

    def _metadata(self, name: str, outputs: list[dict[str, Any]]) -> dict[str, Any]:
        return {"name": name, "platform": "counterpoint", "inputs": self._form.inputs, "outputs": outputs}

    async def _infer(self, request: Request) -> Response:
        said = await self._asked(request)
        known = ["decision"] if self._service.classes is None else ["decision", "probabilities"]
        wanted = _wanted(said, known)
        table = await self._service.table(self._form.rows(said.get("inputs")))
        labels, scores = await self._service.decided(request, table, "probabilities" in wanted)
        outputs = {"decision": _tensor("decision", self._form.decision["datatype"], labels)}
        if scores is not None:
            classes, numbers = scores
            outputs["probabilities"] = _tensor("probabilities", "FP64", numbers) | {
                "parameters": {"classes": json.dumps(classes)}
            }
        return self._inferred(said, self._name, [outputs[name] for name in wanted if name in outputs])

    async def _infer_explanations(self, request: Request) -> Response:
        said = await self._asked(request)
        _wanted(said, ["explanation"])
        ask = await self._service.ask(self._form.rows(said.get("inputs")), _options(said))
        texts = [dumps(each).decode() for each in await self._service.explain(request, ask)]
        output = _tensor("explanation", "BYTES", texts) | {"parameters": {"content_type": "application/json"}}
        return self._inferred(said, f"{self._name}{EXPLAINER}", [output])

    async def _asked(self, request: Request) -> Mapping[str, Any]:
        said = fields_of(await body_of(request), ("id", "parameters", "inputs", "outputs"))
        if not isinstance(said.get("id"), str | None):
            raise RefusedError(f"id must be a text, got {short(said['id'])}.")
        _parameters(said)
        return said

    def _inferred(self, said: Mapping[str, Any], name: str, outputs: list[dict[str, Any]]) -> Response:
        own = {} if said.get("id") is None else {"id": said["id"]}
        return respond({"model_name": name, **own, "outputs": outputs})


class Protocol:
    """Rows as tensors: one per column, or one for all if the known instances were an array.

    Examples
    --------
    >>> import counterpoint as cp
    >>> import pandas as pd
    >>> X = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> protocol = Protocol(Reader(cp.Neighbours().fit(lambda X: X["age"] > 35, X)))
    >>> protocol.inputs, protocol.decision
    ([{'name': 'age', 'datatype': 'INT64', 'shape': [-1]}], {'name': 'decision', 'datatype': 'BOOL', ...})
    >>> protocol.rows([{"name": "age", "datatype": "INT64", "shape": [2, 1], "data": [31, 45]}])
    [{'age': 31}, {'age': 45}]
    """

    def __init__(self, reader: Reader) -> None:
        fitted = reader.explainer._fitted()
        self._columns = [str(name) for name in fitted.schema.form.caller.names]
        self.inputs = _inputs(fitted.schema, self._columns)
        kind = {"b": "BOOL", "i": "INT64", "u": "INT64", "f": "FP64"}
        labels = fitted.known.labels
        shape = [-1, *labels.shape[1:]]
        datatype = kind.get(labels.dtype.kind, "BYTES")
        self.decision: dict[str, Any] = {"name": "decision", "datatype": datatype, "shape": shape}

    def named(self, row: Any) -> Any:
        """Give names to the values of a row that is a list in the order of the columns."""
        if not isinstance(row, list):
            return row
        if len(row) != len(self._columns):
            raise RefusedError(f"A row as a list must have {len(self._columns)} values, got {len(row)}.")
        return dict(zip(self._columns, row, strict=True))

    def rows(self, inputs: Any) -> list[dict[str, Any]]:
        """Make rows of the inputs of a request."""
        if not isinstance(inputs, list) or not inputs:
            raise RefusedError(f"inputs must be a list of tensors, got {short(inputs)}.")
        tensors = [_read(each, f"inputs[{place}]") for place, each in enumerate(inputs)]
        counts = {len(values) for _, values in tensors}
        if len(counts) > 1:
            raise RefusedError(f"inputs must have the same number of rows, got {sorted(counts)}.")
        if len(tensors) == 1 and tensors[0][0] not in self._columns:
            return [self.named(row) for row in tensors[0][1]]
        wide = [name for name, values in tensors if any(len(row) != 1 for row in values)]
        if wide:
            raise RefusedError(f"inputs must have one value per row and column, got more in {short(wide)}.")
        names = [name for name, _ in tensors]
        columns = [[row[0] for row in values] for _, values in tensors]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _inputs(schema: Schema, columns: list[str]) -> list[dict[str, Any]]:
    """Describe the inputs: tensors of one column each, or a matrix."""
    if schema.form.kind == "array":
        return [{"name": "input-0", "datatype": "FP64", "shape": [-1, len(columns)]}]
    features = {str(feature.name): feature for feature in schema.features}
    return [{"name": name, "datatype": _datatype(features.get(name)), "shape": [-1]} for name in columns]


def _datatype(feature: Feature | None) -> str:
    """Find the datatype of a column; a dummy column is no feature of its own, and holds 0 and 1."""
    if feature is None:
        return "INT64"
    if feature.calendar is not None:
        return "BYTES"
    if not feature.is_categorical:
        whole = feature.step is not None and float(feature.step).is_integer() and not feature.missing
        return "INT64" if whole else "FP64"
    kinds = {type(each) for each in feature.categories if each is not None}
    names = {bool: "BOOL", int: "INT64", float: "FP64"}
    return names.get(kinds.pop(), "BYTES") if len(kinds) == 1 else "BYTES"


def _read(given: Any, where: str) -> tuple[str, list[list[Any]]]:
    """Read a tensor: its name, and its values by row."""
    said = fields_of(given, INPUT_KEYS, where)
    name, shape, kind, data = (said.get(key) for key in INPUT_KEYS[:4])
    if not isinstance(name, str):
        raise RefusedError(f"{where}.name must be a text, got {short(name)}.")
    sizes = shape if isinstance(shape, list) else []
    if len(sizes) not in (1, 2):
        raise RefusedError(f"{where}.shape must be a list of one or two sizes, got {short(shape)}.")
    sizes = [whole(f"{where}.shape[{place}]", size, 1, 10**6) for place, size in enumerate(sizes)]
    if kind not in DATATYPES:
        raise RefusedError(f"{where}.datatype must be one of {list(DATATYPES)}, got {short(kind)}.")
    if not isinstance(data, list):
        raise RefusedError(f"{where}.data must be a list; binary data is not read. Got {short(data)}.")
    flat = [value for part in data for value in (part if isinstance(part, list) else [part])]
    if len(flat) != prod(sizes):
        raise RefusedError(f"{where}.data must have {prod(sizes):,} values for its shape, got {len(flat):,}.")
    _check_values(flat, kind, where)
    width = 1 if len(sizes) == 1 else sizes[1]
    return name, [flat[start : start + width] for start in range(0, len(flat), width)]


def _check_values(values: list[Any], kind: str, where: str) -> None:
    """Refuse values that are not of their datatype; null stands for missing ones."""
    types: tuple[type, ...] = {"BOOL": (bool,), "BYTES": (str,)}.get(kind, (int, float))
    wrong = [value for value in values if value is not None and type(value) not in types]
    if wrong:
        raise RefusedError(f"{where}.data must be {kind}, got {short(wrong[0])}.")


def _wanted(said: Mapping[str, Any], known: list[str]) -> list[str]:
    """Read which outputs are wanted: all, if none are named."""
    given = said.get("outputs")
    if given is None or given == []:
        return known
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise RefusedError(f"outputs must be a list of objects, got {short(given)}.")
    names = [each.get("name") for each in given]
    if any(name not in known for name in names):
        raise RefusedError(f"outputs must be among {known}, got {short(names)}.")
    return [name for name in known if name in names]


def _parameters(said: Mapping[str, Any]) -> Mapping[str, Any]:
    given = said.get("parameters")
    if not isinstance(given, Mapping | None):
        raise RefusedError(f"parameters must be an object, got {short(given)}.")
    return given or {}


def _options(said: Mapping[str, Any]) -> dict[str, Any]:
    """Read the parameters of a question. In V2 they are no objects, so these may be texts of JSON."""
    options = {name: value for name, value in _parameters(said).items() if name in OPTIONS}
    for name in ("constraints", "target"):
        text = options.get(name)
        if isinstance(text, str) and text[:1] in ("{", "["):
            try:
                options[name] = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise RefusedError(f"parameters.{name} is no JSON: {error}") from None
    return options


def _tensor(name: str, kind: str, values: list[Any]) -> dict[str, Any]:
    """Write one value per row, or one list of them, as a tensor."""
    if values and isinstance(values[0], list):
        flat = [value for row in values for value in row]
        return {"name": name, "datatype": kind, "shape": [len(values), len(values[0])], "data": flat}
    return {"name": name, "datatype": kind, "shape": [len(values)], "data": values}
